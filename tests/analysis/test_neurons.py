import dataclasses
import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import rankdata

from tslens import forward, models, pos, scan, stats
from tslens.analysis import neurons
from tslens.analysis.neurons import figure, labels, layers, null, reducer, words
from tslens.analysis.neurons.choice import is_too_rare
from tslens.analysis.neurons.sample import draws_of, places_of, prefixes_of
from tslens.analysis.neurons.tops import NOWHERE
from tslens.plots import text
from tslens.pos import types
from tslens.scan import Batch
from tslens.stories.generator import generate
from tslens.stories.identity import content_hash
from tslens.threads import in_threads
from tslens.tokenizer import Tokenizer

N = 30
K = 5


@pytest.fixture(scope="module")
def texts():
    return [story.text for story in generate(N, seed=3)]


@pytest.fixture(scope="module")
def model(texts):
    tokenizer = Tokenizer.train(texts, 500)
    spec = models.Spec(d_model=16, n_layers=2, n_heads=2, d_vocab=tokenizer.size, n_ctx=256, d_mlp=24)
    model = models.build(spec, seed=1, tokenizer=tokenizer)
    with torch.no_grad():
        for block in model.blocks:
            block.mlp.W_in.mul_(40)
    return model


@pytest.fixture(scope="module")
def answer(model, texts):
    return scan.scan(model, texts, neurons.Profiles(k=K, sample=200), batch_tokens=900)


def number_of(answer, texts):
    """The number in `texts` of each story that the answer names; all texts differ."""
    numbers = {content_hash(text): i for i, text in enumerate(texts)}
    assert len(numbers) == len(texts) and not answer.story_occurrences.any()
    return torch.tensor([numbers[found] for found in answer.story_hashes.tolist()])


@pytest.fixture(scope="module")
def everything(model, texts):
    """Each token's activations by TransformerLens's own forward, one story at a time: [token, layer, neuron]."""
    rows, places = [], []
    for i, ids in enumerate(models.tokenizer_of(model).encode(texts)):
        _, cache = model.run_with_cache(torch.tensor([ids[:256]]), return_type=None)
        acts = torch.stack([cache[f"blocks.{layer}.mlp.hook_post"][0] for layer in range(2)], dim=1)
        rows.append(acts[1:].detach())
        places += [(i, p) for p in range(1, len(acts))]
    return torch.cat(rows), places


def batches(model, texts, size=900):
    return list(scan.batches(texts, models.tokenizer_of(model), context=256, batch_tokens=size))


def one_pass(model, some, profiles):
    state = profiles.start(model)
    hooks = profiles.hooks(models.spec_of(model))
    with torch.inference_mode():
        for batch in some:
            state = profiles.update(state, forward.activations(model, batch.tokens, hooks), batch)
    return state


def made_up(model, values, lengths):
    """One batch with these activations [row, pos, neuron] in layer 0 (others 0), rows that are so long."""
    rows, width = values.shape[:2]
    mask = torch.arange(width)[None, :] < torch.tensor(lengths)[:, None]
    tokens = (torch.arange(rows * width).view(rows, width) + 1).masked_fill(~mask, 0)
    batch = Batch(
        tokens, mask, torch.arange(rows), torch.arange(rows), torch.zeros(rows, dtype=torch.long), ("",) * rows
    )
    acts = torch.zeros(rows, width, 24)
    acts[..., : values.shape[2]] = values
    return {"blocks.0.mlp.hook_post": acts, "blocks.1.mlp.hook_post": torch.zeros(rows, width, 24)}, batch


def of_story(batch, story):
    """The batch of one row as that of another story, with tokens of its own."""
    return dataclasses.replace(batch, hashes=torch.tensor([story]), tokens=(batch.tokens + 3 * story) % 500)


def equal(a, b):
    for field in dataclasses.fields(a):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.name == "tops":  # sets: their slots have no order of their own
            equal(x.ranked(), y.ranked())
        elif field.name == "sample":
            equal(x.in_order(), y.in_order())
        elif isinstance(x, torch.Tensor):
            if field.name in ("total", "fired"):  # sums of floats, in another order
                torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-3)
            else:
                assert torch.equal(x, y), field.name
        else:
            assert x == y, field.name


@pytest.fixture(scope="module")
def once(model, texts):
    """Row in `everything` of one place for each prefix: that with the smallest key."""
    ids, kept, row = models.tokenizer_of(model).encode(texts), {}, 0
    keys = {}
    for batch in batches(model, texts):
        keys |= dict(zip(batch.indices.tolist(), draws_of(batch).view(batch.tokens.shape).tolist(), strict=True))
    for story, tokens in enumerate(ids):
        for p in range(1, len(tokens[:256])):
            prefix = tuple(tokens[: p + 1])
            kept[prefix] = min(kept.get(prefix, (NOWHERE, 0)), (keys[story][p], row))
            row += 1
    return torch.tensor([row for _, row in kept.values()])


def test_tops_are_those_of_a_plain_topk(answer, everything, once, texts):
    acts, places = everything
    assert len(once) < len(acts)  # some stories begin alike
    acts, places = acts[once], [places[row] for row in once.tolist()]
    values, where = acts.topk(K, dim=0)  # [rank, layer, neuron]
    torch.testing.assert_close(answer.top_values, values.permute(1, 2, 0), atol=1e-5, rtol=1e-4)
    gap = (values[:-1] - values[1:]).abs().amin(0)
    clear = gap > 1e-4  # where ranks cannot change places by rounding
    assert clear.float().mean() > 0.5
    last = acts.topk(K + 1, dim=0).values
    clear &= last[K - 1] - last[K] > 1e-4
    found = torch.stack([number_of(answer, texts)[answer.top_story], answer.top_pos], dim=-1)
    expected = torch.tensor(places)[where].permute(1, 2, 0, 3)
    assert torch.equal(found[clear], expected[clear])


@pytest.mark.parametrize(("stories", "k"), [(30, 20), (150, None), (400, 64)])
def test_without_a_number_the_top_tokens_are_those_above_the_quantile(model, stories, k):
    many = [story.text for story in generate(stories, seed=5)]
    reducer = neurons.Profiles(sample=50)
    answer = scan.scan(model, many, reducer)
    apart = reducer.finish(
        reducer.merge(*(scan.states(model, shard, [reducer])[0] for shard in (many[::2], many[1::2])))
    )
    share = answer.top_tokens.shape[-1] / answer.n_tokens
    assert answer.top_tokens.shape[-1] == (k or -(-answer.n_tokens // 1000))
    assert k or (20 < answer.top_tokens.shape[-1] < 64 and 0.001 <= share < 0.00105)
    same = scan.scan(model, many, neurons.Profiles(k=answer.top_tokens.shape[-1], sample=50))
    for other in (apart, same):
        assert torch.equal(answer.top_tokens, other.top_tokens) and torch.equal(answer.label, other.label)


def test_rates_means_and_maxima_are_those_of_all_tokens(answer, everything):
    acts, places = everything
    assert answer.n_tokens == len(places)
    assert answer.n_stories == N
    torch.testing.assert_close(answer.firing_rate, (acts > 0).float().mean(0), atol=1e-4, rtol=0)
    torch.testing.assert_close(answer.mean, acts.mean(0), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(answer.max, acts.amax(0), atol=1e-5, rtol=1e-4)


def test_contexts_are_the_tokens_around(answer, model, texts):
    ids = models.tokenizer_of(model).encode(texts)
    for layer, neuron, rank in [(0, 0, 0), (1, 7, 2), (1, 23, 4)]:
        at = int(answer.top_pos[layer, neuron, rank])
        story = int(number_of(answer, texts)[answer.top_story[layer, neuron, rank]])
        padded = [-1] * 5 + ids[story][:256] + [-1] * 5
        assert answer.top_contexts[layer, neuron, rank].tolist() == padded[at : at + 11]
        assert answer.top_tokens[layer, neuron, rank] == ids[story][at]


@pytest.mark.thorough
def test_merging_halves_is_one_pass_and_associative(model, texts):
    profiles = neurons.Profiles(k=K, sample=150)
    some = batches(model, texts, 500)
    assert len(some) >= 6
    whole = one_pass(model, some, profiles)

    def parts():
        return [one_pass(model, chunk, profiles) for chunk in (some[:2], some[2:5], some[5:])]

    a, b, c = parts()
    equal(profiles.merge(profiles.merge(a, b), c), whole)
    a, b, c = parts()
    equal(profiles.merge(a, profiles.merge(b, c)), whole)
    a, b, c = parts()
    equal(profiles.merge(profiles.merge(c, a), b), whole)  # even in another order


def test_padding_and_bos_never_enter(model):
    values = torch.tensor([[[9.0], [1.0], [3.0], [2.0]], [[9.0], [4.0], [8.0], [8.0]]])
    profiles = neurons.Profiles(k=2, sample=10)
    state = profiles.update(profiles.start(model), *made_up(model, values, [4, 2]))
    assert state.tops.ranked().values[0].tolist() == [4.0, 3.0]
    assert (
        state.tops.ranked().contexts[0, 0].tolist() == [-1] * 4 + [5, 6] + [-1] * 5
    )  # the second row's BOS, its token, no pad
    assert state.n_tokens == 4
    assert state.total[0, 0] == 1 + 3 + 2 + 4
    assert state.fired[0, 0] == 4
    assert len(state.sample.in_order().keys) == 4
    state = neurons.Profiles(k=2, bos=True).update(
        neurons.Profiles(k=2, bos=True).start(model), *made_up(model, values, [4, 2])
    )
    assert state.tops.ranked().values[0].tolist() == [9.0, 9.0]


def test_ties_go_to_the_smaller_keys_in_any_order(model):
    """Three stories, all activations alike but for rounding: the same three places stay, whatever came first."""
    profiles, found = neurons.Profiles(k=3), []
    for seed, order in enumerate(itertools.permutations(range(3))):
        torch.manual_seed(seed)
        state = profiles.start(model)
        for story in order:
            acts, batch = made_up(model, 1 + 1e-6 * torch.randn(1, 40, 1), [40])
            profiles.update(state, acts, of_story(batch, story))
        found.append(state.tops.ranked().places[0].tolist())
    batch = dataclasses.replace(made_up(model, torch.ones(3, 40, 1), [40] * 3)[1], hashes=torch.arange(3))
    keys = {(h, 0, p): key for (h, _, p), key in zip(places_of(batch).tolist(), draws_of(batch).tolist(), strict=True)}
    smallest = sorted((key, place) for place, key in keys.items() if place[2])[:3]
    assert found == [[list(place) for _, place in smallest]] * 6


@pytest.mark.parametrize("k", [5, 30])
def test_a_prefix_has_one_place_in_any_order_batch_or_shard(model, k):
    """Six stories begin with the same 24 tokens, where the activations are largest and alike but for rounding."""
    torch.manual_seed(2)
    values = torch.cat([2 + 0.1 * torch.rand(1, 24, 1).expand(6, 24, 1), torch.rand(6, 16, 1)], 1)
    _, whole = made_up(model, values, [40] * 6)
    tokens = torch.cat([whole.tokens[:1, :24].expand(6, 24), whole.tokens[:, 24:]], 1)
    whole = dataclasses.replace(whole, tokens=tokens, hashes=torch.arange(6))
    profiles, found = neurons.Profiles(k=k), []

    def read(stories, state=None):
        rows, state = torch.tensor(stories), state or profiles.start(model)
        batch = dataclasses.replace(
            whole,
            **{name: getattr(whole, name)[rows] for name in ("tokens", "mask", "indices", "hashes", "occurrences")},
            texts=("",) * len(rows),
        )
        acts = made_up(model, values[rows] + 1e-6 * torch.randn(len(rows), 40, 1), [40] * len(rows))[0]
        return profiles.update(state, acts, batch)

    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 1, 4, 2, 0], [2, 5, 0, 4, 3, 1]):
        one_by_one = profiles.start(model)
        for story in order:
            one_by_one = read([story], one_by_one)
        a, b, c = read(order[:2]), read(order[2:3]), read(order[3:])
        found += [read(order), read(order[4:], read(order[:4])), one_by_one, profiles.merge(a, profiles.merge(b, c))]
        found.append(profiles.merge(profiles.merge(read(order[3:]), read(order[:2])), read(order[2:3])))
    keys = draws_of(whole).view(6, 40)
    once = [(float(values[0, p, 0]), int(keys[:, p].argmin()), p) for p in range(1, 24)]
    once += [(float(values[story, p, 0]), story, p) for story in range(6) for p in range(24, 40)]
    expected = {(story, p) for _, story, p in sorted(once)[-k:]}
    for state in found:
        assert {(h, p) for h, _, p in state.tops.places[0].tolist()} == expected
        assert torch.equal(state.tops.ranked().keys[0], found[0].tops.ranked().keys[0])


def test_a_prefix_is_known_by_its_tokens_alone(model, texts):
    """However wide the batch; and different prefixes, one token longer or with two tokens exchanged, differ."""
    seen = {}
    for size in (600, 5000):
        for batch in batches(model, [*texts, texts[0][: len(texts[0]) // 2]], size):
            hashes = prefixes_of(batch).view(batch.tokens.shape)
            for tokens, found, mask in zip(batch.tokens.tolist(), hashes.tolist(), batch.mask.tolist(), strict=True):
                for p in range(sum(mask)):
                    assert seen.setdefault(tuple(tokens[: p + 1]), found[p]) == found[p]
    assert len(set(seen.values())) == len(seen) > 1000
    _, batch = made_up(model, torch.zeros(1, 3, 1), [3])
    one, other = (dataclasses.replace(batch, tokens=torch.tensor([row])) for row in ([1, 2, 3], [1, 3, 2]))
    assert (prefixes_of(one) == prefixes_of(other)).tolist() == [True, False, False]


def test_values_apart_are_never_taken_for_ties(model):
    values = 1 + 1e-3 * torch.arange(40).view(1, 40, 1)
    profiles = neurons.Profiles(k=3)
    state = profiles.update(profiles.start(model), *made_up(model, values, [40]))
    assert state.tops.ranked().places[0, :, 2].tolist() == [39, 38, 37]


def test_blocks_pass_over_nothing(model):
    """The shortcut by blocks of rows, and the rows that fill no block, against a plain topk."""
    torch.manual_seed(0)
    profiles = neurons.Profiles(k=4)
    state, seen = profiles.start(model), []
    for _ in range(6):
        values = torch.randn(1, 1 + 16 * 4 * 3 + 7, 24)
        acts, batch = made_up(model, values, [values.shape[1]])
        profiles.update(state, acts, of_story(batch, len(seen)))
        seen.append(values[0, 1:])
    assert torch.equal(state.tops.ranked().values[:24], torch.cat(seen).topk(4, dim=0).values.T)


def test_state_does_not_grow(model, texts):
    profiles = neurons.Profiles(k=K, sample=50)

    def size(state):
        held = [*vars(state).values(), *vars(state.tops).values(), *vars(state.sample).values()]
        return sum(x.nbytes for x in held if isinstance(x, torch.Tensor))

    assert size(one_pass(model, batches(model, texts[:2]), profiles)) == size(
        one_pass(model, batches(model, texts), profiles)
    )


def test_threads_keep_the_order_the_mode_and_everybody_elses_threads():
    before = torch.get_num_threads()

    def work(item):
        if item == 3:
            time.sleep(0.02)  # whoever comes after is done before
        return item, torch.get_num_threads(), torch.is_inference_mode_enabled()

    for inference in (True, False):
        with torch.inference_mode(inference):
            assert in_threads(work, range(6)) == [(item, 1, inference) for item in range(6)]
        assert torch.get_num_threads() == before
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda item: 1 // item, range(3))
    assert torch.get_num_threads() == before
    with ThreadPoolExecutor(1) as pool:  # a thread that begins later has all of them
        assert pool.submit(torch.get_num_threads).result() == before


def test_threads_change_no_answer(model, texts, monkeypatch):
    some, profiles = batches(model, texts), neurons.Profiles(k=K, sample=50)
    several = one_pass(model, some, profiles)
    monkeypatch.setattr(layers, "in_threads", lambda work, items: [work(item) for item in items])
    equal(several, one_pass(model, some, profiles))


def test_the_sample_is_drawn_evenly_and_by_place_alone(model, texts, everything):
    profiles = neurons.Profiles(sample=200)
    one = profiles.finish(one_pass(model, batches(model, texts, 400), profiles))
    other = profiles.finish(one_pass(model, batches(model, texts, 5000), profiles))
    assert torch.equal(one.story_hashes[one.sample_story], other.story_hashes[other.sample_story])
    assert torch.equal(one.sample_pos, other.sample_pos)
    acts, places = everything
    row = {place: i for i, place in enumerate(places)}
    drawn = [row[int(s), int(p)] for s, p in zip(number_of(one, texts)[one.sample_story], one.sample_pos, strict=True)]
    assert len(set(drawn)) == 200
    torch.testing.assert_close(one.random_values, acts[drawn[:10]].permute(1, 2, 0), atol=1e-5, rtol=1e-4)
    quarters = np.bincount(np.array(drawn) * 4 // len(places), minlength=4)
    assert quarters.min() > 30  # 50 expected, standard deviation 6


def test_quantile_examples_lie_at_their_quantiles(answer, everything):
    acts, _ = everything
    assert answer.quantiles == sorted(answer.quantiles, reverse=True)
    assert (answer.quantile_values.flatten(2).diff(dim=-1) <= 0).all()
    middle = answer.quantile_values[:, :, answer.quantiles.index(0.5), 1]
    share_below = (acts < middle).float().mean(0)
    assert (share_below - 0.5).abs().max() < 0.15  # standard error of a median's rank over 200: 0.035


def test_logit_effect_is_what_the_unembedding_does_to_the_neuron(answer, model):
    layer, neuron = 1, 5
    gain, bias, unembed = (t.detach().double() for t in (model.ln_final.w, model.ln_final.b, model.unembed.W_U))
    x = torch.randn(16, dtype=torch.float64) * 100
    step = model.blocks[layer].mlp.W_out[neuron].detach().double() * 1e-3
    scale = (x - x.mean()).pow(2).mean().sqrt()
    before, after = (((v - v.mean()) / scale * gain + bias) @ unembed for v in (x, x + step))
    change = (after - before) * scale / 1e-3
    change -= change.mean()
    values, tokens = change.topk(8)
    torch.testing.assert_close(answer.promoted_values[layer, neuron].double(), values, atol=1e-4, rtol=1e-3)
    assert answer.promoted_tokens[layer, neuron, 0] == tokens[0]
    assert answer.suppressed_tokens[layer, neuron, 0] == change.argmin()


def test_a_neuron_for_nouns_is_called_noun_and_noise_is_not(model):
    """Activations made from the generator's own truth: neuron 0 likes nouns, neuron 1 verbs, others nothing."""
    tokenizer = models.tokenizer_of(model)
    made = list(generate(40, seed=8))
    truth = [pos.align(s.tags, tokenizer.offsets(s.text))[0][:256] for s in made]
    profiles = neurons.Profiles(sample=600)
    state = profiles.start(model)
    torch.manual_seed(4)
    for batch in batches(model, [s.text for s in made], 4000):
        acts = {f"blocks.{i}.mlp.hook_post": torch.rand(*batch.tokens.shape, 24) for i in range(2)}
        for row, story in enumerate(batch.indices.tolist()):
            for p, tag in enumerate(truth[story]):
                acts["blocks.0.mlp.hook_post"][row, p, 0] += 2 * (tag == "NOUN")
                acts["blocks.0.mlp.hook_post"][row, p, 1] += 2 * (tag == "VERB")
        profiles.update(state, acts, batch)
    answer = profiles.finish(state)
    assert answer.label_of(0, 0) == "NOUN"
    assert answer.label_of(0, 1) == "VERB"
    assert answer.share[0, 0] > 0.8
    assert answer.auroc_low[0, 0] > 0.9
    assert answer.q[0, 0] < 1e-3
    noise = answer.label.clone()
    noise[0, :2] = -1
    assert (noise >= 0).sum() <= 1
    base = answer.tag_base[NOUN]
    assert base >= (answer.sample_tags == NOUN).float().mean()
    assert answer.lift[0, 0] == pytest.approx(float(answer.share[0, 0] / base), rel=1e-5)


NOUN, VERB, CCONJ = (pos.TAGS.index(tag) for tag in ("NOUN", "VERB", "CCONJ"))


def judged(top_tags, top_words, same=None, activations=None, sample_tags=None, sample_words=None, frequency=None):
    """`preference` on a sample of 20 nouns and 80 verbs, all different words, where nouns excite every neuron more."""
    top_tags = torch.tensor(top_tags)
    same = torch.arange(top_tags.numel()).view(top_tags.shape) if same is None else torch.tensor(same)
    sample_tags = torch.tensor([NOUN] * 20 + [VERB] * 80) if sample_tags is None else torch.tensor(sample_tags)
    sample_words = torch.arange(1000, 1100) if sample_words is None else torch.tensor(sample_words)
    if activations is None:
        activations = torch.cat([torch.rand(20) + 0.5, torch.rand(80)]).expand(len(top_tags), 100)
    frequency = torch.ones(1100) if frequency is None else frequency
    return labels.preference(
        top_tags,
        torch.tensor(top_words),
        same,
        sample_tags,
        sample_words,
        torch.arange(len(sample_tags)),
        activations,
        frequency.long(),
    )


NOT_ON_TOP = torch.cat([torch.linspace(0.7, 0.8, 20), torch.linspace(0, 1, 80)])
"""Activations on the sample that tell nouns from verbs, though the words with the largest are verbs."""


def test_a_context_that_recurs_counts_once():
    up = NOT_ON_TOP.expand(2, 100)
    found = judged([[NOUN] * 20] * 2, [list(range(20))] * 2, [[0] * 20, list(range(1, 21))], up)
    assert found.label.tolist() == [-1, NOUN] and (found.auroc_low > 0.5)[1]  # one trial proves nothing
    assert found.lift[1] == pytest.approx(5.0)
    assert found.share_low[1] == pytest.approx(stats.wilson(20, 20).low)


def test_one_word_twenty_times_is_one_trial():
    found = judged([[NOUN] * 20] * 2, [[7] * 20, list(range(20))], activations=NOT_ON_TOP.expand(2, 100))
    assert found.label.tolist() == [-1, NOUN] and found.distinct[1] == 20


def test_where_one_word_is_on_top_words_of_the_sample_choose_the_class():
    """Of two neurons that fire on every noun of the sample, one does so most on a single word. Its p counts for every
    tag; and a neuron that fires on that word alone is of no class."""
    nouns = torch.cat([torch.linspace(1, 2, 20), torch.linspace(0, 0.9, 80)])
    alone = torch.cat([torch.full((1,), 5.0), torch.linspace(0, 1, 99).flip(0)[torch.randperm(99)]])
    top, words = [[NOUN] * 20] * 3, [[1000] * 20, list(range(20)), [1000] * 20]
    found = judged(top, words, activations=torch.stack([nouns, nouns, alone]))
    assert found.label.tolist() == [NOUN, NOUN, -1]
    assert found.distinct[0] == 20 and found.share[0] == 1
    (one,) = judged(top[:1], words[:1], activations=nouns[None]).q
    (many,) = judged(top[1:2], words[1:2], activations=nouns[None]).q
    assert float(one) == pytest.approx(float(many) * len(pos.TAGS), rel=1e-3)


def test_where_few_words_with_a_stray_one_are_on_top_words_of_the_sample_choose_the_class():
    """Every second word is a noun, so that four nouns among five words on top prove nothing; with ten words on top the
    sample does not choose, and five nouns among them are none."""
    nouns = torch.cat([torch.linspace(1, 2, 50), torch.linspace(0, 0.9, 50)]).expand(2, 100)
    few, many = [NOUN] * 16 + [VERB] * 4, [NOUN, NOUN, VERB, VERB] * 5
    found = judged(
        [few, many],
        [[i // 4 for i in range(20)], [100 + i // 2 for i in range(20)]],
        activations=nouns,
        sample_tags=[NOUN] * 50 + [VERB] * 50,
    )
    assert found.label.tolist() == [NOUN, -1] and found.distinct.tolist() == [20, 10]


def test_one_word_is_no_class_even_where_its_tag_is_rare():
    """Of 89 words 3 are conjunctions, so that one of them on top has a p of 0.03, and all excite the neuron most. A
    second top word that is none makes no class of it either."""
    words, rare = [7] * 12 + [8, 9] + list(range(100, 186)), [CCONJ] * 14 + [NOUN] * 86
    up = torch.cat([torch.rand(12) + 2, torch.rand(2) + 1.5, torch.rand(86)])
    top, tags = [[7] * 20, [7] * 19 + [8], [7] * 19 + [100]], [[CCONJ] * 20, [CCONJ] * 20, [CCONJ] * 19 + [NOUN]]
    found = judged(tags, top, activations=up.expand(3, 100), sample_tags=rare, sample_words=words)
    assert found.distinct[1] == 2 and found.q[1] < 0.01
    assert found.label.tolist() == [-1, CCONJ, -1] and found.by_word.tolist() == [True, False, True]


def test_a_word_has_the_tag_it_has_most_often():
    found = judged([[NOUN, NOUN, *[VERB] * 10, -1]], [[7, 7, 7, *range(8, 17), 0]])
    assert found.distinct.tolist() == [10]
    assert found.tag_share[0, [NOUN, VERB]].tolist() == pytest.approx([0.1, 0.9])


@pytest.mark.parametrize("nouns", [0.0, -0.5])
def test_without_support_on_random_tokens_there_is_no_label(nouns):
    """Twenty different nouns on top, yet the neuron tells nouns from verbs not at all, or the wrong way round."""
    spread = torch.linspace(0, 1, 20)
    activations = torch.cat([spread + nouns, spread.repeat(4)])[None]
    found = judged([[NOUN] * 20], [list(range(20))], activations=activations)
    assert found.best.tolist() == [NOUN]
    assert found.share.tolist() == [1.0]
    assert found.auroc_low[0] < 0.5
    assert found.label.tolist() == [-1]
    assert found.q[0] > 0.05


def test_a_tag_that_is_rare_in_the_sample_is_not_supported():
    tags = [NOUN] * 9 + [VERB] * 91
    activations = torch.cat([torch.ones(9) + torch.rand(9), torch.rand(91)])[None]
    found = judged([[NOUN] * 20], [list(range(20))], activations=activations, sample_tags=tags)
    assert found.auroc.tolist() == [1.0]
    assert found.auroc_low.isnan().all()
    assert found.label.tolist() == [-1]


def test_the_base_rate_is_the_larger_of_tokens_and_words():
    """Half of the tokens are one noun: among 51 different words it is one, so the rate is that of the tokens."""
    found = judged(
        [[NOUN, VERB]], [[1, 2]], sample_tags=[NOUN] * 50 + [VERB] * 50, sample_words=[5] * 50 + [*range(50)]
    )
    assert found.tag_base[[NOUN, VERB]].tolist() == pytest.approx([0.5, 49 / 50])  # word 5 is a noun more often


def test_a_neuron_of_one_word_is_named_after_it_where_random_tokens_agree():
    words = [7] * 12 + list(range(100, 188))
    up = torch.cat([torch.rand(12) + 0.9, torch.rand(88)])
    top = [[7] * 19 + [8]] * 2 + [[6] * 20, [7] * 10 + [8] * 10]
    found = judged([[CCONJ] * 20] * 4, top, activations=torch.stack([up, -up, up, up]), sample_words=words)
    assert found.label.tolist() == [-1] * 4
    assert found.by_word.tolist() == [True, False, False, False]  # no support; not in the sample; two words
    assert found.word.tolist()[:3] == [7, 7, 6]
    assert found.word_share.tolist() == pytest.approx([0.95, 0.95, 1.0, 0.5])
    assert found.word_auroc_low[0] > 0.5 > found.word_auroc[1]
    assert found.word_q[2:].isnan().all()


def test_a_neuron_that_fires_on_everything_alike_is_not_named():
    """Its largest activations are one word's, by the last bit or by 2%; where they are by a third it has a name."""
    words = [7] * 12 + list(range(100, 188))
    bits = torch.cat([torch.rand(12) + 0.9, torch.rand(88)])
    found = judged(
        [[CCONJ] * 20] * 3,
        [[7] * 20] * 3,
        activations=8 + torch.stack([3e-5 * bits, bits / 10, 2 * bits]),
        sample_words=words,
    )
    assert found.by_word.tolist() == [False, False, True] and found.word_auroc[1] == 0.5


def test_noise_is_not_labelled():
    """1,000 neurons that look at nothing: at most a few have a label."""
    torch.manual_seed(0)
    tags, words = torch.randint(0, 8, (400,)), torch.randint(0, 150, (400,))
    drawn = torch.randint(0, 400, (1000, 20))
    found = judged(tags[drawn].tolist(), words[drawn].tolist(), activations=torch.rand(1000, 400),
                   sample_tags=tags.tolist(), sample_words=words.tolist())  # fmt: skip
    assert ((found.label >= 0) | found.by_word).sum() <= 1


def test_words_differ_by_more_than_space_and_capitals():
    numbers = types.words([" and", "And", "and", " ", "\n", "an", "  "]).tolist()
    assert numbers[0] == numbers[1] == numbers[2]
    assert len(set(numbers)) == 5


def test_one_class_of_frequency_is_fishers_tea_taster():
    """4 of 8 cups are drawn, 3 of them of the 4 that had the milk first: p = 17/70 (Fisher 1935)."""
    p = stats.p_of_counts(np.array([[3, 1], [0, 4]]), np.array([[4], [4]]), np.array([[4, 4]]))
    assert p.tolist() == [pytest.approx([17 / 70, 69 / 70]), pytest.approx([1, 1 / 70])]


def test_the_null_is_that_of_permuted_tags():
    """The p-value of a count is the share of permutations, within the classes of frequency, that reach it."""
    rng = np.random.default_rng(0)
    frequency = np.repeat([1000, 1], 30)
    tags = np.concatenate([rng.permutation([0] * 20 + [1] * 10), rng.permutation([0] * 5 + [1] * 25)])
    found = null.Null.of(np.arange(60), tags, np.arange(60), tags, frequency, 2)
    assert found.in_class.tolist() == [[20, 10], [5, 25]]
    drawn = np.array([*range(6), *range(30, 42)])
    p = found.p(np.zeros(18, dtype=int), drawn, 1)[0]
    reached = np.zeros(2)
    for _ in range(4000):
        permuted = np.concatenate([rng.permutation(tags[:30]), rng.permutation(tags[30:])])[drawn]
        reached += np.bincount(permuted, minlength=2) >= np.bincount(tags[drawn], minlength=2)
    assert p == pytest.approx(reached / 4000, abs=0.03)


def test_rank_sums_by_word_have_the_null_of_permuted_tags():
    """Neurons that prefer words of their own, whatever their tags: p is uniform, where p by token is not."""
    rng = np.random.default_rng(1)
    word_tags = rng.integers(0, 4, 150)
    words = rng.choice(150, 1000, p=(weight := 1 / np.arange(1, 151)) / weight.sum())
    values = rng.normal(size=(400, 150))[:, words] + 0.3 * rng.normal(size=(400, 1000))
    frequency = (1e5 / np.arange(1, 151)).astype(int)
    of = null.Null.of(words, word_tags[words], words, word_tags[words], frequency, 4)
    p = of.p_of_sample(rankdata(values, axis=1), words, frequency)
    assert 0.03 < (p < 0.05).mean() < 0.07 and (p < 0.001).mean() < 0.004
    by_token = stats.auroc(values, np.broadcast_to(word_tags[words] == 0, values.shape)).p
    assert (by_token < 0.05).mean() > 0.2
    values[0] += 3 * (word_tags[words] == 2)
    assert of.p_of_sample(rankdata(values, axis=1), words, frequency)[0, 2] < 1e-4


def test_a_tag_that_only_follows_frequency_is_no_evidence():
    """The neuron's words are the 20 most frequent: nouns, as are all words as frequent."""
    words = [list(range(20))]
    frequency = torch.ones(1100)
    alike = judged([[NOUN] * 20], words, frequency=frequency)
    frequency[:20] = frequency[1000:1020] = 5000
    apart = judged([[NOUN] * 20], words, frequency=frequency)
    assert alike.label.tolist() == [NOUN] and alike.q[0] < 1e-3
    assert apart.label.tolist() == [-1] and apart.q[0] == 1
    assert apart.share.tolist() == [1.0]


def test_classes_of_frequency_join_their_neighbours_until_they_are_large_enough():
    frequency = np.array([4096] * 3 + [1024] * 18 + [64] * 25 + [1] * 4)
    assert stats.like_classes(frequency).tolist() == [0] * 21 + [1] * 29
    assert stats.like_classes(np.array([5, 1, 1])).tolist() == [0, 0, 0]


def test_tags_come_from_five_tokens_either_side(model, texts):
    """What the shorter view costs: nearly every token gets the tag that the whole story gives it."""
    tokenizer = models.tokenizer_of(model)
    right = n = 0
    for batch in batches(model, texts[:15]):
        found = words.tags_of(
            reducer.contexts(batch)[batch.mask.flatten()], tokenizer.pieces(range(tokenizer.size)), tokenizer.bos
        )
        expected = [
            tag
            for text in batch.texts
            for tag in pos.tag_tokens(text, tokenizer.offsets(text)[: batch.tokens.shape[1]])[0]
        ]
        right += sum(pos.TAGS[i] == tag for i, tag in zip(found.tolist(), expected, strict=True))
        n += len(expected)
    assert right / n > 0.95


def test_fewer_tokens_than_ranks(model):
    answer = scan.scan(model, ["Hi."], neurons.Profiles(k=9, sample=20))
    assert answer.top_values[0, 0, answer.n_tokens :].isnan().all()
    assert (answer.top_tokens[0, 0, answer.n_tokens :] == -1).all()
    assert len(answer.sample_tokens) == answer.n_tokens
    assert len(answer.neuron(0, 0).to_frame()) > 0


def test_the_answer_shows_itself(answer, tmp_path):
    frame = answer.to_frame()
    assert len(frame) == 48
    assert {"layer", "neuron", "label", "q", "lift", "firing_rate", "top tokens", "promotes"} <= set(frame.columns)
    assert {label for label in frame["label"] if not label.startswith("token: ")} <= {*pos.TAGS, "unresolved"}
    assert {"auroc_low", "auroc_high", "distinct", "word_auroc"} <= set(answer.summary().columns)
    assert answer.summary()["q"].is_monotonic_increasing
    again = neurons.ProfilesResult.load(answer.save(tmp_path))
    assert torch.equal(again.top_contexts, answer.top_contexts)
    assert again.pieces == answer.pieces
    assert "svg" in answer._repr_html_()
    assert answer.to_json()["rows"][0].keys() >= {"label", "top tokens"}


def test_every_top_token_is_written_in_context(model, texts, tmp_path):
    answer = scan.scan(model, texts[:1], neurons.Profiles(k=400, sample=20))
    table = pd.read_csv(answer.save(tmp_path) / "tops.csv", keep_default_na=False)
    assert list(table) == "layer neuron rank value story position before token after".split()
    assert len(table) == 2 * 24 * answer.n_tokens  # fewer tokens than ranks
    row = table[(table.layer == 1) & (table.neuron == 7) & (table["rank"] == 3)].iloc[0]
    around = [answer.pieces[t] if t >= 0 else "" for t in answer.top_contexts[1, 7, 2].tolist()]
    assert (row.before, row.token, row.after) == ("".join(around[:5]), around[5], "".join(around[6:]))
    assert row.value == pytest.approx(float(answer.top_values[1, 7, 2]), rel=1e-5)
    assert (row.story, row.position) == (f"{content_hash(texts[0]) % 2**64:016x}", int(answer.top_pos[1, 7, 2]))


def test_a_neuron_of_one_word_says_so(answer):
    changed = dataclasses.replace(
        answer, label=torch.full_like(answer.label, -1), by_word=torch.ones_like(answer.by_word),
        word=torch.full_like(answer.word, answer.top_tokens[0, 0, 0]), word_share=torch.ones_like(answer.word_share),
    )  # fmt: skip
    word = answer.pieces[int(answer.top_tokens[0, 0, 0])].strip()
    assert changed.label_of(0, 1) == f"token: {word}"
    assert "of the top is" in str(changed.neuron(0, 1))
    assert "one word" in changed.figure().axes[0].get_legend_handles_labels()[1]


def test_neurons_of_a_word_that_is_too_rare_in_the_sample_are_counted(answer):
    share, q = torch.zeros_like(answer.word_share), torch.ones_like(answer.word_q)
    share[0, :3], q[0, :2] = 0.95, torch.nan
    unlabelled = {"label": torch.full_like(answer.label, -1), "by_word": torch.zeros_like(answer.by_word)}
    changed = dataclasses.replace(answer, word_share=share, word_q=q, **unlabelled)
    said = "Of 2 more neurons one word is on top that has fewer than 10 of the"
    assert int(is_too_rare(changed).sum()) == 2 and said in str(changed) and "more (`--sample`) test it" in str(changed)
    assert "1 fire on it, by more tokens of it." in str(dataclasses.replace(changed, rare_words=[[0, 1]]))
    assert "one word is on top" not in str(dataclasses.replace(changed, word_share=torch.zeros_like(share)))


def test_the_figure_shows_the_named_neurons_with_their_intervals(answer, monkeypatch):
    """Three neurons of 48 have a name: two adjectives in layer 1, and one word in layer 0."""
    label, by_word = torch.full_like(answer.label, -1), torch.zeros_like(answer.by_word)
    label[1, 4] = label[1, 9] = answer.tags.index("ADJ")
    by_word[0, 7] = True
    auroc, word = answer.auroc.clone(), answer.word.clone()
    auroc[1, 4], auroc[1, 9], word[0, 7] = 0.7, 0.8, answer.top_tokens[0, 0, 0]
    changed = dataclasses.replace(
        answer, label=label, by_word=by_word, word=word, auroc=auroc, auroc_low=auroc - 0.1, auroc_high=auroc + 0.1,
        word_auroc=torch.full_like(auroc, 0.9), word_auroc_low=torch.full_like(auroc, 0.75),
    )  # fmt: skip
    found = figure.named(changed)
    shown = text.shown(answer.pieces[int(word[0, 7])])
    assert [one[:4] for one in found] == [(0, 7, "one word", f"“{shown}”"), (1, 9, "ADJ", "ADJ"), (1, 4, "ADJ", "ADJ")]
    assert [one[4:] for one in found] == [
        pytest.approx(e, abs=1e-6)
        for e in [(0.9, 0.75, 27 / 28), (0.8, 0.7, 0.9), (0.7, 0.6, 0.8)]  # odds 9 x 9 / 3
    ]
    counts, _, left, right = changed.figure().axes
    assert [text.get_text().strip() for text in counts.texts] == ["1 of 24", "2 of 24"]
    ticks = [tick.get_text() for axes in (left, right) for tick in axes.get_yticklabels()]
    assert ticks == [f"“{shown}”  7", "ADJ  9", "ADJ  4"]
    headings = [text.get_text().strip() for axes in (left, right) for text in axes.texts]
    assert headings == ["layer 0", "layer 1", "layer 1"]
    assert left.lines[0].get_xdata() == pytest.approx((0.75, 27 / 28))
    nothing = dataclasses.replace(changed, label=torch.full_like(label, -1), by_word=torch.zeros_like(by_word))
    assert len(nothing.figure().axes) == 2
    many = dataclasses.replace(changed, label=torch.zeros_like(label), by_word=torch.zeros_like(by_word))
    monkeypatch.setattr(figure, "MOST", 4)
    *_, left, right = many.figure().axes
    assert left.get_title(loc="left").split() == "each with a name, and its number, the 4 surest of 48".split()
    assert sum(len(axes.get_yticks()) for axes in (left, right)) == 4


def test_one_neuron_shows_its_examples(answer):
    one = answer.neuron(1, 3)
    frame = one.to_frame()
    assert list(frame["list"][:K]) == ["top"] * K
    assert (frame["list"] == "random").sum() == 10
    assert (frame["list"] == "50% quantile").sum() == 3
    assert frame["value"][0] == pytest.approx(float(answer.top_values[1, 3, 0]))
    assert "layer 1, neuron 3" in str(one)
    assert one._repr_html_().count("<mark") == len(frame)


def test_story_text_is_escaped(model):
    answer = scan.scan(model, ["<script>alert(1)</script> & 'so' on."] * 2, neurons.Profiles())
    shown = answer.neuron(0, 0)._repr_html_()
    assert "<script>" not in shown
    assert "<s" not in shown.replace("<span", "").replace("<style", "")


def test_precision_is_recorded(model, texts):
    answer = scan.scan(model, texts[:4], neurons.Profiles(k=2, sample=30), precision="bfloat16")
    assert answer.precision == "bfloat16"
    assert answer.top_values.dtype == torch.float32


def test_refusals(answer):
    with pytest.raises(ValueError, match="k=0 leaves nothing"):
        neurons.Profiles(k=0)
    with pytest.raises(ValueError, match="no neuron 24 in layer 1: layers run from 0 to 1, neurons from 0 to 23"):
        answer.neuron(1, 24)


def test_a_label_that_near_a_threshold_is_not_given() -> None:
    q = torch.tensor([0.0489, 0.0491, 0.01, 0.01, float("nan")])
    low = torch.tensor([0.6, 0.6, 0.5011, 0.5009, 0.6])
    assert labels.is_clear(q, low).tolist() == [True, False, True, False, False]
