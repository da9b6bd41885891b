"""Suites on the page: every way of scoring that is kept, with intervals and coloured tables, within a budget."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tslens import models, plots, report
from tslens.evaluation.coloured import coloured_figure
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import Prompt, Suite
from tslens.report import ReportData, suites
from tslens.report.suites import percent, section
from tslens.tokenizer import Tokenizer

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def asked(tokenizer: Tokenizer) -> SuiteResult:
    """Answers of two models to two pairs, labelled by matching and by a person who left out the second model."""
    spec = models.Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=64)
    model, other = (models.build(spec, seed=seed, tokenizer=tokenizer) for seed in (0, 1))
    prompts = [
        Prompt(f"{text} {EVIL}", (good,), (bad,), about)
        for about in ("cats", "mats")
        for text, good, bad in ((f"the {about}", "sat", "ran"), (f"no {about}", "ran", "sat"))
    ]
    found = evaluate({"m": model, EVIL: other}, Suite("facts", "What is it?", tuple(prompts)), written=2)
    return found.with_labels("Anna", [[[2, 0]] * 4, [[None, None]] * 4])


def test_the_section_has_every_way_with_shares_intervals_and_prompts(asked: SuiteResult) -> None:
    shown = section([asked], "m")
    assert EVIL not in shown and shown.count("<style>") == 1
    assert f"{percent(asked.right(0))}</td>" in shown and f"{percent(asked.pairs_right(1))}</td>" in shown
    for by in ("match", "Anna"):
        assert percent(asked.labelled(2, 0, by)) in shown
    assert f"<span>chance {(null := asked.by_chance(2)).estimate:.0%} [{null.low:.0%}, {null.high:.0%}]</span>" in shown
    given = section([asked.with_labels("Anna", asked.labels["Anna"], chance=[[[2]] * 4, [[0]] * 4])], "m")
    assert given.count("<span>chance 100% [") == 1 and shown.count("<span>chance") == 2  # of both by matching
    said = "right, graded by Anna (not proved: no control recorded), hand-written"
    assert said in shown and "writes the right ending, hand-written" in shown
    for label, name in ((1, "in part"), (0, "fail")):
        share = asked.labelled(label, 0, "Anna")
        bounds = f"[{share.low:.0%}, {share.high:.0%}]"
        assert f"<span>{share.estimate:.0%} {name} {bounds}</span>" in shown and bounds != "[0%, 100%]"
    assert shown.count('<table class="tslens-suite">') == shown.count("<details") == 3
    assert shown.count(" open>") == 1
    tables = shown.split("<details")[1:]
    assert [sum(table.count(f'class="{v}"') for v in ("fail", "partial", "success")) for table in tables] == [8, 8, 4]
    assert tables[2].count("<td></td>") == 4 and "graded by Anna" in tables[2]  # whom nobody graded has no colour
    assert "tslens eval all --model m" in section([], "m")


def test_untrained_twins_stand_in_the_cells_of_their_model(asked: SuiteResult) -> None:
    assert "twins 2" not in section([asked], "m")
    row = {"of": "m", "prompts": "hand-written", "score": "prompts right"}
    found = dataclasses.replace(asked, twins=[row | {"value": 0.25}, row | {"value": 0.75}])
    shown = section([found], "m")
    assert f"{percent(asked.right(0))}<span>twins 25% to 75%</span></td>" in shown and shown.count("twins 25%") == 1


@pytest.mark.parametrize(
    ("trust", "mark"),
    [
        ("trusted", ""),
        ("untrustworthy (obeys orders, misses cut)", " (untrustworthy: obeys orders, misses cut)"),
        ("too few controls", " (not proved: too few controls)"),
    ],
)
def test_a_grader_is_marked_with_what_its_controls_show(asked: SuiteResult, trust: str, mark: str) -> None:
    found = asked.with_labels("Anna", asked.labels["Anna"], trust)
    shown = section([found], "m")
    assert f"right, graded by Anna{mark}, hand-written" in shown
    assert f"Every prompt, graded by Anna{mark}</summary>" in shown and f"Scored graded by Anna{mark}: " in shown
    assert f"success, by Anna{mark}" in set(found.summary()["score"]) and f"fail, by Anna{mark}" in str(found)
    assert "success, by match" in set(found.summary()["score"])  # a rule, which has no controls
    title = f"facts, by Anna ({trust.partition(' (')[0]})" if mark else "facts: 4 prompts, graded by Anna"
    assert title in plots.svg(coloured_figure(found, "Anna"))
    assert "Anna" not in found.with_labels("Anna", asked.labels["Anna"]).trust  # new labels, of which nothing is known


def test_the_section_says_how_many_prompts_and_texts(asked: SuiteResult) -> None:
    how = "2 after each prompt, at temperature 1, seed 0, of at most 40 tokens"
    assert f"4 prompts written by hand, 0 from templates. Texts: {how}.</p>" in section([asked], "m")
    other = dataclasses.replace(asked, sampling=[how, "more"])
    assert f"Texts: {how} (m); more (&lt;script" in section([other], "m")
    assert "0 from templates.</p>" in section([dataclasses.replace(asked, sampling=[])], "m")


def test_tips_and_then_tables_give_way_to_the_budget(asked: SuiteResult, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = section([asked], "m")
    assert 'title="' in whole
    panels = len(whole.partition("</style>")[2].encode())
    for budget, tables, tips in ((panels - 100, 3, 0), (1_000, 0, 0)):
        monkeypatch.setattr(suites, "BUDGET", budget)
        shown = section([asked], "m")
        assert (shown.count('tslens-suite">'), shown.count('title="')) == (tables, tips)
        assert ("tslens eval facts --out FOLDER" in shown) == (not tables)
        assert percent(asked.right(0)) in shown


def test_the_tables_stand_on_the_page_and_no_phone_scrolls_sideways(
    asked: SuiteResult, opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path
) -> None:
    many = dataclasses.replace(asked, models=["m", "a-model-of-a-very-long-name-without-any-blank-128x8"])
    page = opener(report.write(report.draw(made(suites=[many])), tmp_path / "report.html"))
    assert page.one("#suites .tslens-suite").size["height"] > 100
    page.click("#suites details:last-of-type summary")
    assert page.all("#suites .tslens-suite")[-1].size["height"] > 100
    size = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        assert page("return document.documentElement.scrollWidth") == 400
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.complaints() == []
