"""Ablation: TransformerLens's hooks as the oracle, tokens that a role predicts by hand, and planted heads."""

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
import torch

from tslens import forward, models, plots, pos
from tslens.analysis import heads
from tslens.analysis.heads.ablation_result import BOUND, FINDINGS, MATTERING, has_role, matters
from tslens.analysis.heads.kinds_words import CLASSES, marks_of, personal, words_of
from tslens.analysis.heads.repeated import repeated_tokens, repetition_scores
from tslens.analysis.heads.role_tokens import after_duplicates, by_two, continuations, queries_of_kinds
from tslens.analysis.heads.rows import partners, story_rows
from tslens.batching import chosen, contrast_weights
from tslens.copying import copying
from tslens.halves import GROUPS, halves
from tslens.models import Spec, build
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

KINDS = ("zero", "mean", "position mean", "resample")
STYLES: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "llama": {"style": "llama", "n_key_value_heads": 2, "tied": False},
    "local": {"window": 6, "local_layers": (1,), "scaled": False},
}


def made(style: str, tokenizer: Tokenizer, loud: Any) -> Any:
    return loud(build(Spec(16, 2, 4, d_vocab=tokenizer.size, n_ctx=48, **STYLES[style]), tokenizer=tokenizer))


@pytest.fixture(scope="module")
def model(made_words: Tokenizer, loud: Any) -> Any:
    return made("gpt2", made_words, loud)


@pytest.fixture(scope="module")
def roles(model: Any, made_stories: list[str]) -> heads.RolesResult:
    """Roles given by hand, so that some predict tokens."""
    names = [["previous token", "induction", "duplicate token", "positional"], ["unresolved"] * 4]
    codes = torch.tensor([[heads.ROLES.index(name) for name in row] for row in names])
    return replace(heads.roles(model, made_stories[:4], positions=24), role_code=codes)


# Against TransformerLens


@pytest.mark.parametrize("style", STYLES)
def test_the_loss_without_a_head_is_that_of_the_hooks(
    style: str, made_words: Tokenizer, made_stories: list[str], loud: Any
) -> None:
    model = made(style, made_words, loud)
    found = heads.ablation(model, made_stories, kinds=KINDS, rows=5, context=30)
    read = story_rows(model, made_stories, 5, 30)
    with torch.no_grad():
        logits, cache = model.run_with_cache(read.tokens)
    counted = read.scored[:, 1:]

    def loss(of: torch.Tensor) -> float:
        each = torch.nn.functional.cross_entropy(of[:, :-1].transpose(1, 2), read.tokens[:, 1:], reduction="none")
        return float(each[counted].mean())

    z = cache["blocks.1.attn.hook_z"][:, :, 2]
    other = partners(read.real)
    instead = {
        "zero": torch.zeros_like(z),
        "mean": torch.cat([z[i, : int(read.real[i].sum())] for i in range(5)]).mean(0).expand(z.shape),
        "position mean": torch.stack([z[read.real[:, p], p].mean(0) for p in range(z.shape[1])]).expand(z.shape),
        "resample": torch.stack([torch.stack([z[other[i, p], p] for p in range(z.shape[1])]) for i in range(5)]),
    }
    assert found.baseline == pytest.approx(loss(logits), abs=1e-4)
    for i, kind in enumerate(KINDS):

        def put(z: torch.Tensor, hook: object, kind: str = kind) -> torch.Tensor:
            z[:, :, 2] = instead[kind]
            return z

        with torch.no_grad():
            without = model.run_with_hooks(read.tokens, fwd_hooks=[("blocks.1.attn.hook_z", put)])
        assert found.increase[i, 1, 2] == pytest.approx(loss(without) - loss(logits), abs=1e-4), kind
    assert (found.low <= found.increase).all() and (found.increase <= found.high).all()


def test_each_row_takes_the_output_of_the_next_row_that_reaches_so_far() -> None:
    real = torch.tensor([[True, True, True], [True, False, False], [True, True, False]])
    assert partners(real).tolist() == [[1, 2, 0], [2, 2, 0], [0, 0, 0]]


def test_the_rows_are_those_that_a_hash_chooses_in_whatever_order_they_come(
    model: Any, made_stories: list[str]
) -> None:
    first = story_rows(model, made_stories, 6, 24)
    again = story_rows(model, random.Random(3).sample(made_stories, len(made_stories)), 6, 24)
    assert torch.equal(first.tokens, again.tokens) and torch.equal(first.scored, again.scored)
    fewer = story_rows(model, made_stories, 4, 24)
    assert torch.equal(fewer.tokens, first.tokens[:4, : fewer.tokens.shape[1]])


# Tokens that a role predicts


def test_predicted_tokens_of_a_b_a_b_c_a_by_hand() -> None:
    """BOS a b a b c a: the second b follows a again; after the second a, the second b and the third a stand b, c and
    nothing."""
    tokens = torch.tensor([[0, 7, 8, 7, 8, 9, 7, 0]])
    real = torch.tensor([[True] * 7 + [False]])
    assert continuations(tokens, real)[0].nonzero().flatten().tolist() == [4]
    assert after_duplicates(tokens, real)[0].nonzero().flatten().tolist() == [4, 5]


def test_two_tokens_predict_better_than_one_by_hand() -> None:
    """In other rows 3 follows 1 2, and 5 follows 4 2, as often: after 2 alone either has one half, so two tokens are
    twice as good. Nothing in another row tells of 6 2 7."""
    rows = [[0, 1, 2, 3], [0, 4, 2, 5], [0, 1, 2, 3], [0, 4, 2, 5], [0, 6, 2, 7]]
    real = torch.ones(5, 4, dtype=torch.bool)
    found = by_two(torch.tensor(rows), real)
    # The first row is judged by the others: 3 after 1 2 once of once; after 2 once of four times.
    assert found[:4, 3].all() and not found[4, 3] and not found[:, :2].any()
    even = by_two(torch.tensor([[0, 1, 2, 3]] * 4), real[:4])
    assert not even.any()  # one token says as much as two


def test_the_contrast_is_the_difference_of_weighted_means(
    model: Any, roles: heads.RolesResult, made_stories: list[str]
) -> None:
    found = heads.ablation(model, made_stories, roles=roles, kinds=("zero",), rows=6, context=40)
    read = story_rows(model, made_stories, 6, 40)
    for head, rule in enumerate((by_two, continuations, after_duplicates)):

        def put(z: torch.Tensor, hook: object, head: int = head) -> torch.Tensor:
            z[:, :, head] = 0
            return z

        with torch.no_grad():
            losses = [
                torch.nn.functional.cross_entropy(of[:, :-1].transpose(1, 2), read.tokens[:, 1:], reduction="none")
                for of in (
                    model(read.tokens),
                    model.run_with_hooks(read.tokens, fwd_hooks=[("blocks.0.attn.hook_z", put)]),
                )
            ]
        on, off = contrast_weights(read.tokens, read.scored, rule(read.tokens, read.real))
        more = (losses[1] - losses[0]).double()
        expected = [float((w[:, 1:] * more).sum() / w.sum()) for w in (on, off)]
        assert found.predicted[head] == on.sum() > 5
        assert found.on_predicted[0, head] == pytest.approx(expected[0], abs=1e-4)
        assert found.contrast[0, head] == pytest.approx(expected[0] - expected[1], abs=1e-4)
    # Positional: no tokens in particular.
    assert found.tests == ["0.0 previous token", "0.1 induction", "0.2 duplicate token"]


def test_a_head_that_writes_a_class_is_measured_on_its_words(
    model: Any, roles: heads.RolesResult, made_stories: list[str], refused: Any
) -> None:
    """The classes are those of whole words; a role that predicts tokens comes first, and is tested too."""
    writes = heads.writes(model, made_stories, control=heads.Control((0.0,) * len(CLASSES), (0,)))
    held = torch.zeros_like(writes.score, dtype=torch.bool)
    held[CLASSES.index("NOUN"), 1, 1] = held[CLASSES.index("VERB"), 0, 0] = True
    of = {"q": torch.where(held, 0.0, 1.0), "score": held.float() + 1, "low": held.float() + 1}
    found = heads.ablation(
        model, made_stories, roles=roles, writes=replace(writes, **of), kinds=("zero",), rows=6, context=40
    )
    assert found.tests == [
        *("0.0 previous token", "0.0 writes VERB", "0.1 induction", "0.2 duplicate token", "1.1 writes NOUN"),
    ]
    read = story_rows(model, made_stories, 6, 40, tagged=True)
    assert read.classes is not None and read.classes.shape == read.tokens.shape
    pieces = models.tokenizer_of(model).pieces(read.tokens[read.classes == CLASSES.index("NOUN")].tolist())
    assert len(pieces) > 10 and {" dog", " the"} & set(pieces) <= {" dog"}
    on, _ = contrast_weights(read.tokens, read.scored, read.classes == CLASSES.index("NOUN"))
    assert found.predicted[4] == on.sum() > 5 and found.contrast[0, 4].isfinite()
    assert found.checks().set_index(["layer", "head"])["by"][1, 1] == "writes NOUN"
    with refused("written classes are those of another"):
        heads.ablation(model, made_stories, writes=replace(writes, model="another"), rows=6)


def test_the_queries_of_each_kind_by_hand() -> None:
    """Tom saw a red dog. "Run!" said Tom. He ran. Words are tokens, after BOS."""
    text = 'Tom saw a red dog. "Run!" said Tom. He ran.'
    tagged = pos.tag_stories([text])[0]
    assert [text[a:b] for a, b, _ in tagged][6:10] == ['"', "Run", "!", '"']
    marks = marks_of(words_of(text, tagged), [(0, 0), *((a, b) for a, b, _ in tagged)])
    queries = queries_of_kinds(marks, torch.tensor([False, *personal(text, tagged)]))
    said = ["", *(text[a:b] for a, b, _ in tagged)]

    def of(kind: str) -> list[str]:
        return [said[i] for i in queries[heads.KINDS.index(kind)].nonzero().flatten().tolist()]

    assert of("same name") == ["Tom"] and of("pronoun to its referent") == ["He"]
    assert of("verb to its subject") == ["saw", "ran"] and of("noun to its determiner or adjective") == ["dog"]
    assert of("opening quotation mark") == ["Run", "!"] and of("duplicate token") == of("induction") == []
    assert of("word class article") == ["red", "dog", ".", '"']  # four tokens from "a"
    assert of("sentence start")[:5] == ["saw", "a", "red", "dog", "!"]  # the first "." is five tokens from "Tom"
    assert of("inside speech") == ["!", '"', "said", "Tom", "."] and of("topic word") == []


def kinds_held(model: Any, texts: list[str], held: dict[tuple[int, int], list[str]]) -> heads.KindsResult:
    """The kinds of keys of a model, these heads with these kinds alone, the first with the largest score."""
    found = heads.kinds(model, texts[:6], made=2)
    low = torch.full_like(found.low, -1.0)
    for (layer, head), names in held.items():
        for rank, name in enumerate(names):
            low[heads.KINDS.index(name), layer, head] = 0.9 - rank / 10
    nothing = torch.full_like(found.low, torch.nan)
    return replace(
        found,
        score=low,
        low=low,
        q=torch.zeros_like(low),
        p_of_words=nothing,
        threshold=torch.full_like(found.threshold, 0.05),
    )


def test_every_kind_of_a_head_is_measured_on_the_tokens_that_follow_its_queries(
    made_words: Tokenizer, made_stories: list[str], roles: heads.RolesResult, loud: Any, refused: Any
) -> None:
    """Against TransformerLens: after its role come the kinds of a head, and induction counts once."""
    model = made("gpt2", made_words, loud)
    keys = kinds_held(
        model,
        made_stories,
        {(1, 0): ["verb to its subject", "noun to its determiner or adjective"], (0, 1): ["induction"]},
    )
    found = heads.ablation(model, made_stories, roles=roles, keys=keys, kinds=("zero",), rows=6, context=40)
    assert found.tests == [
        *(
            "0.0 previous token",
            "0.1 induction",
            "0.2 duplicate token",
            "1.0 verb to its subject",
            "1.0 noun to its determiner or adjective",
        ),
    ]
    read = story_rows(model, made_stories, 6, 40, tagged=True)
    assert read.queries is not None
    for test, label in ((3, "verb to its subject"), (4, "noun to its determiner or adjective")):
        follows = torch.zeros_like(read.real)
        follows[:, 1:] = read.queries[heads.KINDS.index(label)][:, :-1] & read.real[:, 1:]
        on, off = contrast_weights(read.tokens, read.scored, follows)

        def put(z: torch.Tensor, hook: object) -> torch.Tensor:
            z[:, :, 0] = 0
            return z

        with torch.no_grad():
            without = model.run_with_hooks(read.tokens, fwd_hooks=[("blocks.1.attn.hook_z", put)])
            losses = [
                torch.nn.functional.cross_entropy(of[:, :-1].transpose(1, 2), read.tokens[:, 1:], reduction="none")
                for of in (model(read.tokens), without)
            ]
        more = (losses[1] - losses[0]).double()
        expected = [float((w[:, 1:] * more).sum() / w.sum()) for w in (on, off)]
        assert found.predicted[test] == on.sum() > 5
        assert found.contrast[0, test] == pytest.approx(expected[0] - expected[1], abs=1e-4)
    assert found.contrast_q[0, 3].isfinite() and "verb to its subject" in str(found)
    with refused("kinds of keys are those of another"):
        heads.ablation(model, made_stories, keys=replace(keys, model="another"), rows=6)


def test_a_head_serves_a_label_if_its_loss_rises_most_on_the_tokens_of_one(model: Any, made_stories: list[str]) -> None:
    keys = kinds_held(model, made_stories, {(1, 0): ["verb to its subject", "same name"]})
    found = heads.ablation(model, made_stories, keys=keys, kinds=("zero", "mean"), rows=4, context=16)
    ends, none = torch.full((2, 2, 4), 3 * BOUND), torch.zeros(2, 2, 4)
    given = {"increase": ends, "low": ends, "high": ends, "q": none, "contrast_q": torch.zeros(2, 2)}
    given |= {"roles": [["positional"] * 4] * 2, "predicted": torch.tensor([9.0, 9.0])}
    one, neither = torch.tensor([[-0.1, 0.1], [-0.1, 0.2]]), torch.tensor([[-0.1, 0.1], [0.1, -0.2]])
    served = replace(found, contrast=one, contrast_low=one, **given)
    assert served.finding(1, 0) == "matters, most on the tokens its label predicts"
    row = served.checks().set_index(["layer", "head"]).loc[(1, 0)]
    assert row["by"] == "same name" and row["contrast"] == pytest.approx(0.1)
    assert served.contrasts()["label"].tolist() == ["verb to its subject", "same name"]
    other = replace(served, contrast_low=neither)
    assert other.finding(1, 0) == "matters, not more on the tokens its label predicts"
    assert other.finding(1, 1) == "matters"


# What is said


def test_a_planted_head_without_output_is_missed_by_nothing_and_a_strong_one_matters(
    made_words: Tokenizer, made_stories: list[str], roles: heads.RolesResult, loud: Any
) -> None:
    """Head 0.0 writes nothing and is called previous token; head 1.0 says how common tokens are, with no role."""
    planted = made("gpt2", made_words, loud)
    with torch.no_grad():
        planted.blocks[0].attn.W_O[0] = 0
        counts = torch.bincount(torch.tensor([t for row in made_words.encode(made_stories) for t in row]))
        often = torch.nn.functional.pad(counts, (0, made_words.size - len(counts))).add(1).log()
        push = planted.unembed.W_U @ (often - often.mean())
        planted.blocks[1].attn.W_V[0] = 0
        planted.blocks[1].attn.b_V[0] = 1
        planted.blocks[1].attn.W_O[0] = 2 * push / push.norm()
    found = heads.ablation(planted, made_stories, roles=roles, kinds=("zero",), rows=8, context=40)
    assert found.increase[0, 0, 0] == 0 and found.finding(0, 0) == "has a name that nothing misses"
    assert found.increase[0, 1, 0] > BOUND and found.finding(1, 0) == "matters, and has no name"
    table = found.checks()
    assert table["finding"][0] == "matters, and has no name"
    assert len(table) == 8 and set(table["finding"]) <= set(FINDINGS)
    mean = heads.ablation(planted, made_stories, kinds=("mean", "resample"), rows=8, context=40)
    assert mean.increase[:, 1, 0].abs().max() < 1e-4  # it says the same everywhere: only `zero` takes that away


def test_findings_by_hand(model: Any, roles: heads.RolesResult, made_stories: list[str]) -> None:
    found = heads.ablation(model, made_stories, roles=roles, kinds=("zero", "mean"), rows=4, context=16)
    small, large = BOUND / 2, 3 * BOUND

    def of(
        head: tuple[int, int], low: float, high: float, contrast: float, second: float | None = None, most: float = 0
    ) -> str:
        """With these ends of the intervals, and this least contrast, at most `most` by one kind; `second`: the lower
        end by the second kind."""
        ends = torch.tensor([low, low if second is None else second])[:, None, None].expand(2, 2, 4)
        given = replace(
            found,
            increase=ends,
            low=ends,
            high=torch.full((2, 2, 4), float(high)),
            q=torch.zeros(2, 2, 4),
            contrast_low=torch.full((2, 3), contrast),
            contrast_high=torch.tensor([[contrast], [max(contrast, most)]]).expand(2, 3),
            contrast_q=torch.zeros(2, 3),
            predicted=torch.tensor([5.0, 5, 5]),
        )
        return given.finding(*head)

    assert of((0, 0), large, 1, 0.1) == "matters, most on the tokens its label predicts"
    assert of((0, 0), large, 1, -0.1) == "matters, not more on the tokens its label predicts"
    assert of((0, 3), large, 1, -0.1) == "matters"
    assert of((1, 0), large, 1, 0.1) == "matters, and has no name"
    assert of((1, 0), large, 1, 0.1, second=small) == "not decided"  # the other kind does not say so
    assert of((0, 1), -small, small, 0.1) == "helps only on the tokens its label predicts"
    assert of((0, 1), -small, small, -0.1) == "has a name that nothing misses"
    assert of((0, 1), -small, small, -small, most=large) == "not decided"  # it may be missed on its label's tokens
    assert of((1, 1), -small, small, -0.1) == "no name, and nothing misses it"
    assert of((0, 3), -large, large, 0.1) == "not decided"
    assert replace(found, q=torch.full((2, 2, 4), torch.nan)).finding(0, 0) == "no evidence"
    assert not has_role("content-dependent, kind unknown") and has_role("previous token")


def test_heads_matter_where_every_kind_says_so() -> None:
    """Three heads by two kinds: the second loses less than 0.01 by one kind, the third may lose nothing by one."""
    increase = torch.tensor([[0.2, 0.2, 0.2], [0.3, BOUND / 2, 0.2]])
    low = torch.tensor([[0.1, 0.1, 0.1], [0.1, BOUND / 4, -0.1]])
    assert matters(increase, low, torch.zeros(2, 3)).tolist() == [True, False, False]
    assert matters(increase, low, torch.tensor([[0.0], [0.06]]).expand(2, 3)).tolist() == [False] * 3


def test_heads_that_matter_have_a_star_in_the_figure(
    model: Any, roles: heads.RolesResult, made_stories: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = heads.ablation(model, made_stories, roles=roles, rows=4, context=16)
    stars = torch.zeros_like(found.mattering)
    stars[0, 1] = stars[1, 2] = True
    monkeypatch.setattr(heads.AblationResult, "mattering", property(lambda _: stars))
    assert [text.get_text() for axes in found.figure().axes for text in axes.texts].count("★") == 2


def test_halves_count_what_ablation_finds_on_them_alone(model: Any) -> None:
    """By `zero`, which does not depend on the other rows."""
    texts = list(stories("made", limit=22))
    asked: dict[str, Any] = {"kinds": ("zero",), "rows": 22, "context": 24}
    found = heads.ablation(model, texts, **asked)
    ordered = chosen(texts, models.tokenizer_of(model), rows=22, context=24).texts
    for groups, count in zip(halves(), found.of_halves, strict=True):
        half = [text for i, text in enumerate(ordered) if i % GROUPS in groups]
        alone = heads.ablation(model, [*half, *half], **asked | {"rows": 2 * len(half)})
        assert alone.rows == 2 * len(half) and alone.counts() == {MATTERING: count}
    assert found.counts() == {MATTERING: int(found.mattering.sum())} and any(found.of_halves)


def test_repeated_tokens_are_no_evidence_where_the_model_does_not_copy(model: Any) -> None:
    chance = math.log(size := models.spec_of(model).d_vocab)
    noise = 0.01 * torch.randn(6, 16)

    def copies(first: float, second: float) -> bool:
        losses = torch.cat([torch.full((6, 8), first), torch.full((6, 8), second)], 1) + noise
        losses[:, 8] += 100  # the first of the second half cannot be known to repeat, and does not count
        return copying(losses, size).copies

    assert copies(chance + 1, 0.5) and not copies(chance, chance + 0.1)
    assert not copies(chance + 3, chance + 1)  # below the first half, and no better than a guess
    assert not copies(chance - 2, chance - 1)  # better than a guess, and worse than the first half
    found = heads.ablation(model, rows=6)
    assert "does not copy, so they are no evidence" in str(found)
    assert found.q.isnan().all() and set(found.checks()["finding"]) == {"no evidence"}
    assert not repetition_scores(model, rows=4, length=8).copies
    tokens = repeated_tokens(model, rows=6, length=8)
    with torch.no_grad():
        losses = forward.token_losses(model, tokens)
        hooked = torch.nn.functional.cross_entropy(
            model(tokens)[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none"
        )
    assert copying(losses, size).second == pytest.approx(float(hooked[:, 9:].mean()), abs=1e-4)


def test_an_answer_draws_prints_and_comes_back(
    model: Any, roles: heads.RolesResult, made_stories: list[str], tmp_path: Any
) -> None:
    found = heads.ablation(model, made_stories, roles=roles, rows=4, context=16)
    assert plots.svg(found.figure()).startswith("<svg") and "finding" in str(found)
    again = heads.AblationResult.load(found.save(tmp_path))
    assert again.kinds == found.kinds == ("zero", "mean", "resample") and again.checks().equals(found.checks())
    assert len(found.to_frame()) == 3 * 8


def test_what_cannot_be_ablated_is_refused(
    model: Any, roles: heads.RolesResult, made_stories: list[str], refused: Any
) -> None:
    with refused("needs 4 rows or more; there are 3"):
        heads.ablation(model, made_stories[:3])
    with refused("no ablation 'none'; give one or more of zero, mean"):
        heads.ablation(model, made_stories, kinds=("none",))
    with refused("roles are those of another"):
        heads.ablation(model, made_stories, roles=replace(roles, model="another"))


def test_heads_of_a_trained_model_matter_and_the_kind_decides_how_much(shared: Any) -> None:
    """Head 1.3 of stories2M by every kind, and 0.1, which zeros cost far more than another story's output does."""
    path = shared / "data" / "stories" / "tinystories-v2.jsonl"
    texts = [json.loads(line)["text"] for line in path.read_text().splitlines()[:8]]
    found = heads.ablation(models.load("stories2M"), texts, rows=8, context=48)
    assert (found.low[:, 1, 3] > BOUND).all()
    assert found.increase[0, 0, 1] > 5 * found.increase[2, 0, 1]
