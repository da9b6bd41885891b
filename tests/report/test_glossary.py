import html
import re
from collections.abc import Callable
from typing import Any

import pytest

from tslens import report
from tslens.report import glossary
from tslens.report.compute import ReportData


def test_the_first_of_each_word_is_explained_and_text_stays_text() -> None:
    text = 'Twins: 2 twins, 3 tail selectors, <b>nulls</b> & q = 0.01; a tail, "q" and quite positional.'
    found = glossary.explained(text)
    assert html.unescape(re.sub("<[^>]*>", "", found)) == text
    terms = re.findall(r'<a class="term" href="#(word-[\w-]+)">([^<]*)</a>', found)
    assert terms == [
        ("word-twin", "twins"),
        ("word-tail-selector", "tail selectors"),
        ("word-null", "nulls"),
        ("word-q", "q"),
        ("word-positional", "positional"),
    ]
    assert "&lt;b&gt;" in found and glossary.explained("heroles, and how well it predicts others") == (
        "heroles, and how well it predicts others"
    )


OURS = ("positional", "content-dependent", "diffuse", "twin", "q", "AUROC", "evenness")


@pytest.mark.parametrize("word", OURS)
def test_our_words_lead_to_their_meaning(word: str) -> None:
    assert glossary.explained(f"a {word} = 0.1") == f'a <a class="term" href="#word-{word.lower()}">{word}</a> = 0.1'
    assert len(glossary.WORDS[word].split()) >= 5


def test_a_longer_word_goes_before_a_shorter_one_in_it() -> None:
    (link,) = re.findall("<a [^>]*>([^<]*)</a>", glossary.explained("The logit lens."))
    assert link == "logit lens"


def test_every_link_of_a_page_has_its_meaning(made: Callable[..., ReportData]) -> None:
    page = report.draw(made())
    linked = set(re.findall(r'class="term" href="#([\w-]+)"', page))
    assert {f"word-{word}" for word in ("positional", "twin", "q", "auroc")} <= linked
    assert {"content-dependent", "diffuse", "evenness"} <= glossary.WORDS.keys()
    assert all(page.count(f'id="{place}"') == 1 for place in linked)
    assert all(html.escape(limit) in page for limit in glossary.LIMITS)


@pytest.mark.thorough
def test_a_press_on_a_word_shows_its_meaning(made: Callable[..., ReportData], opener: Any, tmp_path: Any) -> None:
    page = opener(report.write(report.draw(made(layers=1, heads=2)), tmp_path / "report.html"))
    word = page.one("#findings a.term")
    assert word.get_attribute("title").removesuffix(".") in glossary.WORDS.values()
    shown = page("return Array.from(document.querySelectorAll('a.term'), (word) => [word.hash.slice(6), word.title])")
    meanings = {word.lower().replace(" ", "-"): meaning for word, meaning in glossary.WORDS.items()}
    assert {"positional", "twin", "q"} <= {name for name, _ in shown}
    assert all(title.removesuffix(".") == meanings[name] for name, title in shown)
    page.click("#findings a.term")
    place = page("return new URLSearchParams(location.hash.slice(1)).get('at')")
    assert place.startswith("word-")
    page.until(f"document.getElementById('{place}').getBoundingClientRect().top < innerHeight")
    assert page(f"return document.getElementById('{place}').matches('.target')")
    assert page.complaints() == []
