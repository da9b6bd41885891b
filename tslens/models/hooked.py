"""Build HookedTransformers from a spec, and set or read their weights and tokenizer.

The only file that names TransformerLens's classes.
"""

import math
import re
import typing
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tslens.errors import InputError
from tslens.models.fast_tokenizer import from_transformers, to_transformers
from tslens.models.filling import fill
from tslens.models.from_hooked import shape_of, shape_with
from tslens.models.hooked_spec import HookedSpec
from tslens.models.protocols import LanguageModel, TextTokenizer
from tslens.models.record import record_of
from tslens.models.spec import Spec
from tslens.models.tied import tie
from tslens.models.validation import remember, spec_of
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformer_lens import HookedRootModule as HookedRootModule
    from transformer_lens import HookedTransformerConfig
    from transformer_lens.hook_points import HookPoint as HookPoint
    from transformers import PreTrainedTokenizerBase


def __getattr__(name: str) -> Any:
    """TransformerLens's building blocks, imported on first use."""
    if name in ("HookedRootModule", "HookPoint"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import transformer_lens
            import transformer_lens.hook_points

        return (
            transformer_lens.HookedRootModule if name == "HookedRootModule" else transformer_lens.hook_points.HookPoint
        )
    raise AttributeError(name)


def hooked_config(spec: Spec) -> "HookedTransformerConfig":
    """The shape as a TransformerLens configuration."""
    from transformer_lens import HookedTransformerConfig

    if isinstance(spec, HookedSpec):
        return HookedTransformerConfig(**spec.config, init_weights=False, device="cpu")
    gpt2 = spec.style == "gpt2"
    return HookedTransformerConfig(
        n_layers=spec.n_layers,
        d_model=spec.d_model,
        n_ctx=spec.n_ctx,
        d_head=spec.d_head,
        n_heads=spec.n_heads,
        n_key_value_heads=spec.n_key_value_heads,
        d_mlp=spec.mlp_width,
        d_vocab=spec.d_vocab,
        act_fn="gelu_new" if gpt2 else "silu",
        gated_mlp=not gpt2,
        normalization_type="LN" if gpt2 else "RMS",
        positional_embedding_type="standard" if gpt2 else "rotary",
        rotary_dim=None if gpt2 else spec.d_head,
        rotary_base=int(spec.rotary_base) if spec.rotary_base == int(spec.rotary_base) else spec.rotary_base,
        rotary_adjacent_pairs=spec.rotary_adjacent,
        eps=spec.eps,
        use_attn_scale=spec.scaled,
        use_local_attn=bool(spec.local_layers),
        window_size=spec.window,
        attn_types=(
            ["local" if i in spec.local_layers else "global" for i in range(spec.n_layers)]
            if spec.local_layers
            else None
        ),
        tie_word_embeddings=spec.tied,
        init_weights=False,
        model_name=spec.name,
        device="cpu",
    )


def config_types() -> dict[str, Any]:
    """The fields of a TransformerLens configuration with their types."""
    from transformer_lens import HookedTransformerConfig

    return typing.get_type_hints(HookedTransformerConfig)


def activations() -> list[str]:
    """The names of the activations of MLPs that TransformerLens knows."""
    from transformer_lens.utilities.activation_functions import SUPPORTED_ACTIVATIONS

    return [*SUPPORTED_ACTIVATIONS]


def spec_of_config(fields: dict[str, Any], *, tied: bool = False, weights: Mapping[str, Tensor] | None = None) -> Spec:
    """The shape that a TransformerLens configuration with these fields describes, with tied embeddings or without, and
    with these weights, of which biases decide what the fast forward covers. No weight is allocated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformer_lens import HookedTransformer, HookedTransformerConfig

        with torch.device("meta"):
            model = HookedTransformer(HookedTransformerConfig(**fields, init_weights=False, device="meta"))
    if tied:
        tie(model)
    return shape_of(model) if weights is None else shape_with(model, weights)


def build_hooked(spec: Spec, *, seed: int | None = 0, tokenizer: Tokenizer | None = None) -> LanguageModel:
    """A HookedTransformer of this shape on the CPU in fp32, in evaluation mode.

    Weights are drawn as GPT-2's: normal with standard deviation 0.02, the two projections that write to the residual
    stream divided by sqrt(2 n_layers) (Radford et al. 2019); `seed=None` leaves them zero, for loading.
    Query, key and value matrices are stored so that all heads' columns lie side by side: the fused forward multiplies
    them without a copy. Biases that the architecture lacks are zero and frozen.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformer_lens import HookedTransformer

        model: LanguageModel = HookedTransformer(hooked_config(spec))
    model.cfg.init_weights = True  # for a model that a user builds from this configuration
    if spec.tied:
        tie(model)
    shapes = spec.parameter_shapes()
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in shapes and re.search(r"attn\._?W_[QKV]$", name):
                h, d, dh = parameter.shape
                parameter.data = torch.zeros(d, h, dh).permute(1, 0, 2)
            if name not in shapes:
                parameter.zero_()
                parameter.requires_grad_(False)
            elif generator is None and "W_" in name:
                parameter.zero_()  # TransformerLens leaves what the memory held, which may be no numbers
            elif generator is not None and "W_" in name:
                writes = name.removesuffix(".weight").endswith(("W_O", "W_out"))  # those of experts are modules
                std = 0.02 / math.sqrt(2 * spec.n_layers) if writes else 0.02
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, std, generator=generator))
    remember(model, spec)
    if tokenizer is not None:
        attach_tokenizer(model, tokenizer)
    return model.eval()


def untied(model: LanguageModel) -> LanguageModel:
    """A copy whose unembedding is its own parameter, an ordinary HookedTransformer: TransformerLens's weight
    processing (`process_weights_`: folded norms, centred weights) works on it, and the hooked forward runs the
    result. An untied model is copied unchanged."""
    spec, first = spec_of(model), next(model.parameters())
    own = spec.untied()
    copy = build_hooked(own, seed=None)
    fill(copy, own, weights(model) | {"unembed.W_U": model.unembed.W_U.detach().cpu().contiguous()})
    given = record_of(model)
    if isinstance(given.tokenizer, Tokenizer):
        attach_tokenizer(copy, given.tokenizer)
    kept = record_of(copy)
    kept.name, kept.run, kept.config = given.name, given.run, given.config
    return copy.to(first.device, print_details=False).train(model.training)


def weights(model: LanguageModel) -> dict[str, Tensor]:
    """The trained parameters by name, detached, on the CPU, contiguous: what a checkpoint holds."""
    shapes = spec_of(model, compressors=True).parameter_shapes()
    parameters = dict(model.named_parameters())
    return {name: parameters[name].detach().cpu().contiguous() for name in shapes}


def load_weights(model: LanguageModel, tensors: dict[str, Tensor], *, origin: str = "these weights") -> None:
    """Copy weights (any float dtype) into the model; InputError names one that is missing, extra, misshapen, not
    finite or beyond 1e9."""
    with torch.enable_grad():  # in which `spec_of` looks at no weights: what the model held before may be anything
        spec = spec_of(model, compressors=True)
    fill(model, spec, tensors, origin=origin)


def attach_tokenizer(model: LanguageModel, tokenizer: "Tokenizer | PreTrainedTokenizerBase") -> None:
    """Give the model its tokenizer, so that TransformerLens's own `to_tokens` and `to_string` work too.

    Raises:
        InputError: the tokenizer has more tokens than the model, or is none that tslens reads.
    """
    own = tokenizer if isinstance(tokenizer, Tokenizer) else from_transformers(tokenizer)
    made = to_transformers(own)
    _check_size(model, own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_tokenizer(made, default_padding_side="right")
    _keep_tokenizer(model, own)


def _check_size(model: LanguageModel, tokenizer: Tokenizer) -> None:
    if tokenizer.size > model.cfg.d_vocab:
        raise InputError(
            f"This tokenizer has {tokenizer.size} tokens and the model a vocabulary of {model.cfg.d_vocab}: "
            "it is not this model's tokenizer. Load the one that it was trained with."
        )


def _keep_tokenizer(model: LanguageModel, tokenizer: Tokenizer) -> None:
    record = record_of(model)
    record.tokenizer, record.attached = tokenizer, getattr(model, "tokenizer", None)
    record.attached_bos = getattr(record.attached, "bos_token", None)


def tokenizer_of(model: LanguageModel) -> TextTokenizer:
    """The tokenizer that `load`, `attach_tokenizer` or TransformerLens's `set_tokenizer` gave this model last."""
    record, own = record_of(model), getattr(model, "tokenizer", None)
    if own is not None and (own is not record.attached or getattr(own, "bos_token", None) != record.attached_bos):
        found = from_transformers(own)
        _check_size(model, found)
        _keep_tokenizer(model, found)
    if record.tokenizer is None:
        raise InputError(
            "This model has no tokenizer. Give it one with tslens.models.attach_tokenizer(model, tokenizer)."
        )
    return record.tokenizer


def story_tokenizer_of(model: LanguageModel) -> Tokenizer:
    """As `tokenizer_of`, but a tokenizer of text. InputError for a compressor's trunk, whose tokens are pairs."""
    tokenizer = tokenizer_of(model)
    if not isinstance(tokenizer, Tokenizer):
        raise InputError("A compressor's trunk reads pairs of tokens and has no tokenizer. Give the compressor itself.")
    return tokenizer
