"""Minimal pairs: their answer is what the story says, they stand token under token, and no word gives them away."""

from itertools import islice

import pytest
import torch

from tslens import load
from tslens.models import tokenizer_of
from tslens.stories import pairs
from tslens.stories.generator import lexicon
from tslens.stories.pairs.tasks import BOYS, GIRLS, Scene
from tslens.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def small() -> Tokenizer:
    """A tokenizer in which the commonest answers are words of their own."""
    prompts = [f"{p.clean} {p.right}" for name in pairs.TASKS for p in islice(pairs.write(pairs.task(name), 5), 150)]
    return Tokenizer.train(prompts, 700)


def words(text: str) -> list[str]:
    return "".join(c if c.isalpha() or c == "'" else " " for c in text).split()


@pytest.mark.parametrize("name", pairs.TASKS)
def test_the_answer_is_what_the_prompt_says(name: str) -> None:
    """Read from the text alone, without the generator's record."""
    for pair in islice(pairs.write(pairs.task(name), 1), 120):
        said, other = words(pair.clean), words(pair.corrupt)
        assert pair.right != pair.wrong and len(said) == len(other)
        hero = next(word.removesuffix("'s") for word in said if word.removesuffix("'s") in (*GIRLS, *BOYS))
        if name == "character":
            assert pair.tag == "PROPN" and pair.owner == pair.right == hero
            assert pair.wrong not in said and pair.right not in other
        elif name == "pronoun":
            assert pair.tag == "PRON" and pair.owner == hero
            assert pair.right in (("she", "her") if hero in GIRLS else ("he", "his"))
            assert not {"he", "she", "his", "her", "him"} & {word.lower() for word in said}
            assert not {"girl", "boy", "mom", "dad"} & set(said)
        elif name == "owner":
            assert pair.tag == "NOUN" and {pair.right, pair.wrong} <= set(said)
            asked = [word for word in said if word in (*GIRLS, *BOYS)][-1]  # the last who is named
            at = said.index(asked)
            assert pair.right == next(word for word in said[at:] if word in (pair.right, pair.wrong))
        else:
            assert pair.tag == ("NOUN" if name == "object" else "ADJ")
            assert pair.right in said and pair.wrong not in said


def test_no_word_and_no_place_gives_the_answer_away() -> None:
    """Every answer is right about as often as it is wrong; the first owner is asked for as often as the last."""
    for name in pairs.TASKS:
        drawn = list(islice(pairs.write(pairs.task(name), 2), 400))
        for word in {pair.right for pair in drawn}:
            n = sum(word in (pair.right, pair.wrong) for pair in drawn)
            share = sum(word == pair.right for pair in drawn) / n
            assert abs(share - 0.5) <= 2.5 * 0.5 / n**0.5 + 1 / n, (name, word, share, n)
    owners = list(islice(pairs.write(pairs.task("owner"), 0), 60))
    assert sum(words(p.clean).index(p.right) < words(p.clean).index(p.wrong) for p in owners) == 30


def test_pairs_depend_on_task_seed_and_number_alone() -> None:
    first = list(islice(pairs.write(pairs.task("object"), 3), 6))
    assert first == list(islice(pairs.write(pairs.task("object"), 3), 40))[:6]
    assert first != list(islice(pairs.write(pairs.task("object"), 4), 6))


def test_pairs_stand_token_under_token(small: Tokenizer) -> None:
    for name in pairs.TASKS:
        found = pairs.pairs(name, small, 20, context=64)
        for i, text in enumerate(found.texts):
            n = int(found.length[i])
            assert small.encode([text.clean])[0] == found.clean[i, :n].tolist()
            assert small.encode([f"{text.corrupt} {text.wrong}"])[0] == [
                *found.corrupt[i, :n].tolist(),
                int(found.wrong[i]),
            ]
            assert small.pieces([int(found.right[i])]) == [" " + text.right]
        roles, masks = found.roles()
        assert roles[0] == "changed" and roles[-1] == "last"
        assert masks.sum(0).max() == 1  # no token has two roles
        differs = (found.clean != found.corrupt) & masks.any(0)
        assert (found.clean != found.corrupt).sum() == differs.sum()  # and each that differs has one
        assert (masks[-1].sum(1) == 1).all()


def test_roles_by_hand() -> None:
    """BOS A B x y C z: the first two differ, and the fifth."""
    clean = torch.tensor([[0, 1, 2, 7, 8, 3, 9, 0], [0, 7, 1, 9, 9, 0, 0, 0]])
    corrupt = torch.tensor([[0, 4, 5, 7, 8, 6, 9, 0], [0, 7, 2, 9, 9, 0, 0, 0]])
    made = pairs.Pairs("x", clean, corrupt, torch.tensor([7, 5]), *(torch.zeros(2, dtype=torch.long),) * 3, {}, ())
    roles, masks = made.roles()
    where = {role: [m.nonzero().flatten().tolist() for m in mask] for role, mask in zip(roles, masks, strict=True)}
    assert where == {
        "changed": [[1, 2], [2]],
        "after changed": [[3], [3]],
        "changed again": [[5], []],
        "between": [[4], []],
        "last": [[6], [4]],
    }


def test_pairs_that_cannot_stand_under_one_another_are_dropped_and_counted(small: Tokenizer, refused) -> None:
    def made(clean: str, corrupt: str, right: str = "she", wrong: str = "he") -> pairs.WrittenPair:
        return pairs.WrittenPair(clean, corrupt, right, wrong, 0, "PRON", "")

    good = [made(f"One day, Lily saw {i} and", f"One day, Tom saw {i} and") for i in range(8)]
    bad = [
        made("One day, Lily saw and", "One day, Bartholomew saw and"),
        made("One day, Lily and", "One day, Lily and"),
        made("One day, Lily and", "One day, Tom and", "xylophone"),
        good[0],
    ]
    found = pairs.encode("mine", [*bad[:3], good[0], bad[3], *good[1:]], small, 8, context=32)
    assert len(found) == 8
    assert found.dropped == {"length": 1, "same": 1, "answer": 1, "seen": 1}
    with refused("can express 0 pairs of the task 'mine'.*longer than the context"):
        pairs.encode("mine", good, small, 8, context=3)
    with refused("no task 'charakter'. Did you mean 'character'"):
        pairs.pairs("charakter", small, context=32)
    with refused("7 pairs were asked for"):
        pairs.pairs("object", small, 7, context=32)


def test_an_answer_that_changes_the_tokens_before_it_is_dropped() -> None:
    """Where a space is a token of its own, or the word joins the prompt, the answer is no single next token."""
    joined = Tokenizer.train(["no space"] * 3, 260)  # every letter a token
    with pytest.raises(Exception, match="more than one token"):
        pairs.pairs("pronoun", joined, 8, context=400)


def test_hundreds_of_pairs_in_the_bundled_models_tokens() -> None:
    """Of the task that drops most: only fifteen names are single tokens there."""
    assert len(pairs.pairs("character", tokenizer_of(load("stories2M")), 200, context=320)) == 200


def test_a_few_pairs_are_found_with_every_seed() -> None:
    """Where one draw in twelve is kept, twelve draws for each of eight pairs would often give fewer."""
    tokenizer = tokenizer_of(load("stories2M"))
    assert {len(pairs.pairs("character", tokenizer, 8, context=320, seed=seed)) for seed in range(12)} == {8}


def test_a_scene_knows_the_gender_of_its_hero() -> None:
    assert Scene("Lily", "Tom").girl and not Scene("Tom", "Lily").girl
    assert not set(GIRLS) & set(BOYS) and set(lexicon.GIRLS.split()) == set(GIRLS)
