"""Rows: where they begin, what they hold, the same for the same seed, every story seen whole once an epoch."""

import weakref
from pathlib import Path

import numpy as np
import pytest

from tslens.stories.packed import Packed, Record
from tslens.train.data import Rows, prefetch

BOS = 0


def packed(lengths: list[int]) -> Packed:
    """Story i is BOS and then the number i + 1, as often as its length says."""
    tokens = np.concatenate([[BOS] + [i + 1] * (n - 1) for i, n in enumerate(lengths)]).astype(np.uint16)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    total = int(sum(lengths))
    record = Record(1, "hash", "uint16", "test", len(lengths), total, total, max(lengths), "", True)
    return Packed(Path("nowhere"), record, tokens, starts)


def test_rows_begin_at_a_story_and_follow_the_stories_in_order():
    rows = Rows(packed([5, 7, 6, 4, 9, 3, 8, 5]), context=9, rows_per_step=1, seed=0)
    order, begins = rows.epoch(0)
    for step in range(rows.steps_per_epoch):
        row = rows.batch(step).tokens[0].tolist()
        assert row[0] == BOS and len(row) == 10
        at = int(begins[step])
        expected = [t for story in [*order[at:], *order][:10] for t in rows.packed.story(int(story)).tolist()][:10]
        assert row == expected


def whole_in(row: list[int], lengths: list[int]) -> set[int]:
    """The stories that a row holds from their BOS to their last token."""
    return {i for i, n in enumerate(lengths) if row.count(i + 1) >= n - 1}


@pytest.mark.parametrize("batch", [1, 4, 7])
def test_every_story_that_fits_is_seen_whole_in_every_epoch(batch):
    lengths = [5, 7, 6, 4, 9, 3, 8, 5, 10, 2] * 5
    rows = Rows(packed(lengths), context=9, rows_per_step=batch, seed=3)
    sizes = [len(rows.epoch(number)[1]) for number in range(3)]
    steps = -(-sum(sizes) // batch)
    stream = [row for step in range(steps) for row in rows.batch(step).tokens.tolist()]
    for number, size in enumerate(sizes):
        begin = sum(sizes[:number])
        seen = [whole_in(row, lengths) for row in stream[begin : begin + size]]
        assert set().union(*seen) == set(range(len(lengths)))
    assert rows.steps_per_epoch == -(-sizes[0] // batch)


def test_the_last_row_of_an_epoch_goes_on_with_its_first_stories():
    rows = Rows(packed([6, 6, 6]), context=11, rows_per_step=1, seed=0)  # 18 tokens: a row of 12, and one of 6 + 6
    order, begins = rows.epoch(0)
    assert sorted(begins.tolist()) == [0, 2]
    row = rows.batch(begins.tolist().index(2)).tokens[0].tolist()
    assert row == [t for story in (order[2], order[0]) for t in rows.packed.story(int(story)).tolist()]


def test_the_same_seed_gives_the_same_batches_and_epochs_differ():
    data = packed([6] * 40)
    one, two, other = (Rows(data, 11, 4, seed) for seed in (1, 1, 2))
    assert all((one.batch(s).tokens == two.batch(s).tokens).all() for s in range(12))
    assert not all((one.batch(s).tokens == other.batch(s).tokens).all() for s in range(3))
    per_epoch = one.steps_per_epoch
    assert not all((one.batch(s).tokens == one.batch(s + per_epoch).tokens).all() for s in range(per_epoch))


def test_prefetching_gives_the_same_batches_from_any_step():
    rows = Rows(packed([6] * 40), 11, 4, 0)
    assert all((a.tokens == rows.batch(s).tokens).all() for s, a in zip(range(3, 9), prefetch(rows, 3, 9), strict=True))


def test_a_fault_in_the_thread_reaches_the_loop(monkeypatch):
    def gone(self, number):
        raise OSError("the disk is gone")

    rows = Rows(packed([6] * 40), 11, 4, 0)
    monkeypatch.setattr(Packed, "story", gone)
    with pytest.raises(OSError, match="the disk is gone"):
        list(prefetch(rows, 0, 2))


def test_too_little_data_is_refused_with_the_numbers():
    with pytest.raises(ValueError, match="12 tokens, less than one row of 17"):
        Rows(packed([6, 6]), 16, 1, 0)
    with pytest.raises(ValueError, match="fills 3 rows, fewer than the 4 of one batch"):
        Rows(packed([6] * 6), 11, 4, 0)


def test_stories_longer_than_the_context_are_counted():
    assert Rows(packed([5, 12, 20, 10]), 9, 1, 0).longer_than_context == 2


def test_rows_and_their_stories_are_let_go_when_nobody_holds_them():
    rows = Rows(packed([5, 7, 6, 4, 9, 3, 8, 5]), context=9, rows_per_step=1, seed=0)
    first = [rows.batch(step).tokens.tolist() for step in range(40)]  # many epochs, of which a few plans are kept
    assert first == [rows.batch(step).tokens.tolist() for step in range(40)]
    held = weakref.ref(rows.packed.tokens)
    del rows
    assert held() is None
