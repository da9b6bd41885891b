"""Instruct rows: instructions whole, padding never counted, the boundary exact."""

from pathlib import Path

import numpy as np
import pytest

from tslens.stories.packed import Packed, Record
from tslens.train.objectives.instruct import InstructRows

HEAD, STORY = 100, 200  # document i is BOS, heads of 100 + i, then stories of 200 + i


def packed(lengths: list[int], number: int) -> Packed:
    tokens = np.concatenate([[0] + [number + i] * n for i, n in enumerate(lengths)]).astype(np.uint16)
    starts = np.concatenate([[0], np.cumsum([n + 1 for n in lengths])[:-1]]).astype(np.int64)
    n, total = len(lengths), len(tokens)
    return Packed(Path("nowhere"), Record(1, "hash", "uint16", "test", n, total, total, 0, "", True), tokens, starts)


def rows_of(heads: list[int], stories: list[int], context: int, everything: bool = False) -> InstructRows:
    return InstructRows(packed(stories, STORY), context, 1, 0, packed(heads, HEAD), everything)


def seen(rows: InstructRows, epochs: int = 1) -> list[tuple[list[int], list[bool]]]:
    n = sum(len(rows.epoch(number)[1]) for number in range(epochs))
    return [tuple(part.tolist() for part in rows.row(index)) for index in range(n)]


def test_a_row_by_hand():
    rows = rows_of([2, 2, 2], [3, 3, 3], context=14)  # a document has 6 tokens, a row 15
    order, begins = rows.epoch(0)
    a, b, _ = order.tolist()
    tokens, predicted = seen(rows)[begins.tolist().index(0)]
    assert tokens[:6] == [0, HEAD + a, HEAD + a, STORY + a, STORY + a, STORY + a]
    assert tokens[6:12] == [0, HEAD + b, HEAD + b, STORY + b, STORY + b, STORY + b]
    # Of the third document BOS and two tokens of instructions would fit, and none of its story.
    assert tokens[12:] == [0, 0, 0]
    assert predicted == [False] * 3 + [True] * 4 + [False] * 2 + [True] * 4 + [False] * 2


def test_everything_counts_the_instructions_but_no_padding():
    for _, predicted in seen(rows_of([2, 2, 2], [3, 3, 3], context=14, everything=True)):
        assert predicted == [False] + [True] * 12 + [False] * 2


@pytest.mark.parametrize("everything", [False, True])
def test_no_instructions_are_cut_and_what_counts_is_exact(everything):
    rng = np.random.default_rng(0)
    heads, stories = rng.integers(1, 9, 60).tolist(), rng.integers(1, 20, 60).tolist()
    rows = rows_of(heads, stories, context=24, everything=everything)
    whole = set()
    for tokens, predicted in seen(rows):
        at, padding = 0, 0
        while at < len(tokens):
            ends = next((i for i in range(at + 1, len(tokens)) if tokens[i] == 0), len(tokens))
            head = [t for t in tokens[at + 1 : ends] if t < STORY]
            story = [t for t in tokens[at + 1 : ends] if t >= STORY]
            assert predicted[at] == (at > 0 and not padding)
            if head:
                number = head[0] - HEAD
                assert len(head) == heads[number] and set(head) == {HEAD + number} and set(story) == {STORY + number}
                assert tokens[at + 1 : ends] == head + story
                assert predicted[at + 1 : ends] == [everything] * len(head) + [True] * len(story)
                whole |= {number} if len(story) == stories[number] else set()
            else:
                padding += 1
            at = ends
    fits = {i for i in range(60) if heads[i] + stories[i] + 1 <= 25}
    assert fits <= whole


def test_instructions_that_fill_a_row_are_left_out_and_counted():
    rows = rows_of([3, 10, 3], [3, 3, 3], context=9)
    assert rows.facts()["left_out"] == 1 and rows.facts()["training_stories"] == 3
    assert all(HEAD + 1 not in tokens for tokens, _ in seen(rows, 3))
    with pytest.raises(ValueError, match=r"shortest instructions have 11 tokens, too many for a row of 10.*n_ctx"):
        rows_of([10, 10], [3, 3], context=9)


def test_the_same_seed_gives_the_same_rows():
    one, two = (rows_of([2, 3, 4, 5], [9, 2, 6, 4], 12) for _ in range(2))
    assert all((one.batch(step).tokens == two.batch(step).tokens).all() for step in range(5))
    assert one.batch(0).predictions == int(one.batch(0).predicted.sum())
