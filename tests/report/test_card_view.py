"""The score card and the copies on the page: intervals, what is not measured, histograms, hints where there is none."""

import html
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tslens import report
from tslens.evaluation.card import NOT_MEASURED, CardResult
from tslens.evaluation.copies import CopiesResult, copies, corpora, cut_stories
from tslens.report import ReportData, card_view

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def card() -> CardResult:
    """Two models on two axes by pairs and one by texts; the second was trained on order."""
    value = torch.tensor([[0.75, 0.5, -0.25], [0.5, 0.875, 1.5]])
    rows = ["grammar, pairs", "order, pairs", "plot, texts"]
    bits, step = torch.full((2,), torch.nan), torch.full((2,), -1)
    return CardResult(
        ["m", EVIL], rows, value, value - 0.125, value + 0.125, bits, bits, bits, step, "tales.txt", [EVIL]
    )


@pytest.fixture(scope="module")
def copied(made_stories: list[str], tmp_path_factory: pytest.TempPathFactory) -> CopiesResult:
    """Endings of which the first two are those of training stories, beside the true ones."""
    cuts = cut_stories([*made_stories[:2], *made_stories[20:22]], (0.5,))
    known = corpora(made_stories[:16], tmp_path_factory.mktemp("ngrams"), source=f"made {EVIL}")
    return copies(cuts, [cut.ending for cut in cuts], known, held_out=cuts[2:], model="m")


def test_every_axis_has_its_interval_and_what_it_does_not_measure(card: CardResult) -> None:
    shown = card_view.card(card, "m")
    assert EVIL not in shown and "tales.txt" in shown and shown.count("<svg") == 2
    for cell in ("75% <span>[62%, 88%]</span>", "88% <span>[75%, 100%]</span>", "-0.25 <span>[-0.38, -0.12]</span>"):
        assert cell in shown
    assert html.escape(NOT_MEASURED["plot"]) in shown and "it is trained on this" in shown
    assert "tslens eval all --model m" in card_view.card(None, "m")


def test_bits_per_byte_and_the_5_gram_stand_beside(card: CardResult) -> None:
    assert "bits per byte" not in card_view.card(card, "m") and "5-gram" not in card_view.card(card, "m")
    bits, low = torch.tensor([0.5, torch.nan]), torch.tensor([0.25, torch.nan])
    shown = card_view.card(replace(card, bits_per_byte=bits, n_grams=[EVIL]), "m")
    row = shown.partition("<b>bits per byte</b>")[2].partition("</tr>")[0]
    assert ">0.500<" in row and ">–<" in row and "a word 5-gram of training stories" in shown and EVIL not in shown
    shown = card_view.card(replace(card, bits_per_byte=bits, bits_low=low, bits_high=low + 0.5), "m")
    assert ">0.500 <span>[0.250, 0.750]</span><" in shown


def unlinked(section: str) -> str:
    """A section without the links of its words to the glossary."""
    return re.sub('<a class="term"[^>]*>([^<]*)</a>', r"\1", section)


def test_the_settings_and_the_untrained_twins_are_said(card: CardResult, copied: CopiesResult) -> None:
    twin = replace(card, twins=[EVIL], corpus=f"80 minimal pairs {EVIL}.")
    for section, found in ((card_view.card, card), (card_view.copies, copied)):
        shown = unlinked(section(found, "m"))
        assert "No untrained twin was asked." in shown and "these weights" not in shown
    shown = unlinked(card_view.card(twin, "m"))
    assert "Untrained twins of the model" in shown and "No untrained twin" not in shown and EVIL not in shown
    assert "the last of its kind: on 80 minimal pairs" in shown
    of_twin = replace(copied, who=torch.where(copied.who == 1, 2, 0), twins=[EVIL], corpus="4 endings.")
    shown = unlinked(card_view.copies(of_twin, "m"))
    assert "on 4 endings." in shown and "has 25 words and marks" in shown and "write after the same prompts" in shown
    assert EVIL not in shown and f">{html.escape(EVIL)}</th>" in shown and "No untrained twin" not in shown


def test_copies_have_histograms_and_true_endings_beside(copied: CopiesResult) -> None:
    shown = card_view.copies(copied, "m")
    assert EVIL not in shown and html.escape(EVIL) in shown and "16 training stories" in shown
    assert shown.count("<svg") == 1 and "share of texts" in shown and "true endings, cut at 50%" in shown
    assert "exact copies, cut at 50%" in shown and "0.5 <span>[" in shown
    assert shown.count("<article>") == len(copied.shown) > 0 and "<mark>" in shown  # side by side, the span marked
    assert "tslens eval copies --model m" in card_view.copies(None, "m")


def test_both_stand_on_the_page(card: CardResult, copied: CopiesResult, made: Callable[..., ReportData]) -> None:
    page = report.draw(made(card=card, copies=copied))
    assert EVIL not in page and page.count('<section id="card"') == page.count('<section id="copies"') == 1
    assert "tales.txt" in page and "16 training stories" in page
