"""The compressor as an objective: it learns, its loss is by hand, it is used as any model and compared fairly."""

import json
from functools import partial

import pytest
import torch

from tslens import cli, files, models
from tslens.models import CompressorSpec, Spec
from tslens.train import recipe as recipes
from tslens.train.data import TrainingBatch
from tslens.train.objectives.compressor import CompressorObjective
from tslens.train.position import Position


@pytest.fixture
def train_of(train_of):
    return partial(train_of, shape="16x4x2", objective="compressor")


@pytest.mark.thorough
def test_a_run_learns_and_every_command_takes_it(in_tmp, train_of, capsys):
    seen: list[Position] = []
    model = train_of("a", **{"train.steps": "40", "optimizer.lr": "1e-2"}, watch=seen.append).model
    records = [json.loads(line) for line in (in_tmp / "runs/a/metrics.jsonl").read_text().splitlines()]
    assert records[-1]["validation_loss"] < records[0]["validation_loss"] - 0.5
    assert seen[-1].tokens == 40 * 4 * 32  # every token after a row's first, as of any model
    loaded = models.load("a")
    tokens = torch.tensor([[0, 5, 6]])
    assert torch.equal(model(tokens), loaded(tokens))
    assert models.spec_of(loaded, compressors=True) == CompressorSpec(16, 1, 2, 1, n_heads=2, d_vocab=300, n_ctx=32)
    assert files.read_json(in_tmp / "runs/a/config.json")["kind"] == "compressor"
    for command in (
        ["generate", "--model", "a", "--prompt", "The cat", "--max-new-tokens", "5"],
        ["loss", "--model", "a", "--limit", "3"],
        ["models", "--json"],
    ):
        assert cli.main(command) == 0
    assert '"compressor-16x1+2+1"' in capsys.readouterr().out
    assert cli.main(["analyze", "lens", "--model", "a", "--limit", "3"]) == 2
    error = capsys.readouterr().err
    assert "no logits of its own" in error and error.count("\n") == 1


@pytest.mark.thorough
def test_in_pieces_it_becomes_the_same_model(train_of, largest_difference):
    by = {"optimizer.method": "adamw", "optimizer.lr": "2e-3"}  # Muon makes much of a difference in rounding
    train_of("whole", **by)
    train_of("parts", **by, **{"train.micro_batch": "2"})
    assert largest_difference("whole", "parts") < 2e-4


def test_its_loss_is_that_of_each_token_after_the_first_by_hand(loud):
    spec = Spec(16, 4, 2, d_vocab=300, n_ctx=32)
    objective = CompressorObjective()
    model = loud(objective.build(spec, seed=1, tokenizer=None))
    batch = TrainingBatch(torch.randint(300, (3, 33), generator=torch.Generator().manual_seed(2)))
    with torch.no_grad():
        total, parts = objective(model, batch, torch.float32)
        logs = torch.log_softmax(model(batch.tokens[:, :-1]).double(), -1)
    by_hand = [float(-logs[row, t - 1, batch.tokens[row, t]]) for row in range(3) for t in range(1, 33)]
    assert parts == {} and batch.predictions == len(by_hand) and torch.tensor(by_hand).std() > 0.5
    assert float(total) == pytest.approx(sum(by_hand), rel=1e-5)


def test_muon_moves_its_blocks(train_of):
    """All three parts' matrices, at a rate that follows the width."""
    model = train_of("m", **{"optimizer.method": "muon", "optimizer.tuned_width": "32", "train.steps": "3"}).model
    start = models.build(model.spec, seed=0)
    before = dict(start.named_parameters())
    moved = {name: not torch.equal(p, before[name]) for name, p in model.named_parameters()}
    assert all(moved[f"{part}blocks.0.attn.W_Q"] for part in ("", "encoder.", "decoder."))


@pytest.mark.parametrize("width", [128, 256, 512])
def test_its_recipes_match_their_baselines(width):
    baseline, own = recipes.load(f"{width}x8"), recipes.load(f"compressor-{width}x8")
    assert own.spec(4096) == baseline.spec(4096)
    assert own.data == baseline.data and own.train == baseline.train and own.optimizer == baseline.optimizer
    ratio = own.shape(4096).n_parameters() / baseline.shape(4096).n_parameters()
    assert 0.98 < ratio < 1.02


def test_the_published_sizes_have_a_recipe():
    recipe = recipes.load("compressor-published-128x8")
    assert round(recipe.shape(50257).n_parameters() / 1e6, 1) == 25.1


def test_what_is_refused():
    for field, value, match in (
        ("sizes", '"huge"', "must be one of matched, published"),
        ("trunk_layers", "0", "trunk_layers is 0"),
    ):
        with pytest.raises(ValueError, match=match):
            recipes.load("compressor-128x8", {f"objective.{field}": value})
    with pytest.raises(ValueError, match="leave out style = 'llama'"):
        recipes.load("compressor-128x8", {"model.style": '"llama"'}).shape(300)
    with pytest.raises(ValueError, match="must be even"):
        recipes.load("compressor-128x8", {"model.n_ctx": "31"}).shape(300)
    assert recipes.load("compressor-128x8", {"objective.trunk_layers": "6"}).shape(300).trunk_layers == 6
