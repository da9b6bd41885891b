"""The page's address: a link opens what was seen, and going back shows what was there before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tslens import report
from tslens.report.compute import ReportData

# What a reader sees of every choice that a section offers.
SEEN = """
const one = (css) => document.querySelector(css), all = (css) => [...document.querySelectorAll(css)];
const field = (section, label) => all(`${section} label.field`).find((f) => f.textContent.startsWith(label)).querySelector("select, input").value;
return JSON.stringify({
  head: one(".head[aria-selected]").dataset.head, colour: field("#heads-view", "Colour by"), role: all(".legend button[aria-pressed=true]").map((b) => b.textContent),
  story: field("#heads-view", "Story"), first: one("#head-first").value, direction: one(".switch button[aria-pressed=true]").textContent,
  sheet: !!one("#head-detail .attention.layer"), large: one("#large").open, token: all("#head-detail .text .t").findIndex((t) => t.matches(".at")), hint: one("#head-detail .attention .muted:not([hidden])").textContent,
  find: one("#neuron-search").value, layer: field("#neurons-view", "Layer"), label: field("#neurons-view", "Label"), order: field("#neurons-view", "Sort"), sorted: one("#neurons-view th[aria-sort]")?.textContent + one("#neurons-view th[aria-sort]")?.ariaSort,
  rows: all("tr.row").map((r) => r.dataset.neuron), open: all("tr.row.open").map((r) => r.dataset.neuron), whole: field("#whole", "Neuron"),
  shade: field("#lens-view", "Colour by"), lensStory: field("#lens-view", "Story"), cell: one(".cell.at").dataset.i, step: one("#film-step").textContent,
});
"""  # fmt: skip # noqa: E501

CHOOSE = """
const field = (section, label) => [...document.querySelectorAll(`${section} label.field`)].find((f) => f.textContent.startsWith(label)).querySelector("select, input");
const [section, label, value] = arguments, chosen = field(section, label);
chosen.value = chosen.options ? chosen.options[value].value : value;
chosen.dispatchEvent(new Event(chosen.options ? "change" : "input", { bubbles: true }));
"""  # fmt: skip # noqa: E501


@pytest.fixture
def place(made: Callable[..., ReportData], made_film: Callable[..., Any], tmp_path: Path) -> Path:
    data = made(layers=3, heads=4, tokens=20, stories=3, film=made_film([0, 1, 4, 16]))
    return report.write(report.draw(data), tmp_path / "report.html")


@pytest.fixture
def page(opener: Callable[[Path], Any], place: Path) -> Any:
    return opener(place)


def choose(page: Any, section: str, label: str, value: int) -> None:
    """As a reader would: the option at this place, or the value of a slider."""
    page.browser.execute_script(CHOOSE, section, label, value)


def anew(page: Any, place: Path, link: str) -> str:
    """What another tab shows of a link."""
    page.browser.get("about:blank")
    page.browser.get(f"{place.as_uri()}{link}")
    page.until("document.body.dataset.ready === 'true'")
    return str(page(SEEN))


def settled(page: Any) -> str:
    """The address once it says what was chosen."""
    page.browser.execute_async_script("setTimeout(arguments[0], 300)")
    return str(page("return location.hash"))


CHOICES: dict[str, Callable[[Any], None]] = {
    "colour": lambda page: choose(page, "#heads-view", "Colour by", 2),
    "role": lambda page: page.click("#heads-view .legend button"),
    "head": lambda page: page.click(".head:not([aria-selected])"),
    "story": lambda page: choose(page, "#heads-view", "Story", 1),
    "first": lambda page: choose(page, "#heads-view", "First tokens", 9),
    "token": lambda page: page.click('#head-detail .text .t[data-i="3"]'),
    "direction": lambda page: page.click(".switch button:last-child"),
    "view": lambda page: choose(page, "#heads-view", "Show", 1),
    "find": lambda page: page.one("#neuron-search").send_keys("he"),
    "of": lambda page: choose(page, "#neurons-view", "Layer", 2),
    "label": lambda page: choose(page, "#neurons-view", "Label", 1),
    "sort": lambda page: page.click("th button[data-sort=max]"),
    "page": lambda page: page.click("button[aria-label='Next page']"),
    "neuron": lambda page: page.click("tr.row:nth-child(3) td.id button"),
    "whole": lambda page: choose(page, "#whole", "Neuron", 2),
    "shade": lambda page: choose(page, "#lens-view", "Colour by", 2),
    "layer": lambda page: page.click('.cell[data-i="22"]'),
    "step": lambda page: page(
        "const s = document.getElementById('film-slider'); s.value = 1; s.dispatchEvent(new Event('input'))"
    ),
}


@pytest.mark.parametrize("key", CHOICES)
def test_a_link_opens_each_choice(page: Any, place: Path, key: str) -> None:
    began = page(SEEN)
    CHOICES[key](page)
    link, seen = settled(page), page(SEEN)
    assert f"{key}=" in link and seen != began
    assert anew(page, place, link) == seen
    page("location.hash = ''")
    page.browser.execute_async_script("setTimeout(arguments[0], 100)")
    assert page(SEEN) == began
    assert page.complaints() == []


def test_a_link_opens_all_choices_together(page: Any, place: Path) -> None:
    for key in ("head", "story", "first", "direction", "view", "token", "sort", "find", "shade", "whole", "step"):
        CHOICES[key](page)
        settled(page)
    page.click("tr.row:nth-child(2) td.id button")
    link, seen = settled(page), page(SEEN)
    assert anew(page, place, link) == seen and page.complaints() == []


def test_a_link_to_a_section_or_a_word_keeps_what_is_chosen(page: Any, place: Path) -> None:
    CHOICES["head"](page)
    CHOICES["story"](page)
    seen = page(SEEN)
    for link in ('nav a[href="#lens"]', "#findings a.term"):
        page.click(link)
        address = settled(page)
        assert "head=" in address and "story=1" in address and "at=" in address and page(SEEN) == seen
        target = address.rpartition("at=")[2].partition("&")[0]
        assert 0 <= page(f"return document.getElementById('{target}').getBoundingClientRect().top") < 600
        assert page("return document.activeElement.id") == target  # the keyboard goes on from there
        assert anew(page, place, address) == seen


TOP = "Math.abs(document.getElementById('{}').getBoundingClientRect().top - 67) < 3"  # below the bar of sections


@pytest.mark.parametrize("name", ["lens", "neurons", "word-q"])
def test_a_fresh_link_that_only_names_a_place_goes_there(page: Any, place: Path, name: str) -> None:
    began = page(SEEN)
    assert anew(page, place, f"#{name}") == began and page(f"return {TOP.format(name)}")
    assert page("return document.activeElement.id") == name


def test_a_place_gone_to_stays_while_sections_above_grow_until_the_reader_acts(page: Any) -> None:
    """With `overflow-anchor: none`, as in Safari, and in Chromium while it scrolls smoothly."""
    page("document.documentElement.style.overflowAnchor = 'none'")
    page("document.querySelector('nav a[href=\"#lens\"]').click()")
    page("document.getElementById('model').style.paddingTop = '400px'")
    page.until(TOP.format("lens"))
    page("document.body.dispatchEvent(new Event('wheel', { bubbles: true })); scrollBy(0, 200)")
    page("document.getElementById('model').style.paddingTop = '500px'")
    settled(page)
    assert abs(page("return document.getElementById('lens').getBoundingClientRect().top") + 33) < 3


def test_back_and_forward_show_what_was_there(page: Any) -> None:
    views = [page(SEEN)]
    for link in ('ul.clearest a[href^="#head"]', 'ul.clearest a[href^="#neuron"]', 'nav a[href="#lens"]'):
        page.click(link)
        settled(page)
        views.append(page(SEEN))
    assert len(set(views)) == 3  # the last one only goes somewhere
    for step, way in ((-2, "back"), (-3, "back"), (-4, "back"), (-3, "forward"), (-2, "forward")):
        page(f"history.{way}()")
        settled(page)
        assert page(SEEN) == views[step], (step, way)


def test_another_address_leaves_nothing_of_the_one_before(page: Any, place: Path) -> None:
    for key in ("story", "first", "view", "token", "neuron", "shade"):
        CHOICES[key](page)
    settled(page)
    page("location.hash = 'head=1.0'")
    settled(page)
    seen = page(SEEN)
    assert anew(page, place, "#head=1.0") == seen


@pytest.mark.parametrize("story", ["02", "", "1.0", "x"])
def test_a_story_that_is_none_is_as_none_was_said(page: Any, story: str) -> None:
    began = page(SEEN)
    page(f"location.hash = 'story={story}'")
    settled(page)
    assert page(SEEN) == began and page("return document.querySelector('#head-absent').hidden")


def test_charts_are_legible_on_a_narrow_screen(page: Any) -> None:
    """At 400 pixels, in pixels of the screen: the font's size times the scale at which the picture is shown."""
    metrics = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page.until("document.querySelector('#depth-loss svg').viewBox.baseVal.width < 500")
        sizes = page(
            "return [...document.querySelectorAll('#depth-loss text, #depth-agreement text, #curve text')].map((t) =>"
            "parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a || 99)"
        )
        assert len(sizes) > 20 and min(sizes) > 9
        assert page("return document.documentElement.scrollWidth") <= 400
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_every_head_that_looks_is_reached_by_the_keyboard(page: Any) -> None:
    assert page("return [...document.querySelectorAll('.looks .by')].every((head) => head.tabIndex === 0)")
    head = page.one(".looks .by")
    name = head.text.split()[0]
    head.send_keys("\ue007")
    settled(page)
    assert page("return document.querySelector('.head[aria-selected]').dataset.head") == str(
        4 * int(name.split(".")[0]) + int(name.split(".")[1])
    )
