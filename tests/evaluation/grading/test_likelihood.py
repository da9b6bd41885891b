"""A loaded model grades by its log-probabilities: trusted on the axes that they can measure."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tslens import models
from tslens.errors import InputError
from tslens.evaluation.grading import Failure, Grade, GradedText, grade, rubric, stated
from tslens.evaluation.grading.controls import CONTROLS, controls, true_endings, true_stories
from tslens.evaluation.grading.likelihood import LEAST, MEASURES, LikelihoodGrader
from tslens.evaluation.grading.stated import margins
from tslens.evaluation.grading.suites import controls_of
from tslens.evaluation.suites import suite
from tslens.models import Spec, build
from tslens.models.twins import Twin
from tslens.stories import stories
from tslens.stories.sentences import sentences
from tslens.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def bundled():
    return models.load("stories2M")


@pytest.fixture(scope="module")
def endings():
    short = (text for text in stories("made", limit=1500) if len(text) < 900)  # these fit the context of stories2M
    return true_endings(list(short), CONTROLS + LEAST)


@pytest.fixture(scope="module")
def tiny():
    tokenizer = Tokenizer.train(["a cat saw the dog and the bird"] * 3, 300)
    return build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=24), tokenizer=tokenizer, seed=4)


def test_measures_are_those_of_the_hooked_forward(bundled):
    text = GradedText("Once upon a time there was a girl. She", " had a red ball. It was big.")
    others = ["Tom saw a dog. He", "One day it rained. They"]
    read = LikelihoodGrader(bundled, [GradedText(prompt, " ran.") for prompt in others] * LEAST).read([text])[0]
    found = {axis: read.measure(axis, 1000) for axis in MEASURES}
    tokenizer = models.story_tokenizer_of(bundled)
    (before, whole), *elsewhere = (
        tokenizer.encode([prompt, prompt + text.completion]) for prompt in (text.prompt, *others)
    )
    assert whole[: len(before)] == before

    def log_probabilities(row):
        scores = bundled(torch.tensor([row])).log_softmax(-1)[0]
        return scores[:-1].gather(1, torch.tensor(row)[1:, None])[:, 0].detach().numpy()

    given = log_probabilities([*whole, tokenizer.bos])[len(before) - 1 :]
    assert found["plot"] == pytest.approx(given[-1], abs=1e-3)
    least = np.sort(given[:-1])[: max(1, (len(given) - 1) // 10)]
    assert found["grammar"] == pytest.approx(least.mean(), abs=1e-3)
    after_others = [log_probabilities(longer)[len(prompt) - 1 :] for prompt, longer in elsewhere]
    gain = given[:-1] - np.mean(after_others, axis=0)
    assert found["consistency"] == found["instructions"] == pytest.approx(gain.mean(), abs=1e-3)


def test_a_text_is_compared_after_prompts_of_middle_length_that_are_not_its_own(tiny):
    prompts = ["a", "a cat", "the bird saw", "a cat saw the dog"]
    grader = LikelihoodGrader(tiny, [GradedText(prompt, "the bird") for prompt in prompts] * 10)
    assert grader.elsewhere == ["a cat", "the bird saw"]
    one, alone = grader.read([GradedText("the bird saw", "the dog"), GradedText("a cat", "the dog")])
    np.testing.assert_allclose(one.elsewhere, alone.given)  # its own prompt is left out
    np.testing.assert_allclose(alone.elsewhere, one.given)
    own = LikelihoodGrader(tiny, [GradedText("a cat", "the bird")] * LEAST)
    assert np.isnan(own.read([GradedText("a cat", "the dog")])[0].measure("consistency", 9))
    assert own.grade([GradedText("a cat", "the dog")], rubric("story"))[0].scores.keys() == {"grammar", "plot"}


def test_scores_are_ranks_among_true_endings(bundled, endings, story):
    grader = LikelihoodGrader(bundled, endings[:LEAST])
    found = [one.scores["plot"] for one in grader.grade(endings[:LEAST], story)]
    assert np.bincount(found, minlength=11)[1:].tolist() == [LEAST // 10] * 10


def quarter(text):
    words = text.split()
    return " ".join(words[: len(words) // 4])


def test_length_alone_changes_no_rank(bundled, endings, story):
    """True endings and their beginnings are equally good: after the same prompts, a quarter of an ending ranks as the
    whole does, though its gain per token is twice as large."""
    grader = LikelihoodGrader(bundled, endings[:LEAST])
    whole = endings[LEAST : 2 * LEAST]
    begun = [
        replace(text, completion=" ".join(text.completion.split()[: len(text.completion.split()) // 4]))
        for text in whole
    ]
    gains = [np.mean([one.measure("consistency", 1000) for one in grader.read(texts[:10])]) for texts in (begun, whole)]
    assert gains[0] > 1.5 * gains[1]
    for axis in ("grammar", "consistency"):
        short, long = (np.mean([one.scores[axis] for one in grader.grade(texts, story)]) for texts in (begun, whole))
        assert abs(short - long) < 1, axis


def test_it_is_trusted_on_what_it_measures_and_says_nothing_of_the_rest(bundled, endings, story):
    grader = LikelihoodGrader(bundled, endings[-LEAST:])
    result = grade([GradedText("A cat", " ran to the dog.", "a")], grader, story, controls(endings[:20]))
    assert {axis: result.trust[axis] for axis in ("grammar", "consistency", "plot")} == dict.fromkeys(
        ("grammar", "consistency", "plot"), "trusted"
    )
    for axis in ("creativity", "age group"):
        assert result.trust[axis] == "no control" and np.isnan(result.first(axis)).all()
    assert result.grader == "likelihood of stories2M"


@pytest.mark.parametrize("name", ["stories2M", "stories260K"])
def test_gibberish_gains_nothing_by_a_prompt(bundled, endings, name, request):
    """Tokens at random fit no prompt better than another. Beside no prompt they gain 0.08 nats by stories260K."""
    if name == "stories260K":
        bundled = models.load(f"llama2c:{request.getfixturevalue('shared') / 'data/models/stories260K.bin'}")
    grader, true = LikelihoodGrader(bundled, endings[-LEAST:]), endings[:20]
    other = models.story_tokenizer_of(models.load("stories2M"))
    rows = torch.randint(3, other.size, (len(true), 60), generator=torch.Generator().manual_seed(0)).tolist()
    noise = [replace(text, completion=f" {other.decode(row)}") for text, row in zip(true, rows, strict=True)]
    own, wild = ([one.measure("consistency", 60) for one in grader.read(texts)] for texts in (true, noise))
    assert np.mean(own) > 0.1 > 0 >= np.mean(wild)
    assert (np.array(own) > wild).mean() > 0.9


def test_an_untrained_model_is_not_trusted(endings, story):
    tokenizer = models.story_tokenizer_of(models.load("stories2M"))
    fresh = build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=256), tokenizer=tokenizer, seed=1)
    grader = LikelihoodGrader(fresh, endings[CONTROLS:])
    result = grade([GradedText("A", "b")], grader, story, controls(endings[:CONTROLS]))
    assert "trusted" not in result.trust.values()


def test_its_twins_are_its_weights_in_random_order_by_the_same_endings(tiny, compressor):
    texts = [GradedText("a cat", "saw the dog")] * LEAST
    for model in (tiny, compressor):
        found = list(LikelihoodGrader(model, texts, name="likelihood of m").twins())
        assert [twin.name for twin in found] == [f"permuted twin {i} of m" for i in range(7)]
        own = [models.weights(one.model)["embed.W_E"] for one in found]
        assert all(twin.true is texts for twin in found) and not torch.equal(own[0], own[1])


def test_texts_at_the_end_of_the_context(tiny, story):
    grader = LikelihoodGrader(tiny, [GradedText(p, "saw the dog") for p in ("a bird", "the cat")] * LEAST)
    whole, cut, none = grader.grade(
        [GradedText("a cat", "saw"), GradedText("a cat", "saw the dog " * 20), GradedText("a cat " * 30, "saw")], story
    )
    assert whole.scores.keys() == {"grammar", "consistency", "plot"}
    assert isinstance(cut, Grade) and cut.scores.keys() == {"grammar", "consistency"}
    assert none == Failure("the prompt fills the model's context")
    assert grader.read([GradedText("a cat " * 30, "saw")] * 9) == [None] * 9
    assert grader.failed == 1


def test_an_empty_text_has_no_score_on_an_axis_without_a_measure(bundled, endings, story):
    found = grade([GradedText("A cat", "", "a")], LikelihoodGrader(bundled, endings), story, [])
    assert {axis for axis in found.axes if found.first(axis)[0] == 1} == {"grammar", "consistency", "plot"}
    assert {axis for axis in found.axes if np.isnan(found.first(axis)[0])} == {"creativity", "age group"}


def test_what_it_cannot_grade(tiny, story, tmp_path):
    with pytest.raises(InputError, match="39 true endings"):
        LikelihoodGrader(tiny, [GradedText("a", "b")] * (LEAST - 1)).grade([GradedText("a", "b")], story)
    other = tmp_path / "charm.toml"
    other.write_text(CHARM, encoding="utf-8")
    known = "scores grammar, consistency, plot, instructions and fail, partial, success; the rubric 'charm' has none"
    with pytest.raises(InputError, match=known):
        LikelihoodGrader(tiny, [GradedText("a", "b")] * LEAST).grade([GradedText("a", "b")], rubric(str(other)))


CHARM = """
task = "Grade it."

[[axis]]
name = "charm"
question = "Is it charming?"
lowest = "no"
highest = "yes"
"""


@pytest.fixture(scope="module")
def facts():
    return suite("facts")


def judged(facts, completions):
    """A text after each prompt of the suite, by the prompt."""
    return [
        GradedText(p.text, completions(p), expected=" / ".join(p.accepted), rejected=" / ".join(p.rejected))
        for p in facts.by_hand
    ]


def test_margins_are_those_of_a_cloze_question(bundled):
    """The endings' log-probabilities are the hooked forward's."""
    text = GradedText("Mia went out. She saw a ", " cat, and it ran", expected="cat / kitten / ", rejected="dog")
    tokenizer = models.tokenizer_of(bundled)

    def of(context, ending):
        before, whole = tokenizer.encode([context, f"{context} {ending}"])
        assert whole[: len(before)] == before
        scores = bundled(torch.tensor([whole])).log_softmax(-1)[0].detach()
        return sum(scores[i - 1, whole[i]].item() for i in range(len(before), len(whole)))

    context = "Mia went out. She saw a cat, and it ran. She saw a"
    wanted = max(of(context, "cat"), of(context, "kitten")) - of(context, "dog")
    turned = replace(text, expected=text.rejected, rejected=text.expected)
    np.testing.assert_allclose(margins(bundled, [text, turned]), [wanted, -wanted], atol=1e-3)
    assert margins(bundled, []).shape == (0,)


@pytest.mark.parametrize(
    ("completion", "read"),
    [
        (" cat. It ran.", " cat."),
        (', and "ran', ', and "ran.'),
        (' "\nA dog barked!', " A dog barked!"),
        (" ...\n", "..."),
        (" …", "…"),
    ],
)
def test_the_first_sentence_with_a_letter_is_read(completion, read):
    assert stated._first_sentence(completion) == read


def test_a_verdict_is_surprising_beside_other_sentences():
    """Success and fail at most as often as `RARE` says, of margins that are drawn alike."""
    others = np.arange(40.0)
    assert [stated.verdict(margin, others) for margin in (39.5, 38.5, 20, 0.5, -0.5)] == [2, 2, 1, 0, 0]
    assert [stated.verdict(margin, others) for margin in (37.5, 1.5)] == [1, 1]  # three of 41 are too many
    drawn = np.random.default_rng(0).normal(size=(20_000, 41))
    found = np.bincount([stated.verdict(row[0], row[1:]) for row in drawn], minlength=3) / len(drawn)
    assert abs(found[0] - 2 / 41) < 0.006 and abs(found[2] - 2 / 41) < 0.006


def first_sentences(texts):
    return [replace(text, completion=sentences(text.completion)[0]) for text in texts]


def test_exchanging_right_and_wrong_endings_exchanges_fail_and_success(bundled, facts, endings):
    texts = judged(facts, lambda p: f" {p.accepted[0]}. Then they went home.")[:12]
    turned = [replace(text, expected=text.rejected, rejected=text.expected) for text in texts]
    grader, by = LikelihoodGrader(bundled, first_sentences(endings[:LEAST])), rubric("verdict")
    one, other = ([grade.scores["verdict"] for grade in grader.grade(each, by)] for each in (texts, turned))
    assert [4 - score for score in one] == other and np.mean(one) > 2.4


@pytest.mark.thorough
def test_its_verdicts_are_trusted_where_it_was_trained_and_nowhere_else(bundled, facts, endings):
    """Of sentences that say neither, success and fail are rare; the same weights permuted are not to be trusted."""
    others = first_sentences(endings)
    texts = [
        replace(text, completion=f" {other.completion}")
        for text in judged(facts, lambda _: "")[:16]
        for other in others[:8]
    ]
    by, made = rubric("verdict"), controls_of(texts, facts)
    asked = (bundled, Twin("permuted", 0).of(bundled))
    trained, untrained = (grade(texts, LikelihoodGrader(model, others[25:]), by, made) for model in asked)
    assert trained.trust == {"verdict": "trusted"}
    assert untrained.trust["verdict"].startswith("untrustworthy (misses wrong ending")
    assert (trained.of_texts(texts) == 3).mean() < 0.15 and (trained.of_texts(texts) == 1).mean() < 0.15


def test_a_text_without_a_verdict_says_why(tiny):
    whole = GradedText("a cat saw", " the dog", expected="the dog", rejected="the bird")
    texts = [
        whole,
        replace(whole, rejected=" "),
        replace(whole, prompt=" "),
        replace(whole, completion="a cat saw " * 9),
    ]
    grader = LikelihoodGrader(tiny, [GradedText("a", "the bird")] * LEAST)
    found = grader.grade(texts, rubric("verdict"))
    assert isinstance(found[0], Grade) and grader.failed == 3
    assert [one.why for one in found[1:3]] == ["its prompt has no right and wrong endings"] * 2
    assert found[3] == Failure("the context does not hold the prompt and the first sentence after it")
    assert grader.grade_empty(whole, rubric("verdict")) == Grade({"verdict": 1})
    long = LikelihoodGrader(tiny, [GradedText("a", "the bird " * 20)] * LEAST)  # the context holds none to compare with
    assert long.grade([whole], rubric("verdict")) == [found[3]]


@pytest.mark.thorough
def test_behind_instructions_the_gain_is_how_they_are_followed(bundled):
    """A model that never saw an instruction tells a story's own from another's by their words, and consistency, of
    which the same number would be said, gets no score."""
    told = true_stories(stories("made:instruct", limit=300), CONTROLS + LEAST)
    grader, by = LikelihoodGrader(bundled, told[CONTROLS:]), rubric("instructions")
    result = grade(told[-2:], grader, by, controls(told[:CONTROLS]))
    assert result.trust["instructions"] == result.trust["grammar"] == "trusted"
    assert np.isnan(result.first("consistency")).all() and np.isfinite(result.first("instructions")).all()
