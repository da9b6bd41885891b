"""Seeds matched and compared: planted permutations are found, labels in common counted by hand, chance is chance."""

import copy
from collections.abc import Callable
from importlib import import_module

import numpy as np
import pytest
import torch

from tslens import forward, models, stats
from tslens.dynamics import SnapshotResult, StabilityResult
from tslens.dynamics.matching import matched, similarity

Made = Callable[..., SnapshotResult]
module = import_module("tslens.dynamics.stability")

TEXTS = ["Tom had a red ball. He saw the ball roll.", "The cat sat on the mat.", "Sue made a cake for the bird."]


@pytest.fixture(scope="module")
def model(made_words, loud):
    return loud(models.build(models.Spec(12, 2, 3, d_vocab=made_words.size, n_ctx=32, d_mlp=10), tokenizer=made_words))


@pytest.fixture(scope="module")
def shuffled(model):
    """The same model with its heads and neurons in another order, and the place of each of the old ones."""
    other, heads, neurons = copy.deepcopy(model), torch.tensor([2, 0, 1]), torch.randperm(10)
    with torch.no_grad():
        for block in other.blocks:
            for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V"):
                parameter = getattr(block.attn, name)
                parameter.copy_(parameter[heads].clone())
            block.mlp.W_in.copy_(block.mlp.W_in[:, neurons].clone())
            block.mlp.b_in.copy_(block.mlp.b_in[neurons].clone())
            block.mlp.W_out.copy_(block.mlp.W_out[neurons].clone())
    return other, heads.argsort(), neurons.argsort()


def test_a_model_is_matched_with_itself_in_another_order(model, shuffled) -> None:
    other, heads, neurons = shuffled
    of_heads, of_neurons = similarity(model, other, TEXTS)
    assert matched(of_heads).tolist() == [heads.tolist()] * 2
    assert matched(of_neurons).tolist() == [neurons.tolist()] * 2
    for similar, to in ((of_heads, heads), (of_neurons, neurons)):
        best = similar.gather(2, to.expand(2, -1)[..., None])
        torch.testing.assert_close(best, torch.ones_like(best), atol=1e-4, rtol=0)


def test_the_correlation_is_numpys_and_attention_in_common_is_by_hand(model, loud, made_words) -> None:
    other = loud(models.build(models.spec_of(model), seed=5, tokenizer=made_words))
    heads, neurons = similarity(model, other, TEXTS[:1])
    tokens = torch.tensor(made_words.encode(TEXTS[:1]))
    names = [f"blocks.1.{name}" for name in ("mlp.hook_post", "attn.hook_pattern")]
    x, y = (forward.activations(each, tokens, names[:1])[names[0]][0, 1:] for each in (model, other))
    expected = np.corrcoef(x.detach().T, y.detach().T)[:10, 10:]
    np.testing.assert_allclose(neurons[1], expected, atol=1e-4)
    p, q = (each.run_with_cache(tokens)[1][names[1]][0] for each in (model, other))
    common = torch.minimum(p[2], q[0]).sum(-1)[1:].mean()
    assert float(heads[1, 2, 0]) == pytest.approx(float(common), abs=1e-5)


def test_batches_change_no_similarity(model, shuffled, monkeypatch) -> None:
    whole = similarity(model, shuffled[0], TEXTS)
    monkeypatch.setattr("tslens.dynamics.matching.BATCH_TOKENS", 1)
    for a, b in zip(whole, similarity(model, shuffled[0], TEXTS), strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=0)


def test_another_tokenizer_is_refused(model, tokenizer, refused) -> None:
    spec = models.Spec(12, 2, 3, d_vocab=tokenizer.size, n_ctx=32, d_mlp=10)
    with refused("different tokenizers"):
        similarity(model, models.build(spec, tokenizer=tokenizer), TEXTS)


def test_labels_in_common_are_counted_among_units_that_have_one() -> None:
    a, b = torch.tensor([[0, 0, 1, -1, -1, 2]]), torch.tensor([[0, 1, 1, 1, -1, 2]])
    assert module._in_common(a, b, 3) == pytest.approx([3 / 5, 1 / 2, 1 / 3, 1.0])
    assert module._in_common(a, b, 3, last=2)[0] == pytest.approx(2 / 4)  # the last label aside
    assert np.isnan(module._in_common(a, b, 4)[4])


def seeds(snapshot: Made) -> list[SnapshotResult]:
    """Three seeds of 2x40 neurons, a quarter of them nouns: the same ones in the first two, others in the third."""
    label, other = torch.full((2, 40), -1), torch.full((2, 40), -1)
    label[:, :10], other[:, 20:30] = 0, 0
    return [snapshot(8, label=each) for each in (label, label, other)]


def test_seeds_with_the_same_labels_agree_beyond_chance_and_others_do_not(snapshot: Made, monkeypatch) -> None:
    monkeypatch.setattr(module, "PAIRINGS", 199)
    ends = seeds(snapshot)
    heads, neurons = torch.arange(4).expand(2, -1), torch.arange(40).expand(2, -1)
    same, different = (module._of_pair(ends[0], end, heads, neurons) for end in ends[1:])
    found = module.result(["a", "b"], ends[:2], same[None], [[0.9, 0.8], [0.5, 0.4]])
    at = found.labels.index("NOUN neurons")
    assert float(found.share[at]) == 1.0 and float(found.p[at]) == pytest.approx(1 / (1 + module.PAIRINGS))
    both = 2 * 10 * 10 / 40  # expected pairs of nouns in two layers; the union has 40 less that
    assert float(found.chance[at]) == pytest.approx(both / (40 - both), abs=0.01)
    assert found.count[:, at].tolist() == [20, 20] and torch.isnan(found.share_low[at])
    width = stats.wilson(40, 160)  # both seeds have 20 of 80: Student's t has no width
    assert [float(found.low[at]), float(found.high[at])] == pytest.approx([80 * width.low, 80 * width.high], abs=1e-4)
    apart = module.result(["a", "c"], [ends[0], ends[2]], different[None], [[0.9, 0.8], [0.5, 0.4]])
    assert float(apart.share[at]) == 0.0 and float(apart.p[at]) == 1.0
    assert found.summary()["label"].tolist() == ["part-of-speech neurons", "NOUN neurons"]
    assert found.figure() is not None


def test_three_seeds_have_an_interval_by_leaving_each_out(snapshot: Made, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "PAIRINGS", 9)
    ends = seeds(snapshot)
    heads, neurons = torch.arange(4).expand(2, -1), torch.arange(40).expand(2, -1)
    shares = np.stack([module._of_pair(ends[a], ends[b], heads, neurons) for a, b in ((0, 1), (0, 2), (1, 2))])
    found = module.result(["a", "b", "c"], ends, shares, [[1.0, 1.0], [0.0, 0.0]])
    at = found.labels.index("NOUN neurons")
    assert found.in_common[:, at].tolist() == [1.0, 0.0, 0.0] and found.pairs == ["a and b", "a and c", "b and c"]
    error = np.sqrt(2 / 3 * ((np.array([0.0, 0.0, 1.0]) - 1 / 3) ** 2).sum())  # without a, without b, without c
    assert float(found.share[at]) == pytest.approx(1 / 3)
    assert 4.302653 * error > 1 and found.share_low[at] == 0 and found.share_high[at] == 1  # no share lies beyond
    found.save(tmp_path)
    assert StabilityResult.load(tmp_path).in_common.equal(found.in_common) or bool(found.in_common.isnan().any())
