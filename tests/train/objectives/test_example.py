"""CONTRIBUTING's example of an objective: its own file and one registration line are all that it takes."""

import ast
import re
import sys
from pathlib import Path

import pytest
import torch

from tslens import models, runs
from tslens.cli import main
from tslens.models import Spec
from tslens.train import objectives
from tslens.train import recipe as recipes
from tslens.train.data import TrainingBatch
from tslens.train.objectives.language import LanguageModelling

SMALL = (
    *("data.limit=200", "data.vocabulary=300", "model.n_ctx=32", "train.batch=4", "train.micro_batch=2"),
    *("train.steps=4", "train.validate_every=2", "train.validation_stories=3", "train.precision=float32"),
)


@pytest.fixture
def example(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the example, whose file lies beside the other objectives and whose line is among theirs."""
    text = (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## How to add an objective\n")[2].partition("\n## ")[0]
    file, line = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    ((name, place),) = ast.literal_eval(f"{{{line}}}").items()
    module = place.partition(":")[0]
    (tmp_path / f"{module.rpartition('.')[2]}.py").write_text(file, encoding="utf-8")
    monkeypatch.setattr(objectives, "__path__", [*objectives.__path__, str(tmp_path)])
    monkeypatch.setitem(objectives.OBJECTIVES, name, place)
    monkeypatch.delitem(sys.modules, module, raising=False)
    return str(name)


def test_the_example_is_chosen_checked_trained_and_read_again(example: str, in_tmp: Path) -> None:
    chosen = recipes.load("16x1x2", {"objective.name": example, "objective.share": "0.3"})
    assert recipes.from_dict(chosen.to_dict()) == chosen and objectives.name_of(chosen.objective) == example
    with pytest.raises(ValueError, match=r"objective\.share is 1; it must be 0 or more and below 1"):
        recipes.load("16x1x2", {"objective.name": example, "objective.share": "1"})
    options = [f"--set=objective.name={example}", *(f"--set={setting}" for setting in SMALL)]
    assert main(["train", "16x1x2", "--name", "a", *options]) == 0
    records = runs.read_metrics(runs.run_folder("a"))
    assert [record["step"] for record in records] == [2, 4]
    assert all({"train_loss", "usual_loss"} <= record.keys() for record in records)
    assert runs.read_config(runs.run_folder("a"))["recipe"]["objective"] == {"name": example, "share": 0.1}


def test_without_a_share_the_example_is_language_modelling(example: str) -> None:
    model = models.build(Spec(16, 1, 2, d_vocab=40, n_ctx=12), seed=0)
    batch = TrainingBatch(torch.randint(40, (3, 13), generator=torch.Generator().manual_seed(1)))
    usual, _ = LanguageModelling()(model, batch, torch.float32)
    for share, more in ((0.0, 0.0), (0.5, 0.5)):
        total, parts = objectives.named(example)(share=share)(model, batch, torch.float32)
        logs = torch.log_softmax(model(batch.tokens[:, :-1]), -1)
        evenly = -logs.mean(-1).sum()
        torch.testing.assert_close(total, (1 - more) * usual + more * evenly)
        torch.testing.assert_close(parts["usual_loss"], usual.detach())
