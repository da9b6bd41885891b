"""Planted copies are all found, each under its name, and what repeats is counted as elsewhere."""

import math
import random
import re
from collections import Counter
from itertools import chain

import numpy as np
import pytest
import torch

from tslens import pos, stats
from tslens.evaluation.copies import (
    copies,
    corpora,
    cut_stories,
    diversity,
    nearest,
    neighbours,
    read_written,
    trace,
    write_endings,
)
from tslens.evaluation.copies.result import over_stories
from tslens.evaluation.copies.showing import COPIES, PLOTS
from tslens.evaluation.copies.tracing import skeleton, trace_all
from tslens.evaluation.copies.view import marked
from tslens.evaluation.rouge import rouge_2
from tslens.ngrams import build, postings, words
from tslens.stories import stories


@pytest.fixture(scope="module")
def made():
    return list(stories("made", limit=260))


@pytest.fixture(scope="module")
def known(made, tmp_path_factory):
    return corpora(made[:200], tmp_path_factory.mktemp("ngrams"), source="made stories")


@pytest.fixture(scope="module")
def answer(made, known):
    """Of ten held-out stories two endings are copied from training stories and one is a copy with other nouns."""
    cuts = cut_stories(made[200:210])
    written = [cut.ending for cut in cut_stories(made[230:240])]
    for i, cut in enumerate(cut_stories(made[20:22])):
        written[i] = cut.ending
    written[4] = renamed(made[50], known)
    written[5] = ""
    return copies(cuts, written, known, held_out=cut_stories(made[210:220]), span=40, model="<b>planted</b>")


def renamed(text, known):
    """The second half of a text with another word for every name and noun."""
    ending = cut_stories([text])[1].ending
    return re.sub(r"[A-Za-z']+", lambda m: m[0] if m[0].lower() in known.kept else f"{m[0][0]}oodle", ending)


def test_untrained_twins_are_measured_as_the_model_is(made, known):
    cuts, held_out = cut_stories(made[200:204]), cut_stories(made[210:213])
    own, other = ([cut.ending for cut in cut_stories(made[start : start + 4])] for start in (20, 220))
    both = copies(cuts, own, known, held_out=held_out, twins={"permuted twin 0": other, "fresh twin 0": own})
    alone = copies(cuts, other, known, held_out=held_out).summary()
    table = both.summary()
    for name, columns in (("permuted twin 0", ["written", "low", "high"]), ("true_endings", ["true_endings"])):
        given = [name, f"{name} low", f"{name} high"] if len(columns) > 1 else columns
        np.testing.assert_array_equal(table[given].to_numpy(), alone[columns].to_numpy())
    np.testing.assert_array_equal(table["fresh twin 0"], table["written"])
    assert not alone["written"].equals(table["written"]) and set(both.to_frame()["who"]) == set(both.writers)


def test_stories_are_cut_between_words():
    story = "One two\n three four  five.\n"
    first, half = cut_stories([story, "word", ""], (0.4, 0.5))
    assert (first.prompt, first.ending) == ("One two", "\n three four  five.")
    assert half.prompt == "One two"
    assert all(cut.prompt + cut.ending == story.strip() for cut in cut_stories([story], (0.01, 0.2, 0.99)))
    assert [cut.prompt for cut in cut_stories([story], (0.01, 0.99))] == ["One", "One two\n three four"]


@pytest.mark.parametrize("share", [0, 1, -2, math.nan])
def test_a_share_outside_is_refused(share, refused):
    with refused("share between 0 and 1"):
        cut_stories(["a b"], (share,))


def test_planted_copies_are_all_found(made, known):
    rng = random.Random(0)
    for story in rng.sample(range(200), 25):
        whole = words(made[story])
        exact = trace(made[story], known)
        assert (exact.longest, exact.nearest, exact.nearest_f) == (len(whole), 1, 1)
        assert made[exact.longest_story] == made[story]
        start = rng.randrange(len(whole) - 40)
        within = trace("Unheard things. " + " ".join(whole[start : start + 40]) + " unheard", known)
        assert within.longest >= 40
        assert set(whole[start : start + 40]) <= set(words(made[within.longest_story]))


def test_a_short_text_is_a_copy_as_a_whole(made, known):
    """From 8 words and marks on; with a new word before it, it is none; with another noun, a template copy."""
    ends = [
        " ".join(words(made[story])[-n:]) for story, n in zip(range(8), (8, 10, 12, 14, 16, 18, 20, 24), strict=True)
    ]
    other = [" ".join(word if word in known.kept else "oodle" for word in end.split()) for end in ends]
    texts = [*ends, " ".join(words(made[9])[-7:]), f"was was {ends[0]}", *other]
    kinds = copies(cut_stories(made[200 : 200 + len(texts)], (0.4,)), texts, known).kind[: len(texts)]
    assert kinds.tolist()[:10] == [1] * 8 + [0, 0]
    assert kinds.tolist()[10:] == [1 if a == b else 2 for a, b in zip(ends, other, strict=True)] and 2 in kinds


def test_templates_with_nouns_of_other_stories_are_found(made, known):
    """Nouns that stories have, some of them verbs elsewhere: such a word may stay in a skeleton, and cut the span."""
    rng, halves = random.Random(0), [made[i][len(made[i]) // 2 :] for i in range(0, 200, 5)]
    tagged = pos.tag_texts(halves)
    nouns = sorted(
        {half[a:b].lower() for half, found in zip(halves, tagged, strict=True) for a, b, t in found if t == "NOUN"}
    )
    whole = found_as_copies = changed = 0
    for half, found in zip(halves, tagged, strict=True):
        parts, end = [], 0
        for a, b, tag in found:
            if tag == "NOUN":
                parts += [half[end:a], rng.choice(nouns)]
                end = b
        text = "".join(parts) + half[end:]
        changed += text != half
        template = trace(text, known).template
        found_as_copies += template >= 25
        whole += template == len(words(text))
    assert len(nouns) > 60 and changed == len(halves)
    assert found_as_copies == len(halves) and whole >= len(halves) // 2, (found_as_copies, whole)


def test_planted_templates_are_all_found(made, known):
    for story in range(0, 200, 9):
        text = renamed(made[story], known)
        found = trace(text, known)
        assert found.template == len(words(text))
        assert known.skeletons.story(found.template_story).endswith(known.skeleton(text))
        assert found.longest < found.template


def test_a_copy_whose_new_name_is_a_common_word_is_found_whole(made, known):
    common = [word for word in ("little", "happy", "brave", "lovely") if word in known.kept]
    assert len(common) >= 2
    for i, text in enumerate(made[:200:9]):
        ((hero, _),) = Counter(re.findall(r"(?<=[a-z] )[A-Z][a-z]+", text)).most_common(1)
        renamed = re.sub(rf"\b{hero}\b", common[i % len(common)].capitalize(), text)
        found = trace(renamed, known)
        assert renamed != text and found.template == len(words(text))
        assert found.template_skeleton == known.skeleton(text)
        assert found.template_span == " ".join(words(renamed))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The sun rose. Then Rose ran.", "the _ rose . then _ ran ."),
        ("Rose ran. Then Rose’s sun rose.", "_ ran . then _ _ rose ."),  # a name wherever it has a capital
        ("Rose ran. Will ran.", "rose ran . will ran ."),  # only where sentences begin
        ('He said, "Will he?" Then "Rose," Will said.', 'he said , " _ he ? " then " rose , " _ said .'),
        ("He said\nRose ran, and I ran.", "he said rose ran , and i ran ."),  # a new line begins a sentence
        ("Hope, Grace ran. No, Grace-Hope ran.", "hope , _ ran . no , _ - hope ran ."),
    ],
)
def test_a_capital_within_a_sentence_is_a_name(text, expected):
    kept = frozenset(words('rose will then ran he said i hope grace no and the , . ? - "'))
    assert skeleton(text, kept) == expected
    assert len(skeleton(text, kept).split()) == len(words(text))


def test_other_words_around_the_same_things_have_the_same_plot(made, known):
    """Every sentence in another place, and all frequent words gone: no pair of words is left as it was."""
    for story in range(0, 200, 20):
        rare = [word for word in words(made[story]) if known.index.vocabulary[word] < 400 and word.isalpha()]
        random.Random(0).shuffle(rare)
        found = trace(" ".join(rare), known)
        assert (found.plot_story, found.longest < 5) == (story, True)
        assert found.plot > 0.7  # the least of these ten has 0.756: words that are frequent carry the rest


AWKWARD = (
    "Don’t — she didn't! Didn't she?",
    "very very very very",
    "naïve “İ” \u212a ’tis rock 'n' roll",
    "the. The",
    "",
    "?",
)


@pytest.mark.parametrize(("at_a_time", "part", "frequent"), [(7, 1000, 5), (4096, 1 << 22, 64)])
def test_the_nearest_is_that_of_all_stories(made, tmp_path, monkeypatch, at_a_time, part, frequent):
    """Every largest value and the first story that has it, by each text's comparison with each story."""
    monkeypatch.setattr(neighbours, "STORIES", at_a_time)
    monkeypatch.setattr(postings, "PART", part)
    monkeypatch.setattr(neighbours, "FREQUENT", frequent)
    told = [*made[:60], *AWKWARD, *[""] * 8, "Don't — SHE DIDN’T!", "very very very", *made[:3]]
    index = build(told, tmp_path / "index")
    rare = [rare_words(story, index) for story in told]
    texts = [*made[200:230], *(cut.ending for cut in cut_stories(made[:5])), *AWKWARD]
    for text, found in zip(texts, nearest.closest(texts, neighbours.neighbours(index)), strict=True):
        scores = [rouge_2(story, text) for story in told]
        precision, f = [score.precision for score in scores], [score.f for score in scores]
        plot = [cosine(rare_words(text, index), of) for of in rare]
        assert found[::2][:2] == pytest.approx((max(precision), max(f)))
        assert found.nearest_story == (precision.index(max(precision)) if max(precision) else -1)
        assert found.plot == pytest.approx(max(plot))
        assert plot[found.plot_story] == pytest.approx(max(plot)) if max(plot) else found.plot_story == -1


def rare_words(text, index):
    """The count of each word, times the logarithm of its rarity."""
    there = Counter(word for word in words(text) if word[0].isalpha() and word in index.vocabulary)
    return {word: n * math.log(index.record.words / index.vocabulary[word]) for word, n in there.items()}


def cosine(a, b):
    size = math.hypot(*a.values()) * math.hypot(*b.values())
    return sum(weight * b.get(word, 0) for word, weight in a.items()) / size if size else 0


def test_texts_are_traced_alike_together_and_alone(made, known):
    texts = [*made[200:206], "", "?"]
    together = trace_all(texts, known)
    for text, found in zip(texts, together, strict=True):
        alone = trace(text, known)
        np.testing.assert_array_equal(found.new, alone.new)
        assert found._replace(new=0) == alone._replace(new=0)
    assert trace_all([], known) == []


@pytest.mark.parametrize("text", ["", " ", "ü", "日本", "\ud800", "🙂" * 50, "?!", "a"])
def test_awkward_texts_are_traced(text, known):
    found = trace(text, known)
    assert found.longest <= len(words(text))
    assert 0 <= found.plot <= 1
    assert len(found.new) == 10
    assert np.isnan(found.new[len(words(text)) :]).all()


def test_kinds_and_numbers_of_a_result(answer, known):
    kinds = answer.kind.tolist()
    assert [kinds[i] for i in (0, 1, 2, 3)] == [1, 1, 1, 1]
    assert kinds[4] == 2
    assert (kinds[5], answer.words[5], answer.rouge[5].tolist()) == (0, 0, [[0, 0, 0]] * 3)
    assert answer.nearest[:4].tolist() == [1] * 4
    assert answer.new[0].tolist() == [0] * 10
    assert answer.new[4, 0] > 0
    assert answer.who.tolist() == [0] * 20 + [1] * 20
    frame = answer.summary().set_index(["cut", "measure"])
    row = frame.loc[(0.4, "ROUGE-2 precision to the nearest training story")]
    assert row.low < row.written < row.high
    assert row.true_low < row.true_endings < row.true_high
    assert row.written == pytest.approx(answer.nearest[0:20:2].mean())
    assert frame.loc[(0.5, "exact copies")].written == pytest.approx(
        answer.copied(0, 1, np.arange(40) % 2 == 1).estimate
    )
    assert {f"new {n}-grams" for n in range(1, 11)} <= {measure for _, measure in frame.index}
    for who in (0, 1):  # the floor is what the prompt alone gives; with it every text looks like a copy
        own = answer.who == who
        assert (answer.with_prompt[own] >= answer.floor[own] - 1e-9).all()
        assert answer.floor[own].mean() > 0.3
    assert torch.allclose(answer.with_prompt[answer.who == 1], torch.ones(20))
    copies = frame.loc[(0.4, "exact copies")]
    said = f"texts {copies.written:.2f} ({copies.low:.2f} to {copies.high:.2f}) are exact and "
    true = f"of those of the true endings {row.true_endings:.2f} ({row.true_low:.2f} to {row.true_high:.2f})."
    assert str(answer).startswith("Of ") and said in answer.headline() and answer.headline().endswith(true)


def test_a_result_can_be_kept_drawn_and_shown(answer, tmp_path):
    back = type(answer).load(answer.save(tmp_path))
    assert back.summary().equals(answer.summary())
    assert len(answer.to_frame()) == 40
    assert len(answer.to_frame("new")) == 400
    assert len(answer.figure().axes) == 4
    page = answer.html()
    assert "&lt;b&gt;planted" in page
    assert "<b>" not in page
    assert page.count("<mark>") >= 2 * 5
    assert page.count("Exact copy") >= 4
    assert "Template copy" in page
    assert page.count("whose plot is nearest, in whatever words: cosine of rare words 0.") == PLOTS
    assert answer._repr_html_().endswith(page)
    assert answer.to_json()["rows"]


def test_the_nearest_plots_are_shown_after_the_copies(made, answer, known):
    """The texts with the largest cosine of those written that are no copies, each beside the whole story."""
    kinds, near = [row["kind"] for row in answer.shown], answer.shown[COPIES:]
    assert kinds[:5] == ["exact"] * 4 + ["template"] and kinds[5:].count("plot") == len(near) == PLOTS
    frame = answer.to_frame().query("who == 'written' and kind == 'none'").sort_values("plot", ascending=False)
    for row, (_, expected) in zip(near, frame.iterrows(), strict=False):
        assert (row["kind"], row["text"], row["prompt"]) == ("plot", expected.continuation, expected.prompt)
        assert (row["cosine"], row["story"]) == (pytest.approx(expected["plot"]), expected.plot_story)
        assert row["story_text"] == made[row["story"]] and marked(row["story_text"], "") in answer.html()
    alone = copies(cut_stories(made[:2]), ["?"] * 4, known)
    assert [row["kind"] for row in alone.shown] == ["none"] * 4  # a text without words has no plot


def test_completions_of_one_prompt_count_as_one_story(made, known):
    cuts = cut_stories(made[200:204], (0.5,))
    once = copies(cuts, [cut.ending for cut in cuts], known)
    often = copies(cuts * 5, [cut.ending for cut in cuts] * 5, known)
    a, b = (
        result.summary().set_index("measure").loc["ROUGE-2 precision to the nearest training story"]
        for result in (once, often)
    )
    assert (a.low, a.high) == pytest.approx((b.low, b.high))
    assert (once.copied(0, 0).low, once.copied(0, 0).high) == (often.copied(0, 0).low, often.copied(0, 0).high)
    assert np.isnan(a.true_endings)


def test_a_mean_of_few_stories_has_an_interval_over_stories():
    """Three stories of two texts: Student's t of the means of stories, 0.1, 0.3 and 0.2, by hand."""
    values, stories = np.array([0.0, 0.2, 0.3, 0.3, 0.1, 0.3, np.nan]), np.array([5, 5, 7, 7, 9, 9, 9])
    found = over_stories(values, stories)
    assert (found.estimate, found.high - 0.2) == pytest.approx((0.2, 4.30265 * 0.1 / math.sqrt(3)), abs=1e-5)
    assert np.isnan(over_stories(values[:2], stories[:2]).estimate)


def test_intervals_of_shares_stay_on_the_scale_and_have_a_width():
    stories = np.arange(8)
    rare = over_stories(np.array([0.1, *[0.0] * 7]), stories)
    assert rare.low == 0 < rare.estimate < rare.high < 0.1
    never, always = over_stories(np.zeros(8), stories), over_stories(np.ones(8), stories)
    assert (never.low, never.high) == (0, 1 - always.low) == (0, pytest.approx(0.3244, abs=1e-4))  # z^2 / (8 + z^2)
    counted = over_stories(np.full(8, 3.0), stories, np.inf)
    assert (counted.low, counted.high) == (3, 3)


def test_too_few_are_refused(made, known, refused):
    cuts = cut_stories(made[200:201])
    with refused("at least 2 stories"):
        copies(cuts, ["a", "b"], known)


def test_marks_are_set_and_text_is_escaped():
    assert marked("A <b> Cat’s ran.", "cat's ran") == "A &lt;b&gt; <mark>Cat’s ran</mark>."
    assert marked("İ & \x07", "cat") == "İ &amp; \\x07"
    assert marked("", "cat") == marked("", "") == ""


# Texts among one another


def test_distinct_by_hand():
    assert diversity.distinct(["a b a", "a c"], 1).estimate == 3 / 5
    assert diversity.distinct(["a b a", "a c"], 2).estimate == 1
    assert diversity.distinct(["", ""], 3).estimate == 0
    assert diversity.distinct(["a"] * 4, 1).estimate == 1 / 4


def test_distinct_without_each_text(made):
    texts = made[:6]
    for n in (1, 3):
        grams = [list(zip(*(words(text)[i:] for i in range(n)), strict=False)) for text in texts]
        left = [list(chain.from_iterable(grams[:i] + grams[i + 1 :])) for i in range(6)]
        without = [len(set(found)) / len(found) for found in left]
        found = diversity.distinct(texts, n)
        assert found.estimate - found.low == pytest.approx(2.5706 * np.std(without) * math.sqrt(5), rel=1e-4)


def test_texts_of_one_story_are_left_out_together(made):
    texts = made[:6]
    twice = diversity.distinct([*texts, *texts], 1, [*range(6), *range(6)])
    once = diversity.distinct(texts, 1)
    assert (2 * twice.estimate, 2 * twice.low, 2 * twice.high) == pytest.approx((once.estimate, once.low, once.high))


@pytest.mark.parametrize("measure", [diversity.self_bleu, diversity.among])
def test_what_rests_on_the_whole_set_has_the_jackknife_over_stories(measure, made):
    """Each story left out by hand; texts of one story go together."""
    texts, stories = [text[-200:] for text in [*made[:9], made[3], made[4]]], [*range(9), 3, 4]
    values, mean = measure(texts, stories)
    without = [
        measure(*zip(*((t, s) for t, s in zip(texts, stories, strict=True) if s != left), strict=True))[0].mean()
        for left in range(9)
    ]
    expected = stats.jackknife(values.mean(), without)
    assert mean.estimate == pytest.approx(values.mean()) and values[3] > 0.9
    assert (mean.low, mean.high) == pytest.approx((max(0, expected.low), min(1, expected.high)))


def test_self_bleu_equals_nltk(made):
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    texts = [*made[:6], made[0], "The cat.", "", "x y z", "one two three four five six"]
    split = [words(text) for text in texts]
    smooth = SmoothingFunction(epsilon=0.1).method1
    expected = [
        sentence_bleu([other for j, other in enumerate(split) if j != i], own, smoothing_function=smooth)
        for i, own in enumerate(split)
    ]
    np.testing.assert_allclose(diversity.self_bleu(texts)[0], expected, rtol=1e-9)


def test_the_vocabulary_grows_to_all_words(made):
    texts = made[:8]
    total = sum(len(words(text)) for text in texts)
    middle, low, high = diversity.growth(texts, [1, 50, total, total + 1])
    assert middle[0] == 1
    assert middle[2] == low[2] == high[2] == len({word for text in texts for word in words(text)})
    assert low[1] < middle[1] < high[1] <= 50
    assert np.isnan(middle[3])


def test_one_text_repeats_nothing(refused):
    for call in (lambda: diversity.distinct(["a"], 1), lambda: diversity.self_bleu(["a"])):
        with refused("at least 2 texts"):
            call()


# Completions


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.jsonl",
            '{"prompt": "One", "completion": " day", "ending": " night"}\n\n{"prompt": "One", "completion": ""}\n',
        ),
        ("a.csv", "prompt,completion,ending\nOne, day, night\nOne,,\n"),
    ],
)
def test_completions_are_read(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    cuts, written = read_written(tmp_path / name)
    assert written == [" day", ""]
    assert [(cut.prompt, cut.ending, cut.story) for cut in cuts] == [("One", " night", 0), ("One", "", 0)]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.jsonl",
            '{"prompt": "a", "completion": "b"}\n{"prompt": "a"}\n',
            "line 2: no text in the field 'completion'",
        ),
        ("a.jsonl", '{"prompt": "\\ud800", "completion": "b"}', "line 1 has half a surrogate pair"),
        ("a.jsonl", "[1]\n", "line 1 is (list|not JSON)"),
        ("a.jsonl", "{", "line 1 is (list|not JSON)"),
        ("a.jsonl", "", "holds no completions"),
        ("a.csv", "prompt\none\n", "line 2: no text in the field 'completion'"),
        ("a.txt", "", "no .jsonl or .csv"),
    ],
)
def test_wrong_completions_are_refused(tmp_path, refused, name, content, said):
    (tmp_path / name).write_text(content)
    with refused(said):
        read_written(tmp_path / name)


def test_endings_are_written_after_their_prompts(made):
    from tslens.models import load

    model, cuts = load("stories2M"), cut_stories(made[:3])
    written = write_endings(model, cuts, tokens=12, seed=3)
    assert written == write_endings(model, cuts, tokens=12, seed=3)
    assert written != write_endings(model, cuts, tokens=12, seed=4)
    assert len(set(written)) == 6
    assert not any(text.startswith(cut.prompt[:10]) for cut, text in zip(cuts, written, strict=True))


def test_no_true_ending_has_no_share_of_copies(made, known):
    """Without stories that were not trained on there is nothing to compare with, and no interval of it."""
    cuts = cut_stories(made[200:204])
    alone = copies(cuts, [cut.ending for cut in cuts], known)
    rows = alone.summary().set_index("measure").loc[["exact copies", "template copies"]]
    assert rows[["true_endings", "true_low", "true_high"]].isna().all(axis=None)
    assert rows[["written", "low", "high"]].notna().all(axis=None)
