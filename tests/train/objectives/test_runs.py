"""Every objective in a run: what is recorded, and that a stopped run goes on bit for bit, dropout included."""

import os
import signal

import pytest
import torch

from tslens import checkpoints
from tslens.stories import stories
from tslens.train import loop
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
    "published": {"objective.name": "published contrastive", "model.n_ctx": "32", "train.explode": "inf"},
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
