"""Activations by name: those that exist, and those that were requested."""

from collections.abc import Iterable, Sequence

from torch import Tensor

from tslens.errors import InputError
from tslens.models import HookedSpec, Spec
from tslens.nearest import did_you_mean


def hook_names(spec: Spec) -> list[str]:
    """Every activation that can be requested, by TransformerLens's names."""
    if isinstance(spec, HookedSpec):
        return list(spec.hooks)
    block = ["hook_resid_pre", "ln1.hook_scale", "ln1.hook_normalized", "attn.hook_q", "attn.hook_k", "attn.hook_v"]
    if spec.style == "llama":
        block += ["attn.hook_rot_q", "attn.hook_rot_k"]
    block += ["attn.hook_attn_scores", "attn.hook_pattern", "attn.hook_z", "attn.hook_result", "hook_attn_out"]
    block += ["hook_resid_mid", "ln2.hook_scale", "ln2.hook_normalized", "mlp.hook_pre"]
    block += ["mlp.hook_pre_linear"] if spec.style == "llama" else []
    block += ["mlp.hook_post", "hook_mlp_out", "hook_resid_post"]
    ends = ["ln_final.hook_scale", "ln_final.hook_normalized"]
    start = ["hook_embed"] + (["hook_pos_embed"] if spec.style == "gpt2" else [])
    return start + [f"blocks.{i}.{name}" for i in range(spec.n_layers) for name in block] + ends


def check_hooks(spec: Spec, names: Iterable[str]) -> None:
    """InputError with the nearest name for a hook that this model does not have."""
    known = set(hook_names(spec))
    for name in names:
        if name not in known and not spec.mlp_width and "mlp" in name:
            why = "has experts, whose neurons are not read" if spec.has_mlp else "is attention only: it has no MLPs and"
            why += "" if spec.has_mlp else " no neurons"
            raise InputError(f"This model {why}. Ask about its heads, lens or residuals.")
        if name not in known:
            raise InputError(
                f"{name!r} is no activation of a {spec.name} model.{did_you_mean(name, sorted(known))} "
                "They are named as in TransformerLens, such as 'blocks.0.mlp.hook_post'."
            )


class ActivationCache:
    """Keeps the requested activations."""

    def __init__(self, names: Sequence[str], *, alone: bool = False) -> None:
        self.names = frozenset(names)
        self.alone = alone
        """Whether the forward pass may stop once it has these activations."""
        self.kept: dict[str, Tensor] = {}

    @property
    def done(self) -> bool:
        """Whether the forward pass may stop."""
        return self.alone and len(self.kept) == len(self.names)

    def wants(self, name: str) -> bool:
        """Whether this activation was requested."""
        return name in self.names

    def __call__(self, name: str, value: Tensor) -> None:
        """Keep the activation if it was requested."""
        if name in self.names:
            self.kept[name] = value
