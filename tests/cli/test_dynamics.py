"""`tslens analyze dynamics`, and the film that it gives a run's page."""

import json
import re
from pathlib import Path

import pytest

from tslens import cli
from tslens.dynamics import DynamicsResult, EmergenceResult, LayersByStepResult, StabilityResult
from tslens.train import recipe as recipes
from tslens.train import session

SMALL = {
    "data.limit": "400",
    "data.vocabulary": "300",
    "model.n_ctx": "32",
    "train.batch": "4",
    "train.steps": "2",
    "train.precision": '"float32"',
}


@pytest.fixture
def trained(in_tmp: Path) -> None:
    for seed in "01":
        session.train(recipes.load("16x1x2", SMALL | {"seed": seed}), f"seed-{seed}")


@pytest.mark.thorough
def test_seeds_are_followed_and_compared_and_the_page_shows_the_film(
    trained: None, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = ["analyze", "dynamics", "seed-0", "--limit", "20", "--twins", "0", "--layers"]
    assert cli.main(refused) == 2 and "0 twins are no control" in capsys.readouterr().err
    assert not list(in_tmp.glob("runs/seed-0/dynamics/*"))  # nothing was measured first
    report = ["report", "--model", "seed-0", "--limit", "20", "--shown", "1", "--twins", "0", "--out", "page.html"]
    assert cli.main(report) == 0
    assert 'id="film"' not in Path("page.html").read_text() and "with --film its page" in capsys.readouterr().err
    command = ["analyze", "dynamics", "seed-0", "seed-1", "--limit", "20", "--twins", "2", "--out", "out", "--json"]
    assert cli.main([*command, "--layers"]) == 0
    answers = json.loads(capsys.readouterr().out)
    kinds = ["DynamicsResult", "EmergenceResult", *["LayersByStepResult"] * 2, "StabilityResult"]
    assert [answer["result"] for answer in answers] == kinds
    assert LayersByStepResult.load(in_tmp / "out" / "seed-1").steps == [0, 1, 2]
    assert "untrained twins" in (in_tmp / "out" / "layers-by-step-seed-1.svg").read_text()
    assert answers[0]["runs"] == ["seed-0", "seed-1"] and answers[0]["steps"] == [0, 1, 2]
    assert "validation" in answers[0]["corpus"]
    assert {len(values) for values in answers[0]["of_twins"].values()} == {2} and "twins_most" in answers[0]["rows"][0]
    for kind in ("loss", "heads", "induction", "repetition", "roles", "labels", "lens"):
        assert (in_tmp / "out" / f"dynamics-{kind}.svg").read_text().startswith("<svg")
    for kind in (DynamicsResult, EmergenceResult, StabilityResult):
        assert kind.load(in_tmp / "out").runs == ["seed-0", "seed-1"]
    agreed = StabilityResult.load(in_tmp / "out")
    assert agreed.pairs == ["seed-0 and seed-1"] and agreed.stories == 20
    assert 0 < agreed.heads_alike <= 1 and -1 <= agreed.neurons_untrained <= 1
    assert cli.main(report) == 0  # what is kept is shown
    page = Path("page.html").read_text()
    assert 'id="film"' in page and "2 untrained twins" in re.sub('<a class="term"[^>]*>([^<]*)</a>', r"\1", page)
    assert cli.main([*report, "--no-film"]) == 0
    assert 'id="film"' not in Path("page.html").read_text()


def test_no_run_and_a_model_without_snapshots_are_refused(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "dynamics"]) == 2
    assert "name one or more runs" in capsys.readouterr().err
    assert cli.main(["analyze", "dynamics", "stories2M"]) == 2
    assert "stories2M keeps no snapshots" in capsys.readouterr().err
