"""Combinations of words and features: a hash holds out a share of them."""

from itertools import combinations

from tslens.stories.combinations import (
    FEATURES,
    feature_pairs,
    held_out_features,
    held_out_words,
    is_held_out,
    word_pairs,
)
from tslens.stories.instruct import parse


def test_pairs_of_an_instruction_by_hand() -> None:
    asked = parse("Words: Run, dog, happy\nFeatures: Twist, Dialogue\nStory: \n\nx")
    assert word_pairs(asked) == {("dog", "happy"), ("dog", "run"), ("happy", "run")}
    assert feature_pairs(asked) == {("Dialogue", "Twist")}
    assert not word_pairs(parse("Summary: A dog.\nStory: \n\nx"))


def test_a_share_is_held_out_and_a_larger_one_holds_out_more() -> None:
    pairs = list(combinations([f"w{i:03}" for i in range(200)], 2))
    small, large = ({pair for pair in pairs if held_out_words(pair, share)} for share in (0.05, 0.2))
    assert small < large
    assert 0.04 < len(small) / len(pairs) < 0.06 and 0.18 < len(large) / len(pairs) < 0.22
    assert len(held_out_features(0.0)) == 0 and len(held_out_features(0.05)) == 1 and len(held_out_features(0.2)) == 3
    assert held_out_features(0.05) < held_out_features(0.2) <= set(combinations(sorted(FEATURES), 2))


def test_one_pair_is_enough_to_hold_an_instruction_out() -> None:
    first, second = next(iter(held_out_features(0.05)))
    assert is_held_out(parse(f"Features: {second}, {first}\nStory: \n\nx"), 0.05)
    assert not is_held_out(parse(f"Features: {first}\nStory: \n\nx"), 0.05)
    held = next(pair for pair in combinations("abcdefghijklmnop", 2) if held_out_words(pair, 0.2))
    asked = parse(f"Words: {held[1]}, {held[0]}\nStory: \n\nx")
    assert is_held_out(asked, 0.2) and not is_held_out(asked, 0.0)
