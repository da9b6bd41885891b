"""Blocks in any subset and order are read, and come back to the letter."""

import json
from dataclasses import replace
from itertools import chain, permutations
from pathlib import Path
from random import Random

import pytest

from tslens.stories import stories
from tslens.stories.generator import generate
from tslens.stories.instruct import KINDS, Instruction, draw_kinds, in_ood_split, parse
from tslens.stories.instruct import made as made_documents

VALUES = {
    "Words": "run, cat, big",
    "Features": "Dialogue, BadEnding",
    "Random sentence": '"Stop: that is my cat!"',
    "Summary": "A big cat runs away: nobody finds it.",
}


def test_a_block_is_read_by_hand() -> None:
    text = "Words: run, cat, big\nFeatures: Dialogue, Twist\nSummary: A cat runs.\nStory: \n\nTom ran.\n\nThe end."
    read = parse(text)
    assert read.words == ("run", "cat", "big")
    assert read.features == ("Dialogue", "Twist")
    assert read.sentence is None
    assert read.summary == "A cat runs."
    assert read.story == "Tom ran.\n\nThe end."
    assert read.format() == text
    assert read.prompt().format() == text.partition("\n\nTom")[0]


def test_every_subset_in_every_order_comes_back() -> None:
    orders = list(chain.from_iterable(permutations(KINDS, n) for n in range(5)))
    assert len(orders) == 65
    for order in orders:
        given = Instruction(tuple((kind, VALUES[kind]) for kind in order), "Tom ran.\nSummary: no.\nStory: no.")
        assert parse(given.format()) == given
        assert parse(given.prompt().format()) == given.prompt()


def test_of_two_summaries_the_last_is_the_story_s_own() -> None:
    text = "Summary: Another tale.\nWords: run\nSummary: This tale.\nStory: "
    assert parse(text).summary == "This tale."
    assert parse(text).format() == text


def test_values_over_several_lines_and_odd_spaces_come_back() -> None:
    text = "Summary: Tom ran.\nThen he fell.\n\nWords: \nRandom sentence:  Hi. \nStory:Tom ran. \n"
    assert parse(text).blocks == (("Summary", "Tom ran.\nThen he fell.\n"), ("Words", ""), ("Random sentence", " Hi. "))
    assert parse(text).words == ()
    assert parse(text).format() == text


@pytest.mark.parametrize(
    "text", ["", "Tom ran.", "Tom ran.\nMoral of the Story: run.", "Summary: no story follows.\nTom ran.\n"]
)
def test_a_text_without_instructions_is_all_story(text: str) -> None:
    assert parse(text) == Instruction((), text, None)
    assert parse(text).format() == text


def test_the_published_prompts_come_back(shared: Path) -> None:
    prompts = json.loads((shared / "data/prompts/instruct-prompts.json").read_text(encoding="utf-8"))
    assert len(prompts) == 50
    for prompt in prompts:
        read = parse(prompt)
        assert read.format() == prompt
        assert read.blocks and read.story == "" and read.prompt() == read
        known = {"Dialogue", "Twist", "BadEnding", "MoralValue", "Foreshadowing", "Conflict"}
        assert set(read.features) <= known
        assert len(read.words) in (0, 3)


def test_every_published_story_comes_back_behind_its_instruction(shared: Path) -> None:
    prompts = json.loads((shared / "data/prompts/instruct-prompts.json").read_text(encoding="utf-8"))
    blocks = [parse(prompt).blocks for prompt in prompts]
    for path in sorted((shared / "data/stories").iterdir()):
        for n, story in enumerate(stories(str(path), clean=False)):
            assert parse(story).format() == story
            given = Instruction(blocks[n % 50], story.strip())
            assert parse(given.format()) == given


def test_made_stories_carry_their_own_truth() -> None:
    rng = Random(0)
    drawn = set()
    for made in generate(50, seed=3):
        kinds = draw_kinds(rng)
        drawn.add(tuple(kinds))
        given = Instruction.from_made(made, kinds)
        read = parse(given.format())
        assert read == given
        assert read.story == made.text
        assert read.words == (made.words if "Words" in kinds else ())
        assert read.summary == (made.summary if "Summary" in kinds else None)
        assert [kind for kind, _ in read.blocks] == [kind for kind in kinds if kind != "Features" or made.features]
    assert len(drawn) > 20
    with pytest.raises(ValueError, match="there is no block 'Mood'; the kinds are Words, Features"):
        Instruction.from_made(made, ["Mood"])


def test_the_head_is_all_that_comes_before_the_story() -> None:
    text = "Words: run\nSummary: A cat runs.\nStory: \n\nTom ran."
    assert parse(text).head == "Words: run\nSummary: A cat runs.\nStory: \n\n"
    assert parse("Tom ran.").head == ""
    assert all(document.head + document.story == document.format() for document in made_documents(20))


def test_made_documents_depend_on_the_seed_and_their_number_alone() -> None:
    assert list(made_documents(6, seed=2)) == list(made_documents(9, seed=2))[:6] != list(made_documents(6, seed=3))
    assert [parse(document.format()) for document in made_documents(6)] == list(made_documents(6))


@pytest.mark.parametrize(
    ("text", "training", "validation"),
    [
        ("Words: run\nStory: Tom ran.", True, False),
        ("Summary: A cat.\nFeatures: Dialogue\nStory: Tom ran.", True, False),
        ("Words: run\nFeatures: Twist\nSummary: A cat.\nStory: Tom ran.", False, True),
        ("Summary: A cat.\nWords: run\nSummary: A dog.\nStory: Tom ran.", False, True),
        ("Tom ran. Words: run", True, False),
    ],
)
def test_words_and_summary_are_kept_apart_in_training_and_together_in_validation(text, training, validation) -> None:
    assert in_ood_split(text, "train") is training
    assert in_ood_split(text, "validation") is validation


def test_a_source_of_made_instructions_is_read_filtered_and_split_by_the_story_alone() -> None:
    texts = list(stories("made:instruct", limit=40, seed=1))
    assert [parse(text).story for text in texts] == list(stories("made", limit=40, seed=1))
    for split in ("train", "validation"):
        plain, told = (list(stories(source, split=split, limit=12)) for source in ("made", "made:instruct"))
        assert [parse(text).story for text in told] == plain
    kept = replace(stories("made:instruct", limit=10), keep=lambda text: in_ood_split(text, "validation"))
    assert len(list(kept)) == 10 and all(parse(text).asks_for_words_with_summary for text in kept)
