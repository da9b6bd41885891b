"""Sentences: quotations stay whole, nothing is lost, and a shuffle is really another order."""

from collections import Counter

import pytest

from tslens.stories import stories
from tslens.stories.generator import generate
from tslens.stories.sentences import sentences, shuffled


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tom ran. He fell! Why? The end", ["Tom ran.", "He fell!", "Why?", "The end"]),
        ('"Stop! Come back." Tom said. He ran.', ['"Stop! Come back." Tom said.', "He ran."]),
        ('"Why?" he asked. "I am sad." The sun set.', ['"Why?" he asked.', '"I am sad."', "The sun set."]),
        ('Tom said, "Hi. I am Tom." Sam said nothing.', ['Tom said, "Hi. I am Tom."', "Sam said nothing."]),
        ("“Go! Now!” the big bear said. He left.", ["“Go! Now!” the big bear said.", "He left."]),
        ("‘Stop! Don’t go.’ Tom said. It’s late. He ran.", ["‘Stop! Don’t go.’ Tom said.", "It’s late.", "He ran."]),
        ('"It is. It was never closed. Sam ran.', ['"It is.', "It was never closed.", "Sam ran."]),
        ("Mr. Fox paid 3.50 for it... slowly. Done.", ["Mr. Fox paid 3.50 for it... slowly.", "Done."]),
        ("The cat's toy wasn't 'new'. It broke.", ["The cat's toy wasn't 'new'.", "It broke."]),
        ("A title\n\nOnce there was a cat (big!). It ran.", ["A title", "Once there was a cat (big!).", "It ran."]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_where_sentences_end(text, expected):
    assert sentences(text) == expected


def test_every_sentence_of_made_stories_comes_back_and_no_quotation_is_cut():
    for made in generate(60, seed=5):
        found = sentences(made.text)
        assert "".join("".join(found).split()) == "".join(made.text.split())
        assert all(s.count('"') % 2 == 0 for s in found)


def test_a_shuffle_keeps_sentences_and_paragraphs_and_differs():
    for made in generate(60, seed=6):
        other = shuffled(made.text, seed=1)
        assert other is not None and other != made.text
        assert Counter(sentences(made.text)) == Counter(order for order in _pieces(made.text, other))
        assert other.count("\n") == made.text.count("\n") and len(other) == len(made.text)
        assert other == shuffled(made.text, seed=1)
    assert len({shuffled(made.text, seed) for seed in range(5)}) == 5


def _pieces(text: str, other: str) -> list[str]:
    """The sentences of `text` as they follow one another in `other`."""
    left, found = Counter(sentences(text)), []
    while rest := other.lstrip():
        sentence = max((s for s in left if left[s] and rest.startswith(s)), key=len)
        left[sentence] -= 1
        found.append(sentence)
        other = rest[len(sentence) :]
    return found


def test_two_sentences_change_places_and_paragraphs_stay():
    assert shuffled("Tom ran.\n\nHe fell.") == "He fell.\n\nTom ran."


@pytest.mark.parametrize("text", ["Tom ran.", "", "Run! Run! Run!", '"I ran. I fell." he said.'])
def test_what_has_no_other_order_is_left_out(text):
    assert shuffled(text) is None


def test_real_stories_lose_nothing(shared):
    for path in ("tinystories-v1.txt", "tinystories-v2.jsonl"):
        counts = []
        for text in stories(str(shared / "data/stories" / path), limit=300):
            found = sentences(text)
            assert "".join("".join(found).split()) == "".join(text.split())
            other = shuffled(text)
            assert len(found) == 1 or (other is not None and Counter(other) == Counter(text))
            counts.append(len(found))
        assert 8 < sum(counts) / len(counts) < 30
