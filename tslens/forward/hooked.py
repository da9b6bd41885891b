"""The slow path: any HookedTransformer that the fast forward does not cover, through TransformerLens's own forward.

`forward.activations`, `forward.residual` and `EditedForward` come here for a `models.HookedSpec`, so analyses ask both
forwards in the same way. A row is padded on its right alone, and attention is causal, so a story's activations are
those that it has alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.forward.hooks import ActivationCache
from tslens.models.hooked_spec import HookedSpec

if TYPE_CHECKING:
    from tslens.models import LanguageModel
    from tslens.models.protocols import AttentionPart

See = Callable[[str, Tensor], Tensor]
"""What sees an activation by its name, and returns the one to go on with."""
ON_REQUEST = {
    "use_split_qkv_input": ("hook_q_input", "hook_k_input", "hook_v_input"),
    "use_attn_in": ("hook_attn_in",),
    "use_hook_mlp_in": ("hook_mlp_in",),
    "use_attn_result": ("attn.hook_result",),
}
"""Activations that TransformerLens shows only where its configuration asks for them."""
FINAL = "ln_final."


def embedded(
    model: "LanguageModel", tokens: Int[Tensor, "batch pos"], names: Iterable[str] = (), see: See | None = None
) -> Float[Tensor, "batch pos d_model"]:
    """The residual stream before the first block; `see` is shown the embeddings among `names`."""
    with _shown(model, [name for name in names if not name.startswith(("blocks.", FINAL))], see):
        stream: Tensor = model(tokens, padding_side="right", stop_at_layer=0)
    return stream


def blocks(
    model: "LanguageModel",
    residual: Float[Tensor, "batch pos d_model"],
    names: Iterable[str],
    see: See,
    *,
    first: int = 0,
    stop: int | None = None,
    positions: Int[Tensor, " pos"] | None = None,
) -> Float[Tensor, "batch pos d_model"]:
    """The residual stream before block `stop` (default: after the last) from that before block `first`; `see` is shown
    the activations of `names`. `positions` replace 0, 1, 2, ... in what blocks do with positions themselves."""
    n, spec = residual.shape[1], model.cfg
    at = torch.arange(n, device=residual.device) if positions is None else positions
    added = None
    if spec.positional_embedding_type == "alibi":
        for block in model.blocks:
            block.attn.alibi = None  # that of the longest row so far shifts all scores of a shorter one, as a sink sees
    if spec.positional_embedding_type == "shortformer":  # positions are added to what queries and keys are made from
        added = model.pos_embed.W_pos[at].expand(len(residual), -1, -1)
    names, stop = list(names), spec.n_layers if stop is None else stop
    turned = [f"blocks.{i}.attn.hook_rot_{part}" for i in range(first, stop) for part in "qk"]
    further = turned if positions is not None and spec.positional_embedding_type == "rotary" else []

    def seen(name: str, value: Tensor) -> Tensor:
        if name in further:
            value = _turned(model.blocks[int(name.split(".")[1])].attn, value, at)
        return see(name, value) if name in names else value

    with _shown(model, [*dict.fromkeys([*names, *further])], seen):
        after: Tensor = model(residual, start_at_layer=first, stop_at_layer=stop, shortformer_pos_embed=added)
    return after


def residual(
    model: "LanguageModel", spec: HookedSpec, tokens: Int[Tensor, "batch pos"], cache: ActivationCache | None
) -> Float[Tensor, "batch pos d_model"]:
    """The residual stream after the last block, or after the last one that shows an activation that `cache` needs, if
    it needs no more than that."""
    names = sorted(cache.names) if cache is not None else []

    def see(name: str, value: Tensor) -> Tensor:
        assert cache is not None
        cache(name, value)
        return value

    stream = embedded(model, tokens, names, see)
    final = [name for name in names if name.startswith(FINAL)]
    inside = [name for name in names if name.startswith("blocks.")]
    early = cache is not None and cache.alone and not final
    stop = 1 + max((int(name.split(".")[1]) for name in inside), default=-1) if early else spec.n_layers
    stream = blocks(model, stream, inside, see, stop=stop)
    if final:
        with _shown(model, final, see):
            model.ln_final(stream)
    if cache is not None and (silent := [name for name in names if name not in cache.kept]):
        raise InputError(f"{silent[0]!r} is an activation that this model names and does not compute.")
    return stream


def shifted_embedding(
    model: "LanguageModel", tokens: Int[Tensor, "batch pos"], positions: Int[Tensor, " pos"]
) -> Float[Tensor, "batch pos d_model"]:
    """As `embedded`, with these positions where they are added to the residual stream."""

    def see(name: str, value: Tensor) -> Tensor:
        moved: Tensor = model.pos_embed.W_pos[positions].expand_as(value)
        return moved

    learned = model.cfg.positional_embedding_type == "standard"
    return embedded(model, tokens, ["hook_pos_embed"] if learned else [], see)


def _turned(attention: "AttentionPart", value: Float[Tensor, "batch pos head d_head"], at: Tensor) -> Tensor:
    """Queries or keys that were turned by 0, 1, 2, ..., turned by `at`: a turn by a sum is one turn after the other."""
    made, more = value.clone(), at - torch.arange(len(at), device=at.device)
    for by in more.unique().tolist():
        if by:
            some = value[:, more == by]
            alone = some.flatten(0, 1)[:, None]  # each its own row, so that all turn by the same
            made[:, more == by] = attention.apply_rotary(alone, by)[:, 0].view_as(some)
    return made


@contextmanager
def _shown(model: "LanguageModel", names: Iterable[str], see: See | None) -> Iterator[None]:
    """`see` is shown the activations of `names` while TransformerLens runs."""
    names = list(names)

    def of(name: str) -> tuple[str, Callable[..., Tensor]]:
        return name, lambda value, hook: value if see is None else see(name, value)

    flags = {flag: any(name.endswith(parts) for name in names) for flag, parts in ON_REQUEST.items()}
    before: Mapping[str, bool] = {flag: getattr(model.cfg, flag) for flag in flags}
    for flag, wanted in flags.items():
        setattr(model.cfg, flag, wanted)
    try:
        with model.hooks(fwd_hooks=[of(name) for name in names]):
            yield
    finally:
        for flag, value in before.items():
            setattr(model.cfg, flag, value)
