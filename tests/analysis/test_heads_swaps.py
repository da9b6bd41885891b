"""Swaps and shifts: planted heads whose nature is known, laws that hold for every model, and the copies by hand."""

import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from tslens import forward, models, plots, stats
from tslens.analysis import heads
from tslens.analysis.heads import replaced, swaps_result
from tslens.analysis.heads.evidence import GroupEstimate
from tslens.analysis.heads.explained import MIXES, OtherCopies, group_of, mixed, nats, unexplained
from tslens.analysis.heads.replaced import SWAPS, TOKENS, WORD, Lexicon, copies_of, texts_of
from tslens.analysis.heads.swaps import decided_p, distances, divergences
from tslens.draws import draw
from tslens.halves import GROUPS
from tslens.models import Spec, build
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer

BUT_BOS = 1  # of swaps_result.KEYS
POSITION = ("previous token", "exponential", "BOS", "fifth token", "self")
CONTENT = ("duplicate", "induction", "word class", "last comma", "after the full stop")
MIXED = ("a third content", "two thirds content", "by turns")
PLANTS = (*POSITION, *CONTENT, *MIXED)


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [made.text for made in generate(12, seed=3)]


@pytest.fixture(scope="module")
def words(corpus: list[str]) -> Tokenizer:
    """A tokenizer in which nearly every word is one token, so that swaps of tokens and of words are alike."""
    return Tokenizer.train(corpus, 1500)


def rows_of(weights: torch.Tensor) -> torch.Tensor:
    """Weights as attention; on BOS where there are none."""
    total = weights.sum(-1, keepdim=True)
    on_bos = torch.zeros_like(weights)
    on_bos[..., 0] = 1
    return torch.where(total > 0, weights / total.clamp(min=1e-9), on_bos)


def planted(tokens: torch.Tensor, of_class: torch.Tensor, comma: int, stop: int) -> torch.Tensor:
    """The attention of each of PLANTS over one row of tokens, `[head query key]`."""
    n = len(tokens)
    at = torch.arange(n)
    distance = (at[:, None] - at).float()
    causal = (distance >= 0).float()
    before = ((distance > 0) & (at > 0)).float()
    decay = torch.exp(-distance / 6) * causal
    fifth = torch.zeros(n, n)
    fifth[:, 5] = 1
    bos = torch.zeros(n, n)
    bos[:, 0] = 1
    follows = torch.zeros(n, n)
    follows[:, 2:] = (tokens[:, None] == tokens[1:-1]) * before[:, 2:]

    def last(where: torch.Tensor) -> torch.Tensor:
        latest = torch.where(where & (distance >= 0), at, -1).amax(-1)
        return torch.nn.functional.one_hot(latest.clamp(min=0), n).float()

    after = torch.roll(tokens, 1) == stop
    flat = [(distance == 1).float(), decay, bos, fifth * causal, torch.eye(n)]
    flat += [(tokens[:, None] == tokens) * before, follows, of_class[tokens] * before, last(tokens == comma)]
    flat += [last(after)]
    patterns = [rows_of(x) for x in flat]
    previous, klass, rest = patterns[0], patterns[PLANTS.index("word class")], patterns[PLANTS.index("last comma")]
    turns = torch.where((at % 2 == 0)[:, None], previous, rest)
    return torch.stack([*patterns, (2 * previous + klass) / 3, (previous + 2 * klass) / 3, turns])


@dataclass(frozen=True)
class Planted:
    """The sums of `changes` for every plant, story by story, without a model."""

    left: list[torch.Tensor]
    possible: list[torch.Tensor]
    beside: torch.Tensor

    @property
    def change(self) -> GroupEstimate:
        """By keys, swap, layer (one) and plant."""
        return unexplained(self.left, self.possible)


def uniform_of(n: int) -> torch.Tensor:
    return torch.ones(n, n).tril() / torch.arange(1.0, n + 1)[:, None]


def changed(stories: list[torch.Tensor], copies: list[torch.Tensor]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """What mixes leave, and all there is, of patterns `[head query key]` and their copies `[swap copy head query key]`
    of stories that are given in order."""
    longest, (swaps, _, n_heads, *_) = max(own.shape[-1] for own in stories), copies[0].shape
    summed = torch.zeros(min(GROUPS, len(stories)), swaps, 1, n_heads, longest, longest)
    reach = torch.zeros(len(summed), longest)
    for i, of_story in enumerate(copies):
        n = of_story.shape[-1]
        summed[group_of(i), :, 0, :, :n, :n] += of_story.sum(1)
        reach[group_of(i), :n] += of_story.shape[1]
    others, left, possible = OtherCopies.but_own(summed, reach), [], []
    for i, (own, of_story) in enumerate(zip(stories, copies, strict=True)):
        uniform = uniform_of(own.shape[-1])
        of_swaps = [mixed(own, of_story[k], others.mean(group_of(i), k, 0, uniform)) for k in range(swaps)]
        left.append(torch.stack(of_swaps, 2)[:, :, :, None])
        possible.append(nats(own, uniform)[:, None])
    return left, possible


@pytest.fixture(scope="module")
def patterns(corpus: list[str], words: Tokenizer) -> tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor]:
    """The attention of the plants in every story, in its copies of each kind of swap, and where every word is replaced
    the sums of `beside`."""
    comma, stop = words.encode([",", "."], bos=False)
    texts = texts_of(corpus, words, 72)
    lexicon = Lexicon.of(texts)
    of_class = torch.zeros(words.size)
    common = Counter(int(t) for text in texts for t in text.tokens)
    of_class[[token for token, _ in common.most_common(60)[20:60]]] = 1
    stories, whole, beside = [], [], []
    for seed, text in enumerate(texts):
        made = copies_of(text, lexicon, seed, 3, 4)
        own = planted(text.tokens, of_class, comma[0], stop[0])
        copies = torch.stack(
            [torch.stack([planted(row, of_class, comma[0], stop[0]) for row in of_kind]) for of_kind in made.tokens]
        )
        stays = ~made.swapped[:3]
        pairs = stays[:, :, None] & stays[:, None]
        beside.append(distances(own, copies[TOKENS, :3], uniform_of(len(text.tokens)), pairs))
        stories.append(own)
        whole.append(copies[:, 3:])
    return stories, whole, torch.stack(beside)


@pytest.fixture(scope="module")
def measured(patterns: tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor]) -> Planted:
    stories, whole, beside = patterns
    return Planted(*changed(stories, whole), beside)


def where_claimed(of_plants: torch.Tensor) -> dict[str, Any]:
    """By plant, over the keys but BOS; over all for the one that has nothing else."""
    whole, but_bos = (dict(zip(PLANTS, of_keys.tolist(), strict=True)) for of_keys in of_plants)
    return but_bos | {"BOS": whole["BOS"]}


def test_position_stays_and_content_does_not(measured: Planted) -> None:
    """Near 0 for every head that position decides, near 1 for every head that content does, a mixture between; and one
    half for a head that looks at the previous token from every other query, and by content from the rest."""
    for kind in (TOKENS, WORD):
        change = where_claimed(measured.change.value[:, kind, 0])
        assert all(change[name] < 0.001 for name in POSITION), change
        assert all(0.93 <= change[name] <= 1 for name in CONTENT), change
        assert change["by turns"] == pytest.approx(0.5, abs=0.1)
        assert 0.1 < change["a third content"] < change["two thirds content"] < change["word class"]


def test_without_a_swap_nothing_changes(
    patterns: tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor],
) -> None:
    """Copies that are the story itself explain it, whatever the head; those of other stories alone would not."""
    stories, *_ = patterns
    same = [own.expand(1, 4, *own.shape) for own in stories]
    left, possible = changed(stories, same)
    assert unexplained(left, possible).value.nan_to_num(0).max() < 0.01
    of_others = torch.stack(left)[:, 0].sum(0) / torch.stack(possible).sum(0)[:, None]
    assert (of_others[BUT_BOS, 0, 0, [PLANTS.index(name) for name in CONTENT]] > 0.8).all()


def test_a_beginning_that_all_stories_share_is_no_position(corpus: list[str], words: Tokenizer) -> None:
    """A head that looks for the first "There", with which all stories begin, has the same pattern in all; not in the
    copies."""
    texts = texts_of([f"There was a small boy. {text}" for text in corpus], words, 40)
    lexicon, word = Lexicon.of(texts), texts[0].tokens[1]
    assert all(text.tokens[1] == word and lexicon.replaceable(text.places[0]) for text in texts)

    def looks(tokens: torch.Tensor) -> torch.Tensor:
        first = (tokens == word) & ((tokens == word).cumsum(0) == 1)
        return rows_of(first.float().expand(len(tokens), -1).tril())[None]

    own = [looks(text.tokens) for text in texts]
    copies = [copies_of(text, lexicon, seed, 0, 4).tokens for seed, text in enumerate(texts)]
    swapped = [torch.stack([torch.stack([looks(row) for row in rows]) for rows in of]) for of in copies]
    assert all(torch.equal(own[0][:, :30, :30], one[:, :30, :30]) for one in own)
    change = unexplained(*changed(own, swapped)).value
    assert (change[:, [TOKENS, WORD]] > 0.9).all()


def test_a_story_left_out_is_left_out_of_the_sums(measured: Planted) -> None:
    """And their order is irrelevant."""
    found = measured.change
    alone = unexplained(measured.left[1:], measured.possible[1:])
    torch.testing.assert_close(found.without[0], alone.value, equal_nan=True)
    back = unexplained(measured.left[::-1], measured.possible[::-1])
    torch.testing.assert_close(back.value, found.value, equal_nan=True)


def test_unswapped_pairs_hardly_tell_content_from_position(measured: Planted) -> None:
    """Beside swapped words even a head of pure content keeps most of its attention: why `beside` decides nothing."""
    total = measured.beside.sum(0)
    change = dict(zip(PLANTS, (total[0] / total[1]).tolist(), strict=True))
    assert all(change[name] < 1e-6 for name in POSITION)
    assert all(change[name] < 0.3 for name in ("duplicate", "induction", "word class", "last comma")), change


def test_the_verdicts_on_the_plants_are_right(measured: Planted) -> None:
    found = measured.change
    q = torch.as_tensor(stats.benjamini_hochberg(decided_p(found)))
    code = where_claimed(swaps_result.verdicts(found.value, q)[:, 0])
    said = {name: swaps_result.VERDICTS[i] for name, i in code.items()}
    assert {said[name] for name in POSITION} == {"position decides"}
    assert {said[name] for name in CONTENT} == {"content decides"}
    assert said["a third content"] == "position decides" and said["by turns"] == "unresolved"


def test_the_nats_by_hand() -> None:
    """One query that counts, with three keys: P = (0, 1/2, 1/2) against M = (1/2, 1/4, 1/4): ln 2 over all keys, and
    none over those but BOS, where both are (1/2, 1/2). Of two copies that look at 1 and one of another story at 2, a
    mix of m = 3/4 gives P = (0, 1, 0) the weight 3/4."""
    pattern, mean = torch.zeros(1, 3, 3), torch.zeros(1, 3, 3)
    pattern[0, 2], mean[0, 2] = torch.tensor([0, 0.5, 0.5]), torch.tensor([0.5, 0.25, 0.25])
    assert nats(pattern, mean)[:, 0].tolist() == pytest.approx([math.log(2), 0], abs=1e-6)
    pattern[0, 2], mean[0, 2] = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.5, 0.25, 0.25])
    assert nats(pattern, mean)[:, 0].tolist() == pytest.approx([math.log(2) / 2] * 2, abs=1e-6)  # half is off BOS
    look, other = torch.zeros(1, 3, 3), torch.zeros(1, 3, 3)
    look[0, 2, 1] = other[0, 2, 2] = 1
    left = mixed(look, look.expand(2, 1, 3, 3), other)
    assert left[MIXES.index(3 / 4), :, 0].tolist() == pytest.approx([-math.log(3 / 4)] * 2)


def test_the_mean_over_others_by_hand() -> None:
    """Of three groups with one copy each, whose only query looks at 0, 1 and 1: without the second, 0 and 1 once each,
    and one uniform pattern over two keys."""
    summed = torch.zeros(3, 1, 1, 1, 2, 2)
    summed[0, ..., 1, 0] = summed[1, ..., 1, 1] = summed[2, ..., 1, 1] = 1
    others = OtherCopies.but_own(summed, torch.ones(3, 2))
    assert others.mean(1, 0, 0, uniform_of(2))[0, 1].tolist() == pytest.approx([0.5, 0.5])
    assert others.mean(0, 0, 0, uniform_of(2))[0, 1].tolist() == pytest.approx([1 / 6, 5 / 6])


def test_the_measures_of_shifts_and_of_what_is_beside_by_hand() -> None:
    """One query that counts, with three keys: P = (0, 1, 0) and P' = (0, 0, 1) against U = (1, 1, 1) / 3: change 3 * 2,
    divergences 3 * (4/9 + 1/9) each off BOS, and 1/3 each on it; the story itself changes by 0."""
    uniform = torch.ones(3, 3).tril() / torch.tensor([1.0, 2.0, 3.0])[:, None]
    own, other = torch.zeros(1, 3, 3), torch.zeros(1, 3, 3)
    own[0, 2, 1] = other[0, 2, 2] = 1
    assert divergences(own, other[None], uniform)[:, BUT_BOS, 0].tolist() == pytest.approx([6, 10 / 3])
    assert divergences(own, other[None], uniform)[:, 0, 0].tolist() == pytest.approx([6, 4])
    assert not divergences(own, own[None], uniform)[0].any()
    stays = torch.ones(1, 3, 3).bool()
    stays[0, :, 2] = stays[0, 2, 0] = False  # the pair of query 2 and key 1 alone: 1 of 2/3
    assert distances(own, other[None], uniform, stays)[:, 0].tolist() == pytest.approx([1, 2 / 3])


# Copies


def test_copies_replace_whole_words_and_nothing_else(corpus: list[str], words: Tokenizer) -> None:
    texts = texts_of(corpus, words, 60)
    lexicon = Lexicon.of(texts)
    text = texts[0]
    made = copies_of(text, lexicon, 5, 6, 2)
    assert made.tokens.shape == (len(SWAPS), 8, 60) and not made.swapped[:, 0].any()
    places = [place for place in text.places if lexicon.replaceable(place)]
    covered = torch.zeros(60, dtype=torch.bool)
    for place in places:
        at = slice(place.first, place.first + len(place.word))
        assert tuple(text.tokens[at].tolist()) == place.word
        covered[at] = True
        for copy in range(8):
            whole = made.swapped[copy, at]
            assert whole.all() or not whole.any()
            if whole.any():
                tokens, word, same = (tuple(row[copy, at].tolist()) for row in made.tokens)
                assert all(new != old for new, old in zip(tokens, place.word, strict=True))
                assert word != place.word and word in lexicon.words[len(word)][0]
                assert (
                    same != place.word
                    and abs(lexicon.rank[place.kind, same] - lexicon.rank[place.kind, place.word]) <= 3
                )
    assert torch.equal(made.swapped[6:], covered.expand(2, 60))
    assert 0.35 < made.swapped[:6, covered].float().mean() < 0.65
    assert (made.tokens == text.tokens)[:, ~made.swapped].all()
    alone = copies_of(text, lexicon, 5, 6, 2)
    assert torch.equal(alone.tokens, made.tokens)
    assert not torch.equal(copies_of(text, lexicon, 6, 6, 2).tokens, made.tokens)


def test_other_items_are_drawn_by_their_counts() -> None:
    """Of a (1), b (2) and c (5), without b: a in one of six, c in five."""
    of = replaced._ordered(Counter({(1,): 1, (2,): 2, (3,): 5}))
    drawn = [replaced._other(of, (2,), int(x))[0] for x in draw(torch.arange(600))]
    assert set(drawn) == {1, 3} and 60 < drawn.count(1) < 140


# On models


@pytest.fixture(scope="module")
def model(words: Tokenizer, loud: Any) -> Any:
    return loud(build(Spec(16, 2, 2, d_vocab=words.size, n_ctx=64), tokenizer=words))


def test_a_model_that_sees_no_words_is_decided_by_position(model: models.LanguageModel, corpus: list[str]) -> None:
    blind = build(models.spec_of(model), tokenizer=models.story_tokenizer_of(model))
    models.load_weights(blind, {k: v.clone() for k, v in models.weights(model).items()}, origin="a test")
    with torch.no_grad():
        blind.embed.W_E[:] = blind.embed.W_E[:1]
    found = heads.swaps(blind, corpus[:6], copies=2, context=24)
    assert found.change.abs().max() < 1e-6 and found.beside.abs().max() < 1e-6
    assert {v for row in found.verdicts[0] + found.verdicts[1] for v in row} == {"position decides"}
    assert found.shift.min() > 1e-3  # learned positions are absolute


@pytest.mark.thorough
def test_a_model_that_sees_no_positions_is_not_moved_by_a_shift(model: models.LanguageModel, corpus: list[str]) -> None:
    lost = build(models.spec_of(model), tokenizer=models.story_tokenizer_of(model))
    models.load_weights(lost, {k: v.clone() for k, v in models.weights(model).items()}, origin="a test")
    with torch.no_grad():
        lost.pos_embed.W_pos.zero_()
    found = heads.swaps(lost, corpus[:6], copies=2, context=24)
    assert found.shift.abs().max() < 1e-6
    assert (found.change[BUT_BOS, :2] > 0.5).all()
    again = heads.swaps(lost, corpus[5::-1], copies=2, context=24)  # another order of the same stories
    torch.testing.assert_close(again.change, found.change)
    assert again.verdict_code.tolist() == found.verdict_code.tolist()


def test_the_shift_of_rotary_positions_moves_no_pair_of_the_first_layer_but_those_of_bos(
    words: Tokenizer, corpus: list[str], loud: Any
) -> None:
    """Rotary scores depend on the distance, and only that to BOS has changed: off BOS the ratios stay."""
    rotary = loud(build(Spec(16, 1, 2, d_vocab=words.size, n_ctx=64, style="llama"), tokenizer=words))
    (text,) = texts_of(corpus[:1], words, 20)
    seen: list[torch.Tensor] = []
    positions = torch.arange(20)
    for shift in (0, 9):
        positions[1:] += shift
        with torch.no_grad():
            forward.EditedForward.of(rotary).patterns(
                text.tokens[None], lambda _, pattern: seen.append(pattern), positions
            )
    before, after = (p[0, :, 2:, 1:] / p[0, :, 2:, 1:].sum(-1, keepdim=True) for p in seen)
    torch.testing.assert_close(before, after, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(seen[0][0, :, 2:, 0], seen[1][0, :, 2:, 0], atol=1e-4)


def test_swaps_are_refused_without_stories_copies_or_a_single_transformer(
    model: models.LanguageModel, corpus: list[str], refused: Any, compressor: Any
) -> None:
    with refused("needs 4 stories or more; there are 3"):
        heads.swaps(model, corpus[:3])
    with refused("copies=0 leaves nothing"):
        heads.swaps(model, corpus, copies=0)
    with refused("no single HookedTransformer"):
        heads.swaps(compressor, corpus)


@pytest.mark.thorough
def test_an_answer_prints_draws_comes_back_and_withholds_what_it_contradicts(
    model: models.LanguageModel, corpus: list[str], tmp_path: Any, refused: Any
) -> None:
    found = heads.swaps(model, corpus[:5], copies=2, context=24)
    assert "verdict" in str(found) and plots.svg(found.figure()).startswith("<svg")
    assert heads.SwapsResult.load(found.save(tmp_path)).verdicts == found.verdicts
    assert {"change, any tokens, all keys", "shift_low, keys but BOS", "verdict, all keys"} <= set(
        found.to_frame().columns
    )

    roles = heads.roles(model, corpus[:5], positions=24)
    names = [["previous token", "content-dependent"], ["positional", "diffuse"]]
    roles = replace(roles, role_code=torch.tensor([[heads.ROLES.index(name) for name in row] for row in names]))
    decided = replace(found, verdict_code=torch.tensor([[[1, 0], [1, 1]], [[0, 2], [2, 2]]]))
    agreed = heads.agreement(roles, decided)
    assert (agreed.labelled, agreed.confirmed, agreed.contradicted) == (3, 1, 2)
    assert agreed.agreement == pytest.approx(1 / 3)
    assert agreed.withhold(roles).roles == agreed.kept
    assert agreed.kept == [["previous token", "unresolved"], ["unresolved", "diffuse"]]
    assert "0.1 (content-dependent), 1.0 (positional)" in str(agreed) and plots.svg(agreed.figure()).startswith("<svg")
    table = agreed.summary().set_index("heads")
    assert table.loc["roles", ["labelled", "confirmed", "open", "contradicted"]].tolist() == [2, 1, 0, 1]
    assert table.loc["content-dependent", "contradicted"] == 1 and table.loc["both", "agreement"] == pytest.approx(
        1 / 3
    )
    low, high = torch.zeros_like(found.low), torch.ones_like(found.high)
    low[0, 0, 1, 0] = low[1, 1, 0, 0] = 0.6  # positional, over all keys; previous token, over those but BOS
    high[0, :, 0, 1] = 0.4  # content-dependent
    against = heads.agreement(roles, replace(decided, low=low, high=high)).summary().set_index("heads")
    columns = [f"against, {swap}" for swap in ("any tokens", "any word", "same part of speech")]
    assert against[columns].to_numpy().tolist() == [[1, 1, 0], [1, 1, 1], [2, 2, 1]]
    assert against["agreement by random tokens"].tolist() == pytest.approx([1 / 2, 0, 1 / 3])
    assert heads.agreement(roles, replace(found, verdict_code=torch.full((2, 2, 2), 2))).contradicted == 0
    with refused("are not of one model"):
        heads.agreement(roles, replace(found, model="another"))


@pytest.mark.thorough
def test_swaps_tell_the_heads_of_a_trained_model_apart(shared: Any) -> None:
    """stories260K on real stories: previous-token heads by position more than by words, the last layer by content."""
    path = shared / "data" / "stories" / "tinystories-v2.jsonl"
    texts = [json.loads(line)["text"] for line in path.read_text().splitlines()[:10]]
    found = heads.swaps(models.load(f"llama2c:{shared}/data/models/stories260K.bin"), texts, copies=2, context=96)
    assert "content decides" not in {found.verdicts[0][1][3], found.verdicts[0][3][6]}
    assert (found.change[0, :2, 1, 3] < 0.5).all() and (found.change[0, :2, 3, 6] < 0.5).all()
    assert [found.verdicts[0][4][i] for i in (0, 4)] == ["content decides"] * 2
    assert found.shift.max() < 0.3  # rotary: nothing depends on the place in the story
    assert found.beside[0, 0].max() < 0.2 < found.beside[0, 4].max()
