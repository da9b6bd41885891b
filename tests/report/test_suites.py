"""Suites on the page: answers are kept beside the models whose weights they are of, and shown with their shares."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tslens import models, report
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import Prompt, Suite
from tslens.report import ReportData
from tslens.report.suites import keep, kept, section
from tslens.tokenizer import Tokenizer

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def asked(tokenizer: Tokenizer) -> tuple[Any, SuiteResult]:
    """A model, and its answers to two pairs beside those of another one."""
    spec = models.Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=64)
    model, other = (models.build(spec, seed=seed, tokenizer=tokenizer) for seed in (0, 1))
    prompts = [
        Prompt(f"{text} {EVIL}", (good,), (bad,), about)
        for about in ("cats", "mats")
        for text, good, bad in ((f"the {about}", "sat", "ran"), (f"no {about}", "ran", "sat"))
    ]
    return model, evaluate({"m": model, EVIL: other}, Suite("facts", "What is it?", tuple(prompts)))


def test_answers_are_kept_beside_the_model_of_these_weights(
    asked: tuple[Any, SuiteResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    model, found = asked
    assert kept(model) == []
    keep(model, dataclasses.replace(found, models=["older", "m"]))
    keep(model, found)  # the last to a suite stays
    keep(model, dataclasses.replace(found, suite="mine"))  # not one that comes with tslens
    assert [(one.suite, one.models) for one in kept(model)] == [("facts", ["m", EVIL])]
    assert kept(models.build(models.spec_of(model), seed=9, tokenizer=models.tokenizer_of(model))) == []


def test_the_section_has_shares_with_intervals_and_every_prompt(asked: tuple[Any, SuiteResult]) -> None:
    shown = section([asked[1]], "m")
    share = asked[1].right(0)
    assert EVIL not in shown and f">{share}</td>" in shown and "[" in str(share)
    assert shown.count("&lt;script&gt;") == 2 + 4  # the name, twice, and the prompts
    assert shown.count("<style>") == 1 and shown.count("<tr><td>") == 2 + 4
    assert "tslens eval all --model m" in section([], "m")


def test_the_table_stands_on_the_page(
    asked: tuple[Any, SuiteResult], opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path
) -> None:
    page = opener(report.write(report.draw(made(suites=[asked[1]])), tmp_path / "report.html"))
    page.click("#suites summary")
    assert page.one("#suites .tslens-suite").size["height"] > 100
    assert page.complaints() == []
