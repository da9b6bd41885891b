"""Planted models: every head attends where it should by TransformerLens's own patterns, every neuron fires where it
should, and the labels say so."""

import math
from collections.abc import Iterable

import pytest
import torch

from tslens import forward
from tslens.analysis import heads
from tslens.audit import Planted, Vocabulary, judge, plant, running, tallies
from tslens.audit.features import BLOCKS, TRUTHS, embedding, place_of, positions, squared_length
from tslens.audit.judging import ALL, ANY_KIND, LABELS, MORE, PLANTED_KINDS, SETS, Judged
from tslens.audit.neuron_plants import NEURONS
from tslens.audit.planted import CONTEXT, SMALL, WIDTH
from tslens.audit.plants import HEADS, LAYERS, PARTS, RANDOM, WRITERS, planted_in
from tslens.audit.running import GENERATED
from tslens.audit.vocabulary import FLAG_OF_CLASS, GENDERS
from tslens.stories import stories

DRAWN = ("local window", "slow decay", "favourite tokens")
SHARE = {"previous token": 0.99, "offset 3": 0.95, "self": 0.95, "BOS sink": 0.99, "uniform": 0.9999}
SHARE |= {"sentence start": 0.9, "inside speech": 0.9, "outside speech": 0.9}
SHARE |= {name: 0.95 for name, head in HEADS.items() if not head.mixture and name not in DRAWN} | SHARE
"""The least share of a plant's attention that is where it should be, from the fifth token on."""
LAST = {"last comma": ("comma",), "last mark": ("comma", "stop"), "last quotation mark": ("opening", "closing")}
NEAREST = {
    "verb to its subject": (("VERB", "AUX"), ("noun", "PROPN", "PRON")),
    "noun to its modifier": (("noun",), ("article", "DET", "adjective")),
}
SPREAD = {"fixed class": "noun"} | {f"word class {name}": flag for name, flag in FLAG_OF_CLASS.items()}
"""The flags of heads that attend to all tokens where none has the flag yet."""


def wanted(name: str, ids: torch.Tensor, vocabulary: Vocabulary) -> torch.Tensor:
    """The keys of a plant, `[query key]`; where there are none, BOS or all."""
    n, flags = len(ids), {flag: having[ids] for flag, having in vocabulary.flags.items()}
    i, j = torch.arange(n)[:, None], torch.arange(n)
    seen = (j <= i) & (j > 0)
    same = (ids[:, None] == ids) & (j < i) & (j > 0)
    follows, first = torch.zeros(n, n, dtype=torch.bool), ~same.any(1)
    follows[:, 1:] = ((ids[:, None] == ids) & (j < i))[:, :-1]

    def any_of(names: Iterable[str]) -> torch.Tensor:
        return torch.stack([flags[name] for name in names]).any(0)

    def last(on: torch.Tensor) -> torch.Tensor:
        return (on & seen) & (j == torch.where(on & seen, j, -1).amax(1, keepdim=True))

    if name in LAST:
        on = last(any_of(LAST[name]))
    elif name in SPREAD:
        on = flags[SPREAD[name]] & seen
    elif name in NEAREST:
        queries, keys = map(any_of, NEAREST[name])
        near = last(keys) & (i - j <= 4)
        on = queries[:, None] & torch.where(near.any(1, keepdim=True), near, keys & seen)
    else:
        ends, quote = torch.zeros(n, dtype=torch.bool), last(any_of(("opening", "closing")))
        ends[1:] = flags["stop"][:-1]
        inside = (quote & flags["opening"]).any(1)
        genders = [flags[query][:, None] & flags[key] & seen for query, key in GENDERS.items()]
        on = {
            "previous token": i - j == 1,
            "offset 3": i - j == 3,
            "self": i == j,
            **dict.fromkeys((f"{word} before {of}" for word, of in WRITERS.items()), i == j),
            "BOS sink": (j == 0).expand(n, n),
            "uniform": j <= i,
            "duplicate token": same,
            "same name": same & torch.isin(ids, vocabulary.names)[:, None],
            "sentence start": last(ends),
            "induction": follows & (j <= i),
            "pronoun to names of its gender": genders[0] | genders[1],
            "repeated content word": any_of(("noun", "VERB", "adjective")) & ~first & seen,
            "inside speech": inside & ~flags["opening"] & seen,
            "outside speech": ~inside & ~flags["closing"] & seen,
        }[name]
    return on | (~on.any(1, keepdim=True) & ((j <= i) if name in (*SPREAD, "inside speech") else (j == 0)))


def test_every_head_attends_where_it_should(planted: Planted, texts: list[str]) -> None:
    shares = shares_of(planted, texts[:8])
    assert set(shares) == {name for name in planted.heads.values() if name in SHARE}
    assert not {name: share for name, share in shares.items() if share < SHARE[name]}


@pytest.mark.thorough
@pytest.mark.parametrize("style", ["gpt2", "llama"])
def test_they_do_whatever_the_seed(style: str, vocabulary: Vocabulary, texts: list[str]) -> None:
    """Over as many seeds as an audit takes: what is random beside a plant leaves it as it is."""
    low = {
        (seed, name): share
        for seed in range(20)
        for name, share in shares_of(plant(vocabulary, style, seed=seed), texts[:4]).items()
        if share < SHARE[name]
    }
    assert not low


def shares_of(planted: Planted, texts: list[str]) -> dict[str, float]:
    """The share of each plant's attention that is where it should be, from the fifth token on."""
    shares: dict[str, list[float]] = {}
    for text in texts:
        ids = torch.tensor(planted.vocabulary.tokenizer.encode([text])[0][:CONTEXT])
        _, cache = planted.model.run_with_cache(ids[None])
        for (layer, head), name in planted.heads.items():
            if name in SHARE:
                pattern = cache["pattern", layer][0, head]
                on = wanted(name, ids, planted.vocabulary)
                even = on.float() / on.sum(1, keepdim=True)
                share = torch.minimum(pattern, even) if name == "uniform" else pattern * on
                shares.setdefault(name, []).append(float(share.sum(1)[5:].mean()))
    return {name: sum(found) / len(found) for name, found in shares.items()}


def test_every_kind_of_key_is_planted() -> None:
    """Over two seeds a model has every plant, and so every kind of key that is counted."""
    names = [[planted_in(layer, seed) for layer in range(len(LAYERS))] for seed in (0, 1)]
    assert {name for model in names for layer in model for name in layer} == set(HEADS)
    assert {HEADS[name].kind for model in names for layer in model for name in layer} - {""} == set(heads.KINDS)
    assert all(HEADS[name].first <= layer for model in names for layer, here in enumerate(model) for name in here)


def test_classes_and_genders_of_tokens_by_hand(vocabulary: Vocabulary) -> None:
    """Each token is in one class at most; pronouns and names have the gender that generated stories give them."""
    token = {piece: i for i, piece in enumerate(vocabulary.tokenizer.pieces(range(vocabulary.tokenizer.size)))}
    classes = torch.stack([vocabulary.flags[flag] for flag in FLAG_OF_CLASS.values()])
    assert classes.sum(0).max() == 1 and not classes[:, vocabulary.tokenizer.bos].any()
    for flag, word in {"article": " the", "PRON": " she", "CCONJ": " and", "PUNCT": ",", "he": " him"}.items():
        assert vocabulary.flags[flag][token[word]], word
    masculine, feminine = (vocabulary.flags[name] for name in GENDERS.values())
    assert masculine.any() and feminine.any() and not (masculine & feminine).any()
    assert masculine[token[" boy"]] and feminine[token[" girl"]]
    assert vocabulary.flags["opening"][token[' "']] and vocabulary.flags["closing"][token['."']]


def test_layer_norm_changes_no_feature(vocabulary: Vocabulary) -> None:
    """Rows of one length and of mean 0, whatever the token and the position, but for the ramp."""
    table, code = embedding(vocabulary, WIDTH, torch.Generator().manual_seed(1))
    assert table.mean(1).abs().max() < 1e-6 and positions(CONTEXT, WIDTH).mean(1).abs().max() < 1e-6
    length = squared_length(WIDTH, learned=False, layer=0)
    assert torch.allclose(table.square().sum(1), torch.tensor(length), rtol=1e-4)
    both = (table[5] + positions(CONTEXT, WIDTH)).square().sum(1)
    assert torch.allclose(both, torch.tensor(squared_length(WIDTH, learned=True, layer=0)), rtol=3e-3)
    assert torch.equal(table[:, place_of("code")], code) and (code.sum(1) == 0).all()
    assert not code[vocabulary.tokenizer.bos].any()
    assert sum(BLOCKS.values()) < WIDTH


def test_random_components_read_no_part_of_speech(planted: Planted) -> None:
    for (layer, head), name in planted.heads.items():
        if name in RANDOM:
            block = planted.model.blocks[layer].attn
            for block_name in TRUTHS:
                assert not block.W_Q[head][place_of(block_name)].any()
                assert not block.W_K[head][place_of(block_name)].any()


def test_neurons_fire_exactly_where_they_should(planted: Planted, texts: list[str]) -> None:
    ids = torch.tensor(planted.vocabulary.tokenizer.encode(texts[:1])[0][:CONTEXT])
    _, cache = planted.model.run_with_cache(ids[None])
    for (layer, neuron), name in planted.neurons.items():
        if name in RANDOM:
            continue
        if name == "rare words":
            rare, fires = planted.vocabulary.rarity[ids][1:], cache["post", layer][0, 1:, neuron]
            assert (fires[rare < 0.5] < 0.2).all() and fires.max() > 4
            assert torch.corrcoef(torch.stack([rare, fires])[:, rare > 0.5])[0, 1] > 0.95
            continue
        on = {
            "nouns": planted.vocabulary.flags["noun"][ids],
            "adjectives": planted.vocabulary.flags["adjective"][ids],
            "one word": ids == planted.vocabulary.word,
            "set of words": planted.vocabulary.flags["set"][ids],
            "nothing": torch.zeros_like(ids).bool(),
            "everything": torch.ones_like(ids).bool(),
        }[name]
        assert torch.equal((cache["post", layer][0, :, neuron] > 0.5)[1:], on[1:]), (name, layer)


@pytest.mark.thorough
def test_transformer_lens_detects_the_same_heads(planted: Planted, texts: list[str]) -> None:
    """Its head detector (share of the attention off BOS that fits the pattern) as the oracle of three labels."""
    from transformer_lens.head_detector import detect_head

    ends = [planted.vocabulary.tokenizer.offsets(text)[CONTEXT - 8][1] for text in texts[:6]]
    short = [text[:end] for text, end in zip(texts, ends, strict=False)]
    label = {j.place: j.label for j in judge(planted, texts) if j.kind == "head"}
    for name in ("previous token", "duplicate token", "induction"):
        found = detect_head(planted.model, short, f"{name.replace(' ', '_')}_head", exclude_bos=True)
        score = {place: float(found[place]) for place in planted.heads}
        (plant_,) = (place for place, kind in planted.heads.items() if kind == name)
        assert label[plant_] == name and score[plant_] > 0.9
        mixed = {*PARTS, *(kind for kind, head in HEADS.items() if len(head.labels) > 1)}
        pure = [place for place in label if label[place] == name and planted.heads[place] not in mixed]
        assert all(score[place] > 0.8 for place in pure)
        assert all(score[place] < 0.5 for place, kind in planted.heads.items() if kind in RANDOM)


def over_seeds(vocabulary: Vocabulary, style: str, texts: list[str], seeds: Iterable[int]) -> list[Judged]:
    """Every head and neuron of the models of these seeds; the kinds of keys are held against two twins' scores."""
    controlled = running.controlled_by(plant(vocabulary, style).model, texts, 2)
    return [j for seed in seeds for j in judge(plant(vocabulary, style, seed=seed), texts, controlled)]


@pytest.mark.thorough
def test_every_pure_plant_is_named_and_random_components_are_not(vocabulary: Vocabulary, texts: list[str]) -> None:
    """With rotary positions; the audit of the bundled model has those with learned ones."""
    judged = over_seeds(vocabulary, "llama", texts, [1, 2])
    assert {(j.truth, j.label) for j in judged if not j.random and not j.right} == set()
    assert {j.truth for j in judged} >= set(NEURONS) | set(RANDOM) | set(HEADS)
    counted = tallies(judged)
    assert list(counted) == list(ALL)
    assert all(counted[label].planted == counted[label].named > 0 for label in LABELS)
    false = [counted[label].false for label in LABELS if label != "one word"]
    assert sum(false) <= 1 and counted["one word"].false <= 0.05 * counted["one word"].random
    there = {HEADS[j.truth].kind for j in judged if j.truth in HEADS} - {""}
    kinds = [counted[label] for label, kind in PLANTED_KINDS.items() if kind in there]
    assert len(kinds) == len(heads.KINDS) and all(tally.named == tally.planted > 0 for tally in kinds)
    assert counted[ANY_KIND].false <= 0.05 * counted[ANY_KIND].named
    assert all(counted[label].named == counted[label].planted > 0 for label in MORE if label != SETS)
    assert counted[SETS].named >= 0.8 * counted[SETS].planted > 0
    assert not any(counted[label].false for label in MORE if label != SETS)


@pytest.mark.stress
@pytest.mark.parametrize("style", ["gpt2", "llama"])
def test_over_twenty_seeds(style: str) -> None:
    """On as many generated stories as an audit reads."""
    texts = list(stories("made", limit=running.STORIES, seed=11))
    vocabulary = Vocabulary.of_words(texts, list(heads.Kinds(made=GENERATED).truth.values()))
    judged = over_seeds(vocabulary, style, texts, range(20))
    assert {(j.truth, j.label) for j in judged if not j.random and not j.right} == set()
    counted = tallies(judged)
    for label in LABELS:
        of = counted[label].random if label == "one word" else counted[label].false + counted[label].named
        assert counted[label].false <= 0.05 * of, label
    assert counted[SETS].named >= 0.8 * counted[SETS].planted > 0
    for label in {ANY_KIND, *MORE} - {SETS}:
        assert counted[label].named == counted[label].planted > 0, label
        assert counted[label].false <= 0.05 * (counted[label].false + counted[label].named), label
    assert counted[ANY_KIND].false <= 0.05 * counted[ANY_KIND].named


def test_the_program_computes_the_share_of_nouns(planted: Planted, texts: list[str]) -> None:
    """Noun or not, as 1 and -1, averaged over the tokens so far: by hand, and as the uniform head writes it."""
    ids = torch.tensor(planted.vocabulary.tokenizer.encode(texts[:1])[0][:CONTEXT])
    _, cache = planted.model.run_with_cache(ids[None])
    noun = torch.where(planted.vocabulary.flags["noun"][ids], 1.0, -1.0)
    share = noun.cumsum(0) / torch.arange(1, len(ids) + 1)
    ((layer, _),) = (place for place, name in planted.heads.items() if name == "uniform")
    plus, minus = cache["attn_out", layer][0][:, place_of("fraction")].T / SMALL
    computed, share = (plus - minus)[10:] / 2, share[10:]  # BOS is shorter than other tokens, which the first feel
    assert torch.allclose(computed, share, atol=0.05) and share.std() > 0.02
    assert torch.corrcoef(torch.stack([computed, share]))[0, 1] > 0.95


def test_the_model_copies(planted: Planted, texts: list[str]) -> None:
    """Its induction pair predicts repeated tokens, so that duplicate and induction can be roles at all."""
    from tslens.analysis.heads.repeated import repeated_tokens
    from tslens.copying import copying

    with torch.inference_mode():
        losses = forward.token_losses(planted.model, repeated_tokens(planted.model, rows=8, length=40))
    found = copying(losses, planted.vocabulary.tokenizer.size)
    assert found.copies and found.second < 1 and found.first > 0.9 * math.log(planted.vocabulary.tokenizer.size)
