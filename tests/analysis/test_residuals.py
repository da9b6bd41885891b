"""Norms of the residual stream: against TransformerLens's own cache, by hand, and in parts."""

import numpy as np
import pytest
import torch

from tslens import models, plots
from tslens.analysis import lens
from tslens.analysis.lens.residuals import BINS, bins_of, median_interval, quantiles_of, writes
from tslens.analysis.lens.residuals_result import LEVELS
from tslens.analysis.lens.unembedding import hooks
from tslens.models import Spec, build
from tslens.scan import Shard, states


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def model(request: pytest.FixtureRequest, made_words, loud):
    spec = Spec(16, 2, 2, d_vocab=made_words.size, n_ctx=64, style=request.param)
    return loud(build(spec, tokenizer=made_words))


def test_norms_and_cosines_are_those_of_the_hooked_model(model, made_stories) -> None:
    found = lens.residuals(model, made_stories)
    spec = models.spec_of(model)
    after, (attention, mlp) = hooks(spec), writes(spec)
    rows: dict[str, list[torch.Tensor]] = {name: [] for name in (*after, *attention, *mlp)}
    for text in made_stories:
        _, cache = model.run_with_cache(torch.tensor(models.tokenizer_of(model).encode([text]))[:, :64])
        for name in rows:
            rows[name].append(cache[name][0].detach())
    for stream, names in enumerate((after, attention, mlp)):
        for depth, name in enumerate(names, start=3 - len(names)):
            norms = torch.cat([row[1:].norm(dim=-1) for row in rows[name]]).numpy()
            assert np.allclose(found.quantile[stream, depth], np.quantile(norms, LEVELS), rtol=0.012)
            assert found.bos[stream, depth] == pytest.approx(rows[name][0][0].norm().item(), rel=1e-4)
            assert found.median_low[stream, depth] < found.median[stream, depth] < found.median_high[stream, depth]
    assert found.median[1:, 0].isnan().all() and found.bos[1:, 0].isnan().all() and found.cosine[0].isnan()
    for depth in (1, 2):
        pairs = zip(rows[after[depth - 1]], rows[after[depth]], strict=True)
        cosines = torch.cat([torch.cosine_similarity(a[1:], b[1:], dim=-1) for a, b in pairs])
        assert found.cosine[depth] == pytest.approx(cosines.mean().item(), abs=1e-5)
        assert found.cosine_low[depth] < found.cosine[depth] < found.cosine_high[depth]
    assert found.tokens == 24 * 63 and found.stories == 24


def test_quantiles_of_bins_by_hand() -> None:
    norms = torch.tensor([1.0, 1.0, 2.0, 4.0, 0.0])
    counts = torch.bincount(bins_of(norms), minlength=BINS).double()
    assert counts[0] == 1 and counts.sum() == 5
    found = quantiles_of(counts, torch.tensor([0.1, 0.5, 0.75, 1.0]))
    assert found.tolist() == pytest.approx([0.0, 1.0, 2.0, 4.0], rel=0.012)


@pytest.mark.thorough
def test_the_interval_of_a_median_covers_it_as_often_as_it_says() -> None:
    """300 corpora of 32 groups, whose stories differ in their typical norm: 95% within what chance allows."""
    generator, covered = torch.Generator().manual_seed(0), 0
    for _ in range(300):
        level = torch.randn(32, 1, generator=generator)
        norms = torch.exp(level + torch.randn(32, 40, generator=generator))  # the true median is 1
        counts = torch.stack([torch.bincount(bins_of(row), minlength=BINS) for row in norms]).double()
        low, high = median_interval(counts).tolist()
        covered += low <= 1 <= high
    assert 0.91 <= covered / 300 <= 0.985


def test_shards_merge_into_the_whole(model, made_stories) -> None:
    asked = lens.Residuals(groups=8)
    whole = asked.finish(states(model, made_stories, [asked])[0])
    parts = [states(model, made_stories[::-1], [asked], batch_tokens=200, shard=Shard(i, 3))[0] for i in range(3)]
    merged = asked.finish(asked.merge(asked.merge(parts[0], parts[1]), parts[2]))
    for name, value in whole.tensors().items():
        torch.testing.assert_close(value, merged.tensors()[name], rtol=2e-3, atol=1e-6, equal_nan=True)


def test_a_block_that_writes_nothing_keeps_norm_and_direction(made_words, made_stories) -> None:
    still = build(Spec(16, 2, 2, d_vocab=made_words.size, n_ctx=64), tokenizer=made_words)
    with torch.no_grad():
        for block in still.blocks:
            block.attn.W_O.zero_()
            block.mlp.W_out.zero_()
    found = lens.residuals(still, made_stories[:6])
    assert (found.median[1:, 1:] == 0).all() and torch.allclose(found.cosine[1:], torch.ones(2))
    assert (found.median[0] == found.median[0, 0]).all()


def test_answers_draw_print_and_come_back(model, made_stories, tmp_path) -> None:
    found = lens.residuals(model, made_stories[:8])
    again = lens.ResidualsResult.load(found.save(tmp_path))
    assert str(again) == str(found) and plots.svg(found.figure()).startswith("<svg")
    assert list(found.summary()["depth"]) == ["embed", "0", "1"]
    assert list(found.to_frame("quantile")["level"].unique()) == ["5%", "25%", "50%", "75%", "95%"]


def test_stories_without_a_word_are_refused(model, refused) -> None:
    with refused("No story has a token after BOS"):
        lens.residuals(model, [""])
