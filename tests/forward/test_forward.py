import math
import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from tslens import forward, models
from tslens.forward import losses, run
from tslens.models import HookedSpec, Spec

VOCAB, CONTEXT = 61, 24
SPECS = {
    "gpt2": Spec(32, 2, 4),
    "gpt2 untied": Spec(32, 2, 4, tied=False),
    "gpt2 one head": Spec(32, 2, 1),
    "gpt2 eight heads": Spec(32, 2, 8),
    "gpt-neo": Spec(32, 3, 4, scaled=False, window=5, local_layers=(1,)),
    "gpt2 windows, narrow mlp": Spec(32, 2, 2, window=7, local_layers=(0, 1), d_mlp=24, eps=1e-3),
    "llama": Spec(32, 2, 4, style="llama"),
    "llama untied, one kv head": Spec(32, 2, 4, style="llama", tied=False, n_key_value_heads=1),
    "llama grouped, adjacent": Spec(32, 2, 8, style="llama", n_key_value_heads=2, rotary_adjacent=True),
    "llama all kv heads, adjacent": Spec(32, 2, 4, style="llama", n_key_value_heads=4, rotary_adjacent=True),
    "llama other rotary base, untied": Spec(32, 2, 2, style="llama", tied=False, rotary_base=500.0, d_mlp=40),
}


def made(spec: Spec) -> Any:
    """A model whose every trained parameter is away from its start, so that none can be forgotten unseen."""
    spec = Spec(**spec.to_dict() | {"d_vocab": VOCAB, "n_ctx": CONTEXT, "local_layers": spec.local_layers})
    model = models.build(spec, seed=1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.15)
    return model


@pytest.fixture(params=SPECS, scope="module")
def model(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(3)
    return made(SPECS[request.param])


def tokens(rows: int = 3, length: int = CONTEXT) -> torch.Tensor:
    return torch.randint(0, VOCAB, (rows, length), generator=torch.Generator().manual_seed(5))


# The two forwards are one function


def test_logits_are_those_of_the_hooked_forward(model: Any) -> None:
    with torch.no_grad():
        hooked = model(tokens())
        fast = forward.logits(model, tokens())
    assert hooked.std() > 0.3  # the comparison is not one of zeros
    torch.testing.assert_close(fast, hooked, atol=1e-4, rtol=0)


def test_gradients_are_those_of_the_hooked_forward(model: Any) -> None:
    model.zero_grad()
    model(tokens(), return_type="loss").backward()
    hooked = {name: p.grad.clone() for name, p in model.named_parameters() if p.requires_grad}
    model.zero_grad()
    total, count = forward.loss(model, tokens())
    (total / count).backward()
    fast = {name: p.grad for name, p in model.named_parameters() if p.requires_grad}
    assert fast.keys() == hooked.keys() == models.spec_of(model).parameter_shapes().keys()
    whole = math.sqrt(sum(g.norm().item() ** 2 for g in hooked.values()))
    for name, expected in hooked.items():
        # A key bias shifts all scores of a query alike: its true gradient is zero, and both sides hold only rounding.
        allowed = 1e-6 * whole if name.endswith("b_K") else 1e-4 * expected.norm().item()
        assert expected.norm() > 0
        assert (fast[name] - expected).norm().item() <= allowed, name


def test_every_activation_is_the_hooked_one(model: Any) -> None:
    spec = models.spec_of(model)
    names = forward.hook_names(spec)
    model.cfg.use_attn_result = True
    try:
        with torch.no_grad():
            _, cache = model.run_with_cache(tokens())
            fast = forward.activations(model, tokens(), names)
    finally:
        model.cfg.use_attn_result = False
    assert set(names) == {name for name in cache if not name.startswith("unembed.")} == set(fast)
    for name in names:
        torch.testing.assert_close(
            fast[name], cache[name], atol=2e-4, rtol=1e-4, msg=lambda m, name=name: f"{name}: {m}"
        )


def test_asking_for_activations_changes_no_result(model: Any) -> None:
    with torch.no_grad():
        plain, _ = forward.residual(model, tokens())
        opened, kept = forward.residual(model, tokens(), hooks=["blocks.1.attn.hook_pattern"])
    torch.testing.assert_close(opened, plain, atol=1e-4, rtol=0)
    assert list(kept) == ["blocks.1.attn.hook_pattern"]  # what was not asked for is not kept
    torch.testing.assert_close(
        kept["blocks.1.attn.hook_pattern"].sum(-1), torch.ones(3, models.spec_of(model).n_heads, CONTEXT)
    )


def test_weights_laid_out_for_the_cpu_give_the_same(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for name in forward.hook_names(models.spec_of(model)) if name.endswith(("hook_post", "hook_z"))]
    with torch.no_grad():
        plain, before = forward.logits(model, tokens()), forward.activations(model, tokens(), names)
        monkeypatch.setattr(run, "ROWS", 1)
        torch.testing.assert_close(forward.logits(model, tokens()), plain, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(forward.activations(model, tokens(), names), before, atol=1e-4, rtol=1e-4)


def test_what_nobody_asks_for_is_not_computed(model: Any) -> None:
    """The activations are those of the whole pass, and the layers after the last of them are never run."""
    names = ["blocks.0.mlp.hook_post", "blocks.0.attn.hook_q"]
    _, whole = forward.residual(model, tokens(), hooks=names)
    with FlopCounterMode(display=False) as full:
        forward.residual(model, tokens())
    with FlopCounterMode(display=False) as part:
        early = forward.activations(model, tokens(), names)
    torch.testing.assert_close(early, whole)
    assert part.get_total_flops() < full.get_total_flops() / models.spec_of(model).n_layers


def test_bfloat16_is_close(model: Any) -> None:
    with torch.no_grad():
        exact, count = forward.loss(model, tokens())
        rough, _ = forward.loss(model, tokens(), dtype=torch.bfloat16)
    assert abs(exact - rough).item() / count.item() < 0.03
    assert rough.dtype == torch.float32


def test_training_in_bfloat16_points_the_same_way(model: Any) -> None:
    grads = []
    for dtype in (torch.float32, torch.bfloat16):
        model.zero_grad()
        forward.loss(model, tokens(), dtype=dtype)[0].backward()
        grads.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.requires_grad]))
    assert F.cosine_similarity(*grads, dim=0) > 0.995


# The loss


def test_a_loss_worked_out_by_hand() -> None:
    """A model of zeros knows nothing: each of 61 tokens is equally likely, and a token costs log 61 nats."""
    model = made(SPECS["gpt2"])
    with torch.no_grad():
        model.embed.W_E.zero_()
    total, count = forward.loss(model, tokens(2, 9))
    assert count.item() == 2 * 8  # the first token of a row is given, not predicted
    assert total.item() == pytest.approx(16 * math.log(VOCAB), rel=1e-6)


def test_padding_is_neither_predicted_nor_counted() -> None:
    model = made(SPECS["llama"])
    rows = tokens(2, 10)
    mask = torch.arange(10) < torch.tensor([[10], [4]])
    total, count = forward.loss(model, rows, mask)
    with torch.no_grad():
        scores = model(rows).log_softmax(-1)
    expected = -sum(scores[b, p, rows[b, p + 1]].item() for b, n in ((0, 10), (1, 4)) for p in range(n - 1))
    assert count.item() == 9 + 3
    assert total.item() == pytest.approx(expected, rel=1e-5)
    altered = torch.where(mask, rows, (rows + 7) % VOCAB)
    torch.testing.assert_close(forward.loss(model, altered, mask)[0], total)


def test_padding_has_no_gradient() -> None:
    model = made(SPECS["gpt2 untied"])
    mask = torch.arange(10) < 6
    grads = []
    for rows, kept in ((tokens(2, 10), mask.expand(2, 10)), (tokens(2, 10)[:, :6], None)):
        model.zero_grad()
        forward.loss(model, rows, kept)[0].backward()
        grads.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.requires_grad]))
    torch.testing.assert_close(*grads, atol=1e-4, rtol=1e-4)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(SPECS["gpt2"])
    whole = forward.loss(model, tokens())[0]
    monkeypatch.setattr(losses, "FEWEST", 7)
    monkeypatch.setattr(losses, "LOGITS", {"cpu": 1})
    torch.testing.assert_close(forward.loss(model, tokens())[0], whole)
    each = forward.token_losses(model, tokens())
    assert each.shape == (3, CONTEXT - 1)
    torch.testing.assert_close(each.sum(), whole.detach())


def test_a_token_held_impossible_costs_what_it_costs() -> None:
    """Far beyond where its probability underflows: logits of 0 and 400 apart cost 400 nats."""
    final, weight = torch.ones(1, 1), torch.tensor([[400.0, 0.0]])
    total = losses._ChunkedCrossEntropy.apply(final, weight, torch.tensor([1]), False, torch.float32)
    assert total.item() == pytest.approx(400.0)


# What is saved, and what is computed


def saved_bytes(model: Any, loss: Any) -> int:
    own, seen = {p.untyped_storage().data_ptr() for p in model.parameters()}, {}

    def pack(t: torch.Tensor) -> torch.Tensor:
        if t.untyped_storage().data_ptr() not in own:
            seen[t.untyped_storage().data_ptr()] = t  # held, so that no address is used twice
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        loss()
    return sum(t.untyped_storage().nbytes() for t in seen.values())


def test_a_third_of_the_memory_of_the_hooked_forward() -> None:
    spec = Spec(64, 4, 2, d_vocab=256, n_ctx=64)  # 512x12 with 4 heads at 512 tokens, all an eighth
    model, rows = models.build(spec), torch.randint(0, 256, (1, 64))
    ours = saved_bytes(model, lambda: forward.loss(model, rows))
    hooked = saved_bytes(model, lambda: model(rows, return_type="loss"))
    assert 0 < ours <= 0.36 * hooked


def test_backward_recomputes_no_matrix_product(model: Any) -> None:
    """Two products in the backward pass for each in the forward pass, and not one more."""
    with FlopCounterMode(display=False) as once, torch.no_grad():
        forward.logits(model, tokens())
    with FlopCounterMode(display=False) as trained:
        forward.loss(model, tokens())[0].backward()
    mm = [
        sum(n for op, n in c.get_flop_counts()["Global"].items() if "attention" not in str(op)) for c in (once, trained)
    ]
    spec, rows = models.spec_of(model), tokens().numel()
    head = 2 * spec.d_model * spec.d_vocab
    blocks = mm[0] - rows * head
    assert mm[1] == 3 * blocks // CONTEXT * (CONTEXT - 1) + 3 * (rows - 3) * head


# Refusals


def test_a_misspelt_hook_names_the_nearest() -> None:
    model = made(SPECS["gpt2"])
    with pytest.raises(ValueError, match=r"'blocks.0.mlp.hook_pots' is no .* Did you mean 'blocks.0.mlp.hook_post'\?"):
        forward.activations(model, tokens(), ["blocks.0.mlp.hook_pots"])
    with pytest.raises(ValueError, match=r"blocks.9.hook_resid_post"):
        forward.activations(model, tokens(), ["blocks.9.hook_resid_post"])


def test_a_row_longer_than_the_context_is_refused() -> None:
    with pytest.raises(ValueError, match="A row of 25 tokens is longer than this model's context of 24"):
        forward.logits(made(SPECS["llama"]), tokens(1, 25))


def foreign(**changes: Any) -> Any:
    """A HookedTransformer that was not built here."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    config = {"n_layers": 2, "d_model": 16, "n_ctx": 12, "d_head": 8, "n_heads": 2, "d_mlp": 64, "d_vocab": 31}
    config |= {"act_fn": "gelu_new", "normalization_type": "LN", "device": "cpu", "seed": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HookedTransformer(HookedTransformerConfig(**config | changes))


@pytest.mark.parametrize("activation", ["gelu_new", "gelu_pytorch_tanh"])
def test_a_covered_model_from_elsewhere_runs(activation: str) -> None:
    model, rows = foreign(act_fn=activation), torch.randint(0, 31, (2, 12))
    with torch.no_grad():
        for block in model.blocks:
            block.mlp.W_in.mul_(4)  # beyond where the activation is nearly linear
    assert type(models.spec_of(model)) is models.Spec and models.spec_of(model).mlp_width == 64
    with torch.no_grad():
        torch.testing.assert_close(forward.logits(model, rows), model(rows), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"positional_embedding_type": "shortformer"}, "shortformer"),
        ({"attn_only": True}, "attention only"),
        ({"attn_scores_soft_cap": 30.0}, "soft caps"),
        ({"act_fn": "relu"}, "'relu'"),
        ({"act_fn": "gelu"}, "'gelu'"),
        ({"normalization_type": None}, "normalisation None"),
        ({"normalization_type": "LNPre"}, "'LNPre'"),
        ({"parallel_attn_mlp": True}, "parallel"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scaled by layer"),
        ({"d_head": 4}, "head width"),
        ({"positional_embedding_type": "rotary", "rotary_dim": 4}, "rotary"),
        ({"positional_embedding_type": "alibi"}, "alibi"),
        ({"use_qk_norm": True}, "query/key norm"),
        ({"attn_scale": 3.0}, "attention scale"),
    ],
)
def test_what_is_not_covered_takes_the_slow_path_and_says_why(changes: dict[str, Any], named: str) -> None:
    model, rows = foreign(**changes), torch.randint(0, 31, (2, 12))
    spec = models.spec_of(model)
    assert isinstance(spec, HookedSpec) and named in ", ".join(spec.because)
    with torch.no_grad():
        torch.testing.assert_close(forward.logits(model, rows), model(rows), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"attention_dir": "bidirectional"}, "attention in both directions"),
        ({"d_vocab_out": 7}, "outputs over 7 tokens and inputs over 31"),
        ({"dtype": torch.bfloat16}, "bfloat16"),
    ],
)
def test_what_no_analysis_can_read_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    model = foreign(**changes)
    with pytest.raises(ValueError, match=named):
        forward.logits(model, torch.randint(0, 7, (1, 5)))


def takes_the_slow_path(model: Any, named: str, rows: torch.Tensor) -> None:
    spec = models.spec_of(model)
    assert isinstance(spec, HookedSpec) and named in ", ".join(spec.because)
    with torch.no_grad():
        torch.testing.assert_close(forward.logits(model, rows), model(rows), atol=1e-4, rtol=0)


def test_a_bias_that_the_style_lacks_is_read_on_the_slow_path() -> None:
    model = foreign()
    with torch.no_grad():
        model.unembed.b_U[3] = 0.5
    takes_the_slow_path(model, "unembed.b_U", torch.randint(0, 31, (1, 5)))
    ours = made(SPECS["llama"])
    with torch.no_grad():
        ours.unembed.b_U[3] = 0.5
    takes_the_slow_path(ours, "unembed.b_U", tokens())


# What was changed on a model is never silently ignored


def test_a_hook_is_refused_until_it_is_removed() -> None:
    model, calls = made(SPECS["llama"]), [forward.logits, forward.loss, forward.token_losses]
    plain = forward.logits(model, tokens())
    for direction in ("fwd", "bwd"):
        model.add_hook("blocks.1.attn.hook_z", lambda value, hook: None, dir=direction)
        for call in calls:
            with pytest.raises(ValueError, match=r"blocks\.1\.attn\.hook_z holds a hook.*model\.reset_hooks\("):
                call(model, tokens())
        model.reset_hooks(including_permanent=True)
        torch.testing.assert_close(forward.logits(model, tokens()), plain)


def test_a_hook_from_before_the_first_look_is_refused() -> None:
    model = foreign()
    model.add_hook("hook_embed", lambda value, hook: value * 0, is_permanent=True)
    with pytest.raises(ValueError, match="hook_embed holds a hook"):
        forward.logits(model, torch.randint(0, 31, (1, 5)))


def _write_through_data(model: Any) -> None:
    model.unembed.b_U.data[5] = 9.0


def _put_other_data(model: Any) -> None:
    model.unembed.b_U.data = torch.ones(VOCAB)


def _put_other_parameter(model: Any) -> None:
    model.unembed.b_U = torch.nn.Parameter(torch.ones(VOCAB))


@pytest.mark.parametrize("change", [_write_through_data, _put_other_data, _put_other_parameter])
@pytest.mark.parametrize("name", ["gpt2", "llama untied, one kv head"])
def test_an_output_bias_is_seen_however_it_was_put_there(name: str, change: Any) -> None:
    model = made(SPECS[name])
    forward.logits(model, tokens())
    change(model)
    takes_the_slow_path(model, "unembed.b_U", tokens())


@pytest.mark.parametrize(
    ("field", "value"),
    [("act_fn", "relu"), ("eps", 0.1), ("use_attn_scale", False), ("attn_scale", 1.0), ("rotary_base", 7)],
)
def test_a_changed_configuration_is_refused_until_it_is_set_back(field: str, value: Any) -> None:
    model = made(SPECS["llama"])
    before = getattr(model.cfg, field)
    setattr(model.cfg, field, value)
    with pytest.raises(ValueError, match=rf"cfg\.{field} was changed from .* set it back"):
        forward.logits(model, tokens())
    setattr(model.cfg, field, before)
    forward.logits(model, tokens())


def test_the_scale_that_attention_divides_by_is_seen() -> None:
    model = made(SPECS["gpt2"])
    model.blocks[1].attn.attn_scale = 1.0
    takes_the_slow_path(model, "attention scale", tokens())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_weights_in_another_dtype_are_refused_in_one_line(dtype: torch.dtype) -> None:
    for change in (lambda m: m.to(dtype), lambda m: torch.nn.Module.to(m, dtype), lambda m: m.blocks[0].mlp.to(dtype)):
        model = made(SPECS["gpt2"])
        change(model)
        with pytest.raises(ValueError, match=f"weights in {dtype}.*float32"):
            forward.logits(model, tokens())
        forward.logits(model.to(torch.float32), tokens())


def test_dropout_acts_on_embeddings_and_on_what_is_added_to_the_stream(model: Any) -> None:
    added = ["blocks.1.hook_attn_out", "blocks.1.hook_mlp_out"]
    row = tokens(20)
    _, kept = forward.residual(model, row, hooks=["blocks.0.hook_resid_pre", *added], dropout=0.4)
    whole = forward.activations(model, row, ["blocks.0.hook_resid_pre"])["blocks.0.hook_resid_pre"]
    dropped = kept["blocks.0.hook_resid_pre"]
    there = dropped != 0
    torch.testing.assert_close(dropped[there], whole[there] / 0.6)
    for name in ("blocks.0.hook_resid_pre", *added):
        assert abs(float((kept[name] == 0).float().mean()) - 0.4) < 0.05


def test_dropout_is_drawn_from_the_seed_and_is_nothing_at_0(model: Any) -> None:
    row, losses = tokens(), []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        losses.append(float(forward.loss(model, row, dropout=0.3)[0].detach()))
    assert losses[0] == losses[1] != losses[2]
    before = torch.get_rng_state()
    assert torch.equal(forward.loss(model, row, dropout=0.0)[0], forward.loss(model, row)[0])
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("masked", [False, True])
def test_losses_by_row_add_up_to_the_loss_in_value_and_gradient(masked: bool) -> None:
    model, row = made(SPECS["gpt2"]), tokens()
    mask = torch.rand(row.shape) < 0.6 if masked else None
    gradients, totals = [], []
    for by_row in (False, True):
        total, count = (forward.row_losses if by_row else forward.loss)(model, row, mask)
        assert int(count.sum()) == (row[:, 1:].numel() if mask is None else int(mask[:, 1:].sum()))
        total.sum().backward()
        totals.append(total.sum().detach())
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        model.zero_grad()
    torch.testing.assert_close(totals[0], totals[1])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
