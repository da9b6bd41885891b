import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tslens import forward, models
from tslens.models import Spec


def test_parameters_counted_by_hand() -> None:
    """Width 4, one layer, 10 tokens, context 3: 52; attention 4 x (16 + 4), MLP 64 + 16 + 64 + 4, norms 3 x 8."""
    spec = Spec(4, 1, 1, d_vocab=10, n_ctx=3)
    assert spec.n_parameters() == 40 + 12 + 80 + 148 + 24
    assert spec.n_parameters(embeddings=False) == 80 + 148 + 24
    assert Spec(4, 1, 1, d_vocab=10, n_ctx=3, tied=False).n_parameters() == 304 + 40


def test_counts_are_those_of_the_model(spec: Spec) -> None:
    model = models.build(spec)
    trained = {name: tuple(p.shape) for name, p in model.named_parameters() if p.requires_grad}
    assert trained == spec.parameter_shapes()
    assert spec.n_parameters() == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert models.describe(model)["parameters"] == spec.n_parameters()
    assert not any(p.any() for p in model.parameters() if not p.requires_grad)


def test_flops_are_those_counted(spec: Spec, rows: torch.Tensor) -> None:
    """The count of PyTorch over the forward with its attention laid open, which counts every product."""
    model = models.build(spec)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        forward.unembed(model, forward.residual(model, rows, hooks=["blocks.0.attn.hook_pattern"])[0])
    assert counter.get_total_flops() == rows.numel() * spec.flops_per_token(16)
    assert spec.flops_per_token(training=True) == 3 * spec.flops_per_token()
    assert spec.flops_per_token(8) < spec.flops_per_token(16)


def test_training_flops_are_those_counted(rows: torch.Tensor) -> None:
    spec = Spec(24, 2, 3, d_vocab=300, n_ctx=16)
    model = models.build(spec).train()
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        scores = forward.logits(model, rows)
        scores.sum().backward()
    assert counter.get_total_flops() == rows.numel() * spec.flops_per_token(16, training=True)
