"""Models of every kind, built from a spec."""

from torch import Tensor

from tslens.models.compressor_spec import CompressorSpec
from tslens.models.hooked import build_hooked, load_weights
from tslens.models.protocols import LanguageModel
from tslens.models.spec import Spec
from tslens.tokenizer import Tokenizer


def build(spec: Spec | CompressorSpec, *, seed: int | None = 0, tokenizer: Tokenizer | None = None) -> LanguageModel:
    """A HookedTransformer, or for a `CompressorSpec` a compressor, on the CPU in fp32, in evaluation mode.

    Weights are drawn as GPT-2's: normal with standard deviation 0.02, the projections that write to the residual
    stream divided by sqrt(2 n_layers) (Radford et al. 2019); trunk and decoder of a compressor write to one stream and
    are counted together. `seed=None` leaves them uninitialised for loading.
    """
    if isinstance(spec, CompressorSpec):
        from tslens.models.compressor import Compressor

        compressor: LanguageModel = Compressor(spec, seed=seed, tokenizer=tokenizer)
        return compressor.eval()
    return build_hooked(spec, seed=seed, tokenizer=tokenizer)


def from_weights(
    spec: Spec | CompressorSpec, tensors: dict[str, Tensor], tokenizer: Tokenizer, *, origin: str
) -> LanguageModel:
    """A model of this spec with these weights and this tokenizer; errors about the weights name their `origin`."""
    model = build(spec, seed=None, tokenizer=tokenizer)
    load_weights(model, tensors, origin=origin)
    return model
