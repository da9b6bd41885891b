"""Models of every kind, built from a spec."""

from torch import Tensor

from tslens import memory
from tslens.errors import InputError
from tslens.models.compressor_spec import CompressorSpec
from tslens.models.filling import check_shapes, fill
from tslens.models.hooked import build_hooked
from tslens.models.protocols import LanguageModel
from tslens.models.spec import Spec
from tslens.tokenizer import Tokenizer

BYTES = 4
"""Of a weight in fp32."""


def build(spec: Spec | CompressorSpec, *, seed: int | None = 0, tokenizer: Tokenizer | None = None) -> LanguageModel:
    """A HookedTransformer, or for a `CompressorSpec` a compressor, on the CPU in fp32, in evaluation mode.

    Weights are drawn as GPT-2's: normal with standard deviation 0.02, the projections that write to the residual
    stream divided by sqrt(2 n_layers) (Radford et al. 2019); trunk and decoder of a compressor write to one stream and
    are counted together. `seed=None` leaves them zero, for loading. InputError for a shape whose weights do not
    fit into this machine's memory.
    """
    needs, has = BYTES * spec.n_parameters(), memory.of_machine()
    if has is not None and needs > has:
        raise InputError(
            f"A {spec.name} model with a vocabulary of {spec.d_vocab:,} takes {needs / 1e9:,.0f} GB; this machine has "
            f"{has / 1e9:,.0f} GB. Give a smaller shape, context or vocabulary."
        )
    if isinstance(spec, CompressorSpec):
        from tslens.models.compressor import Compressor

        compressor: LanguageModel = Compressor(spec, seed=seed, tokenizer=tokenizer)
        return compressor.eval()
    return build_hooked(spec, seed=seed, tokenizer=tokenizer)


def from_weights(
    spec: Spec | CompressorSpec, tensors: dict[str, Tensor], tokenizer: Tokenizer, *, origin: str
) -> LanguageModel:
    """A model of this spec with these weights and this tokenizer; errors about the weights name their `origin`, and
    come before a model is made if they are about its shapes."""
    check_shapes(spec, tensors, origin=origin)
    model = build(spec, seed=None, tokenizer=tokenizer)
    fill(model, spec, tensors, origin=origin)
    return model
