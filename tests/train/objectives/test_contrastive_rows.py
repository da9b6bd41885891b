"""Contrastive rows: groups, pieces and shares hold both kinds in one proportion; shuffled stories really are."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tslens.stories.packed import Packed, Record
from tslens.stories.sentences import shuffled
from tslens.train.data import Rows
from tslens.train.objectives.contrastive import ContrastiveRows, split_off


def packed(number: int, stories: int = 40) -> Packed:
    """Stories of five times the same number."""
    tokens = np.array([0, *[number] * 5] * stories, dtype=np.uint16)
    starts = np.arange(stories, dtype=np.int64) * 6
    record = Record(1, "hash", "uint16", "test", stories, len(tokens), len(tokens), 6, "", True)
    return Packed(Path("nowhere"), record, tokens, starts)


def mixed(rows: int = 12, every: int = 3) -> ContrastiveRows:
    share = rows // every
    return ContrastiveRows(Rows(packed(1), 11, rows - share, 0), Rows(packed(2), 11, share, 0), every)


def kinds(batch) -> list[int]:
    return batch.tokens[:, 1].tolist()


def test_the_last_row_of_each_group_is_shuffled():
    batch = mixed().batch(0)
    assert kinds(batch) == [1, 1, 2] * 4
    assert batch.predictions == 12 * 11 and batch.group == 3


@pytest.mark.parametrize("every", [2, 3, 4])
def test_every_piece_and_every_share_holds_both_kinds_alike(every):
    batch = mixed(24, every).batch(1)
    group = [1] * (every - 1) + [2]
    assert all(kinds(piece) == group * 2 and piece.group == every for piece in batch.split(2 * every))
    shares = [batch.share(rank, 3) for rank in range(3)]
    assert [len(share.tokens) for share in shares] == [
        24 // every // 3 * every + (rank < 24 // every % 3) * every for rank in range(3)
    ]
    assert all(kinds(share) == group * (len(share.tokens) // every) for share in shares)


def test_batches_follow_from_the_step_and_both_kinds_go_through_their_epochs():
    one, two = mixed(), mixed()
    assert all((one.batch(step).tokens == two.batch(step).tokens).all() for step in range(6))
    assert one.steps_per_epoch == one.usual.steps_per_epoch
    assert one.facts()["training_stories"] == 80 and one.facts()["shuffled_stories"] == 40


def test_a_third_of_the_stories_is_shuffled_and_no_story_is_lost():
    texts = [f"Tom had {n}. He ran. The end." for n in range(30)] + ["One sentence."] * 3
    usual = list(split_off(texts, 3, 0, shuffle=False))
    apart = list(split_off(texts, 3, 0, shuffle=True))
    assert len(apart) == 10 and len(usual) == 23  # the last third story has one sentence and stays
    assert apart == [shuffled(text, 0) for text in texts[2:30:3]]
    assert apart == list(split_off(texts, 3, 0, shuffle=True)) != list(split_off(texts, 3, 1, shuffle=True))
    words = Counter(" ".join(texts).split())
    assert Counter(" ".join([*usual, *apart]).split()) == words


def test_stories_of_one_sentence_are_refused():
    with pytest.raises(ValueError, match="No story has two sentences to shuffle"):
        list(split_off(["Tom ran."] * 9, 3, 0, shuffle=True))
