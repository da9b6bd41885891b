"""What a model is called, what shape it has, and how a name becomes a HookedTransformer.

The only file that names TransformerLens's classes. A model is described by a `Spec`; its name is its shape:
`512x12` has width 512, 12 layers and 4 heads, `256x8x8` names the heads.
"""

import dataclasses
import difflib
import json
import math
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from tslens import checkpoints
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformer_lens import HookedTransformer, HookedTransformerConfig

DEFAULT_HEADS = 4


@dataclasses.dataclass(frozen=True)
class Spec:
    """The shape of a model: everything that `build` needs, and nothing that can be derived.

    `gpt2`: learned positions, layer norm, GELU (tanh form), biases. `llama`: rotary positions, RMS norm, gated SiLU
    MLP, no biases, grouped key/value heads. `window` limits the attention of `local_layers` to that many tokens
    (GPT-Neo), `scaled=False` leaves out the division by sqrt(d_head) (GPT-Neo too).
    """

    d_model: int
    n_layers: int
    n_heads: int = DEFAULT_HEADS
    d_vocab: int = 4096
    n_ctx: int = 256
    style: Literal["gpt2", "llama"] = "gpt2"
    n_key_value_heads: int | None = None
    d_mlp: int | None = None
    tied: bool = True
    scaled: bool = True
    window: int | None = None
    local_layers: tuple[int, ...] = ()
    rotary_adjacent: bool = False
    rotary_base: float = 10000.0
    eps: float = 1e-5

    def __post_init__(self) -> None:
        optional = [field for field in ("n_key_value_heads", "d_mlp", "window") if getattr(self, field) is not None]
        for field in ("d_model", "n_layers", "n_heads", "d_vocab", "n_ctx", *optional):
            value = getattr(self, field)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{field} is {value!r}; it must be a whole number of at least 1.")
        if self.d_model % self.n_heads:
            raise ValueError(
                f"{self.n_heads} heads do not divide a width of {self.d_model}; "
                f"widths near it that they divide: {_near_multiples(self.d_model, self.n_heads)}."
            )
        if self.style not in ("gpt2", "llama"):
            raise ValueError(f"style is {self.style!r}; it must be 'gpt2' or 'llama'.")
        if self.style == "llama" and self.d_head % 2:
            raise ValueError(f"Rotary positions need an even head width; {self.d_model}/{self.n_heads} is odd.")
        if self.style == "gpt2" and self.n_key_value_heads not in (None, self.n_heads):
            raise ValueError("Grouped key/value heads need style 'llama'.")
        if self.n_heads % self.key_value_heads:
            raise ValueError(f"{self.n_key_value_heads} key/value heads do not divide {self.n_heads} heads.")
        if self.local_layers and not self.window:
            raise ValueError("local_layers need a window (the number of tokens that they see).")
        if beyond := [i for i in self.local_layers if not 0 <= i < self.n_layers]:
            raise ValueError(f"local_layers names layer {beyond[0]}; there are {self.n_layers}, from 0.")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def key_value_heads(self) -> int:
        return self.n_key_value_heads or self.n_heads

    @property
    def mlp_width(self) -> int:
        """`d_mlp` where given; else 4 d_model, or 8/3 d_model rounded up to a multiple of 32 for a gated MLP."""
        if self.d_mlp is not None:
            return self.d_mlp
        return 4 * self.d_model if self.style == "gpt2" else 32 * math.ceil(8 * self.d_model / 3 / 32)

    @property
    def name(self) -> str:
        """`512x12`, or `256x8x8` where the heads are not the usual four."""
        heads = "" if self.n_heads == DEFAULT_HEADS else f"x{self.n_heads}"
        return f"{self.d_model}x{self.n_layers}{heads}"

    @classmethod
    def parse(cls, name: str, **fields: Any) -> "Spec":
        """The spec that a name such as `512x12` or `256x8x8` stands for, with other fields as given."""
        match = re.fullmatch(r"(\d+)x(\d+)(?:x(\d+))?", name)
        if not match:
            raise ValueError(
                f"{name!r} is no shape. Write WIDTHxLAYERS or WIDTHxLAYERSxHEADS, such as 256x8 or 256x8x8."
            )
        width, layers, heads = match.groups()
        return cls(d_model=int(width), n_layers=int(layers), n_heads=int(heads or DEFAULT_HEADS), **fields)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Spec":
        """The spec of a `config.json`; an unknown key is refused with the nearest known one."""
        known = [f.name for f in dataclasses.fields(cls)]
        for key in fields:
            if key not in known:
                raise ValueError(f"Unknown model field {key!r}.{did_you_mean(key, known)} Known: {', '.join(known)}.")
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
        try:
            return cls(**values)
        except TypeError as error:
            raise ValueError(f"These model fields are no shape: {str(error).splitlines()[0]}.") from None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, complete."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(self).items()}


def parameter_shapes(spec: Spec) -> dict[str, tuple[int, ...]]:
    """Every trained parameter by its TransformerLens name. Biases that a Llama-style model lacks are not here."""
    d, h, kv, dh, m = spec.d_model, spec.n_heads, spec.key_value_heads, spec.d_head, spec.mlp_width
    gpt2, grouped = spec.style == "gpt2", "" if spec.n_key_value_heads is None else "_"
    shapes: dict[str, tuple[int, ...]] = {"embed.W_E": (spec.d_vocab, d)}
    if gpt2:
        shapes["pos_embed.W_pos"] = (spec.n_ctx, d)
    for layer in range(spec.n_layers):
        block: dict[str, tuple[int, ...]] = {
            "ln1.w": (d,),
            "attn.W_Q": (h, d, dh),
            f"attn.{grouped}W_K": (kv, d, dh),
            f"attn.{grouped}W_V": (kv, d, dh),
            "attn.W_O": (h, dh, d),
            "ln2.w": (d,),
            "mlp.W_in": (d, m),
            "mlp.W_out": (m, d),
        }
        if gpt2:
            block |= {
                "ln1.b": (d,),
                "attn.b_Q": (h, dh),
                "attn.b_K": (kv, dh),
                "attn.b_V": (kv, dh),
                "attn.b_O": (d,),
                "ln2.b": (d,),
                "mlp.b_in": (m,),
                "mlp.b_out": (d,),
            }
        else:
            block["mlp.W_gate"] = (d, m)
        shapes |= {f"blocks.{layer}.{name}": shape for name, shape in block.items()}
    shapes["ln_final.w"] = (d,)
    if gpt2:
        shapes["ln_final.b"] = (d,)
    if not spec.tied:
        shapes["unembed.W_U"] = (d, spec.d_vocab)
    return shapes


def n_parameters(spec: Spec, *, embeddings: bool = True) -> int:
    """Exact number of trained parameters; without the token, position and output embeddings if asked."""
    skip = () if embeddings else ("embed.", "pos_embed.", "unembed.")
    return sum(math.prod(shape) for name, shape in parameter_shapes(spec).items() if not name.startswith(skip or "\0"))


def flops_per_token(spec: Spec, context: int | None = None, *, training: bool = False) -> int:
    """Floating-point operations per token: two for each multiply-add of every matrix product, attention as the
    full square over `context` tokens (as dense kernels are counted); training is three times the forward pass."""
    context = context or spec.n_ctx
    matrices = sum(
        math.prod(shape)
        for name, shape in parameter_shapes(spec).items()
        if ".W_" in name.replace("._W_", ".W_") and not name.startswith(("embed.", "pos_embed.", "unembed."))
    )
    attention = 2 * context * spec.n_heads * spec.d_head * spec.n_layers
    forward = 2 * (matrices + attention + spec.d_model * spec.d_vocab)
    return 3 * forward if training else forward


def to_config(spec: Spec) -> "HookedTransformerConfig":
    """The same shape as TransformerLens writes it."""
    from transformer_lens import HookedTransformerConfig

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


class _Tied(nn.Module):
    """An unembedding that reads the token embedding's own parameter, so that one matrix is trained and saved once."""

    def __init__(self, embed: nn.Module, d_vocab: int) -> None:
        super().__init__()
        from transformer_lens.hook_points import HookPoint

        self._embed = [embed]  # in a list: a reference, not a second owner
        self.b_U = nn.Parameter(torch.zeros(d_vocab), requires_grad=False)
        self.hook_in = HookPoint()
        self.hook_out = HookPoint()

    @property
    def W_U(self) -> Tensor:  # noqa: N802  TransformerLens calls it so
        return self._embed[0].W_E.T  # type: ignore[return-value]

    def forward(self, residual: Tensor) -> Tensor:
        return self.hook_out(self.hook_in(residual) @ self.W_U + self.b_U)


def build(spec: Spec, *, seed: int | None = 0, tokenizer: Tokenizer | None = None) -> "HookedTransformer":
    """A HookedTransformer of this shape on the CPU in fp32, in evaluation mode.

    Weights are drawn as GPT-2's: normal with standard deviation 0.02, the two projections that write to the residual
    stream divided by sqrt(2 n_layers) (Radford et al. 2019); `seed=None` leaves them uninitialised for loading.
    Query, key and value matrices are stored so that all heads' columns lie side by side: the fused forward multiplies
    them without a copy. Biases that the architecture lacks are zero and frozen.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformer_lens import HookedTransformer

        model = HookedTransformer(to_config(spec))
    if spec.tied:
        model.unembed = _Tied(model.embed, spec.d_vocab)
        model.process_weights_ = _refuse_processing
        model.setup()
    shapes = parameter_shapes(spec)
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in shapes and re.search(r"attn\._?W_[QKV]$", name):
                h, d, dh = parameter.shape
                parameter.data = torch.zeros(d, h, dh).permute(1, 0, 2)
            if name not in shapes:
                parameter.zero_()
                parameter.requires_grad_(False)
            elif generator is not None and "W_" in name:
                std = 0.02 / math.sqrt(2 * spec.n_layers) if name.endswith(("W_O", "W_out")) else 0.02
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, std, generator=generator))
    _remember(model, spec)
    if tokenizer is not None:
        attach_tokenizer(model, tokenizer)
    return model.eval()


def _refuse_processing(*_: Any, **__: Any) -> None:
    raise ValueError(
        "This model's unembedding is its token embedding, and processing the weights would part them: "
        "process a copy that has its own, untied = tslens.models.untied(model)."
    )


def untied(model: "HookedTransformer") -> "HookedTransformer":
    """A copy whose unembedding is its own parameter, an ordinary HookedTransformer in all: TransformerLens's weight
    processing (`process_weights_`: folded norms, centred weights) works on it, and the hooked forward runs what it
    makes. An untied model is copied as it is."""
    spec, first = spec_of(model), next(model.parameters())
    copy = build(dataclasses.replace(spec, tied=False), seed=None)
    load_weights(copy, weights(model) | {"unembed.W_U": model.unembed.W_U.detach().cpu().contiguous()})
    if tokenizer := getattr(model, "story_tokenizer", None):
        attach_tokenizer(copy, tokenizer)
    copy.story_name = getattr(model, "story_name", None)
    return copy.to(first.device, print_details=False).train(model.training)


def spec_of(model: "HookedTransformer") -> Spec:
    """The spec that would build this model; raises ValueError naming whatever a `Spec` cannot say, hooks included.

    The answer is remembered, and everything it rests on is compared at every call: configuration, modules, dtypes,
    and the biases that must be zero (on an accelerator, where reading would wait, by address and version alone).
    """
    _refuse_hooks(model)
    memory: _Memory | None = getattr(model, "story_memory", None)
    if memory is None or memory.mark != _mark(model, memory) or _written(memory):
        if memory is not None:
            _refuse_changes(model, memory)
        _remember(model, _read_spec(model))
    return model.story_memory.spec


# What the answer rests on in a configuration. TransformerLens's modules read most of it once, when they are made.
_READ_ONCE = (
    *("n_layers", "d_model", "n_heads", "n_key_value_heads", "d_head", "d_mlp", "d_vocab", "d_vocab_out", "n_ctx"),
    *("act_fn", "gated_mlp", "eps", "attn_only", "parallel_attn_mlp", "post_embedding_ln", "num_experts"),
    *("attention_dir", "attn_types", "use_local_attn", "window_size", "use_attn_scale", "attn_scale", "clip_qkv"),
    *("scale_attn_by_inverse_layer_idx", "use_qk_norm", "use_logn_attn", "use_attention_sinks"),
    *("attn_scores_soft_cap", "output_logits_soft_cap", "use_normalization_before_and_after"),
    *("positional_embedding_type", "rotary_dim", "rotary_base", "rotary_base_local", "rotary_scaling_factor"),
    *("rotary_adjacent_pairs", "use_NTK_by_parts_rope", "use_yarn_rope", "use_dynamic_ntk_rope"),
)
_READ_ANEW = ("normalization_type", "dtype")  # what TransformerLens itself changes: folding norms, model.to


@dataclasses.dataclass
class _Memory:
    """A spec, and what it was read from. Holding modules and parameters keeps their ids from being used again."""

    spec: Spec
    configured: tuple[Any, ...]
    modules: list[tuple[dict[str, Any], str, nn.Module]]
    parameters: list[dict[str, Any]]
    frozen: list[tuple[dict[str, Any], str, Tensor]]
    flat: list[Tensor]
    mark: Any = None


def _remember(model: Any, spec: Spec) -> None:
    shapes, tree = parameter_shapes(spec), list(model.named_modules())
    frozen = [
        (owner._parameters, name, p)
        for path, owner in tree
        for name, p in owner.named_parameters(recurse=False)
        if f"{path}.{name}" not in shapes
    ]
    memory = _Memory(
        spec,
        _configured(model),
        [(owner._modules, name, child) for _, owner in tree for name, child in owner.named_children()],
        [owner._parameters for _, owner in tree if owner._parameters],
        frozen,
        [p.detach().reshape(-1) for _, _, p in frozen if p.device.type == "cpu"],
    )
    memory.mark = _mark(model, memory)
    model.story_memory = memory


def _configured(model: Any) -> tuple[Any, ...]:
    values = (getattr(model.cfg, field) for field in _READ_ONCE)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _mark(model: Any, memory: _Memory) -> Any:
    """Changes when configuration, modules, dtypes or frozen parameters do. Reads no value of a tensor."""
    return (
        _configured(model),
        [getattr(model.cfg, field) for field in _READ_ANEW],
        _scales(model),
        [id(owner.get(name)) for owner, name, _ in memory.modules],
        {p.dtype for owner in memory.parameters for p in owner.values() if p is not None},
        [id(owner.get(name)) for owner, name, _ in memory.frozen],
        [(p.data_ptr(), 0 if p.is_inference() else p._version) for _, _, p in memory.frozen],
    )


def _scales(model: Any) -> list[float]:
    return [block.attn.attn_scale for block in model.blocks if hasattr(block, "attn")]


def _written(memory: _Memory) -> bool:
    """Whether a parameter that must be zero no longer is: `p.data[0] = 1` leaves no other trace."""
    return bool(memory.flat) and bool(torch.cat(memory.flat).any())


def _refuse_hooks(model: Any) -> None:
    memory: _Memory | None = getattr(model, "story_memory", None)
    known = model.modules() if memory is None else [model, *(child for _, _, child in memory.modules)]
    for m in known:
        if m._forward_hooks or m._backward_hooks or m._forward_pre_hooks or m._backward_pre_hooks:
            name = next((name for name, each in model.named_modules() if each is m), None)
            if name is None:
                continue  # a module that was since replaced
            raise ValueError(
                f"{name or 'the model'} holds a hook, which the fast forward would not run: remove it with "
                "model.reset_hooks(including_permanent=True), or use the hooked forward (model.run_with_hooks)."
            )


def _refuse_changes(model: Any, memory: _Memory) -> None:
    for field, was, now in zip(_READ_ONCE, memory.configured, _configured(model), strict=True):
        if was != now:
            raise ValueError(
                f"cfg.{field} was changed from {was!r} to {now!r} after the model was made, which its modules do not "
                "follow: set it back, or build a new model."
            )


def _read_spec(model: "HookedTransformer") -> Spec:
    c = model.cfg
    dtypes = {c.dtype, *(p.dtype for p in model.parameters())} - {torch.float32}
    if dtypes:
        raise ValueError(
            f"This model has weights in {min(map(str, dtypes))}, and the fast forward reads float32: "
            "model.to(torch.float32) brings them back; its products run in bfloat16 with precision='bfloat16'."
        )
    unknown = {
        "attention direction": c.attention_dir != "causal",
        "attention only": c.attn_only,
        "parallel attention and MLP": c.parallel_attn_mlp,
        f"activation {c.act_fn!r}": c.act_fn not in ("gelu_new", "silu") or (c.act_fn == "silu") != bool(c.gated_mlp),
        f"normalisation {c.normalization_type!r}": c.normalization_type not in ("LN", "RMS"),
        f"positions {c.positional_embedding_type!r}": c.positional_embedding_type not in ("standard", "rotary"),
        "partial rotary": c.positional_embedding_type == "rotary" and c.rotary_dim != c.d_head,
        "scores scaled by layer": c.scale_attn_by_inverse_layer_idx,
        "query/key norm": c.use_qk_norm,
        "attention scale": any(abs(s - (c.d_head**0.5 if c.use_attn_scale else 1.0)) > 1e-6 for s in _scales(model)),
        "attention scaled by position": c.use_logn_attn,
        "clipped queries and keys": c.clip_qkv is not None,
        "norm after the embedding": c.post_embedding_ln,
        "several rotary bases": c.rotary_base_local is not None or c.rotary_scaling_factor != 1.0,
        "soft caps": c.attn_scores_soft_cap > 0 or c.output_logits_soft_cap > 0,
        "attention sinks": c.use_attention_sinks,
        "experts": c.num_experts is not None,
        "norms before and after": c.use_normalization_before_and_after,
        "rescaled rotary": c.use_NTK_by_parts_rope or c.use_yarn_rope or c.use_dynamic_ntk_rope,
        "head width": c.d_head * c.n_heads != c.d_model,
        "output vocabulary": c.d_vocab_out != c.d_vocab,
    }
    if gpt2 := c.normalization_type == "LN":
        unknown["layer norm with rotary positions or a gated MLP"] = (
            c.positional_embedding_type != "standard" or c.act_fn != "gelu_new"
        )
    else:
        unknown["RMS norm with learned positions or a plain MLP"] = (
            c.positional_embedding_type != "rotary" or c.act_fn != "silu"
        )
    if found := [what for what, bad in unknown.items() if bad]:
        raise ValueError(
            f"This model has {', '.join(found)}, which the fast forward does not cover. "
            "Use the hooked forward (model.run_with_cache) for it."
        )
    shaped = set(parameter_shapes(_shape_of(model, gpt2)))
    if biased := [n for n, p in model.named_parameters() if n not in shaped and bool(p.detach().any())]:
        raise ValueError(
            f"This model uses {biased[0]!r}, which a {'GPT-2' if gpt2 else 'Llama'}-style model does not have. "
            "Use the hooked forward (model.run_with_cache) for it."
        )
    return _shape_of(model, gpt2)


def _shape_of(model: "HookedTransformer", gpt2: bool) -> Spec:
    c = model.cfg
    locals_ = tuple(i for i, kind in enumerate(c.attn_types or []) if kind == "local") if c.use_local_attn else ()
    spec = Spec(
        d_model=c.d_model,
        n_layers=c.n_layers,
        n_heads=c.n_heads,
        d_vocab=c.d_vocab,
        n_ctx=c.n_ctx,
        style="gpt2" if gpt2 else "llama",
        n_key_value_heads=c.n_key_value_heads,
        tied=isinstance(model.unembed, _Tied),
        scaled=c.use_attn_scale,
        window=c.window_size if locals_ else None,
        local_layers=locals_,
        rotary_adjacent=c.rotary_adjacent_pairs,
        rotary_base=float(c.rotary_base),
        eps=c.eps,
    )
    return spec if spec.mlp_width == c.d_mlp else dataclasses.replace(spec, d_mlp=c.d_mlp)


def attach_tokenizer(model: "HookedTransformer", tokenizer: Tokenizer) -> None:
    """Give the model its tokenizer, so that TransformerLens's own `to_tokens` and `to_string` work too."""
    if tokenizer.size > model.cfg.d_vocab:
        raise ValueError(
            f"This tokenizer has {tokenizer.size} tokens and the model a vocabulary of {model.cfg.d_vocab}: "
            "it is not this model's tokenizer. Load the one that it was trained with."
        )
    made = tokenizer.to_transformers()
    made.init_kwargs.setdefault("name_or_path", "")  # TransformerLens reads it, transformers 5 no longer sets it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_tokenizer(made, default_padding_side="right")
    model.story_tokenizer = tokenizer


def tokenizer_of(model: "HookedTransformer") -> Tokenizer:
    """The tokenizer that `load` or `attach_tokenizer` gave this model."""
    tokenizer = getattr(model, "story_tokenizer", None)
    if tokenizer is None:
        raise ValueError(
            "This model has no tokenizer. Give it one with tslens.models.attach_tokenizer(model, tokenizer)."
        )
    return tokenizer


def weights(model: "HookedTransformer") -> dict[str, Tensor]:
    """The trained parameters by name, detached, on the CPU, contiguous: what a checkpoint holds."""
    shapes = parameter_shapes(spec_of(model))
    parameters = dict(model.named_parameters())
    return {name: parameters[name].detach().cpu().contiguous() for name in shapes}


def load_weights(model: "HookedTransformer", tensors: dict[str, Tensor], *, origin: str = "these weights") -> None:
    """Copy weights into the model (any float dtype); a missing, extra or misshapen one is refused with its name."""
    shapes = parameter_shapes(spec_of(model))
    if missing := sorted(shapes.keys() - tensors.keys()):
        raise ValueError(
            f"{origin} lack {missing[0]!r} (and {len(missing) - 1} more) of a {spec_of(model).name} model."
        )
    if extra := sorted(tensors.keys() - shapes.keys()):
        raise ValueError(f"{origin} hold {extra[0]!r}, which a {spec_of(model).name} model does not have.")
    parameters = dict(model.named_parameters())
    for name, shape in shapes.items():
        if tuple(tensors[name].shape) != shape:
            raise ValueError(f"{origin}: {name} has shape {tuple(tensors[name].shape)}, expected {shape}.")
    with torch.no_grad():
        for name in shapes:
            parameters[name].copy_(tensors[name])


def from_weights(spec: Spec, tensors: dict[str, Tensor], tokenizer: Tokenizer, *, origin: str) -> "HookedTransformer":
    """A model of this spec with these weights and this tokenizer."""
    model = build(spec, seed=None, tokenizer=tokenizer)
    load_weights(model, tensors, origin=origin)
    return model


def save(
    model: "HookedTransformer",
    folder: str | Path,
    facts: dict[str, Any] | None = None,
    *,
    dtype: torch.dtype | None = None,
) -> Path:
    """Write a model and its tokenizer as a folder that `load` takes; returns it.

    `facts` go into `config.json` beside the spec (data, loss, ...). `dtype=torch.float16` halves the file.
    """
    folder = Path(folder)
    tokenizer = tokenizer_of(model)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / checkpoints.TOKENIZER)
    config = {**(facts or {}), "spec": spec_of(model).to_dict(), "tokenizer": tokenizer.hash}
    tensors = {name: w if dtype is None else w.to(dtype) for name, w in weights(model).items()}
    checkpoints.write(folder, config, tensors)
    return folder


def bundled() -> dict[str, Path]:
    """The models that come with tslens, by name."""
    folder = Path(__file__).parent / "bundled"
    return {p.name: p for p in sorted(folder.iterdir()) if (p / "config.json").exists()} if folder.is_dir() else {}


def available() -> dict[str, Path]:
    """Every model that `load` finds by its bare name: the runs of this folder and the bundled ones."""
    return bundled() | checkpoints.runs()


def load(name: str | Path) -> "HookedTransformer":
    """The HookedTransformer that a name stands for, with its tokenizer attached, in evaluation mode.

    A name is a run of this folder (`runs/<name>`), a bundled model, the path of a run or of one of its
    checkpoints, `llama2c:FILE[,TOKENIZER]`, or `hf:FOLDER_OR_HUB_ID`. Raises ValueError with the nearest names.
    """
    text = str(name)
    if text.startswith("llama2c:"):
        from tslens import llama2c

        file, _, tokenizer_file = text.removeprefix("llama2c:").partition(",")
        model = from_weights(*llama2c.read(file, tokenizer_file or None), origin=text)
        return _named(model, Path(file).stem)
    if text.startswith("hf:"):
        from tslens import huggingface

        source = text.removeprefix("hf:")
        return _named(from_weights(*huggingface.read(source), origin=text), Path(source).resolve().name)
    known = available()
    folder = known.get(text) or (Path(text) if text and (Path(text) / "config.json").is_file() else None)
    if folder is None:
        raise ValueError(_unknown(text, list(known)))
    config, tensors = checkpoints.read(folder)
    home = folder if (folder / checkpoints.TOKENIZER).is_file() else folder.parent.parent  # a checkpoint's run has it
    tokenizer = Tokenizer.load(home / checkpoints.TOKENIZER)
    if not isinstance(config.get("spec"), dict):
        raise ValueError(f"{folder}/{checkpoints.CONFIG} has no 'spec', the shape of the model: it is no tslens model.")
    if config.get("tokenizer") != tokenizer.hash:
        raise ValueError(f"{home}/tokenizer.json is not the tokenizer that this model was trained with (hash differs).")
    model = from_weights(Spec.from_dict(config["spec"]), tensors, tokenizer, origin=str(folder))
    run = home.resolve().name
    return _named(model, run if home == folder else f"{run}/{folder.resolve().name}")


def _named(model: "HookedTransformer", name: str) -> "HookedTransformer":
    model.story_name = name
    return model


def name_of(model: "HookedTransformer") -> str:
    """What the model is called: the run, bundled model, file or folder that `load` found it under (`stories1M`,
    `mine/step-00500` for a checkpoint of the run `mine`), or its shape where it came from none."""
    return getattr(model, "story_name", None) or spec_of(model).name


def _unknown(name: str, known: list[str]) -> str:
    if name and Path(name).is_dir():
        return f"{name} is a folder but not a model: it has no config.json."
    hint = f" To train it: tslens train {name}" if re.fullmatch(r"\d+x\d+(x\d+)?", name) else ""
    return f"no model is called {name!r}.{did_you_mean(name, known)} Known: {', '.join(known) or 'none'}.{hint}"


def did_you_mean(given: str, known: list[str]) -> str:
    """' Did you mean ...?' for the nearest known name, or nothing."""
    near = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def _near_multiples(width: int, heads: int) -> str:
    below = width // heads * heads
    return ", ".join(str(w) for w in (below, below + heads) if w)


def describe(model: "HookedTransformer") -> dict[str, Any]:
    """Facts about a model as JSON: shape, parameters, FLOPs per token, vocabulary."""
    spec = spec_of(model)
    return json.loads(json.dumps(spec.to_dict())) | {
        "name": spec.name,
        "parameters": n_parameters(spec),
        "parameters_without_embeddings": n_parameters(spec, embeddings=False),
        "flops_per_token": flops_per_token(spec),
    }
