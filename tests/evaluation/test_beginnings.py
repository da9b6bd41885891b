"""Beginnings: cut in mid-sentence, continued by several models with a seed, and read side by side."""

import dataclasses
import re

import pytest
import torch

from tslens import models
from tslens.evaluation.beginnings import Beginning, BeginningsResult, continued, cut, ours
from tslens.models import Spec
from tslens.stories import stories

STORY = "One day a cat saw a dog. It ran away. The dog sat down and was very sad, but then it saw the cat again."


def test_ours_are_many_different_and_cut_in_a_sentence():
    texts = [b.text for b in ours()]
    assert len(set(texts)) == len(texts) >= 50
    assert all(re.fullmatch(r"[A-Z][A-Za-z',.!? -]+[a-z,]", text) and len(text.split()) >= 12 for text in texts)


def test_nothing_of_the_published_beginnings(shared):
    """No five words in a row of theirs are in ours."""
    published = " ".join(path.read_text(encoding="utf-8") for path in (shared / "data" / "prompts").iterdir())
    words = re.findall("[a-z]+", published.lower())
    known = {tuple(words[i : i + 5]) for i in range(len(words))}
    for beginning in ours():
        own = re.findall("[a-z]+", beginning.text.lower())
        assert not {tuple(own[i : i + 5]) for i in range(len(own) - 4)} & known, beginning.text


@pytest.mark.parametrize(("share", "last"), [(0.52, "sat"), (0.4, "The"), (0.92, "the"), (0.01, "One"), (0.28, "It")])
def test_a_story_is_cut_at_a_share_of_its_words(share, last, made_stories):
    (found,) = cut([STORY], share, 1)
    assert found.text + found.ending == STORY and found.text.split()[-1] == last and found.ending[0] == " "
    for story, beginning in zip(made_stories, cut(made_stories, share, 10), strict=False):
        assert beginning.text + beginning.ending == story and beginning.text[-1] not in ".!?"
        assert abs(len(beginning.text.split()) - share * len(story.split())) < 4


@pytest.mark.parametrize("share", [0.5, 0.4])
def test_real_stories_are_cut_in_a_sentence(share, shared):
    source = stories(str(shared / "data" / "stories" / "tinystories-v2.jsonl"))
    found = cut(source, share)
    assert len(found) == 50 and all(re.search(r"[\w,;:-]$", beginning.text) for beginning in found)
    shares = [len(b.text.split()) / len((b.text + b.ending).split()) for b in found]
    assert share - 0.02 < sum(shares) / 50 < share + 0.03


def test_only_long_stories_and_possible_shares(made_stories):
    assert [b.text for b in cut(["Too short.", *made_stories], 0.5, 2)] == [b.text for b in cut(made_stories, 0.5, 2)]
    for share in (0.0, 1.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            cut(made_stories, share, 2)
    with pytest.raises(ValueError, match="only 24 stories of 20 words or more to cut, not 50"):
        cut(made_stories, 0.5)


@pytest.fixture(scope="module")
def result(made_words, loud) -> BeginningsResult:
    spec = Spec(16, 1, 2, d_vocab=made_words.size, n_ctx=96)
    two = {f"<b>{i}</b>": loud(models.build(spec, tokenizer=made_words, seed=i)) for i in range(2)}
    return continued(two, [Beginning("The cat & the dog", " <i>sat</i>."), Beginning("A tree")], max_new_tokens=9)


def test_models_continue_the_same_beginnings(result, tmp_path):
    assert result.words.shape == (2, 2) and result.continuations[0] != result.continuations[1]
    assert [[len(t.split()) for t in own] for own in result.continuations] == result.words.tolist()
    frame = result.to_frame()
    assert list(frame["beginning"]) == result.beginnings * 2 and set(frame["text"]) == {
        t for own in result.continuations for t in own
    }
    assert list(result.summary()["texts"]) == [2, 2]
    said = re.match(r"Words written after a beginning, on average of 2: <b>0</b> (\d+) \((-?\d+) to", str(result))
    assert said and int(said[1]) == round(result.words[0].double().mean().item())
    again = BeginningsResult.load(result.save(tmp_path))
    assert torch.equal(again.words, result.words) and again.continuations == result.continuations


def test_side_by_side_as_text_and_as_an_escaped_page(result, tmp_path):
    folder = result.save(tmp_path)
    page, text = ((folder / f"side_by_side.{kind}").read_text(encoding="utf-8") for kind in ("html", "txt"))
    assert "The cat &amp; the dog" in page and "&lt;b&gt;0&lt;/b&gt;" in page and "&lt;i&gt;sat&lt;/i&gt;." in page
    assert "<b>" not in page and "<i>" not in page and page.count("<tr>") == 3
    assert "1. The cat & the dog …" in text and "[the story itself] …<i>sat</i>." in text
    alone = dataclasses.replace(result, endings=["", ""])
    assert "the story itself" not in alone.text() + alone.html()


def test_a_beginning_that_fills_the_context_is_refused(made_words, refused):
    model = models.build(Spec(8, 1, 2, d_vocab=made_words.size, n_ctx=8), tokenizer=made_words)
    with refused("is 8. Shorten it"):
        continued({"small": model}, ours()[:2])
    with refused("1 beginnings are too few"):
        continued({"small": model}, ours()[:1])
