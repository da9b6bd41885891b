"""What a story costs: operations counted by hand and by torch, seconds of every repeat."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tslens import forward, models
from tslens.errors import InputError
from tslens.evaluation.writing import cost as costs
from tslens.evaluation.writing.cost import CostResult, cost, gpt2_shape, story_flops
from tslens.generate.clock import step_seconds
from tslens.models import Spec

SMALL = Spec(16, 2, 4, d_vocab=30, n_ctx=32)


def test_operations_by_hand() -> None:
    matrices = 2 * (4 * 16 * 16 + 2 * 16 * 64) + 16 * 30
    attention = 2 * 2 * 16 * (1 + 2 + 3 + 4 + 5)  # layers, products, width, keys
    assert story_flops(SMALL, 5) == 2 * (5 * matrices + attention)


def test_operations_as_torch_counts_them() -> None:
    model = models.build(SMALL)
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        forward.logits(model, torch.ones(1, 9, dtype=torch.int64))
    products = sum(counted.get_flop_counts()["Global"][op] for op in (torch.ops.aten.mm, torch.ops.aten.addmm))
    attention = 4 * SMALL.n_layers * SMALL.d_model * sum(range(1, 10))  # fused: torch does not count it
    assert story_flops(SMALL, 9) == products + attention


def test_a_story_of_gpt2_takes_about_two_operations_for_each_parameter_and_token() -> None:
    for name, millions in (("gpt2", 124), ("gpt2-medium", 355), ("gpt2-xl", 1558)):
        spec = gpt2_shape(name)
        assert spec.n_parameters() / 1e6 == pytest.approx(millions, rel=0.005)
        assert story_flops(spec, 200) / (2 * 200 * spec.n_parameters()) == pytest.approx(1.0, abs=0.03)


def test_the_published_shapes_have_the_published_vocabulary() -> None:
    names = ["128x8", "128x12", "256x8x2", "256x8", "256x8x8", "256x12", "512x8", "512x12"]
    found = cost([], names, batches=(1,), tokens=1, repeats=2, vocabulary=50_257)
    assert found.models == [f"{name}, 50,257 tokens" for name in names] and found.random.all()
    ours = [story_flops(gpt2_shape(name), 1) for name in names]
    widths = [int(name.split("x")[0]) for name in names]
    more = [2 * width * (50_257 - 4096) for width in widths]  # of the unembedding alone
    assert found.flops.tolist() == [a + b for a, b in zip(ours, more, strict=True)]
    assert found.parameters.tolist() == sorted(found.parameters.tolist())
    assert (found.seconds > 0).all() and found.built_whole.all() and len(found.figure().axes) == 1
    with pytest.raises(InputError, match="a vocabulary of 0"):
        cost([], names, vocabulary=0)


def test_every_step_is_timed(compressor: Any) -> None:
    for model in (models.build(SMALL), compressor):
        found = step_seconds(model, 3, 7, repeats=2)
        assert [len(steps) for steps in found] == [7, 7] and all(second > 0 for steps in found for second in steps)


def test_the_cost_of_a_model_beside_a_shape(compressor: Any, tmp_path: Path) -> None:
    found = cost([compressor], ["16x2"], batches=(1, 4), tokens=20, repeats=3)
    assert found.random.tolist() == [False, True] and found.built_whole.all()
    assert found.measured.tolist() == [[20, 20], [20, 20]] and found.seconds.shape == (2, 2, 3)
    table = found.summary()
    assert table["weights"].tolist() == ["trained"] * 2 + ["random"] * 2
    assert (table["low"] <= table["seconds"]).all() and (table["seconds"] <= table["high"]).all()
    uneven = replace(found, seconds=torch.tensor([1.0, 4.0], dtype=torch.float64).expand(2, 2, 2)).interval(0, 0)
    assert uneven.estimate == pytest.approx(2) and 0 < uneven.low < 1  # an interval of times does not reach below zero
    assert table["GFLOP"].iloc[2] == pytest.approx(story_flops(Spec.parse("16x2"), 20) / 1e9)
    assert len(found.figure().axes) == 1
    said, row = found.headline(), table.iloc[1]
    assert said.startswith(f"A story of 20 tokens takes {found.models[0]} ") and str(found).startswith(said)
    assert f"and {row.seconds:.3g} ({row.low:.3g} to {row.high:.3g}) in a batch of 4 seconds" in said
    found.save(tmp_path)
    assert CostResult.load(tmp_path).summary().equals(table)


def test_a_large_shape_is_taken_from_a_few_tokens_of_a_few_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    built, per_layer, per_step = [], 0.25, 0.5

    def clock(model: Any, rows: int, tokens: int, *, repeats: int = 1, precision: str = "") -> list[list[float]]:
        return [[per_step + per_layer * model.n_layers] * tokens] * repeats

    def build(spec: Spec) -> Spec:
        built.append(spec.n_layers)
        return spec

    monkeypatch.setattr(costs, "WHOLE", 10)
    monkeypatch.setattr(costs, "step_seconds", clock)
    monkeypatch.setattr(costs.models, "build", build)
    found = cost([], ["256x40"], batches=(2,), tokens=200, repeats=2)
    assert built == [costs.FEW, costs.MANY] and not found.built_whole.any()
    assert int(found.measured[0, 0]) < 200
    # a step takes 10.5 seconds and gives two tokens; later tokens have more keys, so a story takes a little more
    assert 200 * 10.5 / 2 < found.interval(0, 0).estimate < 1.2 * 200 * 10.5 / 2
    assert found.summary()["built"].tolist() == [f"{costs.FEW} and {costs.MANY} layers"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shapes": ["gpt3"]}, "'gpt3' is no shape"),
        ({"shapes": []}, "give a model or a shape"),
        ({"shapes": ["16x2"], "repeats": 1}, "repeats 1"),
        ({"shapes": ["16x2"], "tokens": 300}, "do not fit a context of 256"),
    ],
)
def test_refusals(options: dict[str, Any], message: str, refused: Any) -> None:
    with refused(message):
        cost([], **options)
