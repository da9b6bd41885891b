"""Parameters of a model as the fast forward reads them, for machines without TransformerLens."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from tslens.models import Spec
from tslens.models.from_hooked import READ_ANEW, READ_ONCE
from tslens.models.tied import Tied
from tslens.models.validation import remember


class _Part(nn.Module):
    """A named place for parameters."""


def parameter_shell(spec: Spec, seed: int = 0) -> Any:
    """Modules that hold the parameters of a tied `gpt2` spec under TransformerLens's names, drawn from N(0, 0.02); only
    the fast forward runs on them."""
    assert spec.style == "gpt2" and spec.tied
    root: Any = _Part()
    generator = torch.Generator().manual_seed(seed)
    for name, shape in spec.parameter_shapes().items():
        *path, last = name.split(".")
        place = root
        for part in path:
            if not hasattr(place, part):
                place.add_module(part, _Part())
            place = getattr(place, part)
        setattr(place, last, nn.Parameter(_drawn(last, shape, generator)))
    root.blocks = nn.ModuleList(root.blocks.children())
    for block in root.blocks:
        block.attn.attn_scale = spec.d_head**0.5 if spec.scaled else 1.0
    root.unembed = Tied(root.embed, SimpleNamespace(b_U=None, hook_in=nn.Identity(), hook_out=nn.Identity()))
    root.cfg = SimpleNamespace(**(dict.fromkeys((*READ_ONCE, *READ_ANEW)) | {"d_model": spec.d_model}))
    remember(root, spec)
    return root


def _drawn(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    if "W_" not in name:
        return torch.ones(shape) if name == "w" else torch.zeros(shape)
    drawn = torch.empty(shape).normal_(0.0, 0.02, generator=generator)
    if name in ("W_Q", "W_K", "W_V"):  # all heads' columns side by side, as `models.build` has them
        heads, d_model, d_head = shape
        return torch.empty(d_model, heads, d_head).permute(1, 0, 2).copy_(drawn)
    return drawn
