"""The compressor's shape, its parameters, and what its hooked forward may and may not see."""

from pathlib import Path

import pytest
import torch

from tslens import models
from tslens.models import CompressorSpec, Spec
from tslens.tokenizer import Tokenizer

SMALL = CompressorSpec(24, 1, 2, 1, n_heads=3, d_vocab=300, n_ctx=16)
WIDE = CompressorSpec(24, 1, 2, 2, n_heads=3, d_vocab=300, n_ctx=16, d_encoder=36)


@pytest.fixture(params=[SMALL, WIDE], ids=["shared embedding", "its own"])
def compressor(request: pytest.FixtureRequest) -> CompressorSpec:
    return request.param


@pytest.mark.parametrize("shape", ["128x8", "256x8", "512x8"])
@pytest.mark.parametrize("context", [256, 512])
def test_matched_is_within_two_percent_of_its_baseline(shape: str, context: int) -> None:
    baseline = Spec.parse(shape, d_vocab=4096, n_ctx=context)
    matched = CompressorSpec.matched(baseline)
    assert (matched.encoder_layers, matched.trunk_layers, matched.decoder_layers) == (2, 4, 2)
    assert matched.n_parameters() == pytest.approx(baseline.n_parameters(), rel=0.02)


def test_the_published_sizes() -> None:
    """8.1 million parameters the baseline, 25.1 million the compressor."""
    baseline = Spec.parse("128x8", d_vocab=50257, n_ctx=512)
    assert round(baseline.n_parameters() / 1e6, 1) == 8.1
    published = CompressorSpec.published(baseline)
    assert round(published.n_parameters() / 1e6, 1) == 25.1
    assert (published.encoder_layers, published.trunk_layers, published.encoder.d_model) == (4, 8, 256)


def test_operations_worked_out_by_hand() -> None:
    """Width 4, one head, one layer each, no vocabulary to speak of: a block has 12 x 16 weights in its matrices."""
    spec = CompressorSpec(4, 1, 1, 1, n_heads=1, d_vocab=1, n_ctx=8)
    ends = 2 * (12 * 16 + 2 * 2 * 4)  # encoder and decoder: weights, and attention over two places
    trunk = (12 * 16 + 2 * 4 * 4) // 2  # over four places, once for two tokens
    pair = 2 * 4 * 4 // 2
    assert spec.flops_per_token() == 2 * (ends + trunk + pair + 4 * 1)
    assert spec.flops_per_token(training=True) == 3 * spec.flops_per_token()


def test_the_parameters_are_those_that_the_spec_says(compressor: CompressorSpec) -> None:
    model = models.build(compressor)
    trained = {name: tuple(p.shape) for name, p in model.named_parameters() if p.requires_grad}
    assert trained == compressor.parameter_shapes()
    assert compressor.n_parameters() == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert all(not p.any() for name, p in model.named_parameters() if name not in trained)


def test_a_seed_decides(compressor: CompressorSpec) -> None:
    first, again, other = (models.weights(models.build(compressor, seed=s)) for s in (3, 3, 4))
    assert all(torch.equal(first[k], again[k]) for k in first)
    assert not torch.equal(first["decoder.blocks.0.mlp.W_in"], other["decoder.blocks.0.mlp.W_in"])
    layers = compressor.trunk_layers + compressor.decoder_layers
    assert first["blocks.0.mlp.W_out"].std().item() == pytest.approx(0.02 / (2 * layers) ** 0.5, rel=0.15)


@pytest.mark.parametrize("length", [1, 2, 3, 8, 15, 16])
def test_a_logit_knows_its_past_and_nothing_else(
    compressor: CompressorSpec, rows: torch.Tensor, length: int, loud
) -> None:
    """Every position, in rows of any length: a token that is changed is felt from its own position on."""
    model = loud(models.build(compressor))
    with torch.no_grad():
        whole = model(rows)
        short = model(rows[:, :length])
        assert short.shape == (2, length, 300)
        torch.testing.assert_close(short, whole[:, :length])
        changed = rows.clone()
        changed[:, length - 1] = (changed[:, length - 1] + 1) % 300
        moved = (model(changed) - whole).abs().amax(-1)
    assert (moved[:, : length - 1] == 0).all() and (moved[:, length - 1 :] > 1e-6).all()


def test_what_is_masked_in_a_pair_changes_nothing(compressor: CompressorSpec, loud) -> None:
    """A boolean mask, not a large number: whatever the masked place holds, the vector is the same to the bit."""
    encoder = loud(models.build(compressor)).encoder
    real = torch.tensor([[False, True], [True, True], [True, False], [False, False]])
    x = torch.randn(4, 2, compressor.encoder.d_model)
    with torch.no_grad():
        before, after = encoder(x, real), encoder(x.masked_fill(~real[..., None], 1e4), real)
        assert torch.equal(before, after) and before.isfinite().all()
        assert not torch.equal(before[0], encoder(x, torch.ones_like(real))[0])


def test_hook_points_are_named_as_transformerlens_names_them(compressor: CompressorSpec, rows: torch.Tensor) -> None:
    model = models.build(compressor)
    logits, cache = model.run_with_cache(rows)
    assert cache["blocks.1.mlp.hook_post"].shape == (2, 8, 96)
    assert cache["blocks.1.attn.hook_pattern"].shape == (2, 3, 8, 8)
    assert cache["encoder.blocks.0.attn.hook_pattern"].shape == (16, 3, 2, 2)
    assert cache["decoder.blocks.0.hook_resid_post"].shape == (16, 2, 24)
    assert set(cache["encoder.blocks.0.attn.hook_pattern"][0, :, 1].flatten().tolist()) == {0.0, 1.0}
    off = model.run_with_hooks(rows, fwd_hooks=[("blocks.0.hook_mlp_out", lambda value, hook: value * 0)])
    assert not torch.equal(off, logits)


def test_the_trunks_stream_goes_on_in_the_decoder(rows: torch.Tensor, loud) -> None:
    """With the decoder's blocks silent, the first of the next two tokens is read straight from the trunk."""
    model = loud(models.build(SMALL))
    silent = [(f"decoder.blocks.0.hook_{part}_out", lambda value, hook: value * 0) for part in ("attn", "mlp")]
    with torch.no_grad():
        logits = model.run_with_hooks(rows, fwd_hooks=silent)
        _, cache = model.run_with_cache(rows)
        direct = model.unembed(model.ln_final(cache["blocks.1.hook_resid_post"] + model.decoder.pos_embed.W_pos[0]))
    torch.testing.assert_close(logits[:, ::2], direct)


def test_it_is_saved_and_loaded(compressor: CompressorSpec, tokenizer: Tokenizer, tmp_path: Path, rows) -> None:
    model = models.build(compressor, tokenizer=tokenizer)
    loaded = models.load(models.save(model, tmp_path / "run"))
    assert models.spec_of(loaded, compressors=True) == compressor and models.name_of(loaded) == "run"
    assert torch.equal(model(rows), loaded(rows))
    with pytest.raises(ValueError, match=r"lack 'encoder\.W_pair'"):
        kept = {name: w for name, w in models.weights(model).items() if name != "encoder.W_pair"}
        models.load_weights(model, kept)


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: CompressorSpec(24, 1, 0, 1), "trunk_layers is 0; it must be at least 1"),
        (lambda: CompressorSpec(24, 1, 1, 1, n_ctx=15), "n_ctx is 15.*must be even"),
        (lambda: CompressorSpec(24, 1, 1, 1, n_heads=5), "5 heads do not divide a width of 24"),
        (lambda: CompressorSpec.matched(Spec(24, 2)), "too few"),
        (lambda: CompressorSpec.matched(Spec(24, 4, style="llama")), "leave out style = 'llama'"),
        (lambda: CompressorSpec.from_dict({"d_modle": 24}), "Did you mean 'd_model'"),
        (lambda: CompressorSpec.from_dict({"d_model": 24}), "no shape"),
        (lambda: models.spec_from_config({"kind": "mamba", "spec": {}}), "'mamba', and this version loads"),
        (lambda: models.spec_of(models.build(SMALL)), "no single HookedTransformer"),
        (lambda: models.build(SMALL)(torch.zeros(1, 17, dtype=torch.long)), "context of 16"),
    ],
)
def test_what_is_refused(made, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        made()
