"""Heads that write a word class: planted ones are named, those that write one word or always the same are not."""

from functools import reduce

import pytest
import torch

from tslens import models, pos
from tslens.analysis import heads
from tslens.analysis.heads.kinds_words import CLASSES, marks_of, words_of
from tslens.analysis.heads.writes import WritesState, add_story, class_counts
from tslens.analysis.heads.writes_types import FollowingSums
from tslens.forward.blocks import final_gain
from tslens.models import Spec
from tslens.scan import Shard, states
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer

SETS = 6
OTHERS = ("the next word", "always nouns", "nothing", "noise", *(f"any words, {i}" for i in range(SETS)))
PLANTED = (*CLASSES, *OTHERS)
GROUPS, STORIES = 12, 40


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return Tokenizer.train([story.text for story in generate(60, seed=3)], 900)


@pytest.fixture(scope="module")
def planted(words: Tokenizer) -> heads.WritesResult:
    """Heads whose output is the logits that they add, one head for every class and four others."""
    n = len(PLANTED)
    spec = Spec(4 * n, 1, n, d_vocab=words.size, style="llama")
    size = words.size
    state = WritesState(
        *("planted", spec, words, [torch.eye(size).expand(n, size, size)], torch.eye(size)),
        torch.zeros(GROUPS).long(),
        torch.zeros(GROUPS, len(CLASSES)).double(),
        torch.zeros(GROUPS, 1, n, len(CLASSES)).double(),
        FollowingSums(torch.zeros(size, 1, n, size), torch.zeros(size, len(CLASSES) + 1)),
    )
    generator = torch.Generator().manual_seed(2203)
    sets = [torch.randperm(words.size, generator=generator)[: words.size // 4] for _ in range(SETS)]
    for i, story in enumerate(generate(STORIES, seed=2203)):
        tokens = torch.tensor(words.encode([story.text])[0])
        offsets = words.offsets(story.text)
        classes = marks_of(words_of(story.text, story.tags), offsets).classes
        classes = torch.where(torch.tensor(pos.align(story.tags, offsets)[1]), classes, -1)
        written = torch.zeros(len(tokens), n, size)
        follows = torch.cat([classes[1:], torch.tensor([-1])])
        for c in range(len(CLASSES)):
            written[(follows == c).nonzero(), c, tokens[classes == c]] = 1
        written[torch.arange(len(tokens) - 1), len(CLASSES), tokens[1:]] = 1
        written[:, len(CLASSES) + 1, tokens[classes == CLASSES.index("NOUN")]] = 1
        for head, of in enumerate(sets, len(CLASSES) + 4):
            written[torch.isin(tokens[1:], of).nonzero(), head, of] = 1
        written[:, len(CLASSES) + 3] = 0.3 * torch.randn(len(tokens), size, generator=generator)
        activations = {"blocks.0.attn.hook_z": written, "blocks.0.hook_resid_post": torch.ones(len(tokens), size)}
        state.stories[i % GROUPS] += 1
        add_story(state, i % GROUPS, activations, tokens, classes)
    return heads.Writes(heads.Control((0.05,) * len(CLASSES))).finish(state)


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLANTED)
def test_a_head_that_writes_a_class_is_named_and_no_other(planted: heads.WritesResult, name: str) -> None:
    found = planted.kinds[0][PLANTED.index(name)]
    if name.startswith("any"):
        found = [one for one in found if one != "quotation mark"]  # one word, and of two of these sets
    assert found == ([name] if name in CLASSES else [])


@pytest.mark.thorough
def test_words_of_no_class_are_told_from_a_class_by_words_alone(planted: heads.WritesResult) -> None:
    """Heads that write a quarter of the vocabulary, taken at random, where a word of it follows: over tokens they write
    classes as well, surely."""
    of_sets = slice(len(CLASSES) + 4, None)
    over_tokens = (planted.low > 0.05) & (planted.q < 0.05)
    assert (over_tokens & ~planted.p_of_words.isnan())[:, 0, of_sets].sum() > 3
    assert not (planted.held & ~planted.p_of_words.isnan())[:, 0, of_sets].any()


@pytest.mark.thorough
def test_result_round_trip(planted: heads.WritesResult, tmp_path) -> None:
    assert planted.counts()["writes: any"] == len(CLASSES) + 2 and planted.counts()["writes: NOUN"] == 1
    assert len(planted.summary()) == len(CLASSES) and planted.figure().axes
    planted.save(tmp_path)
    assert heads.WritesResult.load(tmp_path).kinds == planted.kinds


def test_class_counts_by_hand() -> None:
    """Words 0 (ADJ, twice), 1 (ADJ) and 2 (ADP). Where 0 follows, ADJ is word 1 alone; where 2 does, no other word is
    left beside ADJ, and none in ADP."""
    adj, adp = CLASSES.index("ADJ"), CLASSES.index("ADP")
    counts, left = class_counts(torch.tensor([0, 0, 1, 2]), torch.tensor([adj, adj, adj, adp]), 3)
    assert counts[:, :, adj].tolist() == [[2, 1, 0], [0, 0, 1]] and counts[:, :, adp].tolist() == [[0, 0, 1], [2, 1, 0]]
    assert left[:, :, adj].tolist() == [[1, 1, 2, 3], [1, 1, 1, 0]]
    assert left[:, :, adp].tolist() == [[1, 1, 1, 0], [1, 1, 2, 3]]


@pytest.mark.thorough
def test_the_excess_is_that_of_the_mixtures_of_words(words: Tokenizer) -> None:
    """Word for word: at each place the mean over the words of the class, but the one that follows, less that over the
    words of the others."""
    generator = torch.Generator().manual_seed(5)
    classes = torch.tensor([-1, *torch.randint(-1, 4, (40,), generator=generator).tolist()])
    tokens = torch.cat([torch.zeros(1).long(), torch.randint(1, 9, (40,), generator=generator)])
    z, read = torch.randn(41, 2, 4, generator=generator), torch.randn(words.size, 8, generator=generator)
    output = torch.randn(2, 4, 8, generator=generator)
    sums = (torch.zeros(1).long(), torch.zeros(1, len(CLASSES)).double(), torch.zeros(1, 1, 2, len(CLASSES)).double())
    spec = Spec(8, 1, 2, d_vocab=words.size, style="llama")
    state = WritesState("one", spec, words, [output], read, *sums, FollowingSums.empty(spec, words.size))
    activations = {"blocks.0.attn.hook_z": z, "blocks.0.hook_resid_post": torch.ones(41, 8)}
    add_story(state, 0, activations, tokens, classes)
    at = [i for i in range(40) if classes[i + 1] >= 0]
    logits = torch.einsum("nhd,hdm,tm->nht", z, output, read)
    often = {i: sum(1 for j in at if tokens[j + 1] == tokens[i + 1]) for i in at}
    for c in range(4):
        effect, bins = {}, {i: sum(often[i] > edge for edge in (1, 3, 7, 15)) for i in at}
        for i in at:
            others = [j for j in at if tokens[j + 1] != tokens[i + 1]]
            sides = [
                [int(tokens[j + 1]) for j in others if (classes[j + 1] == c) == inside] for inside in (True, False)
            ]
            if all(sides):
                effect[i] = logits[i][:, sides[0]].mean(1) - logits[i][:, sides[1]].mean(1)
        expected = torch.zeros(2)
        for which in set(bins.values()):
            own, null = (
                [i for i in effect if bins[i] == which and (classes[i + 1] == c) == is_] for is_ in (True, False)
            )
            if own and null:
                expected += sum(effect[i] for i in own) - len(own) * sum(effect[i] for i in null) / len(null)
        assert torch.allclose(state.excess[0, 0, :, c].float(), expected, atol=1e-4), c
    assert state.excess.abs().max() > 1


@pytest.mark.thorough
@pytest.mark.parametrize("style", ["gpt2", "llama"])
def test_the_effect_is_that_of_direct_attribution(style: str, words: Tokenizer, loud) -> None:
    """On one story, against the head's output from TransformerLens's own cache, read through the final norm."""
    model = loud(models.build(Spec(16, 2, 2, d_vocab=words.size, n_ctx=96, style=style), tokenizer=words, seed=1))
    text = next(generate(1, seed=12)).text
    reducer = heads.Writes(groups=1)
    (state,) = states(model, [text], [reducer])
    tokens = torch.tensor(words.encode([text])[0])[:96]
    offsets = words.offsets(text)[:96]
    tagged = pos.tag_words(text)
    classes = marks_of(words_of(text, tagged), offsets).classes
    classes = torch.where(torch.tensor(pos.align(tagged, offsets)[1]), classes, -1)
    _, cache = model.run_with_cache(tokens[None])
    for layer in range(2):
        out = torch.einsum("phd,hdm->phm", cache[f"blocks.{layer}.attn.hook_z"][0], model.blocks[layer].attn.W_O)
        normed = cache.apply_ln_to_stack(out.movedim(1, 0)[:, None], layer=-1, has_batch_dim=True)[:, 0]
        normed = normed * final_gain(model)[0]
        logits = (normed @ model.unembed.W_U).detach()  # [head pos token]
        noun = CLASSES.index("NOUN")
        at = [i for i in range(len(tokens) - 1) if classes[i + 1] >= 0]
        score = torch.zeros(2, dtype=torch.float64)
        bins, members, pool = {}, {}, {}
        for i in at:
            t = int(tokens[i + 1])
            begun = [(int(tokens[j + 1]), int(classes[j + 1])) for j in at]
            own = [w for w, c in begun if c == noun and w != t]
            rest = [w for w, c in begun if c != noun and w != t]
            if own and rest:
                effect = logits[:, i, own].mean(1) - logits[:, i, rest].mean(1)
                count = sum(w == t for w, _ in begun)
                bins[i] = sum(count > edge for edge in (1, 3, 7, 15))
                (members if classes[i + 1] == noun else pool).setdefault(bins[i], []).append(effect.double())
        for which, of in members.items():
            if which in pool:
                score += torch.stack(of).sum(0) - len(of) * torch.stack(pool[which]).mean(0)
        assert torch.allclose(state.excess[0, layer, :, noun], score, atol=1e-3), layer


@pytest.mark.thorough
def test_labels_do_not_depend_on_batches_order_or_shards(words: Tokenizer, made_stories: list[str], loud) -> None:
    model = loud(models.build(Spec(16, 2, 2, d_vocab=words.size, n_ctx=128), tokenizer=words, seed=3))
    reducer = heads.Writes(heads.Control((0.0,) * len(CLASSES)), groups=4)
    corpus = [*made_stories, made_stories[0]]
    (whole,) = states(model, corpus, [reducer])
    expected = reducer.finish(whole)
    other = [states(model, corpus, [reducer], batch_tokens=1)[0], states(model, corpus[::-1], [reducer])[0]]
    other.append(reduce(reducer.merge, [states(model, corpus, [reducer], shard=Shard(n, 3))[0] for n in range(3)]))
    for state in other:
        found = reducer.finish(state)
        assert found.kinds == expected.kinds and torch.equal(found.queries, expected.queries)
        assert torch.allclose(found.score, expected.score, atol=1e-5, rtol=0, equal_nan=True)
