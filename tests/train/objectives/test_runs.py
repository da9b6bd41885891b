"""Every objective in a run: what is recorded, and that a stopped run goes on bit for bit, dropout included."""

import os
import signal

import pytest
import torch

from tslens import checkpoints
from tslens.stories import stories
from tslens.train import loop
from tslens.train import prepare as preparing
from tslens.train import recipe as recipes
from tslens.train.prepare import prepare, resume

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
    "dropped": {"train.dropout": "0.2", "model.n_ctx": "32"},
    "contrastive": {"objective.name": "contrastive", "model.n_ctx": "32", "train.dropout": "0.1"},
    "published": {"objective.name": "published contrastive", "model.n_ctx": "32", "train.explode": "0"},
    "instruct": {"objective.name": "instruct", "model.n_ctx": "200"},
}


@pytest.fixture(scope="module")
def told() -> str:
    return "\n<|endoftext|>\n".join(stories("made:instruct", limit=120))


@pytest.mark.parametrize("name", CHOSEN)
def test_a_stopped_run_goes_on_bit_for_bit(told, in_tmp, name):
    (in_tmp / "told.txt").write_text(told, encoding="utf-8")
    chosen = recipes.load("16x1x2", SMALL | CHOSEN[name])
    loop.train(prepare(chosen, "whole", progress=False))

    def stop(at: loop.Progress) -> None:
        torch.rand(at.step)  # whatever else is drawn has no part in it
        if at.step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(loop.Interrupted):
        loop.train(prepare(chosen, "cut", progress=False), watch=stop)
    loop.train(resume("cut", progress=False), resume=True)
    whole, cut = (checkpoints.read(checkpoints.run_folder(run))[1] for run in ("whole", "cut"))
    assert whole.keys() == cut.keys() and all(torch.equal(whole[key], cut[key]) for key in whole)

    for folder in ("whole", "cut"):
        records = checkpoints.read_metrics(in_tmp / "runs" / folder)
        assert [record["step"] for record in records] == [3, 6]
        for record in records:
            assert ("validation_gap" in record) == ("contrastive" in str(chosen.to_dict()["objective"]["name"]))
            if "validation_gap" in record:
                assert record["gap"] == pytest.approx(record["L_c"] - record["L_n"], abs=1e-5)
                assert record["train_loss"] > record["L_n"]
    config = checkpoints.read_json(in_tmp / "runs/cut/config.json")
    assert config["validation_loss"] == records[-1]["validation_loss"]


@pytest.mark.parametrize("name", ["contrastive", "instruct"])
def test_a_packing_stopped_between_its_two_parts_goes_on(told, in_tmp, monkeypatch, name):
    (in_tmp / "told.txt").write_text(told, encoding="utf-8")
    chosen, pack, calls = recipes.load("16x1x2", SMALL | CHOSEN[name]), preparing.pack, []

    def stopped(*args, **options):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return pack(*args, **options)

    prepare(chosen, "whole", progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(preparing, "pack", stopped)
        with pytest.raises(KeyboardInterrupt):
            prepare(chosen, "cut", progress=False)
    resume("cut", progress=False)
    whole, cut = (
        {path.relative_to(home): path.read_bytes() for path in home.rglob("*.bin")}
        for home in (in_tmp / "runs/whole/data", in_tmp / "runs/cut/data")
    )
    assert len(whole) == 4 and whole == cut


def test_stories_that_cannot_be_shuffled_are_refused_and_nothing_is_left(in_tmp):
    (in_tmp / "told.txt").write_text("\n<|endoftext|>\n".join(f"Tom had {n} cats." for n in range(300)))
    with pytest.raises(ValueError, match="No story has two sentences to shuffle"):
        prepare(recipes.load("16x1x2", SMALL | CHOSEN["contrastive"]), "a", progress=False)
    assert not (in_tmp / "runs/a").exists()
