"""Made stories: reproducible, diverse, free of slips, and true in everything that they say of themselves."""
# ruff: noqa: E501

import json
import re
from collections import Counter
from itertools import pairwise

import pytest

from tslens.stories.generator import FEATURES, MadeStory, generate, lexicon, shared_templates
from tslens.stories.generator.nodes import Choice, Draw, Node, Pronoun, Punct, Refer, Space, TemplateError, Word
from tslens.stories.generator.paraphrase import paraphrased
from tslens.stories.generator.render import FORMS, Character, Part, Renderer
from tslens.stories.generator.story import quotable_sentences
from tslens.stories.generator.tale import read
from tslens.stories.generator.tales import tales
from tslens.stories.generator.template import compiled

UPOS = set("NOUN VERB ADJ ADV PRON DET ADP AUX CCONJ SCONJ PART NUM INTJ PROPN PUNCT".split())
PERSONS = {
    "i": None, "me": None, "my": None, "mine": None, "myself": None, "you": None, "your": None, "yours": None, "yourself": None,
    "we": None, "us": None, "our": None, "ours": None, "ourselves": None,
} | dict.fromkeys(FORMS["they"])  # fmt: skip


@pytest.fixture(scope="module")
def stories() -> list[MadeStory]:
    return list(generate(300, seed=11))


def rendered(text: str, rng_seed: int = 0) -> Renderer:
    from random import Random

    cast = {
        "h": Part(0, Character("Lily", "girl", "she"), "name"),
        "f": Part(1, Character("Tom", "boy", "he"), "name"),
        "e": Part(2, Character("the baker", "baker", "he"), "noun"),
        "m": Part(3, Character("Dad", "dad", "he"), "kin"),
    }
    made = Renderer(Random(rng_seed), cast, {"x": lexicon.noun("apple")}, free=False)
    made.add(text)
    return made


def test_a_template_by_hand() -> None:
    made = rendered('{H} saw a {x} and [|] ate it. "h>f: I don\'t want to share my {x+}," {he} said.')
    assert made.text == 'Lily saw an apple and ate it. "I don\'t want to share my apples," she said.'
    words = [(made.text[a:b], tag) for a, b, tag in made.tags if tag != "PUNCT"]
    assert words == [
        ("Lily", "PROPN"), ("saw", "VERB"), ("an", "DET"), ("apple", "NOUN"), ("and", "CCONJ"), ("ate", "VERB"), ("it", "PRON"),
        ("I", "PRON"), ("don't", "AUX"), ("want", "VERB"), ("to", "PART"), ("share", "VERB"), ("my", "PRON"), ("apples", "NOUN"),
        ("she", "PRON"), ("said", "VERB"),
    ]  # fmt: skip
    assert [(made.text[a:b], who) for a, b, who in made.pronouns] == [("I", 0), ("my", 0), ("she", 0)]


@pytest.mark.parametrize(
    ("source", "word", "tag"),
    [
        ("{H} had to go.", "had", "VERB"),
        ("{H} had a {x}.", "had", "VERB"),
        ("{H} had never seen it.", "had", "AUX"),
        ("They/PRON had all gone/VERB home.", "had", "AUX"),
        ("{He} did it again.", "did", "VERB"),
        ("{He} did not go.", "did", "AUX"),
        ("From that day on, {h} was kind.", "that", "DET"),
        ("{H} was sure that {x+} are good.", "that", "SCONJ"),
        ("{H} said that {he} was late/ADJ.", "that", "SCONJ"),
        ("All the things/NOUN that {he} could see were good.", "that", "PRON"),
        ("After that, {h} slept.", "that", "PRON"),
        ("At last, {he} slept.", "last", "ADJ"),
        ("{H} came last.", "last", "ADV"),
        ("{H} had a close friend.", "close", "ADJ"),
        ("{F} lived close by.", "close", "ADV"),
        ("{H} slept until the {x} was gone.", "until", "SCONJ"),
        ("{H} slept until noon.", "until", "ADP"),
        ("It is okay to be late/ADJ.", "okay", "ADJ"),
        ("{H} was as big as a {x}.", "as", "ADV"),
        ("{They} hugged each other.", "each", "PRON"),
        ("Nobody knew, but no one asked/VERB.", "one", "PRON"),
        ("{H} and {f} [sat|were sitting] there.", "there", "ADV"),
    ],
)
def test_a_word_is_tagged_as_its_neighbours_ask(source: str, word: str, tag: str) -> None:
    made = rendered(source)
    assert next(t for a, b, t in made.tags if made.text[a:b].lower() == word) == tag


def test_a_pronoun_gives_way_to_the_name_when_it_could_mean_two() -> None:
    assert (
        rendered("{F} met {e}. {He f} waved, and {he} waved.").text == "Tom met the baker. Tom waved, and Lily waved."
    )
    assert rendered("{H} met {f}. {He f} waved, and {he} waved.").text == "Lily met Tom. He waved, and she waved."
    assert rendered("{H} met {e}. {He} waved.").text == "Lily met the baker. Lily waved."
    assert rendered("{H} saw {m} in {his m} car.").text == "Lily saw her dad in his car."
    assert (
        rendered("{H} slept. {M} saw {him}. {They} were glad.").text == "Lily slept. Her dad saw her. They were glad."
    )


def test_a_beat_names_everybody_before_a_pronoun_stands_for_them() -> None:
    made = rendered("{H} slept. {He} dreamed.")
    made.add("{He} woke up.")
    made.add("{They} went home.")
    made.add("{He} slept.", anew=False)
    assert made.text == "Lily slept. She dreamed. Lily woke up. Lily and Tom went home. She slept."
    assert rendered("{H} slept. It rained. It snowed. It rained. {He} woke up.").text.endswith("Lily woke up.")


def test_a_short_form_never_stands_last() -> None:
    assert "I'll" not in paraphrased('"h>m: I will," said {h}.')
    assert "I'll" in paraphrased('"h>m: I will try," said {h}.')


def test_no_speaker_stands_between_a_name_and_its_clause() -> None:
    assert "{f} said" not in paraphrased('"f>h: Stop," said {f}, who was cold.')


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("{H} zorked.", "not in the lexicon"),
        ("He ran.", "must be a slot"),
        ("{H} said I was late.", "nobody is known"),
        ('"h>f: Hello, said {h}.', "never closed"),
        ("[a|b", "never closed"),
        ("{nosuch} ran.", "no group"),
        ("The walk hurt and race.", "not settled"),
        ("It was a roar.", "not settled"),
        ("{H} saw that [was|{he} was] late/ADJ.", "PRON or SCONJ, which depends on the alternatives"),
    ],
)
def test_a_bad_template_is_refused(source: str, why: str) -> None:
    with pytest.raises(TemplateError, match=why):
        compiled(source)


def test_inflection() -> None:
    forms = {
        w: tuple(lexicon.verb(w).forms[f] for f in ("s", "ed", "ing"))
        for w in ("hop", "cry", "bake", "go", "tie", "visit")
    }
    assert forms == {
        "hop": ("hops", "hopped", "hopping"),
        "cry": ("cries", "cried", "crying"),
        "bake": ("bakes", "baked", "baking"),
        "go": ("goes", "went", "going"),
        "tie": ("ties", "tied", "tying"),
        "visit": ("visits", "visited", "visiting"),
    }
    assert [lexicon.plural(w) for w in ("fox", "leaf", "berry", "mouse", "toy")] == [
        "foxes",
        "leaves",
        "berries",
        "mice",
        "toys",
    ]
    assert [lexicon.article(w) for w in ("owl", "hour", "unicorn", "one", "dog")] == ["an", "an", "a", "a", "a"]


def test_no_verb_is_asked_for_that_may_be_the_past_of_another() -> None:
    asked = lexicon.bases()["VERB"]
    assert lexicon.verb("lie").forms["ed"] == "lay" and "lay" in lexicon.base_verbs()
    assert not {"lay"} & asked and {"lie", "put", "read"} <= asked
    assert not [
        w for w in lexicon.base_verbs() for form in lexicon.verb(w).forms.values() if form != w and form in asked
    ]


def walk(nodes: tuple[Node, ...]) -> list[Node]:
    return [
        n
        for node in nodes
        for n in ([m for way in node.ways for m in walk(way)] if isinstance(node, Choice) else [node])
    ]


def test_every_template_compiles_and_knows_its_cast_and_its_words() -> None:
    assert len(tales()) >= 25 and len({t.name for t in tales()}) == len(tales())
    for tale in tales():
        assert {"end", "twist", "bad", "sign", "about", "about end", "about twist", "about bad"} <= set(tale.special), (
            tale.name
        )
        for line in tale.special["sign"]:
            assert line.count(">>") == 1, line
        for ways in tale.beats.values():
            assert any('"' not in way for way in ways), f"{tale.name}: a beat that cannot be told without dialogue"
        for source in tale.templates:
            nodes = walk(compiled(paraphrased(source)))
            roles = {
                r
                for n in nodes
                for r in (
                    n.role
                    if isinstance(n, Refer)
                    else n.roles
                    if isinstance(n, Pronoun)
                    else n.who
                    if isinstance(n, Word)
                    else ""
                )
            }
            assert roles <= set(tale.cast), source
            assert {n.name for n in nodes if isinstance(n, Draw) and n.bound and not n.group} <= set(tale.binds) | set(
                "sjt"
            ), source


def test_tales_are_refused_with_the_line_that_is_wrong() -> None:
    with pytest.raises(TemplateError, match="cannot read the line 'what is this'"):
        read("== a\nwhat is this")


def test_story_i_depends_on_seed_and_i_alone() -> None:
    assert list(generate(10, 3))[7] == list(generate(30, 3))[7]
    assert next(generate(1, 3)) != next(generate(1, 4))
    with pytest.raises(ValueError, match="-1 stories"):
        generate(-1)


def test_tags_cover_every_character_once(stories: list[MadeStory]) -> None:
    for story in stories:
        covered: Counter[int] = Counter(i for a, b, _ in story.tags for i in range(a, b))
        assert set(covered.values()) == {1}
        assert set(covered) == {i for i, c in enumerate(story.text) if not c.isspace()}
        assert {tag for _, _, tag in story.tags} <= UPOS
        for a, b, tag in story.tags:
            assert (tag == "PUNCT") == bool(re.fullmatch(r'[.,!?"]', story.text[a:b])), story.text[a:b]


def test_pronouns_fit_their_characters(stories: list[MadeStory]) -> None:
    for story in stories:
        known = {(a, b) for a, b, _ in story.pronouns}
        for a, b, who in story.pronouns:
            word = story.text[a:b].lower()
            assert word in PERSONS or word in FORMS[story.characters[who].pronoun], (word, story.characters[who])
        for match in re.finditer(r"\b(he|she|him|his|her|himself|herself|I|me|my|you|your)\b", story.text, re.I):
            assert match.span() in known, story.text[match.start() - 20 : match.end() + 20]
        hero, *others = story.characters
        assert all(other.pronoun != hero.pronoun for other in others)


def test_words_features_and_sentence_are_true(stories: list[MadeStory]) -> None:
    seen: Counter[str] = Counter()
    for story in stories:
        at = {(story.text[a:b].lower(), tag) for a, b, tag in story.tags}
        assert set(zip(story.words, ("NOUN", "VERB", "ADJ"), strict=True)) <= at
        assert all(word in lexicon.bases()[tag] for word, tag in zip(story.words, ("NOUN", "VERB", "ADJ"), strict=True))
        assert story.sentence in story.text and "\n" not in story.sentence
        assert set(story.features) <= set(FEATURES)
        assert ("Dialogue" in story.features) == ('"' in story.text)
        stated = re.search(
            r"learned that|knew that|now knew|understood|forgot|remembered|lesson|moral|teaches|tells us|found out",
            story.text,
        )
        assert "MoralValue" not in story.features or stated
        assert not {"Plot twist", "BadEnding"} <= set(story.features)
        seen.update(story.features)
        assert story.summary and story.summary[0].isupper() and story.summary.endswith((".", "!"))
        assert json.loads(json.dumps(story.to_dict()))["text"] == story.text
    assert min(seen[f] for f in FEATURES) > 30


FILL = r"[\w' -]{1,40}?"  # what stands for a slot: a word, a character, or somebody's


def fragments(source: str) -> re.Pattern[str]:
    """A pattern of what a template, or a paraphrase of it, may be told as: its literal words in order, anything in a slot."""

    def pattern(nodes: tuple[Node, ...]) -> str:
        parts = []
        for node in nodes:
            if isinstance(node, Word):
                parts.append(r"an?" if node.text in ("a", "an") else re.escape(node.text))
            elif isinstance(node, Choice):
                parts.append("(?:" + "|".join(map(pattern, node.ways)) + ")")
            elif isinstance(node, Draw | Refer | Pronoun):
                parts.append(FILL)
            elif isinstance(node, Punct):
                parts.append(re.escape(node.text))
            else:
                parts.append(r"\s*" if isinstance(node, Space) else "(?:'s)?")
        return "".join(parts)

    begins = r"(?:^|(?<=\n)|(?<=[.!?\"] ))"
    return re.compile(begins + pattern(compiled(paraphrased(source))), re.IGNORECASE)


@pytest.mark.thorough
def test_the_beat_that_carries_a_feature_stands_in_the_text(stories: list[MadeStory]) -> None:
    """Found again in the bare text by the literal words of its template: where the feature is said, and nowhere else."""
    special = {end: [fragments(line) for t in tales() for line in t.special.get(end, ())] for end in ("twist", "bad")}
    signs = [[fragments(part.strip()) for part in line.split(">>")] for t in tales() for line in t.special["sign"]]
    quarrels = [
        [fragments(part.strip()) for part in line.split(">>")]
        for line in shared_templates.lines(shared_templates.QUARREL)
    ]
    beats = [
        [[fragments(way) for way in ways] for ways in t.beats.values()]
        for t in tales()
        if "Conflict" in t.head.get("shows", "")
    ]

    def in_order(parts: list[re.Pattern[str]], text: str) -> bool:
        at = 0
        for part in parts:
            if not (found := part.search(text, at)):
                return False
            at = found.end()
        return True

    for story in stories[:100]:
        for end, feature in (("twist", "Plot twist"), ("bad", "BadEnding")):
            assert (feature in story.features) == any(line.search(story.text) for line in special[end]), (
                feature,
                story.text,
            )
        conflict = any(in_order(q, story.text) for q in quarrels) or any(
            all(any(way.search(story.text) for way in ways) for ways in tale) for tale in beats
        )
        assert ("Foreshadowing" in story.features) == any(in_order(sign, story.text) for sign in signs), story.text
        assert ("Conflict" in story.features) == conflict, story.text


def test_no_slip_that_a_machine_can_see(stories: list[MadeStory]) -> None:
    for story in stories:
        text = story.text
        assert 3 <= text.count("\n\n") + 1 <= 6 and 60 <= len(text.split()) <= 350
        slips = {
            "template marks": r"[{}\[\]|/>_]",
            "double space": r"  | $| \n|\n ",
            "space before punctuation": r" [.,!?]",
            "double punctuation": r"[.,!?]{2}|\.\"[.,]",
            "doubled word": r"\b(\w+) \1\b(?<!had had)(?<!that that)(?<!her her)",
            "small letter after a full stop": r"[.] [a-z]|^[a-z]|\n[a-z]",
            "a before a vowel": r"\b[Aa] (?!uni|one\b|once\b|use)[aeiou]",
            "an before a consonant": r"\b[Aa]n (?!hour|honest)[^aeiou\W]",
            "punctuation outside the quotation": r'\w" |\w"$',
            "opening quote with a space": r'(?:^|[ \n])" ',
        }
        for name, pattern in slips.items():
            found = re.search(pattern, text)
            assert not found, f"{name}: …{text[max(0, found.start() - 30) : found.end() + 30]!r}"
        for paragraph in text.split("\n\n"):
            assert paragraph.count('"') % 2 == 0, paragraph
            assert paragraph[-1] in '.!?"', paragraph
        for sentence in quotable_sentences(text):
            assert sentence[0].isupper() or sentence[0] == '"', sentence


def test_an_auxiliary_has_the_form_of_the_verb_that_it_asks_for(stories: list[MadeStory]) -> None:
    asked = {
        "a base": ("to will would could should can must may might do did don't didn't won't wouldn't couldn't can't cannot i'll we'll", lexicon.base_verbs()),
        "a participle": ("had has have", lexicon.participles()),
    }  # fmt: skip
    seen: Counter[str] = Counter()
    for story in stories:
        words = [(story.text[a:b].lower(), tag) for a, b, tag in story.tags]
        for (word, tag), (verb, kind) in pairwise(words):
            for what, (auxiliaries, forms) in asked.items():
                if kind == "VERB" and word in auxiliaries.split() and tag in ("AUX", "PART", "PRON"):
                    assert verb in forms, f"{word} {verb}: {what} is due in {story.text!r}"
                    seen[what] += 1
    assert min(seen.values()) > 100 and len(seen) == len(asked)


def test_nobody_is_named_twice_where_a_clause_begins(stories: list[MadeStory]) -> None:
    for story in stories:
        found = re.search(r"\b([A-Z]\w+)(?:'s)?,? \1\b", re.sub(r'"[^"]*"', "", story.text))
        assert not found, found
        assert not re.search(r"'(?:ll|m|ve|re)[.,!?]", story.text)


@pytest.mark.thorough
def test_its_vocabulary_stays_small() -> None:
    words = {
        text[a:b].lower()
        for story in generate(2_000, seed=17)
        for text in [story.text]
        for a, b, tag in story.tags
        if tag != "PROPN" and text[a:b].isalpha()
    }
    assert 1_300 <= len(words) <= 1_850, len(words)


@pytest.mark.thorough
def test_diverse() -> None:
    made = list(generate(1_000, seed=5))
    assert len({story.text for story in made}) == len(made)
    grams = [Counter(pairwise(re.findall("[a-z0-9]+", story.text.lower()))) for story in made]
    holders: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for i, bag in enumerate(grams):
        for gram, count in bag.items():
            holders.setdefault(gram, []).append((i, count))
    nearest = []
    for i in range(0, 1_000, 20):
        shared: Counter[int] = Counter()
        for gram, count in grams[i].items():
            for j, other in holders[gram]:
                shared[j] += min(count, other)
        del shared[i]
        nearest.append(max(2 * n / (grams[i].total() + grams[j].total()) for j, n in shared.items()))
    assert sorted(nearest)[len(nearest) // 2] <= 0.35
