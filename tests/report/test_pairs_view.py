"""Minimal pairs on the page: every phenomenon with its interval, axis and mark, the means, and what was left out."""

import html
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tslens import report
from tslens.evaluation.pairs import PairsResult
from tslens.report import ReportData, pairs_view

EVIL = "<script>alert(1)</script>"
N = 8
"""Pairs of each phenomenon."""


@pytest.fixture(scope="module")
def scored() -> PairsResult:
    """Three phenomena under a model, another one, and a 5-gram, which is right in the first alone."""
    paradigm = torch.arange(3).repeat_interleave(N)
    right = torch.tensor([[6, 4, 8], [8, 8, 8], [8, 4, 0]]).repeat_interleave(N, 1) > torch.arange(N).repeat(3)
    unequal = torch.zeros(3, 3 * N, dtype=torch.bool)
    unequal[0, : N // 2] = True
    return PairsResult(
        pairs="ours", scorers=["m", EVIL, "5-gram"], n_grams=["5-gram"],
        paradigms=["agreement", f"has {EVIL}", "order"], axes=["grammar", EVIL, "order"],
        goods=[f"good {EVIL}"] * 3 * N, bads=["bad"] * 3 * N, paradigm=paradigm, item=torch.arange(3 * N),
        good=right.double(), bad=torch.full((3, 3 * N), 0.5, dtype=torch.float64), unequal=unequal,
        identical=0, unknown=1234, too_long=5, trained_on_order=["m"],
    )  # fmt: skip


def row(shown: str, name: str) -> str:
    return shown.partition(f"<b>{html.escape(name)}</b>")[2].partition("</tr>")[0]


def test_every_phenomenon_has_its_interval_axis_and_mark(scored: PairsResult) -> None:
    shown = pairs_view.section([scored], "m")
    assert EVIL not in shown and shown.count("<svg") == 1 and f">{html.escape(EVIL)}</th>" in shown
    first, second = (row(shown, name) for name in scored.paradigms[:2])
    assert ">grammar<" in first and ">local<" in first and f">{N}<" in first
    assert f">{html.escape(EVIL)}<" in second and ">local<" not in second
    for scorer in scored.scorers:
        for name in scored.paradigms:
            share = scored.score(scorer, name)
            cell = f"{share.estimate:.0%} <span>[{share.low:.0%}, {share.high:.0%}]</span>"
            assert f'data-label="{html.escape(scorer)}">{cell}</td>' in row(shown, name)
    assert "stands beside; a phenomenon in which it scores 90% or more is local" in shown
    assert f"{3 * N} pairs of 3 phenomena" in shown
    assert "Left out: 1,234 have words that the given stories lack, 5 are longer than a model" in shown


def test_means_leave_order_out_and_lengths_stand_apart(scored: PairsResult) -> None:
    shown = pairs_view.section([scored], "m").partition("Over all phenomena")[2]
    own, other = row(shown, "m"), row(shown, EVIL)
    assert '"mean">62% <span>[' in own and '"mean">100% <span>[' in other
    assert '"order">100% <span>[' in own and "it is trained on this" in own and "it is trained on this" not in other
    assert '"unequal length">100% <span>[' in own and "<span>4 pairs</span>" in own
    assert '"equal length">50% <span>[' in own and "<span>12 pairs</span>" in own
    assert '"unequal length">–<span>0 pairs</span>' in other


def test_without_a_5_gram_nothing_is_local_and_without_pairs_a_command_is_named(scored: PairsResult) -> None:
    shown = pairs_view.section([replace(scored, n_grams=[])], "m")
    assert "No word 5-gram stands beside" in shown and ">local</td>" not in shown
    assert "tslens eval pairs --model m scores them" in pairs_view.section([], "m")


def test_pairs_of_others_follow_ours(scored: PairsResult) -> None:
    shown = pairs_view.section([scored, replace(scored, pairs=f"b{EVIL}", unknown=7)], "m")
    first, of_others = shown.split("<h3>Pairs of others: ")
    assert EVIL not in shown and of_others.startswith(f"b{html.escape(EVIL)}</h3>") and shown.count("<svg") == 2
    assert "Left out: 1,234 have words" in first and "Left out: 7 have words" in of_others
    assert row(first, "agreement") == row(of_others, "agreement") != ""


def test_it_stands_on_the_page(scored: PairsResult, made: Callable[..., ReportData]) -> None:
    page = report.draw(made(pairs=[scored]))
    assert EVIL not in page and page.count('<section id="pairs"') == 1 and '<a href="#pairs">Minimal pairs</a>' in page
    assert "tslens eval pairs" not in page and "tslens eval pairs --model" in report.draw(made())
