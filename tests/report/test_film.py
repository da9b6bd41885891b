"""The film of a run on its page: what moves, that it fits, and that a model's words stay words."""

import dataclasses
import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tslens import report
from tslens.analysis.heads import ROLES
from tslens.report import ReportData
from tslens.report.embed import script_json
from tslens.report.film import BUDGET, film, fitting, link, section

EVIL = "<script>alert(1)</script>"
STEPS = [0, 1, 2, 4, 8, 16]


def embedded(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def test_a_page_without_snapshots_has_no_film(made: Callable[..., ReportData]) -> None:
    page = report.draw(made())
    assert 'id="film"' not in page and "#film" not in page.partition("<script")[0].partition("<body")[2]
    assert embedded(page)["film"] is None and film([]) is None and section([]) == link([]) == ""


def test_the_film_says_what_each_snapshot_is(made_film: Callable[..., Any]) -> None:
    snapshots = made_film(STEPS)
    data = film(snapshots)
    assert data["steps"] == STEPS and data["shape"] == [2, 4]
    assert [row[0] for row in data["role"]] == [0, 1, 2, 3, 4, 5]
    assert [label["name"] for label in data["labels"]] == ["NOUN"]
    assert data["counts"] == [[[0], [0]]] * 3 + [[[16], [16]]] * 3
    assert [row[0] for row in data["values"]] == [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    assert data["texts"][3] == [f"A story. {EVIL} 4", "A story 4"]
    said = html.unescape(section(snapshots))
    assert "NOUN neurons: from step 4 [2, 4] on" in said and "at 6 steps of its training" in said
    assert "strongest induction head: never" in said


def test_scores_and_labels_of_the_film_stand_beside_untrained_twins(made_film: Callable[..., Any]) -> None:
    of_twins = {"loss": [6.0, 6.5], "heads with a role": [0, 1], "NOUN neurons": [0, 0], "induction heads": [2, 1, 12]}
    last = dataclasses.replace(made_film(STEPS)[-1], of_twins=of_twins)
    data = film([*made_film(STEPS)[:-1], last])
    assert {score["name"]: score["twins"] for score in data["scores"]}["loss"] == [6.0, 6.5]
    assert data["scores"][-1] == {"name": "heads with a role", "unit": "heads", "twins": [0.0, 1.0]}
    assert data["labels"][0]["twins"] == "0"
    assert data["roleTwins"][ROLES.index("induction")] == "1 to 12" and data["roleTwins"][0] == ""
    assert "the least and the largest of 2 untrained twins" in re.sub("<[^>]*>", "", section([last]))
    without = film(made_film(STEPS))
    assert {score["twins"] for score in without["scores"]} == {None} and not any(without["roleTwins"])
    assert "No untrained twin was measured" in re.sub("<[^>]*>", "", section(made_film(STEPS)))


def test_markup_that_a_model_writes_stays_text(made: Callable[..., ReportData], made_film: Callable[..., Any]) -> None:
    page = report.draw(made(film=made_film(STEPS)))
    assert EVIL not in page and page.count("</script>") == 3
    assert embedded(page)["film"]["texts"][0][0] == f"A story. {EVIL} 0"


def test_a_film_that_outgrows_its_megabyte_is_thinned_and_says_so(made_film: Callable[..., Any]) -> None:
    snapshots = made_film(list(range(40)), text="word " * 16_000)
    shown = fitting(snapshots)
    assert 2 < len(shown) < 40 and (shown[0].step, shown[-1].step) == (0, 39)
    assert len(script_json(film(snapshots)).encode()) <= BUDGET == 1_000_000
    assert f"{len(shown)} of 40 snapshots are here" in section(snapshots)
    assert "are here" not in section(made_film(STEPS))


def test_a_large_run_fits_whole(made_film: Callable[..., Any]) -> None:
    """12 layers of 16 heads and 3,072 neurons at 24 snapshots."""
    snapshots = made_film([0, *(2**i for i in range(23))], layers=12, heads=16, d_mlp=3072)
    assert len(fitting(snapshots)) == 24 and len(script_json(film(snapshots)).encode()) < BUDGET / 4


# In a browser that cannot reach any network.


@pytest.fixture
def opened(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], made_film: Callable[..., Any], tmp_path: Path
) -> Iterator[Any]:
    page = opener(report.write(report.draw(made(film=made_film(STEPS))), tmp_path / "report.html"))
    yield page
    assert page("return document.scripts.length") == 3 and page.complaints() == []


def to(page: Any, place: int) -> None:
    page(f"const s = document.getElementById('film-slider'); s.value = {place}; s.dispatchEvent(new Event('input'))")


def test_the_slider_moves_heads_neurons_lens_and_story(opened: Any) -> None:
    assert opened.one("#film-step").text == "step 16 of 16"  # the film opens at its end
    widths = "return [...document.querySelectorAll('#film-view .plot rect[fill]')].map((r) => r.getAttribute('width'))"
    for place in (0, 3, 5):
        to(opened, place)
        shown = opened.one("#film-view").get_attribute("textContent")
        assert f"step {STEPS[place]} of 16" in shown and f"A story. {EVIL} {STEPS[place]}" in shown
        assert opened("return document.querySelector('#film-view rect title').textContent").endswith(ROLES[place])
        assert (opened(widths)[0] == "0") is (place < 3)
        assert f"step {STEPS[place]}" in opened("return document.querySelectorAll('#film-view .plot')[2].textContent")


def test_the_film_plays_to_its_end_and_stops(opened: Any) -> None:
    to(opened, 3)
    opened.click("#film-play")
    assert opened.one("#film-play").text == "Pause"
    opened.until("document.getElementById('film-step').textContent === 'step 16 of 16'")
    opened.until("document.getElementById('film-play').textContent === 'Play'")
    opened.click("#film-play")  # from the beginning again
    opened.until("document.getElementById('film-step').textContent.startsWith('step 0')")
    opened.click("#film-play")
    assert opened.one("#film-play").text == "Play"


def test_the_level_of_untrained_twins_is_drawn(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], made_film: Callable[..., Any], tmp_path: Path
) -> None:
    of_twins = {"loss": [4.0, 8.0], "NOUN neurons": [3, 5]}
    film = [dataclasses.replace(snapshot, of_twins=of_twins) for snapshot in made_film(STEPS)]
    page = opener(report.write(report.draw(made(film=film)), tmp_path / "report.html"))
    assert "untrained twins: 4.000 to 8.000" in page.one("#film-view .scores").get_attribute("textContent")
    style = page.one("#film-view .meter .twins").get_attribute("style")
    assert "left: 50%" in style and "right: 0%" in style
    assert "NOUN 32 (twins: 3 to 5)" in page.one("#film-view").get_attribute("textContent")
    assert page.complaints() == []
