"""Instruct: what is predicted is the story, given its instructions, at training and at validation alike."""

import math

import pytest
import torch

from tslens import models
from tslens.models import Spec
from tslens.stories import stories
from tslens.stories.combinations import is_held_out, word_pairs
from tslens.stories.instruct import documents, parse
from tslens.tokenizer import Tokenizer
from tslens.train import recipe as recipes
from tslens.train.objectives.instruct import Instruct, story_loss
from tslens.train.session import prepare

SMALL = {
    "objective.name": "instruct",
    "data.source": "told.txt",
    "data.vocabulary": "400",
    "model.n_ctx": "320",
    "train.batch": "4",
    "train.steps": "3",
    "train.validation_stories": "3",
    "train.precision": "float32",
}


@pytest.fixture(scope="module")
def told() -> list[str]:
    """Made once: a made story costs milliseconds."""
    return list(stories("made:instruct", limit=200))


@pytest.fixture
def source(told, in_tmp) -> list[str]:
    """The same as a file, from which they are trained on."""
    (in_tmp / "told.txt").write_text("\n<|endoftext|>\n".join(told), encoding="utf-8")
    (in_tmp / "plain.txt").write_text("\n<|endoftext|>\n".join(parse(text).story for text in told), encoding="utf-8")
    return told


@pytest.fixture(scope="module")
def texts(told) -> list[str]:
    return told[:12]


@pytest.fixture(scope="module")
def model(texts):
    tokenizer = Tokenizer.train(texts, 400)
    return models.build(Spec.parse("16x1x2", d_vocab=tokenizer.size, n_ctx=900), seed=0, tokenizer=tokenizer)


def by_hand(model, text: str, room: int) -> tuple[float, int]:
    """Nats and number of the story's tokens and its end, in the hooked forward."""
    document, tokenizer = parse(text), models.tokenizer_of(model)
    (head,), (story,) = tokenizer.encode([document.head]), tokenizer.encode([document.story], bos=False)
    row = [*head, *story, tokenizer.bos][: room + 1]
    logs = torch.log_softmax(model(torch.tensor([row[:-1]])), -1)[0].detach()
    picked = [float(logs[i - 1, row[i]]) for i in range(len(head), len(row))]
    return -sum(picked), len(picked)


def test_validation_is_the_loss_of_stories_given_their_instructions(model, texts):
    found = story_loss(model, texts)
    for i, text in enumerate(texts):
        nats, count = by_hand(model, text, 900)
        assert float(found.nats[i]) == pytest.approx(nats, rel=1e-4) and int(found.tokens[i]) == count
        assert int(found.text_bytes[i]) == len(parse(text).story.encode())
    assert found.cut == 0 and found.nats_per_token > 0
    assert Instruct().validate(model, texts, precision="float32").nats_per_token == found.nats_per_token


def test_a_story_is_read_as_far_as_the_context_goes_and_bytes_go_with_it(texts):
    tokenizer = Tokenizer.train(texts, 400)
    small = models.build(Spec.parse("16x1x2", d_vocab=tokenizer.size, n_ctx=120), seed=0, tokenizer=tokenizer)
    fits = [text for text in texts if len(tokenizer.encode([parse(text).head])[0]) <= 120]
    assert 0 < len(fits) < len(texts)
    found = story_loss(small, texts)
    assert len(found.nats) == found.cut == len(fits)
    for i, text in enumerate(fits):
        nats, count = by_hand(small, text, 120)
        assert float(found.nats[i]) == pytest.approx(nats, rel=1e-4) and int(found.tokens[i]) == count
        ids = tokenizer.encode([parse(text).story], bos=False)[0][:count]
        assert int(found.text_bytes[i]) == len(tokenizer.decode(ids).encode())
    tiny = models.build(Spec.parse("16x1x2", d_vocab=tokenizer.size, n_ctx=4), seed=0, tokenizer=tokenizer)
    with pytest.raises(ValueError, match="No instructions leave room for their story in a context of 4"):
        story_loss(tiny, texts)


@pytest.mark.parametrize("loss_on", ["story", "everything"])
def test_in_training_the_boundary_falls_between_tokens_and_only_what_is_asked_counts(source, loss_on):
    run = prepare(recipes.load("16x1x2", SMALL | {"objective.loss_on": loss_on}), "a")
    known = [(parse(text).head, parse(text).story) for text in source]
    bos, tokenizer, checked = run.tokenizer.bos, run.tokenizer, 0
    for step in range(3):
        batch = run.rows.batch(step)
        assert batch.predicted is not None
        for tokens, predicted in zip(batch.tokens.tolist(), batch.predicted.tolist(), strict=True):
            places = [i for i, token in enumerate(tokens) if token == bos]
            for begin, end in zip(places, [*places[1:], len(tokens)], strict=True):
                if end - begin == 1:
                    continue
                counts = predicted[begin + 1 : end]
                boundary = begin + 1 + counts.index(True)
                document = tokenizer.decode(tokens[begin:end])
                if loss_on == "everything":
                    assert all(counts)
                else:
                    head = tokenizer.decode(tokens[begin:boundary])
                    assert all(counts[boundary - begin - 1 :])
                    rest = tokenizer.decode(tokens[boundary:end])
                    assert any(head == own and story.startswith(rest) for own, story in known)
                    checked += 1
                assert any((head + story).startswith(document) for head, story in known)
    assert checked > 10 or loss_on == "everything"


def test_documents_without_a_story_or_instructions_are_left_out(texts):
    mixed = ["Tom ran.", *texts[:2], "Words: run\nStory: "]
    assert [document.format() for document in documents(mixed)] == texts[:2]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"data.source": "plain.txt"}, r"None of the first \d+ stories comes behind instructions.*made:instruct"),
        ({"model.n_ctx": "4"}, r"No instructions leave room for their story in a context of 4"),
        ({"objective.loss_on": "words"}, "objective.loss_on is 'words'; it must be one of story, everything"),
        (
            {"objective.filter": "no"},
            "objective.filter is 'no'; it must be one of none, no words with summary, held-out combinations",
        ),
        (
            {
                "data.source": "plain.txt",
                "objective.filter": "no words with summary",
                "objective.name": "language-modelling",
            },
            r"unknown key 'objective\.filter'\. This objective has no settings\.",
        ),
    ],
)
def test_what_cannot_be_trained_on_is_refused_in_a_line(source, in_tmp, overrides, message):
    with pytest.raises(ValueError, match=message):
        prepare(recipes.load("16x1x2", SMALL | overrides), "a")
    assert not (in_tmp / "runs/a").exists()


def test_words_and_summary_are_never_together_in_training_and_always_in_validation(source):
    run = prepare(recipes.load("16x1x2", SMALL | {"objective.filter": "no words with summary"}), "a")
    heads = run.rows.instructions
    asked = [parse(run.tokenizer.decode(heads.story(i)[1:]) + "x") for i in range(heads.n_stories)]
    kinds = [{kind for kind, _ in document.blocks} for document in asked]
    assert len(kinds) > 100 and all(kinds) and not any({"Words", "Summary"} <= some for some in kinds)
    assert any("Words" in some for some in kinds) and any("Summary" in some for some in kinds)
    assert len(run.validation) == 3
    assert all({"Words", "Summary"} <= {kind for kind, _ in parse(text).blocks} for text in run.validation)
    assert math.isfinite(run.facts["tokens_per_epoch"])


def test_held_out_combinations_are_absent_from_training_and_kept_for_validation(source):
    chosen = {
        "objective.filter": "held-out combinations",
        "objective.held_out": "0.2",
        "train.validation_stories": "12",
    }
    run = prepare(recipes.load("16x1x2", SMALL | chosen), "a")
    heads = run.rows.instructions
    asked = [parse(run.tokenizer.decode(heads.story(i)[1:]) + "x") for i in range(heads.n_stories)]
    assert 40 < len(asked) < 190 and not any(is_held_out(document, 0.2) for document in asked)
    assert any(len(word_pairs(document)) == 3 for document in asked)
    assert {is_held_out(parse(text), 0.2) for text in run.validation} == {False, True}
