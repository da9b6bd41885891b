"""One product for several matrices, laid out for the machine or not, is the products one by one."""

import pytest
import torch
import torch.nn.functional as F

from tslens.forward import linear
from tslens.forward.linear import FusedLinear, can_pack, cpu_has_bf16

DRAWN = torch.Generator().manual_seed(0)
MAPS = [(torch.randn(6, width, generator=DRAWN), torch.randn(width, generator=DRAWN)) for width in (4, 8, 4)]
ROWS = torch.randn(2, 5, 6, generator=DRAWN)


@pytest.mark.parametrize("pack", [False, True])
def test_several_matrices_are_multiplied_at_once(pack: bool) -> None:
    with torch.no_grad():
        layer = FusedLinear(*MAPS, pack=pack)
        for found, (weight, bias) in zip(layer(ROWS), MAPS, strict=True):
            torch.testing.assert_close(found, ROWS @ weight + bias, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("bias", [None, torch.randn(8, generator=DRAWN)])
@pytest.mark.parametrize("pack", [False, True])
def test_gelu_of_a_product(pack: bool, bias: torch.Tensor | None) -> None:
    weight = MAPS[1][0]
    with torch.no_grad():
        found = FusedLinear((weight, bias), pack=pack).gelu(ROWS)
        whole = ROWS @ weight if bias is None else ROWS @ weight + bias
        torch.testing.assert_close(found, F.gelu(whole, approximate="tanh"), atol=1e-5, rtol=1e-5)


def test_a_weight_that_is_trained_is_never_copied() -> None:
    weight = torch.ones(6, 4, requires_grad=True)
    assert not can_pack(weight)
    FusedLinear((weight, None), pack=True)(ROWS)[0].sum().backward()
    torch.testing.assert_close(weight.grad, ROWS.flatten(0, 1).sum(0)[:, None].expand(6, 4))


@pytest.mark.skipif(not cpu_has_bf16(), reason="this machine has no bf16")
@pytest.mark.parametrize("there", [True, False], ids=["with oneDNN", "without"])
def test_products_trained_in_bf16_are_the_ordinary_ones(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In value and gradient those of fp32, to bf16's rounding."""
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: there)
    calls: list[None] = []
    fused = linear._Linear.apply
    monkeypatch.setattr(linear._Linear, "apply", lambda *given: calls.append(None) or fused(*given))
    found, exact = [], []
    for multiply, dtype, results in (
        (lambda x, *maps: FusedLinear(*zip(maps[::2], maps[1::2], strict=True))(x), torch.bfloat16, found),
        (
            lambda x, *maps: [F.linear(x, w.T, b) for w, b in zip(maps[::2], maps[1::2], strict=True)],
            torch.float32,
            exact,
        ),
    ):
        rounded = [t.bfloat16() for t in (ROWS, *MAPS[0], *MAPS[1], *MAPS[2])]
        leaves = [t.to(dtype).requires_grad_() for t in rounded]
        made = multiply(*leaves)
        sum(part.square().sum() for part in made).backward()
        results += [*(part.detach() for part in made), *(leaf.grad for leaf in leaves)]
    assert len(calls) == there
    for ours, true in zip(found, exact, strict=True):
        # All numbers of a tensor together: one alone may be a small difference of large ones.
        assert (ours.float() - true).norm() < 0.01 * true.norm()


def test_a_machine_without_the_layouts_multiplies_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    with torch.no_grad():
        layer = FusedLinear(MAPS[0], pack=True)
        assert layer.packed is None
        torch.testing.assert_close(layer(ROWS)[0], ROWS @ MAPS[0][0] + MAPS[0][1])
