"""The model in the page, in Chromium: what the script computes, and what a person sees and presses."""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.forward.test_hooked import OTHERS, other
from tests.models.test_llama2c import write_tokenizer
from tests.report.test_live import BEYOND, SPECS, live, loud
from tslens import forward, models, report
from tslens.analysis import lens
from tslens.forward import EditedForward
from tslens.generate import Sampling, generate_ids
from tslens.models import llama2c
from tslens.report import ReportData
from tslens.report.live import Live
from tslens.report.live_view import shape
from tslens.report.shell import WORKER, around, asset
from tslens.tokenizer import Tokenizer

GREEDY = Sampling(temperature=0.0)
CLOSE = 1e-3
"""Where the two best logits differ by less, either may be written."""
TEXTS = ["Once upon a time there was a little", "", "The cat sat on", "Tom said: “Don't go!”\n\nA naïve 狐 😀 laughed."]


class Script:
    """The script of the page's worker, asked directly."""

    def __init__(self, browser: Any, given: Live) -> None:
        self.browser = browser
        browser.get("about:blank")
        self.source = "\n".join(asset(name) for name in WORKER if name != "live-worker.js")
        browser.set_script_timeout(60)
        self.run("window.given = await unpackAll(args[0]); window.tokenizer = tokenizerOf(given.tokenizer);"
                 "window.model = modelOf(given, weightsOf(given.weights)); return true", given.content)  # fmt: skip

    def run(self, body: str, *args: Any) -> Any:
        """What a body of JavaScript returns, which may use everything in the worker's script and `args`."""
        code = f"const [args, done] = [[...arguments].slice(0, -1), arguments[arguments.length - 1]];\n{self.source}\n"
        code += f"(async () => {{ {body} }})().then(done, (error) => done('failed: ' + error.stack))"
        found = self.browser.execute_async_script(code, *args)
        assert not (isinstance(found, str) and found.startswith("failed: ")), found
        return found


@pytest.fixture
def script(browser: Any) -> Callable[[Live], Script]:
    return lambda given: Script(browser, given)


@pytest.fixture(scope="module")
def words(made_words: Tokenizer) -> Tokenizer:
    return made_words


@pytest.mark.parametrize("name", SPECS)
def test_logits_are_those_of_the_model_with_and_without_a_cache(
    script: Callable[[Live], Script], words: Tokenizer, name: str
) -> None:
    model = loud(SPECS[name], words)
    asked = script(live(model))
    row = torch.randint(0, 300, (40,)).tolist()
    with torch.no_grad():
        expected = forward.logits(model, torch.tensor([row]))[0]
    whole = asked.run("return Array.from(logitsOf(model, readTokens(model, emptyCache(model), args[0])))", row)
    assert torch.allclose(torch.tensor(whole).view_as(expected), expected, atol=2e-4)
    parts = asked.run(
        "const cache = emptyCache(model), found = [];"
        "for (const part of [args[0].slice(0, 7), ...args[0].slice(7).map((t) => [t])])"
        "found.push(...logitsOf(model, readTokens(model, cache, part))); return found",
        row,
    )
    assert torch.allclose(torch.tensor(parts), torch.tensor(whole), atol=1e-9)


@pytest.mark.parametrize("name", sorted(OTHERS.keys() - BEYOND.keys()))
def test_logits_of_models_on_the_slow_path_too(script: Callable[[Live], Script], words: Tokenizer, name: str) -> None:
    model = other(name, words)
    asked = script(live(model))
    row = torch.randint(0, 300, (40,)).tolist()
    with torch.no_grad():
        expected = model(torch.tensor([row]))[0]
    whole = asked.run("return Array.from(logitsOf(model, readTokens(model, emptyCache(model), args[0])))", row)
    size = max(1.0, float(expected.abs().max()))
    assert torch.allclose(torch.tensor(whole).view_as(expected), expected, atol=2e-5 * size)
    parts = asked.run(
        "const cache = emptyCache(model); readTokens(model, cache, args[0].slice(0, 7));"
        "return Array.from(logitsOf(model, readTokens(model, cache, args[0].slice(7))))",
        row,
    )
    assert torch.allclose(torch.tensor(parts).view(33, -1), torch.tensor(whole).view(40, -1)[7:], atol=1e-9 * size)
    edits = [["head", 0, 1, 0.0]] + ([] if model.cfg.attn_only else [["neuron", 1, 5, 2.0]])

    def scaled(number: int, scale: float) -> Callable[..., torch.Tensor]:
        def edit(value: torch.Tensor, **_: Any) -> torch.Tensor:
            value[:, :, number] *= scale
            return value

        return edit

    hooks = [(f"blocks.{layer}.{'attn.hook_z' if kind == 'head' else 'mlp.hook_post'}", scaled(number, scale))
             for kind, layer, number, scale in edits]  # fmt: skip
    with torch.no_grad():
        losses = model.run_with_hooks(
            torch.tensor([row]), return_type="loss", loss_per_token=True, fwd_hooks=hooks, prepend_bos=False
        )[0]
    found = torch.tensor(asked.run("return lossesOf(model, args[0], args[1])", row, edits))
    assert torch.allclose(found.float(), losses, atol=2e-5 * size)


@pytest.mark.parametrize("name", ["windowed", "llama2.c"])
def test_losses_and_lens_are_those_of_the_model_with_its_parts_changed(
    script: Callable[[Live], Script], words: Tokenizer, name: str
) -> None:
    model, text = loud(SPECS[name], words), "The cat was glad. The dog"
    asked, run = script(live(model)), EditedForward.of(model)
    tokens = torch.tensor(words.encode([text]))
    changed = [["head", 0, 1, 0.0], ["head", 1, 2, 1.5], ["neuron", 1, 5, 2.0], ["neuron", 0, 3, 0.0]]

    def scaled(kind: str, layer: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def edit(value: torch.Tensor) -> torch.Tensor:
            value = value.clone()
            for of, at, number, scale in changed:
                if (of, at) == (kind, layer):
                    value[:, :, number] *= scale
            return value

        return edit

    edits = {f"blocks.{i}.attn.hook_z": scaled("head", i) for i in (0, 1)}
    edits |= {f"blocks.{i}.mlp.hook_post": scaled("neuron", i) for i in (0, 1)}
    with torch.no_grad():
        for given, of in (([], {}), (changed, edits)):
            after, _ = run(run.embedded(tokens), of)
            expected = run.losses(after, tokens, torch.ones(1, tokens.shape[1] - 1, dtype=torch.bool))
            found = torch.tensor(asked.run("return lossesOf(model, args[0], args[1])", tokens[0].tolist(), given))
            assert torch.allclose(found.double(), expected.double(), atol=1e-4)
            last = asked.run("return lensOf(model, args[0], args[1], 3)", tokens[0].tolist(), given)
            p, ids = run.normed(after[0, -1]).matmul(model.unembed.W_U).softmax(-1).topk(3)
            assert [token for token, _ in last[-1]] == ids.tolist()
            assert [share for _, share in last[-1]] == pytest.approx(p.tolist(), abs=1e-4)
    whole = lens.of_prompt(model, text, k=3)
    at = asked.run("return lensOf(model, args[0], [], 3)", tokens[0].tolist())
    assert [[token for token, _ in depth] for depth in at] == whole.top_ids[:, -1].tolist()
    assert [[share for _, share in depth] for depth in at] == [
        pytest.approx(row, abs=1e-4) for row in whole.top_probability[:, -1].tolist()
    ]


def spaces_and_signs(n: int) -> list[str]:
    """Texts in which every rule of the words is met, and bytes that no token joins."""
    draw = random.Random(5)
    some = [
        "the",
        "cat",
        " and",
        "'s",
        "'ll",
        "'re",
        "'S",
        "n't",
        "12",
        "٣",
        "½",
        "é",
        "ü",
        "\u0301",
        "ß",
        "狐",
        "😀",
        "👩‍👩‍👧",
    ]
    some += [
        *" \t\n\r\x0b\x85\xa0\u2003\u2028\u3000\ufeff\u200b",
        "  ",
        "   ",
        ".",
        ",",
        "“",
        "…",
        "_",
        "\x00",
        "<|endoftext|>",
        "<s>",
    ]
    some += ["aaaa", "abab", "baba", "thethe", "日", "ab.", "<0x41>", "▁", "\ufffd"]
    return ["", *("".join(draw.choices(some, k=draw.randrange(1, 14))) for _ in range(n))]


@pytest.mark.parametrize("kind", ["bytes", "bytes that repeat", "bytes after a line break", "characters"])
def test_text_becomes_the_same_tokens_and_they_the_same_text(
    script: Callable[[Live], Script], words: Tokenizer, tmp_path: Path, kind: str
) -> None:
    if kind == "bytes that repeat":  # of equal pairs the leftmost is merged
        words = Tokenizer.train(["aaaaa aaa ababab bababa thethethe"] * 9, 275)
    if kind == "bytes after a line break":
        words = Tokenizer(words.backend, "Ċ")
    tokenizer = llama2c.read_tokenizer(write_tokenizer(tmp_path / "tok.bin"), 300) if kind == "characters" else words
    asked = script(live(loud(SPECS["gpt2"], tokenizer)))
    assert kind.startswith(asked.run("return tokenizer.kind"))
    texts = spaces_and_signs(600)
    expected = tokenizer.encode(texts, bos=False)
    assert asked.run("return args[0].map((text) => encode(tokenizer, text))", texts) == expected
    draw = random.Random(6)
    rows = [*expected, *([draw.randrange(300) for _ in range(draw.randrange(1, 12))] for _ in range(600))]
    assert asked.run("return args[0].map((row) => decode(tokenizer, row))", rows) == [tokenizer.decode(r) for r in rows]
    assert asked.run("return tokenizer.shown") == tokenizer.pieces(range(300))


def test_a_seed_draws_the_same_text_and_by_the_probabilities(
    script: Callable[[Live], Script], words: Tokenizer
) -> None:
    asked = script(live(loud(SPECS["gpt2"], words)))
    logits = [0.0, 1.0, -1.0, 2.0]
    drawn = asked.run(
        "const draw = drawsOf(args[1]); return Array.from({ length: 4000 },"
        "() => tokenOf(Float64Array.from(args[0]), args[2], draw))", logits, 7, 0.5,
    )  # fmt: skip
    shares = torch.bincount(torch.tensor(drawn), minlength=4) / 4000
    assert torch.allclose(shares, (torch.tensor(logits) / 0.5).softmax(-1), atol=0.02)
    first, again, other = (
        asked.run("const draw = drawsOf(args[0]); return [draw(), draw(), draw()]", seed) for seed in (7, 7, 8)
    )
    assert first == again != other and all(0 <= x < 1 for x in first)


# The page.


@pytest.fixture
def page_of(opener: Callable[[Path], Any], tmp_path: Path) -> Callable[[Any], Any]:
    """Opens a page that holds a model and nothing else, as soon as the model is loaded."""

    def opened(model: Any) -> Any:
        given = live(model)
        content = {"vocabulary": [], **shape(given)}
        text = around('<main class="wide"><section id="live"><div id="live-view"></div></section></main>', content,
                      name="made", title="made", attention=False, live=given.content)  # fmt: skip
        page = opener(report.write(text, tmp_path / "live.html"))
        page.until("document.body.dataset.live === 'ready'")
        page.until("document.querySelectorAll('#live-as .typed').length > 1")
        return page

    return opened


def typed(page: Any, text: str) -> None:
    """A person types this text, and its loss is there."""
    page.browser.execute_script(
        "const field = document.getElementById('live-text'); field.value = arguments[0];"
        "field.dispatchEvent(new Event('input'))", text,
    )  # fmt: skip
    page("document.getElementById('live-lens').replaceChildren()")
    page.until("document.querySelector('#live-lens td')")


def written(page: Any, text: str, most: int) -> tuple[str, str]:
    """What the page writes after this text, with it, and why it ended."""
    page(f"document.getElementById('live-most').value = {most}")
    typed(page, text)
    page.click("#live-write")
    end = page.until("(document.querySelector('#live-as .end').textContent.match(/tokens: (.+)\\./) || [])[1]")
    return page("return document.getElementById('live-as').dataset.text"), end


def check_written(page: Any, model: Any, text: str, most: int) -> int:
    """The number of tokens until the two best logits are close, if ever; the page's text is the model's up to there."""
    tokenizer, n_ctx = models.story_tokenizer_of(model), models.spec_of(model).n_ctx
    (row,) = tokenizer.encode([text])
    (new,) = generate_ids(model, [row], max_new_tokens=most, sampling=GREEDY)
    with torch.no_grad():
        best = forward.logits(model, torch.tensor([(row + new)[:n_ctx]]))[0, len(row) - 1 :].topk(2).values
    close = (best[:, 0] - best[:, 1] <= CLOSE).nonzero().flatten().tolist()
    found, end = written(page, text, most)
    if not close:
        assert found == tokenizer.decode(row + new)
        reasons = {most: "as many as asked for", n_ctx - len(row): "the context is full"}
        assert end == reasons.get(len(new), "the model ended the story")
        return len(new)
    assert found.startswith(tokenizer.decode(row + new[: close[0]]).rstrip("\ufffd"))
    return close[0]


def test_what_it_writes_is_what_the_bundled_model_writes(page_of: Callable[[Any], Any]) -> None:
    model = models.load("stories2M")
    page = page_of(model)
    assert sum(check_written(page, model, text, 200) for text in TEXTS) > 400
    assert page.complaints() == []


def test_what_it_writes_is_what_stories260k_writes(page_of: Callable[[Any], Any], shared: Path) -> None:
    model = models.load(f"llama2c:{shared}/data/models/stories260K.bin")
    page = page_of(model)
    assert sum(check_written(page, model, text, 200) for text in TEXTS) > 400


@pytest.mark.parametrize("name", SPECS)
def test_what_it_writes_is_what_made_models_write(
    page_of: Callable[[Any], Any], words: Tokenizer, tmp_path: Path, name: str
) -> None:
    llama = name == "llama2.c"
    tokenizer = llama2c.read_tokenizer(write_tokenizer(tmp_path / "tok.bin"), 300) if llama else words
    model = loud(SPECS[name], tokenizer)
    page = page_of(model)
    assert sum(check_written(page, model, text, 30) for text in ("The cat", "", "A dog ran. ")) > 60


@pytest.mark.parametrize("name", ["gelu", "attention only", "parallel, part of a head rotated"])
def test_what_it_writes_is_what_models_on_the_slow_path_write(
    page_of: Callable[[Any], Any], words: Tokenizer, name: str
) -> None:
    model = other(name, words)
    page = page_of(model)
    assert sum(check_written(page, model, text, 20) for text in ("The cat", "", "A dog ran. ")) > 30
    assert page.complaints() == []


def test_rounded_weights_write_the_same_where_logits_differ_enough(
    page_of: Callable[[Any], Any], words: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loud(SPECS["llama"], words)
    monkeypatch.setattr("tslens.report.live.DEFAULT", models.spec_of(model).n_parameters() * 20 // 6)
    assert "in 20 bits" in live(model).precision or "in 19 bits" in live(model).precision
    page = page_of(model)
    assert sum(check_written(page, model, text, 30) for text in ("The cat", "", "A dog ran. ")) > 60


def test_a_story_ends_with_the_tokenizers_own_end(page_of: Callable[[Any], Any], words: Tokenizer) -> None:
    model = loud(SPECS["gpt2"], words)
    (row,) = words.encode(["The cat"])
    (said,) = generate_ids(model, [row], max_new_tokens=8, sampling=GREEDY)
    eos = next(token for i, token in enumerate(said) if i and token not in said[:i])
    models.attach_tokenizer(model, Tokenizer(words.backend, words.bos_text, words.backend.id_to_token(eos)))
    page = page_of(model)
    assert check_written(page, model, "The cat", 8) < 8
    assert page.one("#live-as .end").text.endswith("the model ended the story.")


def losses_of(page: Any) -> list[str]:
    page.until("document.querySelector('#live-changed .loss').textContent.includes(',')")
    return [page.one(f"#live-{side} .loss").text for side in ("as", "changed")]


def changed_parts(page: Any) -> list[str]:
    return [chip.text.removesuffix("✕").strip() for chip in page.all("#live-parts button")]


def test_a_head_is_switched_off_scaled_and_put_back(page_of: Callable[[Any], Any], words: Tokenizer) -> None:
    """By pointer and keyboard; loss, lens and text change, and come back."""
    model, text = loud(SPECS["gpt2"], words), "The cat was"
    page = page_of(model)
    typed(page, text)
    page.click("#live-write")
    page.until("document.querySelector('#live-as .end').textContent.includes(':')")
    plain = page("return document.getElementById('live-as').dataset.text")
    assert not page.one("#live-changed .text").is_displayed()
    page("const n = document.getElementById('live-number'); n.value = 2; n.dispatchEvent(new Event('change'))")
    page.click("#live-off")
    page.until("document.querySelector('#live-changed .end').textContent.includes(':')")
    assert changed_parts(page) == ["head 0.2 × 0"]
    off = losses_of(page)
    tokens = torch.tensor(words.encode([text]))
    run = EditedForward.of(model)
    with torch.no_grad():
        after, _ = run(run.embedded(tokens), {"blocks.0.attn.hook_z": lambda z: z.index_fill(2, torch.tensor([2]), 0)})
        changed = float(run.losses(after, tokens, torch.ones(1, tokens.shape[1] - 1, dtype=torch.bool)).mean())
        after, _ = run(run.embedded(tokens))
        before = float(run.losses(after, tokens, torch.ones(1, tokens.shape[1] - 1, dtype=torch.bool)).mean())
    assert off[0].startswith(f"Loss of the beginning: {before:.3f} nats")
    mean, sign, more = re.match(r"Loss of the beginning: ([\d.]+) nats per token, ([−+])([\d.]+)", off[1]).groups()
    assert float(mean) == pytest.approx(changed, abs=2e-3)
    assert (sign == "+") == (changed > before) and float(more) == pytest.approx(abs(changed - before), abs=2e-3)
    assert page("return document.getElementById('live-changed').dataset.text") != plain
    assert len(page.all("#live-lens tbody tr")) == 3 and len(page.all("#live-lens tbody tr:first-child td")) == 2
    page.until("document.querySelectorAll('#live-changed .fork').length === 1")

    slider = page.one("#live-scale")
    slider.send_keys("\ue014\ue014")  # twice to the right: 0.1
    page.until("document.querySelector('output.scale').textContent === '× 0.1'")
    page.until(f"document.querySelector('#live-changed .loss').textContent !== {off[1]!r}")
    assert page.until("location.hash.includes('0.1') && location.hash").endswith("parts=head.0.2*0.1")
    page.click("#live-parts button")
    page.until("document.querySelector('#live-changed .text').hidden")
    assert page.until("!location.hash.includes('parts')") and not page.all("#live-parts button")
    assert page("return document.getElementById('live-as').dataset.text") == plain
    assert page.complaints() == []


def test_a_neuron_and_a_token_are_chosen_by_keyboard(page_of: Callable[[Any], Any], words: Tokenizer) -> None:
    page = page_of(loud(SPECS["windowed"], words))
    typed(page, "The cat was glad")
    page("const k = document.getElementById('live-kind'); k.value = 'neuron'; k.dispatchEvent(new Event('change'))")
    page("const n = document.getElementById('live-number'); n.value = 9999; n.dispatchEvent(new Event('change'))")
    page.click("#live-off")  # there is no such neuron, so the one before is meant
    assert changed_parts(page) == ["neuron 0.0 × 0"]
    page.click("#live-undo")
    page.until("document.querySelectorAll('#live-parts button').length === 0")
    page("const n = document.getElementById('live-number'); n.value = 95; n.dispatchEvent(new Event('change'))")
    page.click("#live-off")
    losses_of(page)
    assert changed_parts(page) == ["neuron 0.95 × 0"]
    row = page.one("#live-as .text")
    last = len(page.all("#live-as .t")) - 1
    assert f"token {last}" in page.one("#live-token").text
    row.send_keys("\ue012")  # left
    page.until(f"document.getElementById('live-token').textContent.includes('token {last - 1},')")
    assert page.one("#live-as .t.at").get_attribute("data-i") == str(last - 1)
    assert "and with the changes" in page.one("#live-token").text


def test_a_text_that_is_too_long_is_said_and_markup_stays_text(page_of: Callable[[Any], Any], words: Tokenizer) -> None:
    page = page_of(loud(SPECS["gpt2"], words))
    page.browser.execute_script(
        "const field = document.getElementById('live-text'); field.value = 'cat '.repeat(200);"
        "field.dispatchEvent(new Event('input'))"
    )
    page.until("document.getElementById('live-status').textContent.includes('reads at most 47')")
    assert not page.one("#live-as .text").is_displayed()
    typed(page, "<img src=x onerror=document.title=1>")
    assert page("return document.title") == "made" and page("return document.images.length") == 0
    assert "".join(t.get_attribute("textContent") for t in page.all("#live-as .typed")).startswith("<img")
    assert page.complaints() == []


def test_a_link_opens_the_text_and_the_changed_parts(
    page_of: Callable[[Any], Any], words: Tokenizer, tmp_path: Path
) -> None:
    page = page_of(loud(SPECS["gpt2"], words))
    place = (tmp_path / "live.html").as_uri()
    page.browser.get(f"{place}?1#text=The+cat+sat&parts=head.1.2*0.5+neuron.0.7*0")
    page.until("document.querySelectorAll('#live-parts button').length === 2")
    losses_of(page)
    assert page("return document.getElementById('live-text').value") == "The cat sat"
    assert changed_parts(page) == ["head 1.2 × 0.5", "neuron 0.7 × 0"]
    for wrong in ("parts=head.9.9*0+neuron.0.7*9+<b>", "parts=", "text="):
        page.browser.get(f"{place}?{len(wrong)}#{wrong}")
        page.until("document.body.dataset.live === 'ready'")
        assert not page.all("#live-parts button")
    assert page.complaints() == []


def test_write_writes_after_a_text_that_was_typed_this_moment(page_of: Callable[[Any], Any], words: Tokenizer) -> None:
    page = page_of(loud(SPECS["gpt2"], words))
    page.browser.execute_script(
        "const field = document.getElementById('live-text'); field.value = 'The cat sat';"
        "field.dispatchEvent(new Event('input')); document.getElementById('live-write').click()"
    )
    page.until("document.querySelector('#live-as .end').textContent.includes(':')")
    assert page("return document.getElementById('live-as').dataset.text").startswith("The cat sat")


def test_a_link_opens_what_was_written_and_how(page_of: Callable[[Any], Any], words: Tokenizer, tmp_path: Path) -> None:
    page = page_of(loud(SPECS["gpt2"], words))
    text = "return document.getElementById('live-as').dataset.text"
    typed(page, "The cat sat")
    page("document.getElementById('live-temperature').value = 0.8; document.getElementById('live-seed').value = 5")
    page("document.getElementById('live-most').value = 20")
    page.click("#live-write")
    page.until("document.querySelector('#live-as .end').textContent.includes(':')")
    seen, link = page(text), page.until("location.hash.includes('write') && location.hash")
    page.browser.get(f"{(tmp_path / 'live.html').as_uri()}?again{link}")
    page.until("(document.querySelector('#live-as .end')?.textContent ?? '').includes(':')")
    assert page(text) == seen and link.endswith("write=0.8%2C5%2C20")
    assert page("return document.getElementById('live-seed').value") == "5"
    typed(page, "A dog")
    page.until("!location.hash.includes('write')")  # what was written is no longer seen
    page.browser.get(f"{(tmp_path / 'live.html').as_uri()}?wrong#write=9,9,999999999")
    page.until("document.querySelectorAll('#live-as .typed').length > 1")
    assert page.one("#live-as .end").text == "" and page.complaints() == []


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_sticks_out(page_of: Callable[[Any], Any], words: Tokenizer, width: int) -> None:
    page = page_of(loud(SPECS["gpt2"], words))
    page.click("#live-off")
    losses_of(page)
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        assert page.until(f"innerWidth === {width} && document.documentElement.scrollWidth") <= width
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_whole_page_opens_at_once_and_moves_with_its_other_sections(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path
) -> None:
    """At most 10 MB with the bundled model, ready after 2 s of its thread; the head chosen above is chosen here.

    Of three openings the quickest counts: whatever else a machine does makes one longer, and none shorter."""
    data = made(layers=4, heads=4, tokens=128, d_mlp=768, ranks=20, stories=3, live=live(models.load("stories2M")))
    place = report.write(report.draw(data), tmp_path / "report.html")
    assert 6_000_000 < place.stat().st_size <= 10_000_000
    page = opener(place)
    taken = []
    for time in range(3):
        page.browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})  # not the clock's
        page.browser.get(f"{place.as_uri()}?{time}")
        page.until("document.body.dataset.ready === 'true'")
        measured = page.browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        page.browser.execute_cdp_cmd("Performance.disable", {})
        taken.append(next(one["value"] for one in measured if one["name"] == "TaskDuration"))
    assert min(taken) > 0.1 and min(taken) < 2, taken
    assert page("return document.body.dataset.live") is None  # the model is loaded where it is seen
    page.click('.head[data-head="6"]')
    page("document.getElementById('live').scrollIntoView()")
    page.until("document.body.dataset.live === 'ready'")
    chosen = page("return ['kind', 'layer', 'number'].map((part) => document.getElementById(`live-${part}`).value)")
    assert chosen == ["head", "1", "2"]
    assert page.complaints() == []
