"""What components and layers of untrained twins measure, beside the model's on the same stories."""

from dataclasses import replace

import pytest
import torch

from tslens import stats, twins
from tslens.analysis import lens, neurons
from tslens.models import Spec, build
from tslens.models.twins import twins as first_twins
from tslens.scan import scan
from tslens.stories import stories
from tslens.tokenizer import Tokenizer
from tslens.twins import MeasuredResult, measured, reading
from tslens.twins.measured import _is_whole

TEXTS = list(stories("made", limit=8))


@pytest.fixture(scope="module")
def model():
    tokenizer = Tokenizer.train(TEXTS, 300)
    return build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=48), seed=1, tokenizer=tokenizer)


@pytest.fixture(scope="module")
def added(model) -> lens.ByComponentResult:
    return lens.by_component(model, TEXTS)


def test_components_stand_beside_those_of_every_twin(model, added, tmp_path, monkeypatch):
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path / "cache"))
    found = measured(model, TEXTS, added, n=3)
    alone = [scan(twin.of(model), TEXTS, lens.ByComponent()).specific for twin in first_twins(3)]
    torch.testing.assert_close(found.of_twins, torch.stack(alone))
    assert found.parts == added.components and torch.equal(found.value, added.specific)
    assert torch.equal(found.low, added.specific_low) and torch.equal(found.high, added.specific_high)
    assert found.twins_most.tolist() == pytest.approx(torch.stack(alone).abs().amax(0).tolist())
    assert found.twins_mean.tolist() == pytest.approx(torch.stack(alone).abs().mean(0).tolist())
    larger = (torch.stack(alone).abs() >= added.specific.abs()).sum(0)
    assert found.p.tolist() == pytest.approx(((1 + larger) / 4).tolist()) and not found.leads.any()  # 3 are too few
    found.save(tmp_path / "saved")
    assert MeasuredResult.load(tmp_path / "saved").said() == found.said() and found.figure() is not None
    monkeypatch.setattr(reading, "answers_of", lambda *_: pytest.fail("all is kept"))
    assert torch.equal(measured(model, TEXTS, added, n=2).of_twins, found.of_twins[:2])


def test_norms_by_layer_leave_out_what_no_block_adds(model):
    answer = lens.residuals(model, TEXTS)
    found = measured(model, TEXTS, answer, n=1)
    added = [f"{stream} adds ({depth})" for stream in ("attention", "MLP") for depth in ("0", "1")]
    assert found.parts == ["residual (embed)", "residual (0)", "residual (1)", *added]
    assert torch.equal(found.value, answer.median[~answer.median.isnan()]) and found.of_twins.shape == (1, 7)
    (twin,) = first_twins(1)
    alone = scan(twin.of(model), TEXTS, lens.Residuals()).median
    torch.testing.assert_close(found.of_twins[0], alone[~alone.isnan()])


def test_what_the_token_explains_by_layer(model):
    answer = neurons.selectivity(model, TEXTS)
    found = measured(model, TEXTS, answer, n=1)
    assert found.parts == ["layer 0", "layer 1"] and torch.equal(found.value, answer.median_share)
    assert torch.equal(found.low, answer.median_share_low) and torch.equal(found.high, answer.median_share_high)
    (twin,) = first_twins(1)
    alone = neurons.selectivity(twin.of(model), TEXTS)
    torch.testing.assert_close(found.of_twins[0], alone.median_share)
    assert "median share explained by the token of more than" in found.said()


def test_the_sentence_and_what_leads_by_hand(model, added):
    """19 twins reach 0.2 of either sign; the model's largest, -3, lies beyond them all, and 0.3 not surely."""
    parts = ["a", "b"]
    made = MeasuredResult(
        model="m",
        stories=8,
        unit="component",
        claim="adds more than {}",
        parts=parts,
        twins=[f"fresh twin {i}" for i in range(19)],
        value=torch.tensor([0.3, -3.0]),
        low=torch.tensor([0.1, -3.5]),
        high=torch.tensor([0.5, -2.5]),
        twins_mean=torch.tensor([0.1, 0.1]),
        twins_most=torch.tensor([0.2, 0.15]),
        p=torch.tensor([0.05, 0.05]),
        leads=torch.tensor([False, True]),
        of_twins=torch.full((19, 2), 0.1),
    )
    said = "No component of 19 untrained twins adds more than 0.20; the largest of m, b, is -3.00 "
    said += "(-3.50 to -2.50), and 1 of 2 surely lie beyond their own in every twin."
    assert made.said() == said and str(made).startswith(said) and made.summary()["part"].tolist() == ["b", "a"]
    assert made.summary()["twins_least"].tolist() == pytest.approx([0.1, 0.1])
    less = replace(made, value=torch.tensor([0.1, -0.2]), low=torch.tensor([0.0, -0.3]), high=torch.tensor([0.2, 0.1]))
    assert "adds more than 0.20; the largest of m, b, is -0.20 (-0.30 to 0.10), and 1 of 2" in less.said()


def test_a_component_leads_only_if_its_whole_interval_lies_beyond_twenty_twins(model, added, tmp_path, monkeypatch):
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    most = measured(model, TEXTS, added, n=19).twins_most
    far, near = torch.full_like(most, -9.0), -most
    ends = {
        "specific": far,
        "specific_low": far - 1,
        "specific_high": torch.where(torch.arange(len(far)) == 0, near, -8.0),
    }
    found = measured(model, TEXTS, replace(added, **ends), n=19)
    assert found.p.tolist() == pytest.approx([0.05] * len(most)) and stats.rank_p(9.0, [0.1] * 19) == 0.05
    assert found.leads.tolist() == [False] + [True] * (len(most) - 1)


def test_what_is_no_control_is_refused(model, added, refused):
    with refused("0 twins on 8 stories are no control"):
        measured(model, TEXTS, added, n=0)
    with refused("on 7 stories are no control of an answer on 8"):
        measured(model, TEXTS[:7], added, n=2)
    assert twins.measured is measured


def test_a_damaged_file_is_not_read():
    assert _is_whole({}) and _is_whole({"a": [1.0, 2.0], "b": [0.5, 0.0]})
    for damaged in ([], {"a": [1.0], "b": [1.0, 2.0]}, {"a": "x"}, {"a": [[1.0]]}):
        assert not _is_whole(damaged)
