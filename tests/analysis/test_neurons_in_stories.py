"""Neurons in whole stories: the hooked forward's own activations, the usual choice by hand, refusals, a round trip."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import models
from tslens.analysis import neurons
from tslens.errors import InputError
from tslens.models import Spec, build
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer

CONTEXT = 40


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [story.text for story in generate(6, seed=2)]


@pytest.fixture(scope="module")
def model(corpus: list[str]) -> Any:
    tokenizer = Tokenizer.train(corpus, 400)
    return build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=CONTEXT, d_mlp=12), seed=1, tokenizer=tokenizer)


def test_they_are_the_hooked_forwards_activations(model: Any, corpus: list[str]) -> None:
    texts = [corpus[0], "Once upon a time."]
    found = neurons.in_stories(model, texts, [(1, 3), (0, 11)], reasons=["one", "other"])
    tokenizer = models.tokenizer_of(model)
    assert list(map(len, found.tokens)) == [CONTEXT, len(tokenizer.encode(texts)[1])]  # the first is cut
    for story, text in enumerate(texts):
        ids = tokenizer.encode([text])[0][:CONTEXT]
        assert found.tokens[story] == tokenizer.pieces(ids)
        _, cache = model.run_with_cache(torch.tensor([ids]))
        for i, (layer, neuron) in enumerate(found.chosen):
            expected = cache[f"blocks.{layer}.mlp.hook_post"][0, :, neuron]
            torch.testing.assert_close(found.of_story(story)[i], expected, atol=1e-5, rtol=1e-4)


def test_its_tables(model: Any, corpus: list[str]) -> None:
    found = neurons.in_stories(model, corpus[:2], [(1, 3)])
    frame = found.to_frame()
    assert len(frame) == 2 * CONTEXT and frame["value"].tolist() == pytest.approx(found.value[0].tolist())
    assert frame.query("story == 1")["token"].tolist() == found.tokens[1]
    best = found.summary().iloc[1]
    assert best["pos"] == 1 + int(found.of_story(1)[0, 1:].argmax())
    assert best["value"] == pytest.approx(float(found.of_story(1)[0, 1:].max()))


def test_it_shows_stories_with_their_markup_escaped(model: Any) -> None:
    found = neurons.in_stories(model, ["Once upon a <b>time</b>."], [(0, 0)], reasons=["<i>"])
    page = found._repr_html_()
    assert "<b>" not in page and "<i>" not in page and "&lt;" in page and "(&lt;i&gt;)" in page
    assert page.count("<span") == len(found.tokens[0]) - 1


def test_it_is_saved(model: Any, corpus: list[str], tmp_path: Path) -> None:
    found = neurons.in_stories(model, corpus[:1], [(1, 3), (0, 2)], reasons=["a", "b"])
    found.save(tmp_path)
    again = neurons.InStoriesResult.load(tmp_path)
    assert torch.equal(again.value, found.value)
    assert (again.chosen, again.reasons, again.tokens) == (found.chosen, found.reasons, found.tokens)


@pytest.mark.parametrize("place", [(0, 12), (0, -1), (2, 0)])
def test_a_neuron_that_is_not_there_is_refused(model: Any, place: tuple[int, int]) -> None:
    with pytest.raises(InputError):
        neurons.in_stories(model, ["Once upon a time."], [place])


def test_nothing_to_read_is_refused(model: Any) -> None:
    with pytest.raises(InputError, match="0 stories, 1 neurons"):
        neurons.in_stories(model, [], [(0, 0)])
    with pytest.raises(InputError, match="1 stories, 0 neurons"):
        neurons.in_stories(model, ["Once."], [])


def test_the_usual_choice() -> None:
    most = torch.zeros(2, 12)
    most[0, 7] = 3.0
    choice = neurons.usual_choice(most)
    assert choice == {
        (1, 0): "first of layer 1",
        (1, 1): "first of layer 1",
        (0, 0): "first of layer 0",
        (0, 1): "first of layer 0",
        (0, 7): "largest activation of all",
    }
    most[1, 1] = 4.0
    choice = neurons.usual_choice(most)
    assert len(choice) == 4 and choice[1, 1] == "first of layer 1, largest activation of all"
    one_layer = neurons.usual_choice(most[1:, :1])
    assert one_layer == {(0, 0): "first of layer 0, largest activation of all"}
