"""Every objective in a run: what is recorded, and that a killed run goes on bit for bit, dropout included."""

import pytest

from tslens import files, runs
from tslens.stories import stories
from tslens.train import prepare as preparing
from tslens.train.session import reopen

SMALL = {
    "data.source": "told.txt",
    "data.vocabulary": "400",
    "train.batch": "6",
    "train.micro_batch": "3",
    "train.steps": "6",
    "train.validate_every": "3",
    "train.checkpoint_every": "2",
    "train.validation_stories": "3",
    "train.precision": "float32",
    "train.keep_log_spaced": "false",
}
CHOSEN = {
    "language-modelling": {"model.n_ctx": "32", "train.dropout": "0.2"},
    "contrastive": {
        "model.n_ctx": "32",
        "train.dropout": "0.1",
        "train.batch": "12",
        "train.batch_warmup": "4",
        "optimizer.method": "muon",
    },
    "published-contrastive": {"model.n_ctx": "32", "train.divergence_threshold": "0"},
    "instruct": {"model.n_ctx": "200", "train.dropout": "0.1", "optimizer.method": "adamw"},
    "compressor": {"model.n_ctx": "32", "model.shape": "16x4x2", "train.dropout": "0.1", "optimizer.method": "muon"},
}


@pytest.fixture(scope="module")
def told() -> str:
    return "\n<|endoftext|>\n".join(stories("made:instruct", limit=120))


ALIKE = [name for name in CHOSEN if name not in ("contrastive", "instruct")]


@pytest.fixture
def small(told, in_tmp) -> dict[str, str]:
    """Checkpoints after steps 2, 4 and 6, the last."""
    (in_tmp / "told.txt").write_text(told, encoding="utf-8")
    return SMALL


@pytest.mark.parametrize(
    "name", ["contrastive", "instruct", *(pytest.param(name, marks=pytest.mark.thorough) for name in ALIKE)]
)
def test_a_killed_run_goes_on_bit_for_bit(in_tmp, goes_on, name):
    goes_on(after=3, **{"objective.name": name}, **CHOSEN[name])
    records = runs.read_metrics(in_tmp / "runs/cut")
    assert [record["step"] for record in records] == [3, 6]
    for record in records:
        assert ("validation_gap" in record) == ("contrastive" in name)
        if "validation_gap" in record:
            assert record["gap"] == pytest.approx(record["L_c"] - record["L_n"], abs=1e-5)
            assert record["train_loss"] > record["L_n"]
    config = files.read_json(in_tmp / "runs/cut/config.json")
    assert config["validation_loss"] == records[-1]["validation_loss"]


@pytest.mark.parametrize("name", ["contrastive", "instruct"])
def test_a_packing_stopped_between_its_two_parts_goes_on(run_of, in_tmp, monkeypatch, name):
    chosen, pack, calls = {"objective.name": name} | CHOSEN[name], preparing.pack, []

    def stopped(*args, **options):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return pack(*args, **options)

    run_of("whole", **chosen)
    with monkeypatch.context() as patch:
        patch.setattr(preparing, "pack", stopped)
        with pytest.raises(KeyboardInterrupt):
            run_of("cut", **chosen)
    reopen("cut")
    whole, cut = (
        {path.relative_to(home): path.read_bytes() for path in home.rglob("*.bin")}
        for home in (in_tmp / "runs/whole/data", in_tmp / "runs/cut/data")
    )
    assert len(whole) == 4 and whole == cut


def test_stories_that_cannot_be_shuffled_are_refused_and_nothing_is_left(run_of, in_tmp):
    (in_tmp / "told.txt").write_text("\n<|endoftext|>\n".join(f"Tom had {n} cats." for n in range(300)))
    with pytest.raises(ValueError, match="No story has two sentences to shuffle"):
        run_of("a", **{"objective.name": "contrastive"}, **CHOSEN["contrastive"])
    assert not (in_tmp / "runs/a").exists()
