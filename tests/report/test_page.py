import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tslens import report, stats
from tslens.audit import Verdict
from tslens.report import ReportData
from tslens.report.embed import unpack
from tslens.report.neurons import best_supported
from tslens.report.page import BUDGET
from tslens.report.shell import bundle

EVIL = "<script>alert(1)</script>"


def embedded(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def test_markup_in_any_text_stays_text(made: Callable[..., ReportData]) -> None:
    page = report.draw(made(given=EVIL))
    assert EVIL not in page
    assert html.escape(EVIL) in page and html.escape(f"--model {EVIL}") in page
    assert page.count("<script") - bundle().count("<script") == 3  # the data, CircuitsVis, the page's own
    assert page.count("</script>") == 3
    assert EVIL in embedded(page)["vocabulary"]


def test_a_long_path_breaks_where_its_card_ends(made: Callable[..., ReportData]) -> None:
    page = report.draw(made())
    assert re.search(r"ol\.findings li *\{[^}]*overflow-wrap: *anywhere", page)
    assert re.search(r"\bp *\{[^}]*overflow-wrap: *break-word", page)


def test_the_first_line_says_which_stories_were_read(made: Callable[..., ReportData]) -> None:
    data = replace(made(stories=3), source="tales.txt, 9 stories", remark="It was trained on <others>.")
    first = re.search(r'<p class="eyebrow">(.*?)</p>', report.draw(data))
    said = f"read on {len(data.loss.nats)} stories: tales.txt, 9 stories. It was trained on &lt;others&gt;."
    assert first is not None and first[1] == f"<b>tslens report</b> {said}"


def test_unknown_tokens_stand_beside_bits_per_byte(made: Callable[..., ReportData]) -> None:
    data = made(stories=3)
    assert "unknown to the tokenizer" not in report.draw(data)
    assert "unknown to the tokenizer, so that" in report.draw(replace(data, loss=replace(data.loss, unknown=1)))


def test_the_page_names_no_other_place(made: Callable[..., ReportData]) -> None:
    page = report.draw(made()).replace(bundle(), "")
    assert re.findall(r"https?://[^\s\"'<]+", page) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"\b(src|href)=[\"'](?!#|data:)", page.partition('<script type="application/json"')[0])
    assert "default-src 'none'" in page
    assert "unsafe-eval" not in page


def test_circuitsvis_is_there_once_and_whole(made: Callable[..., ReportData]) -> None:
    page = report.draw(made())
    assert page.count("var CircuitsVis=") == 1
    assert page.count("Permission is hereby granted, free of charge") == page.count("Copyright (c)") == 1
    assert "sourceMappingURL" not in page


def test_the_same_answers_give_the_same_page(made: Callable[..., ReportData]) -> None:
    data = made()
    assert report.draw(data) == report.draw(data)


@pytest.fixture(scope="module")
def large(made: Callable[..., ReportData]) -> tuple[str, ReportData]:
    """The page of 12 layers of 8 heads and 2,048 neurons: random numbers hardly deflate, a trained model's do more."""
    data = made(layers=12, heads=8, tokens=128, d_mlp=2048, ranks=20, stories=3)
    return report.draw(data), data


@pytest.mark.thorough
def test_twelve_layers_of_eight_heads_at_128_tokens_fit_the_budget(large: tuple[str, ReportData]) -> None:
    page, data = large
    assert 0.97 * BUDGET <= len(page.encode()) - len(bundle().encode()) <= BUDGET == 2_000_000
    content = embedded(page)
    assert content["stories"][0]["attended"] == 128
    neurons, full = content["neurons"], unpack(content["neurons"]["full"])
    assert len(unpack(neurons["label"])) == len(unpack(neurons["max"])) == 12 * 2048
    assert full.tolist() == sorted(best_supported(data.neurons.profiles)[: len(full)]) and len(full) >= 500
    assert len(unpack(neurons["tops"])) == 20 * len(full) + neurons["rest"] * (12 * 2048 - len(full))
    assert neurons["rest"] >= 1 and len(unpack(neurons["promoted"])) == 5 * len(full)
    assert f"That is here for the {len(full):,} neurons" in page and f"for {len(full):,} of 24,576 neurons" in page


def test_a_page_of_24576_neurons_works(
    large: tuple[str, ReportData], opener: Callable[[Path], Any], tmp_path: Path
) -> None:
    text, data = large
    page = opener(report.write(text, tmp_path / "report.html"))
    page.until("document.querySelector('#head-matrix canvas')?.width > 100")  # what it draws moves what is below
    full = set(unpack(embedded(text)["neurons"]["full"]).tolist())
    one, other = min(full), min(set(range(12 * 2048)) - full)
    for n, contexts in ((one, 20), (other, embedded(text)["neurons"]["rest"])):
        search = page.one("#neuron-search")
        search.clear()
        search.send_keys(f"{n // 2048}.{n % 2048}")
        page.until(f"document.querySelector('tr.row:only-child td.id')?.textContent === '{n // 2048}.{n % 2048}'")
        page.click("tr.row td.id button")
        strongest = f"{float(data.neurons.profiles.top_values.flatten(0, 1)[n, 0]):.2f}"
        first = "document.querySelector('tr.more ol:first-of-type li')?.innerText"
        page.until(f"{first}?.trim().split(/\\s+/)[0] === '{strongest}'")
        shown = page.all("tr.more ol:first-of-type")[0].find_elements("tag name", "li")
        assert len(shown) == contexts
        assert ("Drawn at random" in page.one("tr.more").get_attribute("textContent")) is (n in full)
    assert page.complaints() == []


def test_what_is_cut_is_said(made: Callable[..., ReportData]) -> None:
    data = made(tokens=64, stories=3, d_mlp=128, ranks=20)
    page = report.draw(data)
    whole = len(page.encode()) - len(bundle().encode())
    assert "Attention is here for" not in page and "That is here for" not in page and "in full for" not in page
    assert "beside samples that nobody chose" in page
    for less, least, most, rest in ((20_000, 256, 256, 0), (64_000, 30, 100, 3)):
        page = report.draw(data, budget=whole - less)
        assert len(page.encode()) - len(bundle().encode()) <= whole - less
        content = embedded(page)
        assert [story["attended"] for story in content["stories"]] == [64, 0, 0]
        assert "Attention is here for 1 of 3 stories" in page
        full = len(unpack(content["neurons"]["full"]))
        assert least <= full <= most and content["neurons"]["rest"] == rest
        assert (f"That is here for the {full} neurons" in page) is (full < 256)
        assert (f"in full for {full} of 256 neurons" in page) is (full < 256)
        assert ("of the others the page holds the 3 strongest contexts" in page) is (full < 256)
    page = report.draw(data, budget=0)  # what cannot be cut stays, and nothing is promised
    assert "Attention is here for 0 of 3 stories" in page and "The page holds no context of each" in page
    assert "open a row to see them" not in page


def test_a_model_without_a_record_or_roles_is_drawn(made: Callable[..., ReportData]) -> None:
    page = report.draw(made(metrics=(), config={}))
    assert "carries no record of its training" in page


@pytest.mark.parametrize(
    ("known", "shown"),
    [({"validation_loss": 1.985}, "1.985 nats"), ({"bits_per_byte": 0.782}, "0.782 bits per byte"), ({}, None)],
)
def test_a_model_that_was_saved_with_some_facts(
    made: Callable[..., ReportData], known: dict[str, float], shown: str | None
) -> None:
    page = report.draw(made(config=known))
    assert (shown is None) == ("validation, at the end" not in page)
    assert shown is None or f">{shown}<" in page


def test_both_validation_losses_say_of_what_they_are(made: Callable[..., ReportData]) -> None:
    config = {"recipe": {"train": {"validation_stories": 300}}, "data": {"validation_stories": 722}}
    page = report.draw(made(config=config | {"validation_loss": 1.985, "bits_per_byte": 0.782}))
    assert "Validation along the way: the first 300 validation stories." in page
    assert "1.985 nats, 0.782 bits per byte over 722 stories" in page


def test_written_whole_or_not_at_all(tmp_path: Path) -> None:
    place = report.write("a page", tmp_path / "deep" / "report.html")
    assert place.read_text() == "a page"
    assert [p.name for p in place.parent.iterdir()] == ["report.html"]


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    report.check_writable(tmp_path / "new" / "report.html")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="is a folder"):
        report.check_writable(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot be written"):
        report.check_writable(tmp_path / "file" / "report.html")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("llama2c:a/stories260K.bin,b/tok.bin", "stories260K"),
        ("hf:roneneldan/TinyStories-1M", "TinyStories-1M"),
        ("runs/demo/", "demo"),
        ("../../x y", "x_y"),
        ("..", "model"),
    ],
)
def test_what_a_model_is_called(given: str, shown: str) -> None:
    assert report.display_name(given) == shown


# In a browser that cannot reach any network.


@pytest.fixture
def opened(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path
) -> Iterator[tuple[Any, ReportData]]:
    """A drawn page, opened from disk; afterwards: nothing complained, nothing left the page, nothing was run."""
    data = made(layers=3, heads=4, tokens=20, stories=2)
    place = report.write(report.draw(data), tmp_path / "report.html")
    page = opener(place)
    yield page, data
    assert page("return document.scripts.length") == 3
    assert page.complaints() == []
    assert {url.partition(":")[0] for url in page.requests()} <= {"file", "data", "blob"}


def test_a_click_on_a_head_opens_its_attention(opened: tuple[Any, ReportData]) -> None:
    page, data = opened
    page.click('.head[data-head="6"]')
    assert page.one("#head-detail h3").text.startswith("Layer 1, head 2")
    assert page.one('.head[aria-selected="true"]').get_attribute("data-head") == "6"
    row = data.patterns[0].pattern[1, 2, -1]
    best = int(row.argmax())
    assert re.search(rf"looks at “.*” \({best}\) {float(row[best]):.0%}", page.one("#head-detail").text)
    page.until("document.querySelector('#head-matrix canvas')?.width > 100")  # CircuitsVis drew its matrix


def test_arrow_keys_move_over_the_map_and_one_matrix_is_kept(opened: tuple[Any, ReportData]) -> None:
    page, _ = opened
    page.click('.head[data-head="0"]')
    for key, expected in (("\ue014", "1"), ("\ue015", "5"), ("\ue012", "4"), ("\ue013", "0"), ("\ue013", "0")):
        page.browser.switch_to.active_element.send_keys(key)  # right, down, left, up, up
        assert page.one('.head[aria-selected="true"]').get_attribute("data-head") == expected
    page.until("document.querySelectorAll('#head-matrix canvas').length === 1")


def test_another_story_is_shown(opened: tuple[Any, ReportData]) -> None:
    page, data = opened
    page("const s = document.querySelector('#heads-view select'); s.value = 1; s.dispatchEvent(new Event('change'))")
    shown = page.one("#head-detail .text").get_attribute("textContent")
    assert shown.replace("↵", "").replace("\n", "") == "".join(data.patterns[1].tokens).replace("\n", "")


def test_typing_searches_the_neurons(opened: tuple[Any, ReportData]) -> None:
    page, data = opened
    search = page.one("#neuron-search")
    assert len(page.all("tr.row")) == 25
    search.send_keys("dog")
    pieces = data.neurons.profiles.pieces
    having = [
        [any("dog" in pieces[t] for t in row) for row in layer] for layer in data.neurons.profiles.top_tokens.tolist()
    ]
    expected = sum(map(sum, having))
    page.until(f"document.getElementById('neuron-count').textContent.includes('of {expected} neurons')")
    search.clear()
    search.send_keys("1.17")
    page.until("document.querySelectorAll('tr.row').length === 1")
    assert page.one("td.id").text == "1.17"
    search.clear()
    search.send_keys(EVIL)
    page.until("document.getElementById('neuron-count').textContent.includes('neurons')")
    search.clear()
    search.send_keys("zyzzyva")
    page.until("document.querySelector('.empty') !== null")


def test_what_several_tokens_say_together_is_found(opened: tuple[Any, ReportData]) -> None:
    page, data = opened
    pieces, rows = data.neurons.profiles.pieces, data.neurons.profiles.top_contexts[:, :, 0].flatten(0, 1).tolist()
    together = ("".join(pieces[t] for t in row[4:6]).strip().lower() for row in rows if row[4] > 0)
    typed = next(
        text
        for text in together
        if re.fullmatch("[a-z][a-z ]{3,}", text) and not any(text in piece.lower() for piece in pieces)
    )
    search = page.one("#neuron-search")
    search.clear()
    search.send_keys(typed)
    count = "document.getElementById('neuron-count').textContent"
    page.until(f"!{count}.includes(' of {len(rows):,} neurons')")
    assert not page.all(".empty") and page.all("tr.row")


def test_a_click_sorts_turns_the_page_and_opens_a_neuron(opened: tuple[Any, ReportData]) -> None:
    page, data = opened
    page.click('[data-sort="max"]')
    greatest = [row.get_attribute("data-neuron") for row in page.all("tr.row")[:3]]
    order = data.neurons.profiles.max.flatten().argsort(descending=True, stable=True).tolist()
    assert greatest == [str(n) for n in order[:3]]
    page.click('[data-sort="max"]')
    assert page.one("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.click('[aria-label="Next page"]')
    assert page.one("#neuron-count").text.startswith("26–50 of 96")
    page.click("tr.row td.id button")
    n = int(page.one("tr.row.open").get_attribute("data-neuron"))
    peaks = [mark.get_attribute("textContent") for mark in page.all("tr.more ol:first-of-type li mark")]
    layer, index = divmod(n, 32)
    token = data.neurons.profiles.pieces[int(data.neurons.profiles.top_tokens[layer, index, 0])]
    assert peaks[0] == (token.lstrip(" ").replace("\n", "↵") or "␣")


def test_a_neuron_that_fires_on_newlines_is_named_so(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path
) -> None:
    """Not as a space: in its label, among its top tokens, and where it is searched."""
    data = made()
    answer, newline = data.neurons.profiles, data.neurons.profiles.pieces.index("\n")
    answer.label[0], answer.by_word[0], answer.word[0] = -1, True, newline
    answer.top_contexts[1, :, :, 5] = answer.top_tokens[1] = newline
    page = opener(report.write(report.draw(data), tmp_path / "report.html"))
    page.one("#neuron-search").send_keys("0.3")
    page.until("document.querySelectorAll('tr.row').length === 1")
    assert page.one("tr.row td:nth-child(2)").text.startswith("token: newline")
    search = page.one("#neuron-search")
    search.clear()
    search.send_keys("1.3")
    page.until("document.querySelector('tr.row td.id').textContent === '1.3'")
    assert "newline" in [word.text for word in page.all("tr.row td.words .word")]
    search.clear()
    search.send_keys("newline")
    page.until(
        "[...document.querySelectorAll('tr.row')].filter((r) => r.textContent.includes('token: newline')).length > 5"
    )
    assert page.complaints() == []


def test_neurons_are_shown_in_whole_stories(opened: tuple[Any, ReportData], tmp_path: Path) -> None:
    page, data = opened
    whole = data.neurons.whole
    assert whole is not None
    options = page("return [...document.querySelectorAll('#whole option')].map((option) => option.textContent)")
    assert [option.partition(":")[0] for option in options] == [f"{a}.{b}" for a, b in whole.chosen]
    assert options[0] == "2.0: first of layer 2" and options[2] == "1.0: first of layer 1"
    assert any(option.endswith("largest activation of all") for option in options)

    i = 2
    page(f"const s = document.querySelector('#whole select'); s.value = {i}; s.dispatchEvent(new Event('change'))")
    page.until("location.hash.includes('whole=1.0')")
    stories = page.all("#whole .story")
    assert len(stories) == 2
    for story, tokens in enumerate(whole.tokens):
        text = stories[story].get_attribute("textContent").replace("↵", "").replace("\n", "")
        assert text == "".join(tokens).replace("\n", "")
        values = whole.of_story(story)[i]
        most = int(stories[story].find_element("css selector", ".most").get_attribute("data-pos"))
        assert float(values[most]) == pytest.approx(float(values[1:].max()), abs=0.05)
    stories[1].send_keys("\ue014" * 3)  # right
    read = page.one("#whole .readout").text
    assert read.startswith("Story 2, ") and "(3): " in read
    assert float(read.rpartition(" ")[2]) == pytest.approx(float(whole.of_story(1)[i, 3]), abs=0.03)
    signs = page("return [...document.querySelectorAll('#whole .story')[1].children].map((t) => t.matches('.below'))")
    for value, below in zip(whole.of_story(1)[i].tolist(), signs, strict=True):
        assert below is (value < 0) or abs(value) < 0.05

    page.browser.get(f"{(tmp_path / 'report.html').as_uri()}?again#whole={'.'.join(map(str, whole.chosen[1]))}")
    page.until("document.body.dataset.ready === 'true'")
    assert page("return document.querySelector('#whole select').value") == "1"
    page.click("#whole a")
    page.until("document.querySelector('tr.row.open') !== null")
    assert page.one("tr.row.open td.id").text == ".".join(map(str, whole.chosen[1]))


def test_the_interval_of_a_share_is_that_of_the_analysis(opened: tuple[Any, ReportData]) -> None:
    """The page holds the share and the number of words, and works the interval out."""
    page, data = opened
    answer = data.neurons.profiles
    layer, neuron = map(int, ((answer.label >= 0) & (answer.distinct > 1)).nonzero()[0])
    words = int(answer.distinct[layer, neuron])
    expected = stats.wilson(round(words * float(answer.share[layer, neuron])), words)
    page.one("#neuron-search").send_keys(f"{layer}.{neuron}")
    page.until("document.querySelectorAll('tr.row').length === 1")
    page.click("tr.row td.id button")
    said = page.one("tr.more").get_attribute("textContent")
    terms = page.all("tr.more a.term")
    assert "AUROC" in [term.text for term in terms] and all(term.get_attribute("title") for term in terms)
    ends = re.search(rf"\[(\d+)%, (\d+)%\] of {words} different top words", said)
    assert ends and [int(end) for end in ends.groups()] == [
        pytest.approx(100 * end, abs=0.51) for end in (expected.low, expected.high)
    ]


def test_the_lens_is_read_by_pointer_and_keyboard(opened: tuple[Any, ReportData]) -> None:
    page, data = opened
    lens = data.lenses[0]
    page.click('.cell[data-i="22"]')  # depth 1, position 2
    shown = page.one("#lens-readout").text
    assert "After block 0" in shown
    assert f"has rank {int(lens.true_rank[1, 2])} " in shown
    assert f"{float(lens.top_probability[1, 2, 0]):.1%}" in shown
    page.one('.cell[data-i="22"]').send_keys("\ue013")  # up: one block deeper
    assert "After block 1" in page.one("#lens-readout").text


def test_a_link_opens_what_was_seen(opened: tuple[Any, ReportData], tmp_path: Path) -> None:
    """Heads and lens show one story and move together; the address says what is chosen, and a new page opens it."""
    page, _ = opened
    assert page("return location.hash") == ""
    start = str(page.one('.head[aria-selected="true"]').get_attribute("data-head"))
    page.click('.head[data-head="6"]')
    page("const s = document.querySelector('#heads-view select'); s.value = 1; s.dispatchEvent(new Event('change'))")
    story = "document.querySelector('#lens-view select').value"
    assert page(f"return {story}") == "1"
    page.click('.cell[data-i="22"]')
    assert (
        page("return [...document.querySelectorAll('#head-detail .text .t')].findIndex((t) => t.matches('.at'))") == 2
    )
    page.one("#neuron-search").send_keys("1.17")
    page.until("document.querySelectorAll('tr.row').length === 1")
    page.click("tr.row td.id button")
    link = page.until("location.hash.includes('neuron') && location.hash")
    assert link == "#head=1.2&story=1&token=2&layer=0&find=1.17&neuron=1.17"

    page.browser.get(f"{(tmp_path / 'report.html').as_uri()}?again{link}")
    page.until("document.body.dataset.ready === 'true'")
    assert page.one('.head[aria-selected="true"]').get_attribute("data-head") == "6"
    assert page(f"return {story}") == "1" and page.one(".cell.at").get_attribute("data-i") == "22"
    assert page.one("tr.row.open td.id").text == "1.17"
    assert page("return document.querySelector('#neurons').getBoundingClientRect().top < innerHeight / 2")
    page("const s = document.querySelector('#lens-view select'); s.value = 0; s.dispatchEvent(new Event('change'))")
    page.until("location.hash.includes('story=0') && !location.hash.includes('token')")  # a token of another story
    for wrong in (
        "head=9.9&story=77&token=-1&layer=none&neuron=0.99999",
        "head=%E0%A4&token=1e9",
        "neuron=<b>&x=y",
        "=",
    ):
        page(f"location.hash = {wrong!r}")
        page.until("document.querySelector('.head[aria-selected]').dataset.head === '" + start + "'")
        assert page(f"return {story}") == "0" and not page.all("tr.row.open")


def test_every_plot_is_saved_as_vector(opened: tuple[Any, ReportData]) -> None:
    page, _ = opened
    page(
        "window.kept = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (b) => { kept.push(b); return make(b); }"
    )
    page("window.names = []; HTMLAnchorElement.prototype.click = function () { names.push(this.download); }")
    buttons = page.all("button.save")
    for button in buttons:
        page.browser.execute_script("arguments[0].click()", button)
    saved = page.browser.execute_async_script(
        "const done = arguments[0]; Promise.all(kept.map((b) => b.text())).then((texts) => done(texts.map((t) => {"
        "const d = new DOMParser().parseFromString(t, 'image/svg+xml');"
        "return [d.documentElement.tagName, d.querySelectorAll('rect,path').length, t.includes('var(')]; })))"
    )
    assert len(saved) == len(buttons) == 5
    assert all(tag == "svg" and shapes >= 2 and not unresolved for tag, shapes, unresolved in saved)
    assert sorted(name.rpartition("-")[2] for name in page("return names")) == [
        "depth.svg", "depth.svg", "heads.svg", "lens.svg", "loss.svg",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_sticks_out(opened: tuple[Any, ReportData], width: int) -> None:
    page, _ = opened
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        assert page.until(f"innerWidth === {width} && document.documentElement.scrollWidth") <= width
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_paper_nothing_is_cut(opened: tuple[Any, ReportData]) -> None:
    """A4 less its margins is 718 pixels wide, and nothing scrolls: the lens goes on in strips below one another."""
    page, data = opened
    paper = {"width": 718, "height": 1047, "deviceScaleFactor": 1, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", paper)
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        page("dispatchEvent(new Event('beforeprint'))")
        assert page.until("innerWidth === 718 && document.documentElement.scrollWidth") <= 718
        assert not page(  # what is inside a strip is cropped by its view box: the next strip goes on with it
            "return [...document.querySelectorAll('main *:not(.strips > svg *)')].filter((n) => n.checkVisibility()"
            "&& n.getBoundingClientRect().right > 719).map((n) => n.outerHTML.slice(0, 80))"
        )
        tokens = len(data.lenses[0].tokens)
        assert tokens > 12 and len(page.all(".strips > svg")) == -(-tokens // 12)
        assert page("return document.querySelector('.lens').checkVisibility()") is False
        wide, tall = page(
            "const b = document.querySelector('.matrix canvas').getBoundingClientRect(); return [b.width, b.height]"
        )
        assert 150 < wide <= 360 and tall == pytest.approx(wide, abs=2)
    finally:
        page("dispatchEvent(new Event('afterprint'))")
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert not page.all(".strips > svg") and page("return document.querySelector('.lens').checkVisibility()")


def test_printing_puts_the_whole_lens_on_paper(opened: tuple[Any, ReportData]) -> None:
    page, _ = opened
    page("window.most = 0; window.count = () => document.querySelectorAll('.strips > svg').length")
    page("addEventListener('beforeprint', () => { most = count(); })")
    made = page.browser.execute_cdp_cmd("Page.printToPDF", {})
    assert base64.b64decode(made["data"]).startswith(b"%PDF")
    assert page.until("most") > 1 and not page.all(".strips > svg")


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ({"name": "language modelling"}, "language modelling"),
        ("language modelling", "language modelling"),
        ({"name": "contrastive", "alpha": 0.5, "every": 3}, "contrastive (alpha 0.5, every 3)"),
    ],
)
def test_the_card_names_the_objective_and_leaves_digests_out(
    made: Callable[..., ReportData], objective: Any, said: str
) -> None:
    config = {
        "recipe": {"objective": objective},
        "data": {"source": "made", "digests": {"tokens.bin": "0" * 64}, "validation_stories": 40},
    }
    page = report.draw(made(config=config))
    facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert facts["recipe: objective"] == said
    assert (facts["source"], facts["validation stories"]) == ("made", "40")
    assert "digests" not in facts and "0" * 64 not in page.replace(bundle(), "")


def test_the_verdict_of_an_audit_is_there_if_one_was_kept(made: Callable[..., ReportData]) -> None:
    verdict = Verdict(False, f"The audit fails: {EVIL}.", "20 stories: made.", "tslens audit --model mine")
    page = report.draw(made(audit=verdict))
    words = "The audit fails: <script>alert(1)</script>. On 20 stories: made. Made by: tslens audit --model mine"
    assert html.escape(words) in page
    assert "tslens audit" not in report.draw(made())


def test_commands_hold_the_model_as_it_was_given(made: Callable[..., ReportData]) -> None:
    page = html.unescape(report.draw(made(name="short", given="'hf:a folder'")))
    assert len(re.findall(r"tslens (?:eval|analyze) [^.]*?--model 'hf:a folder' ", page)) == 7
    assert "--model short" not in page and page.count("--model '") == page.count("--model ")
