"""Suites: those that come with tslens keep to their own rules, and a file that breaks one is refused with its place."""

import dataclasses
import re
from pathlib import Path

import pytest

from tslens.cli.commands import COMMANDS
from tslens.evaluation.suites import RESERVED, Prompt, suite, suites
from tslens.evaluation.toml_lines import line_of

GOOD = """
question = "What is it?"
[[pair]]
about = "night and day"
right = "What is there."
wrong = "What is not."
prompts = [
  { text = "At night we see the", accepted = ["moon", "stars"] },
  { text = "By day we see the", accepted = ["sun", "blue sky"] },
]
[[pair]]
about = "hot and cold"
prompts = [ { text = "Fire is", accepted = ["hot"] }, { text = "Ice is", accepted = ["cold"] } ]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_what_one_prompt_accepts_its_twin_rejects(file):
    mine = suite(str(file))
    assert (mine.name, mine.question, len(mine.prompts)) == ("mine", "What is it?", 4)
    night = Prompt(
        "At night we see the", ("moon", "stars"), ("sun", "blue sky"), "night and day",
        right="What is there.", wrong="What is not.",
    )  # fmt: skip
    assert mine.prompts[0] == night
    assert mine.prompts[1] == dataclasses.replace(
        night, text="By day we see the", accepted=night.rejected, rejected=night.accepted
    )


def test_three_suites_come_with_tslens():
    assert {"context", "facts", "reasoning"} <= set(suites())
    texts = [prompt.text for name in suites() for prompt in suite(name).prompts]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", suites())
def test_a_suite_of_ours(name):
    ours = suite(name)
    assert len(ours.by_hand) >= 60 and len(ours.prompts) - len(ours.by_hand) >= 500
    assert all(prompt.right and prompt.wrong for prompt in ours.prompts)
    assert ours.prompts[: len(ours.by_hand)] == ours.by_hand
    for prompt in ours.prompts:
        assert len(prompt.accepted) == len(prompt.rejected) >= (1 if prompt.templated else 2)
        lengths = [sum(len(ending.split()) for ending in side) for side in (prompt.accepted, prompt.rejected)]
        assert abs(lengths[0] - lengths[1]) <= 1, f"{prompt.pair}: one side's endings are longer"
        for good in prompt.accepted:  # the beginning of another ending would be counted with it
            assert not [bad for bad in prompt.rejected if bad.startswith(good) or good.startswith(bad)]
        assert re.fullmatch(r"[A-Za-z',.!? ]+", prompt.text) and not prompt.text.endswith((".", "!", "?"))


def test_nothing_of_the_published_prompts(shared):
    """No five words in a row of theirs are in ours."""
    published = " ".join(path.read_text(encoding="utf-8") for path in (shared / "data" / "prompts").iterdir())
    words = re.findall("[a-z]+", published.lower())
    known = {tuple(words[i : i + 5]) for i in range(len(words))}
    for name in suites():
        for prompt in suite(name).prompts:
            own = re.findall("[a-z]+", prompt.text.lower())
            assert not {tuple(own[i : i + 5]) for i in range(len(own) - 4)} & known, prompt.text


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("question =", "questoin =", "has no key 'questoin'. Did you mean 'question'?"),
        ('question = "What is it?"', "", "mine.toml, line 1, 'question': Field required"),
        (
            'about = "hot and cold"',
            "about = 3",
            "mine.toml, line 12, pair 2, 'about': Input should be a valid string",
        ),
        (
            'about = "hot and cold"',
            'about = "night and day"',
            "line 11, pair 2 (night and day) has the topic",
        ),
        ('{ text = "Ice is", accepted = ["cold"] }', "", "(hot and cold) has 1 prompts; a pair has 2"),
        (
            '{ text = "Ice is", accepted = ["cold"] }',
            '"Ice is"',
            "line 13, pair 2, prompts 2: Input should be a valid dictionary or instance of PromptTable; got 'Ice is'",
        ),
        ('"Ice is"', '"Fire is"', "both prompts are the same"),
        ('["cold"]', '["cold", "icy"]', "the same number of accepted endings"),
        ('["cold"]', '["hot"]', "an ending occurs twice"),
        ('["cold"]', '["cold / icy"]', "an ending has ' / ' in it"),
        ('["cold"]', '[" cold"]', "line 13, pair 2, prompts 2, accepted 1: ' cold' is empty or has spaces around it"),
        ('["cold"]', "[7]", "pair 2, prompts 2, accepted 1: Input should be a valid string; got 7"),
        (
            'about = "hot',
            'abuot = "hot',
            "line 12, pair 2 has no key 'abuot'. Did you mean 'about'? Keys: about, prompts, right, wrong",
        ),
        ('text = "By day', 'txet = "By day', "line 9, pair 1, prompts 2 has no key 'txet'. Did you mean 'text'?"),
        ('"By day we see the", ', '"By day we see the", right = "", ', "line 9, pair 1, prompts 2 has no key 'right'"),
        ('text = "By day we see the", ', "", "line 9, pair 1, prompts 2, 'text': Field required"),
        ("By day we see the", "Ice is", "has the prompt 'Ice is' in two pairs"),
        ("[[pair]]", "[[pair", "is not TOML"),
        (GOOD[GOOD.rindex("[[pair]]") :], "", "has 1 pairs; an interval needs 2"),
    ],
)
def test_a_broken_file_is_refused(file, old, new, complaint, refused):
    assert old in GOOD
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
    with refused(re.escape(complaint)):
        suite(str(file))


TEMPLATE = """
[[template]]
about = "pets"
pairs = 3
prompts = [
  { text = "{name} had a {animal} and {name2} a {animal2}. It said", accepted = ["{sound}"] },
  { text = "{name2} had a {animal2} and {name} a {animal}. So it said", accepted = ["{sound2}"] },
]
fill.name = ["Tom", "Sue", "Ann"]
fill."animal sound" = [["cat", "meow"], ["dog", "woof"], ["pup", "woof"]]
"""


def test_a_template_gives_pairs_that_differ_and_are_the_same_every_time(file):
    file.write_text(GOOD + TEMPLATE, encoding="utf-8")
    made = [p for p in suite(str(file)).prompts if p.templated]
    assert suite(str(file)).prompts[4:] == tuple(made) and len(made) == 6
    assert len({p.text for p in made}) == 6 and {p.about for p in made} == {"pets"}
    sound = {"cat": "meow", "dog": "woof", "pup": "woof"}
    for a, b in zip(made[::2], made[1::2], strict=True):
        name, animal, other, second = re.fullmatch(r"(\w+) had a (\w+) and (\w+) a (\w+). It said", a.text).groups()
        assert name != other and a.accepted == b.rejected == (sound[animal],)
        assert b.text == f"{other} had a {second} and {name} a {animal}. So it said"
        assert a.rejected == b.accepted == (sound[second],) != a.accepted  # never two that say the same


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("pairs = 3", "pairs = 40", "line 15, template 1 (pets) gives only"),
        ("fill.name = ", "fill.nmae = ", "nothing fills {name}. 'fill' has: nmae, animal, sound"),
        ("pairs = 3", 'pairs = 3\nfill.place = ["here", "there"]', "no prompt has a slot for 'place'"),
        ('["dog", "woof"]', '["dog"]', "row 2 of 'animal sound' has 1 words; it needs 2"),
        (', "Sue", "Ann"', "", "'name' has 1 rows; its slots need 2"),
        ("pairs = 3", "pears = 3", "line 17, template 1 has no key 'pears'. Did you mean 'pairs'?"),
        ("pairs = 3", "pairs = 1", "line 17, template 1, 'pairs': Input should be greater than or equal to 2; got 1"),
        ('"animal sound" = [["cat", "meow"]', '"animal sound" = [[1, "meow"]', "Input should be a valid string"),
    ],
)
def test_a_broken_template_is_refused(file, old, new, complaint, refused):
    assert old in TEMPLATE
    file.write_text(GOOD + TEMPLATE.replace(old, new), encoding="utf-8")
    with refused(re.escape(complaint)):
        suite(str(file))


def test_bytes_that_are_no_utf_8_are_refused(file, refused):
    file.write_bytes(GOOD.encode("utf-16"))
    with refused("mine.toml is not UTF-8"):
        suite(str(file))


def test_unknown_names(tmp_path):
    with pytest.raises(ValueError, match=r"no suite is called 'fact'. Did you mean 'facts'\? Known: context, facts"):
        suite("fact")
    with pytest.raises(ValueError, match="there is no suite file absent.toml"):
        suite("absent.toml")
    with pytest.raises(ValueError, match="no suite is called '../facts'"):
        suite("../facts")
    with pytest.raises(ValueError, match=r"all is a command of `tslens eval` and no suite; a file .* is ./all.toml"):
        suite("all")
    commands = {one.words.removeprefix("eval ") for one in COMMANDS if one.words.startswith("eval ")}
    assert commands == set(RESERVED)
    (tmp_path / "all.toml").write_text(GOOD)
    assert suite(str(tmp_path / "all.toml")).name == "all" and not set(RESERVED) & set(suites())
    (tmp_path / "...toml").write_text(GOOD)
    with pytest.raises(ValueError, match=r"a suite cannot be called '\.\.'"):
        suite(str(tmp_path / "...toml"))


def test_entries_with_headers_of_their_own_are_found():
    one, two = "[[pair]]\n[[pair.prompts]]\na = 1\n", "[[pair.prompts]]\nb = 2\n"
    text = one + two + "[[pair]]\n[[pair.prompts]]\nc = 3\n[other]\nd = 1\n"
    assert line_of(text, ("pair", 0, "prompts", 1, "b")) == 5 and line_of(text, ("pair", 1, "prompts", 0, "c")) == 8
    assert line_of(text, ("pair", 1, "prompts", 0, "d")) == 7 and line_of(text, ("pair", 1, "c")) == 8


def test_an_unknown_table_is_found_by_its_header():
    text = 'question = "pairs"  # [[pairs]]\n\n[[pair]]\nx = 1\n\n[[pairs]]\nx = 2\n'
    assert line_of(text, ("pairs",)) == 6 and line_of(text, ("question",)) == 1 and line_of(text, ("nothing",)) == 1
