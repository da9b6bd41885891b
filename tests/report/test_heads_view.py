"""The heads of a page in a browser: first tokens, all heads of a layer, where all heads look, and the large view."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tslens import report
from tslens.report import ReportData
from tslens.report import page as page_module

LAYERS, HEADS, TOKENS = 3, 4, 20


@pytest.fixture
def opened(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path
) -> Iterator[tuple[Any, ReportData]]:
    """A page of three layers of four heads and two stories of 20 tokens; afterwards nothing complained."""
    data = made(layers=LAYERS, heads=HEADS, tokens=TOKENS, stories=2)
    page = opener(report.write(report.draw(data), tmp_path / "report.html"))
    yield page, data
    assert page.complaints() == []
    assert {url.partition(":")[0] for url in page.requests()} <= {"file", "data", "blob"}


def choose(page: Any, css: str, value: object) -> None:
    page(f"const s = document.querySelector({css!r}); s.value = {value!r}; s.dispatchEvent(new Event('change'))")


def slide(page: Any, first: int) -> None:
    page(f"const s = document.querySelector('#head-first'); s.value = {first}; s.dispatchEvent(new Event('input'))")


LAYER = "#head-detail select"
PIXELS = """
const canvas = document.querySelector(arguments[0]);
return [canvas.width, ...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data];
"""


def shades(page: Any, css: str) -> list[list[int]]:
    """The opacity of every pixel of a canvas, row after row: 255 times the root of the weight."""
    n, *data = page.browser.execute_script(PIXELS, css)
    return [[data[4 * (i * n + j) + 3] for j in range(n)] for i in range(n)]


def test_a_slider_shows_the_first_tokens(opened: tuple[Any, ReportData]) -> None:
    page, _ = opened
    slide(page, 7)
    assert len(page.all("#head-detail .text .t")) == 7
    assert "7 of 20" in page.one("#heads-view").text
    assert page.until("location.hash.includes('first') && location.hash") == "#first=7"
    page.one("#head-first").send_keys("\ue014")  # right
    assert len(page.all("#head-detail .text .t")) == 8
    slide(page, TOKENS)
    assert len(page.all("#head-detail .text .t")) == TOKENS
    page.until("!location.hash.includes('first')")


def test_all_heads_of_a_layer_are_shown_at_once(opened: tuple[Any, ReportData]) -> None:
    page, data = opened
    page.click('.head[data-head="6"]')
    choose(page, LAYER, "layer")
    assert [button.get_attribute("data-sheet") for button in page.all("#head-sheet button")] == ["4", "5", "6", "7"]
    assert page.one('#head-sheet [aria-pressed="true"]').get_attribute("data-sheet") == "6"
    for head in range(HEADS):
        weights = data.patterns[0].pattern[1, head]
        expected = (255 * weights.tril().sqrt()).round().int().tolist()
        assert shades(page, f'[data-sheet="{HEADS + head}"] canvas') == expected
    page.click('[data-sheet="5"]')
    assert page.one('.head[aria-selected="true"]').get_attribute("data-head") == "5"
    assert page.one("#head-detail h3").text.startswith("Layer 1, head 1")
    slide(page, 5)
    assert len(shades(page, '[data-sheet="5"] canvas')) == 5
    page.click('.head[data-head="11"]')
    assert page.one("#head-sheet button").get_attribute("data-sheet") == "8"
    choose(page, LAYER, "head")
    assert page.one("#head-sheet").is_displayed() is False
    assert page.one("#head-matrix").is_displayed()


def test_a_token_shows_where_all_heads_look(opened: tuple[Any, ReportData]) -> None:
    page, data = opened
    choose(page, LAYER, "layer")
    page.one("#head-detail .text").send_keys("\ue012" * 8)  # left, from the last token: 11
    pattern, at = data.patterns[0].pattern, TOKENS - 9
    best = pattern[:, :, at, : at + 1].max(-1)
    said = page.one("#head-looks").get_attribute("textContent")
    assert said.startswith(f"Where all {LAYERS * HEADS} heads look most from") and f"({at})" in said
    for layer in range(LAYERS):
        for head in range(HEADS):
            assert f"{layer}.{head} " in said
    rows = [row.get_attribute("textContent") for row in page.all(".looks li")]
    for row in rows:
        key = int(row.split("”")[1].split("(")[1].split(")")[0])
        those = row.split(")", 1)[1].split()[1:]
        heads = [tuple(map(int, name.split("."))) for name in those[::2]]
        assert all(int(best.indices[of]) == key for of in heads), row
        shares = [int(share.removesuffix("%")) for share in those[1::2]]
        assert all(abs(share - 100 * float(best.values[of])) < 1.1 for share, of in zip(shares, heads, strict=True))
    layer = int(page.one("#head-sheet b").text.split(".")[0])
    looks = [look.text for look in page.all("#head-sheet .look")]
    assert all(f"({int(best.indices[layer, head])})" in looks[head] for head in range(HEADS))
    assert page("return document.querySelector('.map .row').style.getPropertyValue('--at')") == str(at)

    page.click('[aria-label="Direction of attention"] button:last-child')
    column = pattern[:, :, at:, at].argmax(-1) + at
    looks = [look.text for look in page.all("#head-sheet .look")]
    assert all(looks[h].startswith("←") and f"({int(column[layer, h])})" in looks[h] for h in range(HEADS))
    page.click(".looks .by")
    name = page.one(".looks .by").text.split()[0]
    assert page.one("#head-detail h3").text.startswith("Layer {}, head {}".format(*name.split(".")))


def test_pointing_at_a_map_chooses_its_row(opened: tuple[Any, ReportData]) -> None:
    from selenium.webdriver import ActionChains

    page, _ = opened
    choose(page, LAYER, "layer")
    place = page.one("#head-sheet .map")
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", place)
    side = place.size["height"]
    ActionChains(page.browser).move_to_element_with_offset(place, 0, int(3.5 * side / TOKENS - side / 2)).perform()
    assert page("return document.querySelector('#head-detail .text .at').dataset.i") == "3"
    assert "(3)" in page.one("#head-looks h4").text


def test_the_large_view_is_zoomed_read_and_closed(opened: tuple[Any, ReportData]) -> None:
    page, data = opened
    page.click('.head[data-head="6"]')
    slide(page, 10)
    page.click("#head-large")
    assert page("return document.querySelector('#large').open")
    assert page.one("#large h3").text.startswith("Layer 1, head 2")
    assert len(page.all(".plane .down span")) == 10
    width = "document.querySelector('.plane canvas').getBoundingClientRect().width"
    fit = page(f"return {width}")
    canvas = page.one(".plane canvas")
    canvas.send_keys("+")
    assert page(f"return {width}") == pytest.approx(min(1.3 * fit, 480), rel=0.01)
    page.click('#large [aria-label="Smaller"]')
    page.click('#large [aria-label="Smaller"]')
    assert page(f"return {width}") < fit
    canvas.send_keys("0")
    assert page(f"return {width}") == pytest.approx(fit, abs=1)
    j = int(data.patterns[0].pattern[1, 2, 9, :10].argmax())
    assert re.search(rf"\(9\) looks at “.*” \({j}\) with ", page.one("#large .readout").text)
    canvas.send_keys("\ue013" * 9)  # up, to the first row
    canvas.send_keys("\ue014" * 10)  # right, to its end
    assert "(0) stands before" in page.one("#large .readout").text and "(9)" in page.one("#large .readout").text
    page.click('#large [aria-label="Next head"]')
    assert page.one("#large h3").text.startswith("Layer 1, head 3")
    page.until("location.hash.includes('view=large')")
    page.click('#large [aria-label^="Full screen"]')
    page.until("document.fullscreenElement !== null")
    page.click('#large [aria-label="Close the large view"]')
    page.until("document.fullscreenElement === null && !document.querySelector('#large').open")
    page.until("!location.hash.includes('view')")


@pytest.mark.parametrize("width", [400, 1200])
def test_the_large_view_fits_whole_whatever_its_words(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path, width: int
) -> None:
    """At once, and after every cell that is read: the height of the words below the matrix does not change."""
    data = made(layers=1, heads=1, tokens=120, stories=1)
    page = opener(report.write(report.draw(data), tmp_path / "report.html"))
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    room = (
        "const { scrollHeight, clientHeight, scrollWidth, clientWidth } = document.querySelector('#large .scroller');"
    )
    side = "document.querySelector('.plane canvas').getBoundingClientRect().width"
    try:
        page.click("#head-large")
        opened_at = page(f"return {side}")
        assert page(f"{room} return scrollHeight <= clientHeight && scrollWidth <= clientWidth")
        for key in "\ue013\ue014\ue013":  # up, right to a token that comes later, up
            page.one(".plane canvas").send_keys(key)
            assert page(f"{room} return scrollHeight <= clientHeight && scrollWidth <= clientWidth")
        page.click('#large [aria-label="Fit into the window"]')
        assert page(f"return {side}") == opened_at > 300
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_link_opens_the_sheet_or_the_large_view(opened: tuple[Any, ReportData], tmp_path: Path) -> None:
    page, _ = opened
    place = (tmp_path / "report.html").as_uri()
    page.browser.get(f"{place}?1#head=2.1&story=1&token=4&first=9&view=layer")
    page.until("document.body.dataset.ready === 'true'")
    assert page.one('#head-sheet [aria-pressed="true"]').get_attribute("data-sheet") == "9"
    assert page("return document.querySelector('#head-detail .text .at').dataset.i") == "4"
    assert len(page.all("#head-detail .text .t")) == 9
    page.browser.get(f"{place}?2#view=large&first=6")
    page.until("document.body.dataset.ready === 'true'")
    assert page("return document.querySelector('#large').open") and len(page.all(".plane .down span")) == 6
    page.one(".plane canvas").send_keys("\ue00c")  # escape
    page.until("!document.querySelector('#large').open")
    for wrong in ("view=<b>", "first=-1", "first=1e9", "first=0", "first=99999&view=toString"):
        page(f"location.hash = {wrong!r}")
    assert 2 <= len(page.all("#head-detail .text .t")) <= TOKENS


@pytest.mark.parametrize("width", [390, 1400])
def test_no_view_of_heads_sticks_out(opened: tuple[Any, ReportData], width: int) -> None:
    page, _ = opened
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        choose(page, LAYER, "layer")
        assert page.until(f"innerWidth === {width} && document.documentElement.scrollWidth") <= width
        page.click("#head-large")
        buttons = "[...document.querySelectorAll('#large .bar *')]"
        assert page(f"return Math.max(...{buttons}.map((n) => n.getBoundingClientRect().right))") <= width
        canvas = "document.querySelector('.plane canvas').getBoundingClientRect()"
        assert page(f"return {canvas}.right") <= width
        page("document.querySelector('#large').close()")
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_story_whose_attention_was_left_out_is_said(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lens shows the second story of three, whose attention found no room; the heads say so until they move."""
    fit = page_module._fit

    def without_the_second(*given: Any) -> Any:
        found = fit(*given)
        return replace(found, attended=(found.attended[0], 0, found.attended[2]))

    monkeypatch.setattr(page_module, "_fit", without_the_second)
    data = made(layers=LAYERS, heads=HEADS, tokens=TOKENS, stories=3)
    page = opener(report.write(report.draw(data), tmp_path / "report.html"))
    shown = page.one("#head-detail .text").text
    assert not page.one("#head-absent").is_displayed()
    page("location.hash = 'story=1'")
    page.until("!document.querySelector('#head-absent').hidden")
    titles = page("return JSON.parse(document.querySelector('#data').textContent).stories.map((s) => s.title)")
    said = f"The attention of {titles[1]} is not on this page; the heads still show {titles[0]}."
    assert page.one("#head-absent").text == said and page.one("#head-detail .text").text == shown
    page("location.hash = 'story=2'")
    page.until("document.querySelector('#head-absent').hidden")
    assert page.one("#head-detail .text").text != shown
    for wrong in ("story=1e9", "story=constructor", "story=-1"):
        page(f"location.hash = {wrong!r}")
    assert not page.one("#head-absent").is_displayed() and page.complaints() == []


def test_a_page_without_attention_has_no_such_controls(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path
) -> None:
    page = opener(report.write(report.draw(made(), budget=0), tmp_path / "report.html"))
    assert not page.all("#head-first") and not page.all("#head-large") and not page.all("#large")
    page("location.hash = 'view=layer&first=5'")
    page.click('.head[data-head="3"]')
    assert page.complaints() == []
