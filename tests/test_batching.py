"""Batches of stories: what is in them, the identity of a story, shards, and what is refused."""

import pytest
import torch

from tslens.batching import Batch, Shard, batches, chosen, contrast_weights
from tslens.errors import InputError
from tslens.tokenizer import Tokenizer

STORIES = [f"Tom had {'a big ' * n}ball. He saw it roll." for n in range(12)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(STORIES, size=280)


def of(tokenizer: Tokenizer, **options: int) -> list[Batch]:
    return list(batches(STORIES, tokenizer, **{"context": 64} | options))


def test_every_story_is_in_one_batch_with_its_number_and_its_tokens(tokenizer: Tokenizer) -> None:
    found = of(tokenizer, batch_tokens=100)
    assert len(found) > 1 and sorted(i for batch in found for i in batch.indices.tolist()) == list(range(len(STORIES)))
    for batch in found:
        assert batch.tokens.numel() <= 100 and batch.tokens.shape == batch.mask.shape
        for row, (number, text) in enumerate(zip(batch.indices.tolist(), batch.texts, strict=True)):
            assert text == STORIES[number]
            assert batch.tokens[row][batch.mask[row]].tolist() == tokenizer.encode([text])[0]
        assert (batch.tokens[~batch.mask] == tokenizer.bos).all()


def test_a_batch_holds_one_story_however_long(tokenizer: Tokenizer) -> None:
    assert [len(batch.texts) for batch in of(tokenizer, batch_tokens=1)] == [1] * len(STORIES)


def test_what_is_longer_than_the_context_is_cut_and_counted(tokenizer: Tokenizer) -> None:
    lengths = [len(ids) for ids in tokenizer.encode(STORIES)]
    found = of(tokenizer, context=20)
    assert max(batch.tokens.shape[1] for batch in found) == 20
    assert sum(batch.cut for batch in found) == sum(length > 20 for length in lengths) > 0


def identities(found: list[Batch]) -> dict[tuple[int, int], str]:
    """The text behind each (hash, occurrence), and no such pair twice."""
    pairs = [pair for batch in found for pair in zip(batch.hashes.tolist(), batch.occurrences.tolist(), strict=True)]
    assert len(set(pairs)) == len(pairs)
    return dict(zip(pairs, (text for batch in found for text in batch.texts), strict=True))


def test_a_story_is_the_same_one_in_every_order_batch_and_shard(tokenizer: Tokenizer) -> None:
    corpus = [*STORIES, STORIES[3], STORIES[5], STORIES[3]]
    whole = identities(list(batches(corpus, tokenizer, context=64)))
    assert sorted(whole.values()) == sorted(corpus)
    assert sorted(occurrence for (_, occurrence), text in whole.items() if text == STORIES[3]) == [0, 1, 2]
    for batch_tokens in (1, 100):
        again = batches(corpus[::-1], tokenizer, context=64, batch_tokens=batch_tokens)
        assert identities(list(again)) == whole
    for of in (2, 3, 5):
        shards = [Shard(number, of) for number in range(of)]
        parts = [identities(list(batches(corpus, tokenizer, context=64, shard=shard))) for shard in shards]
        assert [len(part) for part in parts] == [len(range(number, len(corpus), of)) for number in range(of)]
        assert {pair: text for part in parts for pair, text in part.items()} == whole


def test_groups_and_seeds_follow_the_identity(tokenizer: Tokenizer) -> None:
    corpus = [f"Tom had {n} balls." for n in range(2000)] + ["Tom ran."] * 2
    found: dict[str, set[int]] = {}
    seeds: set[int] = set()
    sizes = torch.zeros(8, dtype=torch.int64)
    for batch in batches(corpus, tokenizer, context=64):
        seeds |= set(batch.seeds.tolist())
        sizes += torch.bincount(batch.groups(8), minlength=8)
        for text, group in zip(batch.texts, batch.groups(8).tolist(), strict=True):
            found.setdefault(text, set()).add(group)
    assert len(seeds) == len(corpus)
    assert (sizes > 200).all()  # 250 in each, with a standard deviation of 15
    for batch in batches(corpus[1990:1700:-3], tokenizer, context=64):
        assert all({group} == found[text] for text, group in zip(batch.texts, batch.groups(8).tolist(), strict=True))


def test_a_shard_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"^There is no shard 3 of 3: shards count from 0 to 2\.$"):
        Shard(3, 3)


def test_no_story_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match=r"^There is no story to scan: the source is empty"):
        list(batches([], tokenizer, context=8))
    with pytest.raises(ValueError, match=r"^There is no story to scan: the source is empty"):
        chosen([], tokenizer, rows=3, context=8)


def test_the_stories_that_are_chosen_are_those_of_the_smallest_seeds(tokenizer: Tokenizer) -> None:
    """Whatever the order; more of them than a window of `batches` holds."""
    corpus = [f"Tom had {n} balls." for n in range(400)] + ["Tom ran."] * 3
    seeds = {pair: seed for batch in batches(corpus, tokenizer, context=16) for pair, seed in _seeds(batch).items()}
    found = chosen(corpus[::-1], tokenizer, rows=300, context=4)
    assert list(_seeds(found)) == sorted(seeds, key=seeds.__getitem__)[:300]
    assert found.tokens.shape == (300, 4) and found.cut == 300
    assert found.tokens.tolist() == [ids[:4] for ids in tokenizer.encode(list(found.texts))]
    assert len(chosen(corpus, tokenizer, rows=999, context=4).texts) == len(corpus)


def _seeds(batch: Batch) -> dict[tuple[int, int], int]:
    pairs = zip(batch.hashes.tolist(), batch.occurrences.tolist(), strict=True)
    return dict(zip(pairs, batch.seeds.tolist(), strict=True))


def test_others_are_of_the_same_row_and_frequency_and_weigh_as_much() -> None:
    tokens = torch.tensor([[0, 1, 1, 1, 1, 2, 3, 1], [0, 4, 5, 6, 7, 1, 1, 1]])
    scored = torch.ones_like(tokens).bool()
    scored[:, 0] = False
    picked = torch.zeros_like(scored)
    picked[0, [1, 5]] = picked[1, 1] = True
    on, off = contrast_weights(tokens, scored, picked)
    assert on.nonzero().tolist() == [[0, 1], [0, 5], [1, 1]]
    assert torch.allclose(on.sum(1), off.sum(1))
    assert off[0].tolist() == [0, 0, 0.25, 0.25, 0.25, 0, 1, 0.25]  # 3 occurs once, as 2 does
    assert off[1].tolist() == pytest.approx([0, 0, *[1 / 3] * 3, 0, 0, 0])
    lonely = torch.zeros_like(scored)
    lonely[0, [1, 2, 3, 4, 7]] = True  # no other token of the row is as frequent
    assert not contrast_weights(tokens, scored, lonely)[0].any()


def test_what_is_not_scored_is_neither_picked_nor_another() -> None:
    tokens = torch.tensor([[5, 5, 6, 6, 7], [5, 5, 5, 5, 9]])  # 5: five times, 6: twice, 7 and 9: once
    scored = torch.ones_like(tokens, dtype=torch.bool)
    scored[1, 3] = False
    picked = torch.tensor([[True, False, True, True, True], [True, False, False, True, True]])
    on, off = contrast_weights(tokens, scored, picked)
    assert on.tolist() == [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0]]  # 6, 7 and 9 have no other of their frequency in the row
    assert off.tolist() == [[0, 1, 0, 0, 0], [0, 0.5, 0.5, 0, 0]]
