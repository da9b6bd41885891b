"""FADE's measures: neurons that fire on a label and write it, nothing or its opposite; TransformerLens as oracle."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, norm

from tslens import cli, models, plots, pos
from tslens.analysis import neurons
from tslens.analysis.neurons.fade import _faithful, _sides, evidence, judged
from tslens.analysis.neurons.fade_evidence import STRENGTHS, _steered, gathered, has, other_half
from tslens.analysis.neurons.fade_result import MEASURES
from tslens.analysis.neurons.held_out_measures import AUROC, GROUPS, measured
from tslens.analysis.neurons.held_out_result import ALIKE, WORDS
from tslens.batching import chosen
from tslens.halves import GROUPS as PARTS
from tslens.models import Spec, build
from tslens.pos.types import words
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer
from tslens.twins import faded
from tslens.twins.fading import PROMPTS

WRITES, SILENT, OPPOSITE, NOUNS, WRONG = (0, 1), (0, 3), (0, 5), (1, 2), (1, 4)
PLACES = (WRITES, SILENT, OPPOSITE, NOUNS, WRONG)
WORD = " the"
WIDTH = 32
CLARITY, RESPONSIVENESS, PURITY, FAITHFULNESS = range(len(MEASURES))


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [story.text for story in generate(60, seed=8)]


@pytest.fixture(scope="module")
def model(corpus: list[str]) -> Any:
    """Three neurons fire on a word: one writes it, one nothing, one its opposite. One of the next layer fires on nouns
    and writes them. `WRONG` fires at random and writes nothing."""
    tokenizer = Tokenizer.train(corpus, 2000)
    made = build(Spec(64, 2, 2, d_vocab=tokenizer.size, n_ctx=128, d_mlp=WIDTH), seed=1, tokenizer=tokenizer)
    noun, of_word = nouns_of(tokenizer), words(tokenizer.pieces(range(tokenizer.size)))
    word = (of_word == of_word[tokenizer.encode([f"x{WORD}"], bos=False)[0][-1]]).nonzero().flatten()
    with torch.no_grad():
        made.embed.W_E *= 10
        made.pos_embed.W_pos.zero_()
        made.embed.W_E[:, :4] = 0
        made.embed.W_E[word, 0], made.embed.W_E[word, 1] = 8, -8  # no layer norm takes these away
        made.embed.W_E[noun, 2], made.embed.W_E[noun, 3] = 8, -8
        for block in made.blocks:
            block.attn.W_O.zero_()
            block.mlp.W_out *= 0.1
            block.mlp.W_in[:4] = 0
        for (layer, neuron), at in zip(PLACES[:4], (0, 0, 0, 2), strict=True):
            mlp = made.blocks[layer].mlp
            mlp.W_in[:, neuron] = 0
            mlp.W_in[at, neuron], mlp.W_in[at + 1, neuron] = 2, -2
        made.blocks[0].mlp.W_out[WRITES[1]] = 0.1 * made.unembed.W_U[:, word].mean(1)
        made.blocks[0].mlp.W_out[SILENT[1]] = 0
        made.blocks[0].mlp.W_out[OPPOSITE[1]] = -0.1 * made.unembed.W_U[:, word].mean(1)
        made.blocks[1].mlp.W_out[NOUNS[1]] = 0.5 * made.unembed.W_U[:, noun].mean(1)
        made.blocks[1].mlp.W_out[WRONG[1]] = 0
    return made


def nouns_of(tokenizer: Tokenizer) -> torch.Tensor:
    """The tokens that are mostly nouns."""
    seen = torch.zeros(tokenizer.size, 2)
    for story in generate(60, seed=8):
        tags, _ = pos.align(story.tags, tokenizer.offsets(story.text))
        for token, tag in zip(tokenizer.encode([story.text])[0], tags, strict=True):
            seen[token, int(tag == "NOUN")] += 1
    return (seen[:, 1] > seen[:, 0]).nonzero().flatten()


@pytest.fixture(scope="module")
def labels(model: Any, corpus: list[str]) -> Any:
    """Labels set by hand, all of which predict; no word is left out."""
    found = neurons.held_out(model, corpus)
    label, by_word, word = torch.full_like(found.label, -1), torch.zeros_like(found.by_word), found.word.clone()
    low = torch.full_like(found.low, torch.nan)
    for place in (WRITES, SILENT, OPPOSITE):
        by_word[place], word[place] = True, models.tokenizer_of(model).encode([f"x{WORD}"], bos=False)[0][-1]
    for place in (NOUNS, WRONG):
        label[place] = pos.TAGS.index("NOUN")
    for rank, place in enumerate(PLACES):
        low[place][[AUROC, ALIKE, WORDS]] = 0.9 - 0.01 * rank
    tops = torch.full_like(found.label_tokens, -1)
    return dataclasses.replace(found, label=label, by_word=by_word, word=word, low=low, label_tokens=tops)


@pytest.fixture(scope="module")
def answer(model: Any, corpus: list[str], labels: Any) -> Any:
    return neurons.fade(model, corpus, labels)


def place_of(answer: Any, place: tuple[int, int]) -> int:
    return list(zip(answer.layer.tolist(), answer.neuron.tolist(), strict=True)).index(place)


def test_what_fires_on_a_label_is_clear_and_what_writes_it_is_faithful(answer: Any) -> None:
    assert [(int(a), int(b)) for a, b in zip(answer.layer, answer.neuron, strict=True)] == list(PLACES)
    writes, silent, opposite, nouns, wrong = (place_of(answer, place) for place in PLACES)
    for place in (writes, silent, opposite, nouns):
        assert answer.above[place, :FAITHFULNESS].all() and (answer.value[place, :FAITHFULNESS] > 0.5).all()
    for place, sign in ((writes, 1), (opposite, -1), (nouns, 1)):
        assert answer.above[place, FAITHFULNESS] and answer.strength[place] * sign > 0
        assert answer.value[place, FAITHFULNESS] > 0.1 and answer.p[place, FAITHFULNESS] == 0.05
    assert answer.value[silent, FAITHFULNESS] < 1e-6 and not answer.above[silent, FAITHFULNESS]
    assert answer.strength[silent] == 0 or answer.value[silent, FAITHFULNESS] > 0
    assert not answer.above[wrong].any() and answer.value[wrong, CLARITY] < 0.6
    assert (answer.low <= answer.value).all() and (answer.value <= answer.high + 1e-6).all()
    assert answer.controls.shape == (5, 19, 4) and not answer.controls.isnan().any()
    counts = answer.counts()
    assert counts["one-word neurons of clarity"] == 3 and counts["one-word neurons of faithfulness"] == 2
    assert counts["part-of-speech neurons of clarity"] == counts["part-of-speech neurons of faithfulness"] == 1


def test_steering_is_that_of_the_hooked_forward(model: Any, corpus: list[str]) -> None:
    read, units, large = chosen(corpus, models.tokenizer_of(model), rows=5, context=30), [WRITES, (1, 7)], [1.5, 0.4]
    concepts = torch.rand(2, model.cfg.d_vocab)
    mass, scored = _steered(model, read, units, np.array(large), concepts, 4)
    assert mass.shape == (2, len(STRENGTHS), 4, 2)
    real = (read.mask[:, 1:] & read.mask[:, :-1])[:4]
    assert scored.tolist() == real.sum(1).tolist()
    for i, (layer, neuron) in enumerate(units):
        for j, strength in enumerate(STRENGTHS):

            def fix(acts: torch.Tensor, hook: Any, at: int = neuron, to: float = strength * large[i]) -> torch.Tensor:
                acts[..., at] = to
                return acts

            with torch.no_grad():
                logits = model.run_with_hooks(read.tokens[:4], fwd_hooks=[(f"blocks.{layer}.mlp.hook_post", fix)])
            share = logits[:, :-1].softmax(-1) @ concepts.T * real[..., None]
            torch.testing.assert_close(torch.from_numpy(mass[i, j]).float(), share.sum(1), atol=1e-4, rtol=1e-4)


def test_faithfulness_by_hand() -> None:
    """Two stories of 10 and 30 positions; shares 0.1 at strength 0, 0.4 at the third: 0.3 of the 0.9 that is left."""
    scored = np.array([10, 30])
    shares = np.array([[0.1, 0.1], [0.05, 0.05], [0.1, 0.1], [0.4, 0.4], [0.2, 0.2]])
    value, low, high, strength = _faithful(shares * scored, scored)
    assert (value, low, high) == pytest.approx((1 / 3, 1 / 3, 1 / 3)) and strength == STRENGTHS[3]
    falls = np.array([[0.5, 0.5], *[[0.4, 0.4]] * 4])
    assert _faithful(falls * scored, scored) == (0, 0, 0, 0)
    assert np.isnan(_faithful(shares[:, :1] * 10, scored[:1])).all()


def test_clarity_and_truth_read_the_generators_tags(model: Any, corpus: list[str], labels: Any) -> None:
    """The positives are the generator's nouns less the neuron's own words, and nothing else of its stories is
    on the side of natural ones."""
    noun, word_of = pos.TAGS.index("NOUN"), words(labels.pieces).numpy()
    tops = labels.label_tokens.clone()
    truth = {story.text: story for story in generate(12, 1618)}
    some = models.tokenizer_of(model).encode([" dog"], bos=False)[0][-1]
    tops[NOUNS][0] = some
    found = evidence(model, corpus, dataclasses.replace(labels, label_tokens=tops), made=12, prompts=4, context=90)
    at = found.places.index(NOUNS)
    clear, true = _sides(found, at, word_of, found.natural, found.made)
    kept = word_of[found.made.ids] != word_of[some]
    tokenizer, wanted, total = models.story_tokenizer_of(model), 0, 0
    for text, story in truth.items():
        tags, _ = pos.align(story.tags, tokenizer.offsets(text)[:90])
        ids = tokenizer.encode([text])[0][:90]
        left = [tag for token, tag in zip(ids[1:], tags[1:], strict=True) if word_of[token] != word_of[some]]
        wanted, total = wanted + left.count("NOUN"), total + len(left)
    assert true.positive.sum() == clear.positive.sum() == wanted and len(true.positive) == kept.sum() == total
    assert len(clear.positive) == wanted + (word_of[found.natural.ids] != word_of[some]).sum()
    assert clear.values[at, : int(wanted)].tolist() == true.values[at][true.positive].tolist()
    assert (found.made.tags[kept] == noun).sum() == wanted
    assert has((True, 3), found.made.tags, word_of[found.made.ids]).sum() == (word_of[found.made.ids] == 3).sum()


def test_natural_stories_are_those_that_gave_no_label(model: Any, corpus: list[str]) -> None:
    from tslens.analysis.neurons.halved import is_tested

    read = other_half(chosen(corpus, models.tokenizer_of(model), rows=40, context=20), 10)
    assert is_tested(read).all() and len(read.texts) == len(read.tokens) == 10


def test_half_of_the_evidence_is_that_of_half_of_the_stories(model: Any, corpus: list[str], labels: Any) -> None:
    found = evidence(model, corpus, labels, controls=2)
    answer = judged(found, [0, 3, 5, 6])
    assert answer.prompts == int(np.isin(np.arange(len(found.scored)) % PARTS, [0, 3, 5, 6]).sum())
    assert answer.made == 32 and answer.natural < judged(found).natural
    assert not torch.equal(answer.value, judged(found).value)


@pytest.mark.thorough
def test_the_intervals_cover() -> None:
    """Clarity of two samples of stories whose draws differ, and the gain of the best of strengths that lie apart."""
    rng, n = np.random.default_rng(1), 400
    truth, covered = 2 * norm.cdf(1 / np.sqrt(2 + 2 * 0.4**2)) - 1, {"clarity": 0, "faithfulness": 0}
    for _ in range(n):
        story = np.repeat(np.arange(120), rng.integers(10, 40, 120))
        positive = story >= 60
        values = rng.normal(size=len(story)) + positive + 0.4 * rng.normal(size=120)[story]
        found = measured(values, positive, story % GROUPS, 1.0)
        covered["clarity"] += 2 * found.low[AUROC] - 1 <= truth <= 2 * found.high[AUROC] - 1
        scored = rng.integers(20, 60, 32)
        share = (
            np.array([0.1, 0.05, 0.1, 0.2, 0.4])[:, None] + 0.05 * rng.normal(size=32) + 0.03 * rng.normal(size=(5, 32))
        )
        _, low, high, _ = _faithful(share * scored, scored)
        covered["faithfulness"] += low <= 0.3 / 0.9 <= high
    for name, times in covered.items():
        assert binomtest(int(times), n, 0.95).pvalue > 0.001, (name, times / n)


def test_an_answer_prints_draws_comes_back_and_is_refused(
    answer: Any, model: Any, corpus: list[str], labels: Any, tmp_path: Path, refused: Any
) -> None:
    assert "faithfulness 1 of 2 parts of speech and 2 of 3 words, 2 of these where the neuron fires" in str(answer)
    assert len(repr(answer).splitlines()) <= 20 and "No untrained twin" in str(answer)
    table = answer.summary()
    assert table["faithfulness"].is_monotonic_decreasing and {"clarity_null", "strength"} <= set(table.columns)
    again = neurons.FadeResult.load(answer.save(tmp_path))
    torch.testing.assert_close(again.controls, answer.controls, equal_nan=True)
    assert len(answer.to_frame("value")) == len(PLACES) * len(MEASURES)
    assert "NOUN  1.2" in (drawn := plots.svg(answer.figure())) and "faithfulness" in drawn
    nothing = neurons.fade(model, corpus, dataclasses.replace(labels, low=torch.full_like(labels.low, torch.nan)))
    assert "No label predicts" in str(nothing) and not any(nothing.counts().values())
    assert plots.svg(nothing.figure()).startswith("<svg") and not len(nothing.summary())
    with refused("An interval needs 4 stories"):
        neurons.fade(model, corpus[:4], labels)
    with refused("The labels are not those of the neurons"):
        neurons.fade(model, corpus, dataclasses.replace(labels, model="another"))


def test_a_layer_without_other_neurons_has_no_null(model: Any, corpus: list[str], labels: Any) -> None:
    every = dataclasses.replace(labels, by_word=torch.ones_like(labels.by_word))
    read = other_half(chosen(corpus, models.tokenizer_of(model), rows=40, context=40), 20)
    found = gathered(model, read, every, [WRITES], prompts=6, made=10, controls=19, context=40)
    answer = judged(found)
    assert answer.null.isnan().all() and answer.p.isnan().all() and not answer.above.any()


@pytest.mark.thorough
def test_the_command_prints_the_measures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neurons, "fade", partial(neurons.fade, prompts=4, controls=2, most=6))
    arguments = ["--model", "stories2M", "--stories", "made", "--limit", "24", "--fade"]
    assert cli.main(["analyze", "neurons", *arguments, "--out", str(tmp_path)]) == 0
    found = neurons.FadeResult.load(tmp_path)
    assert 0 < len(found.labels) <= 6 and (tmp_path / "fade.svg").is_file()
    assert found.said() in capsys.readouterr().out


@pytest.mark.thorough
def test_twins_count_what_holds(model: Any, corpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = faded(model, corpus, n=2)
    own = neurons.fade(model, corpus, neurons.held_out(model, corpus), prompts=PROMPTS)
    assert dict(zip(found.labels, found.count.tolist(), strict=True)) == own.counts()
    assert found.of_twins.shape == (2, 8) and found.stories == len(corpus) and sum(own.counts().values()) > 0
    assert found.beside(own).beside_twins.startswith("On 60 stories: ")
    monkeypatch.setattr(neurons, "fade", lambda *_, **__: pytest.fail("all is kept"))
    assert torch.equal(faded(model, corpus, n=2).of_twins, found.of_twins)
