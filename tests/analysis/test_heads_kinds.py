"""Kinds of keys: planted heads are named and not as others, relations by hand, weights by hand, batches and shards."""

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pytest
import torch

from tslens import models, pos
from tslens.analysis import heads
from tslens.analysis.heads import kinds_words
from tslens.analysis.heads.control import Control
from tslens.analysis.heads.evidence import on_halves
from tslens.analysis.heads.kinds import finish
from tslens.analysis.heads.kinds_places import KEYS, PlaceSums, keys_of, places_of
from tslens.analysis.heads.kinds_result import UNKNOWN
from tslens.analysis.heads.kinds_state import KindsState, MarkedStory, add_pattern, count_story
from tslens.analysis.heads.kinds_types import TypeSums
from tslens.analysis.heads.kinds_weights import DUPLICATE, INDUCTION, KINDS, ROWS, matched, story_weights
from tslens.analysis.heads.kinds_words import CLASSES, NAME, PRONOUN, RELATIONS, marks_of, words_of, words_of_made
from tslens.analysis.heads.repeated import RepetitionScores
from tslens.halves import ENOUGH
from tslens.models import Spec
from tslens.scan import scan, states
from tslens.stories.generator import MadeStory, generate
from tslens.tokenizer import Tokenizer

STORIES, GROUPS, TWIN_HEADS = 40, 10, 60
OTHERS = ("previous token", "decay", "BOS", "uniform", "window")
PLANTED = (*KINDS, *OTHERS)
EVEN_LEAST = heads.KindsResult.least
EVEN = Control((0.0,) * len(KINDS))


# Planted heads


def attention(weights: torch.Tensor) -> torch.Tensor:
    """Weights as attention, with a third of it spread over all keys; on BOS where there are no weights."""
    weights = weights.float().tril()
    weights[..., 0] += (weights.sum(-1) == 0).float()
    even = torch.ones_like(weights).tril()
    return (2 * weights / weights.sum(-1, keepdim=True) + even / even.sum(-1, keepdim=True)) / 3


def planted(story: MadeStory, tokens: torch.Tensor, offsets: list[tuple[int, int]]) -> torch.Tensor:
    """A head for every kind, which attends to the kind's keys and to nothing else but BOS; then the others."""
    natural = marks_of(words_of(story.text, story.tags), offsets)
    n = len(tokens)
    at = torch.arange(n)
    distance = (at[:, None] - at).clamp(min=0).float()
    before = ((at[:, None] > at) & (at > 0)).float()
    relations = natural.relations.clone()
    relations[PRONOUN] = marks_of(words_of_made(story), offsets).relations[PRONOUN]
    equal = tokens[:, None] == tokens
    follows = torch.zeros(n, n)
    follows[:, 2:] = equal[:, 1:-1].float().tril(-1)[:, :] if n > 2 else 0
    sets = [natural.topic, natural.speech, ~natural.speech & (natural.classes >= 0)]
    sets += [natural.classes == i for i in range(len(CLASSES))]
    of_kinds = [*relations.float(), equal.float(), follows, *(one.float().expand(n, n) for one in sets)]
    previous, bos = torch.zeros(n, n), torch.zeros(n, n)
    previous[at[1:], at[:-1]], bos[:, 0] = 1, 1
    window = (distance < 6).float() * before
    rest = [previous, torch.exp(-distance / 6) * before, bos, torch.zeros(n, n), window]
    return torch.stack([attention(one * before) for one in of_kinds] + [attention(one) for one in rest])


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([story.text for story in generate(100, seed=3)], 600)


@pytest.fixture(scope="module")
def sums(tokenizer: Tokenizer) -> tuple[KindsState, KindsState]:
    """The sums of the planted heads; and those of heads that attend to tokens at random, as untrained ones do."""
    return sums_of(tokenizer, 2201)


def sums_of(tokenizer: Tokenizer, seed: int) -> tuple[KindsState, KindsState]:
    found = [empty(tokenizer, n) for n in (len(PLANTED), TWIN_HEADS)]
    taste = 2 * torch.randn(TWIN_HEADS, tokenizer.size, generator=torch.Generator().manual_seed(seed))
    for i, story in enumerate(generate(STORIES, seed)):
        ids, offsets = torch.tensor(tokenizer.encode([story.text])[0])[:256], tokenizer.offsets(story.text)[:256]
        visible = torch.ones(len(ids), len(ids)).tril().bool()
        liked = taste[:, ids][:, None].expand(-1, len(ids), -1).masked_fill(~visible, -1e9).softmax(-1)
        truth, natural = words_of_made(story), words_of(story.text, pos.tag_texts([story.text])[0])
        plants = planted(story, ids, offsets)
        for words in (natural, truth):
            marked = MarkedStory(ids, marks_of(words, offsets))
            for state, pattern in zip(found, (plants, liked), strict=True):
                count_story(state, i % GROUPS, marked)
                add_pattern(state, i % GROUPS, 0, pattern, marked)
    return found[0], found[1]


def empty(tokenizer: Tokenizer, n: int) -> KindsState:
    """No sums yet, of one layer of `n` heads, of which two find their keys among repeated random tokens."""
    fair, chance = torch.tensor([0.02]), 0.02 + 0.002 * torch.randn(12, 1, n).double()
    duplicate, induction = chance.clone(), chance.clone()
    duplicate[..., DUPLICATE] += 0.5
    induction[..., INDUCTION] += 0.5
    scores = RepetitionScores(chance, duplicate, induction, fair, fair, fair)
    queries, excess = torch.zeros(GROUPS, 1, len(ROWS)).double(), torch.zeros(GROUPS, 1, n, len(ROWS)).double()
    spec = Spec(4 * n, 1, n, d_vocab=tokenizer.size)
    sums = TypeSums.empty(spec, tokenizer.size), PlaceSums.empty(spec, GROUPS)
    return KindsState("planted", spec, tokenizer, scores, torch.zeros(GROUPS).long(), queries, excess, *sums)


@pytest.fixture(scope="module")
def answer(sums: tuple[KindsState, KindsState]) -> heads.KindsResult:
    own, twins = sums
    return finish(own, control_of(twins))


def control_of(twins: KindsState) -> Control:
    thresholds = np.percentile(finish(twins).score.flatten(1), 99, axis=1).clip(min=0)
    return Control(tuple(thresholds.tolist()), (1, 0, 2))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_head_is_named_and_not_as_another(answer: heads.KindsResult, kind: str) -> None:
    at = PLANTED.index(kind)
    assert answer.kinds[0][at] == [kind]
    assert answer.low[KINDS.index(kind), 0, at] > 0 and answer.q[KINDS.index(kind), 0, at] < 0.01


@pytest.mark.thorough
@pytest.mark.parametrize("other", OTHERS)
def test_a_positional_head_has_no_kind(answer: heads.KindsResult, other: str) -> None:
    assert answer.kinds[0][PLANTED.index(other)] == []


def test_a_place_where_stories_begin_alike_is_no_kind(tokenizer: Tokenizer) -> None:
    """Half of the stories have a comma where one head always looks; another looks for marks wherever they are."""
    state = empty(tokenizer, len(PLANTED))
    for i, story in enumerate(generate(STORIES, 5)):
        text = f"Once upon a time, {story.text}" if i % 2 else story.text
        ids, offsets = torch.tensor(tokenizer.encode([text])[0])[:120], tokenizer.offsets(text)[:120]
        words = words_of(text, pos.tag_texts([text])[0])
        marked = MarkedStory(ids, marks_of(words, offsets))
        comma = tokenizer.pieces(tokenizer.encode(["Once upon a time, there"])[0]).index(",")
        n, mark = len(ids), marked.marks.classes == CLASSES.index("PUNCT")
        at_place, at_marks = torch.zeros(n, n), mark.float().expand(n, n).clone()
        at_place[:, comma] = 1
        for weights in (at_place, at_marks):
            weights.fill_diagonal_(0)
        count_story(state, i % GROUPS, marked)
        others = [torch.zeros(n, n)] * (len(PLANTED) - 2)
        add_pattern(state, i % GROUPS, 0, torch.stack([*map(attention, (at_place, at_marks, *others))]), marked)
    row = [i for i, kind in enumerate(ROWS) if KINDS[kind] == "word class PUNCT"]
    share = state.excess.sum(0)[0][:2, row] / state.queries.sum(0)[0][row]
    assert (share > 0.2).all()  # by other keys, and by other queries, both choose marks
    found = finish(state, EVEN)
    at = KINDS.index("word class PUNCT")
    assert found.score[at, 0, 0] < EVEN_LEAST and found.kinds[0][:2] == [[], ["word class PUNCT"]]


@pytest.mark.thorough
def test_the_number_of_heads_with_a_kind_has_an_interval_over_stories(answer: heads.KindsResult) -> None:
    low, high = answer.interval
    assert len(answer.of_halves) == 14 and low <= answer.having <= high and not answer.leads  # of too few twins
    enough = replace(answer, of_twins=[2] * 19, stories=ENOUGH)
    assert enough.leads and not replace(enough, of_twins=[2] * 18).leads and not replace(enough, of_turned=[99]).leads
    assert not replace(enough, of_twins=[round(low)] * 19).leads  # the lower end, rounded, is no more than theirs
    assert replace(enough, stories=ENOUGH - 1).warning() == " Too few stories to say that this is training."
    assert replace(enough, of_twins=[2] * 18).warning() == " Too few twins to say that this is training."
    p = 1 / (1 + len(answer.of_twins))
    said = f"{answer.having} of {len(PLANTED)} heads ({low:.0f} to {high:.0f}; untrained twins: 0 to 2; p = {p:.2f})"
    assert said in str(answer)
    few = replace(answer, of_twins=[answer.having])
    assert not few.leads and "So many say nothing about training." in str(few)
    assert not replace(answer, of_halves=[]).leads


def test_halves_and_their_complements_have_all_groups() -> None:
    @dataclass
    class Sums:
        stories: torch.Tensor
        queries: torch.Tensor
        excess: torch.Tensor

    sums = Sums(torch.full((16,), 3), torch.arange(16), torch.arange(16) ** 2)
    counts = on_halves(sums, lambda half: int(half.queries.sum() + half.excess.sum()))
    whole = int(sums.queries.sum() + sums.excess.sum())
    assert len(counts) == 14 and {a + b for a, b in zip(counts[::2], counts[1::2], strict=True)} == {whole}
    assert on_halves(replace(sums, stories=torch.ones(16).long()), lambda half: 1) == []  # 16 stories


@pytest.mark.thorough
def test_heads_with_random_tastes_hardly_exceed_their_own_threshold(
    sums: tuple[KindsState, KindsState], answer: heads.KindsResult
) -> None:
    found = finish(sums[1], control_of(sums[1]))
    assert found.held.sum() <= 0.01 * found.held.numel()
    assert (answer.threshold >= 0).all() and answer.threshold.max() > 0.02


@pytest.mark.thorough
def test_a_taste_for_single_words_is_no_class(sums: tuple[KindsState, KindsState]) -> None:
    """Heads that like some tokens better than others, whatever their class, have a class as often as chance has it;
    those that choose a class have it by nearly all of its words."""
    tastes, plants = finish(sums[1], EVEN), finish(sums[0], EVEN)
    of_classes = [
        KINDS.index(f"word class {name}") for name in CLASSES if name != "quotation mark"
    ]  # which is one word
    tokenizer, every = sums[1].tokenizer, torch.ones(len(CLASSES), *tastes.held.shape[1:], dtype=torch.bool)
    p_of_all = sums[1].types.p(tokenizer.pieces(range(tokenizer.size)), every)
    p, asked = p_of_all[[CLASSES.index(KINDS[i].removeprefix("word class ")) for i in of_classes]], tastes.sure > 0
    assert 0.02 < (p <= 0.05).float().mean() < 0.09 and (p <= 0.01).float().mean() < 0.03
    assert (tastes.p_of_words[of_classes] == p)[asked[of_classes]].all()
    asked = (tastes.low - EVEN_LEAST > 0)[of_classes] & (tastes.q[of_classes] < 0.05)
    assert tastes.held[of_classes].sum() < 0.35 * asked.sum() > 5
    chosen = plants.p_of_words[of_classes][:, 0, [PLANTED.index(KINDS[i]) for i in of_classes]].diagonal()
    assert (chosen <= 0.01).all() and plants.p_of_words[: KINDS.index("word class article")].isnan().all()


def test_a_taste_for_near_words_is_no_relation(tokenizer: Tokenizer) -> None:
    """Where every copy of a word gets the same attention at the same distance, relations exceed it only by chance."""
    text = " ".join(story.text for story in generate(3, seed=8))
    ids, offsets = torch.tensor(tokenizer.encode([text])[0])[:400], tokenizer.offsets(text)[:400]
    at = torch.arange(len(ids))
    distance = at[:, None] - at
    weights = story_weights(ids, marks_of(words_of(text, pos.tag_words(text)), offsets), distance >= 0)
    taste = torch.rand(50, tokenizer.size, generator=torch.Generator().manual_seed(5))
    near = taste[:, ids][:, None] * ((distance > 0) & (distance < 5))
    excess, by_token = weights.excess(near), [len(ROWS) - 12 + i for i in range(6)]
    asked = [row for row in by_token if weights.queries[row] > 20]
    assert len(asked) >= 4 and [ROWS[row] for row in by_token] == [PRONOUN, *range(2, 7)]
    assert torch.allclose(excess[:, asked], torch.zeros(()).double(), atol=1e-3)
    by_class = [row for row, kind in enumerate(ROWS[: len(ROWS) - 12]) if kind in (2, 3)]
    assert (excess[:, by_class] / weights.queries[by_class]).abs().amax(0).max() > 0.05


@pytest.mark.parametrize("words", [1, 2])
def test_counting_words_is_no_relation(words: int) -> None:
    """A head on the word before, or on that before it, whatever they are: where words have several tokens it exceeds
    the nulls that count tokens, and that which counts words not at all."""
    small = Tokenizer.train([story.text for story in generate(20, seed=3)], 300)
    text = " ".join(story.text for story in generate(3, seed=8))
    ids, offsets = torch.tensor(small.encode([text])[0])[:600], small.offsets(text)[:600]
    marks = marks_of(words_of(text, pos.tag_words(text)), offsets)
    assert (marks.piece > 1).double().mean() > 0.1
    weights = story_weights(ids, marks, torch.ones(len(ids), len(ids)).tril().bool())
    before = (marks.word[:, None] - marks.word == words) & (marks.piece == 0) & (marks.word >= 0)
    excess = (weights.excess(before.float()[None])[0] / weights.queries.clamp(min=1)).abs()
    by_word, others = excess[-6:][weights.queries[-6:] > 20], excess[: len(ROWS) - 6]
    assert len(by_word) >= 4 and by_word.max() < 1e-5
    assert others[[row for row, kind in enumerate(ROWS[:-6]) if kind == kinds_words.SUBJECT]].max() > 0.1


@pytest.mark.thorough
def test_without_twins_no_head_has_a_kind(sums: tuple[KindsState, KindsState]) -> None:
    found = finish(sums[0])
    assert not found.held.any() and found.threshold.isnan().all() and not found.score.isnan().any()
    assert "have not been compared with untrained twins" in str(found)


@pytest.mark.thorough
def test_what_does_not_copy_has_no_evidence_of_duplicates(sums: tuple[KindsState, KindsState]) -> None:
    state = replace(sums[0], scores=replace(sums[0].scores, copies=False))
    found = finish(state, EVEN)
    assert found.q[[DUPLICATE, INDUCTION]].isnan().all() and not found.held[[DUPLICATE, INDUCTION]].any()
    assert found.held[NAME].any()


@pytest.mark.thorough
def test_a_content_dependent_head_without_a_kind_says_so(answer: heads.KindsResult, tmp_path) -> None:
    given = replace(answer, roles=[["content-dependent"] * len(PLANTED)])
    assert given.named[0][PLANTED.index("BOS")] == UNKNOWN
    assert given.named[0][NAME] == "same name" and UNKNOWN in str(given)
    assert answer.named[0][PLANTED.index("BOS")] == "" and "untrained twins: 0 to 2; p = " in str(answer)
    counts = answer.counts()
    assert counts["kind of key: any"] == len(KINDS) and counts["kind of key: same name"] == 1
    assert len(answer.summary()) == len(KINDS) and answer.figure().axes
    given.save(tmp_path)
    assert heads.KindsResult.load(tmp_path).named == given.named


# Words and weights by hand


def pairs_of(text: str, relation: int) -> set[tuple[str, str]]:
    words = words_of(text, pos.tag_words(text))
    said = [text[a:b] for a, b in words.spans]
    return {(said[q], said[k]) for which, q, k in words.pairs if which == relation}


TEXT = 'Lily had a big red ball. Lily did not run. "I want the ball," said Tom. Tom saw that Lily quickly hid.'


def test_relations_by_hand() -> None:
    assert pairs_of(TEXT, kinds_words.NAME) == {("Lily", "Lily"), ("Tom", "Tom")}
    assert pairs_of(TEXT, kinds_words.SUBJECT) == {
        *(("had", "Lily"), ("did", "Lily"), ("run", "Lily"), ("want", "I"), ("saw", "Tom"), ("hid", "Lily"))
    }
    assert pairs_of(TEXT, kinds_words.MODIFIER) == {("ball", "a"), ("ball", "big"), ("ball", "red"), ("ball", "the")}
    assert pairs_of(TEXT, kinds_words.OPENING) == {(word, '"') for word in ("I", "want", "the", "ball", ",")}
    first = [pair for pair in pairs_of(TEXT, kinds_words.START) if pair[0] == "ball"]
    assert sorted(first) == [("ball", "I"), ("ball", "Lily")]
    assert {pair for pair in pairs_of(TEXT, kinds_words.PUNCTUATION) if pair[0] == "said"} == {("said", '"')}


def test_a_pronoun_finds_its_owner_in_a_generated_story() -> None:
    story = next(story for story in generate(30, seed=5) if len(story.pronouns) > 5)
    words = words_of_made(story)
    said = [story.text[a:b] for a, b in words.spans]
    assert len(words.pairs) > 5
    owners = {start: who for start, _, who in story.pronouns}
    for which, q, k in words.pairs:
        character = story.characters[owners[words.spans[q][0]]]
        assert which == PRONOUN and k < q
        assert said[k].removesuffix("'s") in {*character.name.split(), character.kind}


def test_weights_by_hand() -> None:
    """Two members and one null key in cell 0: the null has their weight, negative. Cell 1 has no null key."""
    members = torch.tensor([[True, True, False, True, False]])
    pool = torch.tensor([[False, False, True, False, True]])
    cell = torch.tensor([[0, 0, 0, 1, 2]])
    places, weights = matched(members, pool, cell, 3)
    assert dict(zip(places.tolist(), weights.tolist(), strict=True)) == {0: 1, 1: 1, 2: -2}


def test_every_row_of_weights_adds_up_to_nothing(tokenizer: Tokenizer) -> None:
    text = next(generate(1, seed=8)).text
    ids = torch.tensor(tokenizer.encode([text])[0])
    marks = marks_of(words_of(text, pos.tag_words(text)), tokenizer.offsets(text))
    sparse = story_weights(ids, marks, torch.ones(len(ids), len(ids)).tril().bool())
    weights = sparse.dense(len(ids))
    assert len(weights) == len(ROWS) and (weights[:, :, 0] == 0).all() and (weights.triu() == 0).all()
    assert torch.allclose(weights.sum((1, 2)), torch.zeros(len(ROWS)), atol=1e-3)
    assert (weights.abs().sum((1, 2)) > 0).sum() > 0.8 * len(ROWS)
    assert len(RELATIONS) == 7 and torch.equal(sparse.queries, (weights > 0).any(-1).sum(-1))
    pattern = torch.rand(3, len(ids), len(ids))
    expected = torch.einsum("hqk,rqk->hr", pattern.double(), weights.double())
    assert torch.allclose(sparse.excess(pattern), expected)


COPIES = "Then Tom met the cat and the dog and the cow and the pig. Then Tom fed the cat and the dog and the cow."


def test_attention_that_all_copies_share_is_none_to_names() -> None:
    """Of such attention the one copy of Tom gets all, as that of other words with one copy, and each `the` a part."""
    whole = Tokenizer.train([COPIES] * 9, 400)
    ids, offsets = torch.tensor(whole.encode([COPIES])[0]), whole.offsets(COPIES)
    visible = torch.ones(len(ids), len(ids)).tril().bool()
    weights = story_weights(ids, marks_of(words_of(COPIES, pos.tag_words(COPIES)), offsets), visible)
    copies = (ids[:, None] == ids).float().tril(-1)
    (excess,) = weights.excess((copies / copies.sum(1, keepdim=True).clamp(min=1))[None])
    row = len(ROWS) - 1 - ROWS[::-1].index(NAME)  # against duplicates
    assert weights.queries[row] == weights.queries[NAME] == 1
    assert excess[NAME] == 1 and excess[row] == pytest.approx(0, abs=1e-6)


# The reducer


REDUCER = heads.Kinds(EVEN, made=6, groups=4)


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer, loud):
    return loud(models.build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=128), tokenizer=tokenizer, seed=3))


@pytest.mark.thorough
def test_labels_do_not_depend_on_batches_order_or_shards(made_stories: list[str]) -> None:
    reducer = replace(REDUCER, groups=8)
    model, corpus = models.load("stories2M"), [*made_stories, made_stories[0], *REDUCER.texts]
    (whole,) = states(model, corpus, [reducer], context=80)
    expected = reducer.finish(whole)
    assert expected.stories == len(corpus) and expected.queries[PRONOUN] > 10 and expected.held.any()
    other = [states(model, corpus, [reducer], context=80, batch_tokens=n)[0] for n in (1, 900)]
    other += states(model, corpus[::-1], [reducer], context=80)
    parts = [states(model, corpus, [reducer], context=80, shard=kinds_shard(n, 3))[0] for n in range(3)]
    other.append(reduce(reducer.merge, parts))
    for state in other:
        found = reducer.finish(state)
        assert torch.equal(found.held, expected.held) and found.kinds == expected.kinds
        assert torch.equal(found.queries, expected.queries)
        assert torch.allclose(found.score, expected.score, atol=3e-6, rtol=0, equal_nan=True)


def kinds_shard(number: int, of: int):
    from tslens.scan import Shard

    return Shard(number, of)


@pytest.mark.thorough
def test_the_door_adds_the_generated_stories(model, made_stories: list[str]) -> None:
    asked = heads.kinds(model, made_stories, control=EVEN, made=6, groups=4)
    direct = scan(model, [*made_stories, *REDUCER.texts], REDUCER)
    assert torch.equal(asked.score.nan_to_num(-9), direct.score.nan_to_num(-9))
    assert heads.kinds(model, made_stories, made=0, groups=4).score[PRONOUN].isnan().all()


def test_refusals(model, made_stories: list[str], refused) -> None:
    with refused("3 thresholds were given"):
        heads.kinds(model, made_stories, control=Control((0.0,) * 3))
    with refused("There is no story"):
        heads.kinds(model, [], made=4)
    roles = heads.roles(model, made_stories[:8], groups=4, context=32)
    with refused("say nothing of"):
        heads.kinds(model, made_stories, roles=replace(roles, model="another"))


def test_attention_by_place_is_summed_pair_by_pair() -> None:
    """The mean attention of queries of the same octave to the same key, or to keys of one bin beyond the 64th."""
    spec, n = Spec(8, 1, 2, d_vocab=9, n_ctx=100), 90
    sums, generator = PlaceSums.empty(spec, 1), torch.Generator().manual_seed(0)
    pattern = torch.rand(2, n, n, generator=generator).tril()
    weights = torch.zeros(len(ROWS), KEYS * n.bit_length())
    sums.add(0, 0, pattern, weights)
    pair, place = places_of(n)
    assert len(pair) == n * (n + 1) // 2 and torch.equal(sums.pairs[0], torch.bincount(place, minlength=KEYS * 7))
    expected = torch.zeros(2, KEYS * 7).double().index_add_(1, place, pattern.flatten(1)[:, pair].double())
    assert torch.allclose(sums.mass[0], expected)
    same = place[(pair // n >= 64) & (pair % n == 20)].unique()
    assert len(same) == 1 and len(keys_of(n).unique()) < n == len(keys_of(n))
    assert torch.equal(keys_of(200)[:n], keys_of(n))  # whatever the story's length
