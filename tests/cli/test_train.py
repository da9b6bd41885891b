"""The train command: a run goes on, says that it is finished, and takes any path."""

import pytest

from tslens.cli.train import train
from tslens.stories import stories

SMALL = ["data.vocabulary=300", "train.steps=2", "model.n_ctx=32", "train.batch=2", "train.validation_stories=2"]


def test_a_path_with_quotes_and_a_finished_run_that_is_resumed(in_tmp, capsys):
    path = 'my "best" \\tales.txt'
    (in_tmp / path).write_text("\n<|endoftext|>\n".join(stories("made", limit=120)), encoding="utf-8")
    train("16x1x2", data=path, name="a", set_=SMALL)
    train(resume="a")
    assert capsys.readouterr().out.count("finished 2 steps, saved runs/a") == 2


@pytest.mark.parametrize("more", [{"data": "made"}, {"name": "b"}, {"set_": ["seed=1"]}, {"overwrite": True}])
def test_a_run_goes_on_as_it_was_chosen(more):
    with pytest.raises(ValueError, match="leave out --data, --name, --set, --overwrite"):
        train(resume="a", **more)
