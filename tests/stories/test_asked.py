"""Stories asked of a large model: what is asked, and what is accepted."""

from itertools import pairwise

import pytest

from tslens.stories import stories
from tslens.stories.asked import FEATURES, RULES, Wish, features_of, vocabulary_of, wishes
from tslens.stories.generator import FEATURES as MADE
from tslens.stories.generator.lexicon import bases


def test_wishes_are_seeded_and_of_our_vocabulary():
    first = list(wishes(300, seed=1))
    assert list(wishes(100, seed=1)) == first[:100]
    assert list(wishes(100, seed=2)) != first[:100]
    for wish in first:
        for word, tag in zip(wish.words, ("NOUN", "VERB", "ADJ"), strict=True):
            assert word in bases()[tag]
    shares = {name: sum(name in wish.features for wish in first) / 300 for name in FEATURES}
    assert all(0.2 < share < 0.5 for share in shares.values())  # a third each
    assert tuple(FEATURES) and set(FEATURES) == set(MADE)


def test_no_two_wishes_are_one_request():
    same = list(wishes(5, words=["dog", "run"], features=["Conflict"]))
    keys = {wish.request(number).key("m") for wish in same for number in range(3)}
    assert len(keys) == 15
    assert all(wish.request(0).text == "Words: dog, run\nFeatures:\n- " + FEATURES["Conflict"] for wish in same)
    assert all(a.copy + 1 == b.copy for a, b in pairwise(same))


def test_a_request_names_words_and_features():
    wish = Wish(("dog", "run", "happy"), (), ("noun", "verb", "adjective"))
    request = wish.request(2)
    assert request.text == "Words: dog (noun), run (verb), happy (adjective)"
    assert (request.system, request.repetition) == (RULES, 2_000_000)


@pytest.mark.parametrize(
    ("story", "fault"),
    [
        ("The dogs ran home. They were happier.", None),
        ("The dog was running. It was the happiest.", None),
        ("The dog runs. It was glad.", "words missing"),
        ("The dogma and the runt were unhappy.", "words missing"),
        ("The dog ran and was happy and", "unfinished"),
        ("", "unfinished"),
    ],
)
def test_words_count_in_any_form(story, fault):
    assert Wish(("dog", "run", "happy"), ()).fault(story) == fault


def test_every_form_of_our_vocabulary_counts():
    for base, form in (("bunny", "bunnies"), ("leaf", "leaves"), ("fly", "flown"), ("mouse", "mice"), ("take", "took")):
        assert Wish((base,), ()).fault(f"There were {form}.") is None


@pytest.mark.parametrize(
    ("story", "spoken"),
    [
        ('"Hello," said the dog.', True),
        ("“Hello!” said the dog.", True),
        ("The dog's bone isn't here.", False),
        ('The dog "" was.', False),
    ],
)
def test_dialogue_is_between_double_quotes(story, spoken):
    assert Wish(("dog",), ("Dialogue",)).fault(story) == (None if spoken else "dialogue missing")


@pytest.mark.parametrize(
    ("end", "fault"),
    [
        ("The dog learned that haste is bad.", None),
        ("Tom never forgot that day.", None),
        ("The dog went home.", "moral missing"),
        ("The dog learned to wait. " + "It went home. " * 3, "moral missing"),  # it is said at the end
    ],
)
def test_a_moral_is_said_at_the_end(end, fault):
    assert Wish(("dog",), ("MoralValue",)).fault(f"The dog ran too fast. It fell. {end}") == fault
    assert Wish(("dog",), ()).fault(f"The dog ran too fast. It fell. {end}") is None


ADULT = (
    "The dog hesitated, because the committee had postponed the negotiations indefinitely. Its owner, a bankrupt "
    "entrepreneur, contemplated the fundamental ambiguity of the contract and the consequences of further litigation."
)


def test_words_are_simple():
    """Of ten different words two may be unknown to the generator. Names do not count, nor what was asked for."""
    simple, ten = Wish(("dog",), ()), "Thucydides' dog ran home and saw a big {} {} {}."
    assert simple.fault(ADULT) == "simple words missing"
    assert simple.fault(ten.format("zygote", "xylem", "ball")) is None
    assert simple.fault(ten.format("zygote", "xylem", "phloem")) == "simple words missing"
    assert Wish(("zygotes",), ()).fault(ten.format("zygote", "xylem", "phloem")) is None
    assert simple.fault("Mom's dog didn’t run to her mommy.") is None
    assert Wish(("o’clock",), ()).fault("It was six o'clock.") is None


def test_nearly_all_real_stories_have_simple_words(shared):
    real = stories(str(shared / "data/stories/tinystories-v1.txt"), limit=1000)
    faults = [Wish((), ()).fault(story) for story in real]
    assert len(faults) == 1000 and sum(fault is None for fault in faults) >= 990


def test_features_by_name(refused):
    assert features_of("Plot Twist, dialogue") == ("Dialogue", "Plot twist")
    assert features_of("moral,plot-twist") == features_of("MoralValue,twist") == ("Plot twist", "MoralValue")
    assert features_of("none") == ()
    with refused("no feature is called 'dialog'. Did you mean 'dialogue'"):
        features_of("dialog")


def test_words_are_as_the_generator_takes_them(refused):
    """What no story can hold is refused before it is paid for."""
    (wish,) = wishes(1, words=["fish/VERB", "dog"], features=())
    assert (wish.words, wish.kinds) == (("fish", "dog"), ("verb", ""))
    assert "Words: fish (verb), dog" in str(wish.request(0))
    for bad in ("ice cream", "123", "dog/ADV", ""):
        with refused(f"{bad!r} is no single word; give one such as dog, or fish/VERB"):
            list(wishes(1, words=[bad]))


def test_a_vocabulary_of_ones_own(tmp_path, refused):
    path = tmp_path / "words.toml"
    path.write_text('noun = ["whale"]\nverb = ["hum"]\nadjective = ["blue"]\n')
    (wish,) = wishes(1, vocabulary=vocabulary_of(path))
    assert wish.words == ("whale", "hum", "blue")
    for broken, said in (('noun = ["whale"]\n', "verb"), ('noun = "whale"\n', "noun"), ("noun = [", "not TOML")):
        path.write_text(broken)
        with refused(said):
            vocabulary_of(path)
