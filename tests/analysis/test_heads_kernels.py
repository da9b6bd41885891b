"""Kernels of known family and length are found again; what a shift says; roles at two contexts."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tslens.analysis import heads
from tslens.analysis.heads.kernels import family, uniform
from tslens.models import Spec, build
from tslens.tokenizer import Tokenizer

N = 127
AT = np.arange(N, dtype=float)
NOISE = 1 + 0.05 * np.random.default_rng(0).standard_normal(N)


@pytest.mark.parametrize(
    ("shape", "name", "length"),
    [
        ((AT == 1).astype(float), "previous token", 1),
        ((AT == 4).astype(float), "offset", 4),
        ((AT <= 5).astype(float) / 6, "local", 5),
        (np.exp(-AT / 3) / 3, "local", 3),
        (np.exp(-AT / 20) / 20, "slow decay", 20),
        (np.exp(-AT / 30) / 30, "slow decay", 30),
        ((AT + 1) ** -1.0 / 5, "local", np.e - 1),
    ],
)
def test_a_kernel_of_known_shape_is_found_again(shape: np.ndarray, name: str, length: float) -> None:
    """Beside a fifth of uniform attention, and with noise of 5%."""
    found, fit = family((0.8 * shape + 0.2 * uniform(N)) * NOISE)
    assert found == name and fit is not None
    assert fit.length == pytest.approx(length, rel=0.15) and fit.explained > 0.9


def test_uniform_attention_is_broad_and_noise_unresolved() -> None:
    assert family(uniform(N) * NOISE) == ("broad", None)
    found, fit = family(np.abs(np.random.default_rng(1).standard_normal(N)))
    assert found == "unresolved" and fit is not None and fit.explained < 0.5


def test_uniform_by_hand() -> None:
    """Three positions beside BOS: the query at 1 sees 2 keys, 2 sees 3, 3 sees 4. Itself: all three; one back but not
    BOS: those at 2 and 3; two back: that at 3."""
    assert uniform(3) == pytest.approx([(1 / 2 + 1 / 3 + 1 / 4) / 3, (1 / 3 + 1 / 4) / 2, 1 / 4])


@pytest.fixture(scope="module")
def roles(tokenizer: Tokenizer, made_stories: list[str]) -> heads.RolesResult:
    """Roles of a small model, and in its place kernels that are known."""
    model = build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=96), tokenizer=tokenizer, seed=3)
    return heads.roles(model, made_stories, groups=4)


def test_only_positional_heads_have_a_family(roles: heads.RolesResult, tmp_path) -> None:
    n = roles.offset_mass.shape[-1]
    codes = [heads.ROLES.index(role) for role in ("previous token", "positional", "content-dependent", "diffuse")]
    kernel = torch.zeros(2, 2, n)
    kernel[0, 0, 1], kernel[0, 1] = 0.8, torch.exp(-torch.arange(n) / 12) / 12
    given = replace(roles, role_code=torch.tensor(codes).view(2, 2), offset_mass=kernel)
    found = heads.kernels(given)
    assert found.families == [["previous token", "slow decay"], ["", ""]]
    assert found.shapes[0] == ["offset", "exponential"] and found.length[0, 1] == pytest.approx(12, rel=0.01)
    assert found.length[1].isnan().all() and found.frames == [["", ""], ["", ""]]
    assert found.counts()["slow decay kernels"] == 1 and len(found.summary()) == 2
    assert len(found.figure().axes) == 2
    found.save(tmp_path)
    assert heads.KernelsResult.load(tmp_path).families == found.families
    none = heads.kernels(replace(given, role_code=torch.full((2, 2), heads.ROLES.index("diffuse"))))
    assert none.figure().axes and not len(none.summary())


def swaps_of(roles: heads.RolesResult, low: torch.Tensor, high: torch.Tensor) -> heads.SwapsResult:
    """A result of swaps in which only the shift is of interest."""
    shape = roles.role_code.shape
    change, beside = torch.zeros(2, 3, *shape), torch.zeros(3, *shape)
    shift = {"shift": (low + high) / 2, "shift_low": low, "shift_high": high}
    fields = dict.fromkeys(("change", "low", "high", "q"), change)
    fields |= dict.fromkeys(("beside", "beside_low", "beside_high"), beside)
    code = torch.zeros(2, *shape, dtype=torch.long)
    return heads.SwapsResult(roles.model, 4, 1, 64, 0.5, **fields, **shift, verdict_code=code)


def test_a_shift_tells_distances_from_places(roles: heads.RolesResult, refused) -> None:
    low = torch.tensor([[0.0, 0.8], [0.2, torch.nan]]).expand(2, 2, 2)
    high = torch.tensor([[0.1, 0.9], [0.5, torch.nan]]).expand(2, 2, 2)
    swapped = swaps_of(roles, low, high)
    positional = replace(roles, role_code=torch.full((2, 2), heads.ROLES.index("positional")))
    alone, found = heads.kernels(positional), heads.kernels(positional, swapped)
    assert found.frames == [["relative", "absolute"], ["unresolved", "unresolved"]]
    assert found.families[0][1] == "unresolved" and found.shapes[0][1] == "" and found.length[0, 1].isnan()
    assert found.families[0][0] == alone.families[0][0] and found.families[1] == alone.families[1]
    others = torch.tensor([[True, False], [True, True]])
    torch.testing.assert_close(found.length[others], alone.length[others], equal_nan=True)
    with refused("not of one model"):
        heads.kernels(roles, replace(swapped, model="another"))


def test_roles_at_two_contexts(roles: heads.RolesResult, refused) -> None:
    first, second = (
        replace(roles, role_code=torch.tensor([[heads.ROLES.index(name) for name in row] for row in names]))
        for names in (
            [["content-dependent", "induction"], ["positional", "diffuse"]],
            [["unresolved", "self"], ["content-dependent", "unresolved"]],
        )
    )
    found = heads.contexts({"64": first, "320": second})
    assert found.changed.tolist() == [[False, True], [False, False]]
    assert found.lost.tolist() == [[False, False], [True, False]]
    assert found.summary()[["64", "320"]].to_numpy().tolist() == [
        ["induction", "self"],
        ["positional", "content-dependent"],
    ]
    assert "1 of 4 heads change their role between 64 and 320" in str(found) and found.figure().axes
    with refused("Two contexts"):
        heads.contexts({"64": first})
    with refused("not of one model"):
        heads.contexts({"64": first, "320": replace(second, model="another")})


def test_a_head_of_one_place_is_absolute_and_one_of_a_distance_is_not(
    tokenizer: Tokenizer, made_stories: list[str]
) -> None:
    """Head 0.0 attends to the fifth token whatever the query, head 0.1 to the keys so far: by the shift that `swaps`
    makes, and not by numbers that are given."""
    model = build(Spec(32, 1, 2, d_vocab=tokenizer.size, n_ctx=96), tokenizer=tokenizer, seed=3)
    with torch.no_grad():
        model.embed.W_E[:, 0] = 0
        model.pos_embed.W_pos.zero_()
        model.pos_embed.W_pos[5, 0] = 30
        attn = model.blocks[0].attn
        attn.W_Q[0].zero_()
        attn.W_K[0].zero_()
        attn.b_Q[0, 0], attn.W_K[0, 0, 0] = 20, 1
    roles = heads.roles(model, made_stories, groups=4)
    found = heads.kernels(roles, heads.swaps(model, made_stories, limit=8, copies=4))
    assert roles.roles[0][0] == "positional" and found.frames[0][0] == "absolute"
    assert found.families[0][0] == "unresolved" and found.length[0, 0].isnan()
    assert heads.kernels(roles).families[0][0] != "previous token"
