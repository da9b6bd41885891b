"""Suites: those that come with tslens keep to their own rules, and a file that breaks one is refused with its place."""

import re
from pathlib import Path

import pytest

from tslens.evaluation.suites import Prompt, suite, suites

GOOD = """
question = "What is it?"
[[pair]]
about = "night and day"
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
    night = Prompt("At night we see the", ("moon", "stars"), ("sun", "blue sky"), "night and day")
    assert mine.prompts[0] == night
    assert mine.prompts[1] == Prompt("By day we see the", night.rejected, night.accepted, "night and day")


def test_three_suites_come_with_tslens():
    assert {"context", "facts", "reasoning"} <= set(suites())
    texts = [prompt.text for name in suites() for prompt in suite(name).prompts]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", suites())
def test_a_suite_of_ours(name):
    ours = suite(name)
    assert len(ours.prompts) >= 20
    for prompt in ours.prompts:
        assert len(prompt.accepted) == len(prompt.rejected) >= 2
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
        ('question = "What is it?"', "", "mine.toml, 'question': Field required"),
        ('about = "hot and cold"', "about = 3", "mine.toml, pair 2, 'about': Input should be a valid string; got 3"),
        ('about = "hot and cold"', 'about = "night and day"', "two pairs have about = 'night and day'"),
        ('{ text = "Ice is", accepted = ["cold"] }', "", "(hot and cold) has 1 prompts; a pair has 2"),
        (
            '{ text = "Ice is", accepted = ["cold"] }',
            '"Ice is"',
            "pair 2, prompts 2: Input should be a valid dictionary or instance of PromptTable; got 'Ice is'",
        ),
        ('"Ice is"', '"Fire is"', "both prompts are the same"),
        ('["cold"]', '["cold", "icy"]', "the same number of accepted endings"),
        ('["cold"]', '["hot"]', "an ending occurs twice"),
        ('["cold"]', '[" cold"]', "pair 2, prompts 2, accepted 1: ' cold' is empty or has spaces around it"),
        ('["cold"]', "[7]", "pair 2, prompts 2, accepted 1: Input should be a valid string; got 7"),
        ('about = "hot', 'abuot = "hot', "pair 2 has no key 'abuot'. Did you mean 'about'? Keys: about, prompts"),
        ("[[pair]]", "[[pair", "is not TOML"),
        (GOOD[GOOD.rindex("[[pair]]") :], "", "has 1 pairs; an interval needs 2"),
    ],
)
def test_a_broken_file_is_refused(file, old, new, complaint, refused):
    assert old in GOOD
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
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
    (tmp_path / "...toml").write_text(GOOD)
    with pytest.raises(ValueError, match=r"a suite cannot be called '\.\.'"):
        suite(str(tmp_path / "...toml"))
