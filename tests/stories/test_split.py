"""A story and its duplicates fall on one side, and shares come out as asked."""

import pytest

from tslens.stories import split_of


def test_shares_come_out_as_asked() -> None:
    sides = [split_of(f"Story number {n}.", validation=0.2) for n in range(5000)]
    assert abs(sides.count("validation") / 5000 - 0.2) < 0.017  # three standard errors


def test_a_duplicate_never_straddles() -> None:
    for n in range(200):
        story = f"Tom's {n} cats ran. “Stop!” he said."
        copies = [
            story.upper(),
            f"  {story}\r\n\n",
            story.replace(" ", "\u00a0"),
            story.replace("“", '"').replace("”", '"'),
            story.replace("“", "â€œ").replace("”", "â€"),
        ]
        assert {split_of(copy, validation=0.5) for copy in copies} == {split_of(story, validation=0.5)}


def test_a_larger_share_contains_a_smaller() -> None:
    texts = [f"Story number {n}." for n in range(1000)]
    small = {text for text in texts if split_of(text, validation=0.05) == "validation"}
    large = {text for text in texts if split_of(text, validation=0.3) == "validation"}
    assert small < large


def test_a_salt_gives_another_split() -> None:
    texts = [f"Story number {n}." for n in range(200)]
    assert [split_of(text, 0.5) for text in texts] != [split_of(text, 0.5, salt="b") for text in texts]


def test_the_split_never_changes() -> None:
    # Kept by hand: a model's held-out stories must still be held out by the next version.
    assert [split_of(f"Story number {n}.", 0.5)[0] for n in range(8)] == list("tvtttvvt")


def test_shares_outside_0_to_1_are_refused() -> None:
    assert {split_of("a", 0.0), split_of("a", 1.0)} == {"train", "validation"}
    with pytest.raises(ValueError, match="give one between 0 and 1"):
        split_of("a", validation=5)
