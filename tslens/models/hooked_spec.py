"""The shape of a HookedTransformer that no `Spec` describes: its configuration, and what analyses ask of a shape."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tslens.errors import InputError
from tslens.models.spec import Norm, Positions, Spec
from tslens.models.tied import is_tied

if TYPE_CHECKING:
    from tslens.models.protocols import LanguageModel

GELU_TANH = ("gelu_new", "gelu_pytorch_tanh")  # two names of one function
POSITIONS: Mapping[str, Positions] = {"standard": "learned", "rotary": "rotary", "shortformer": "queries and keys"}
NOT_SHAPE = (
    *("device", "dtype", "seed", "n_devices", "n_params", "init_mode", "init_weights", "initializer_range"),
    *("tokenizer_name", "tokenizer_prepends_bos", "default_prepend_bos", "trust_remote_code", "model_name"),
    *("from_checkpoint", "checkpoint_index", "checkpoint_label_type", "checkpoint_value", "load_in_4bit"),
    *("use_attn_result", "use_attn_in", "use_split_qkv_input", "use_hook_mlp_in", "use_hook_tokens"),
    "ungroup_grouped_query_attention",
)
"""Fields of a configuration that say nothing of the function that the model computes."""
POST_NORMED = ("Olmo2ForCausalLM", "Olmo3ForCausalLM")
"""Architectures whose norms stand after attention and MLP instead of before them."""
NORMED_WHOLE = ("OlmoeForCausalLM", *POST_NORMED)
"""Those whose queries and keys are normed after the hooks that show them."""


@dataclasses.dataclass(frozen=True)
class HookedSpec(Spec):
    """The shape of a model that runs through TransformerLens's own forward (`forward.hooked`).

    It has the fields that analyses read of every `Spec`; where they could not say enough, the properties and methods
    that are overridden here do. `tslens` builds its untrained twins, and does not train it.
    """

    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """TransformerLens's configuration, as JSON: all that decides the model's function but its weights."""
    shapes: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)
    """The shape of every parameter."""
    hooks: tuple[str, ...] = ()
    """The names of all activations."""
    divisors: tuple[float, ...] = ()
    """What each layer divides its attention scores by."""
    because: tuple[str, ...] = ()
    """What the fast forward does not cover."""
    outside: tuple[str, ...] = ()
    """Where only their values keep the fast forward from covering the model: the biases that would have to be 0."""

    def __post_init__(self) -> None:
        """Nothing to check: it is read from a model that exists."""

    @property
    def said(self) -> str:
        """Why the model is slow, in words."""
        return f"slow path, because of {', '.join(self.because)}."

    @property
    def d_head(self) -> int:
        return int(self.config["d_head"])

    @property
    def mlp_width(self) -> int:
        return int(self.config["d_mlp"]) if self.has_mlp and not self.config["num_experts"] else 0

    @property
    def has_mlp(self) -> bool:
        return not self.config["attn_only"]

    @property
    def norm(self) -> Norm:
        kind = self.config["normalization_type"]
        return "none" if kind is None else "layer" if kind.startswith("LN") else "rms"

    @property
    def final_norm(self) -> Norm:
        return "rms" if self.norm == "layer" and self.config["final_rms"] else self.norm

    @property
    def logit_cap(self) -> float:
        return max(float(self.config["output_logits_soft_cap"]), 0.0)

    @property
    def post_norms(self) -> dict[str, str]:
        if self.norm == "none":
            return {}
        if self.config["original_architecture"] in POST_NORMED:
            return {"attn": "ln1", "mlp": "ln2"}
        both = self.config["use_normalization_before_and_after"]
        return {"attn": "ln1_post", "mlp": "ln2_post"} if both else {}

    @property
    def positions(self) -> Positions:
        return POSITIONS.get(self.config["positional_embedding_type"], "scores")

    @property
    def biased(self) -> bool:
        return True

    def score_scale(self, layer: int) -> float:
        return 1 / self.divisors[layer]

    @property
    def scores_are_products(self) -> bool:
        c = self.config
        normed = c["use_qk_norm"] or c["clip_qkv"] is not None or c["original_architecture"] in NORMED_WHOLE
        before = self.positions == "rotary" or not normed
        return before and self.positions != "scores" and not c["use_logn_attn"] and c["attn_scores_soft_cap"] <= 0

    def flops_per_token(self, context: int | None = None, *, training: bool = False) -> int:
        """As `Spec.flops_per_token`; of the experts, those that a token is given to."""
        every = super().flops_per_token(context, training=training)
        if not (experts := self.config["num_experts"]):
            return every
        shapes = [shape for name, shape in self.shapes.items() if ".experts." in name and name.endswith(".weight")]
        idle: int = sum(map(math.prod, shapes)) // experts * (experts - self.config["experts_per_token"])
        return every - (6 if training else 2) * idle

    def untied(self) -> "HookedSpec":
        return dataclasses.replace(
            self, tied=False, shapes={**self.shapes, "unembed.W_U": (self.d_model, self.d_vocab)}
        )

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(shape) for name, shape in self.shapes.items()}


def hooked_spec(model: "LanguageModel", because: Sequence[str], outside: Sequence[str] = ()) -> HookedSpec:
    """The shape of a model that the fast forward does not cover, for these reasons (see `HookedSpec`).

    Raises:
        InputError: the model is no causal model of its own tokens, or norms what attention and MLP write twice.
    """
    c = model.cfg
    if unread := _unread(model):
        raise InputError(
            f"This model has {', '.join(unread)}: it predicts no next token, and tslens reads models that do."
        )
    if c.original_architecture in POST_NORMED and c.use_normalization_before_and_after:
        raise InputError(
            f"This model is a {c.original_architecture} with use_normalization_before_and_after: what attention and "
            "MLP write is normed twice, which tslens does not read. Give it one of the two."
        )
    model.setup()  # weight processing replaces norms, whose hooks have no names until then
    local = [i for i, kind in enumerate(c.attn_types or []) if kind == "local"] if c.use_local_attn else []
    return HookedSpec(
        d_model=c.d_model,
        n_layers=c.n_layers,
        n_heads=c.n_heads,
        d_vocab=c.d_vocab,
        n_ctx=min(c.n_ctx, c.train_seq_length or c.n_ctx) if c.use_dynamic_ntk_rope else c.n_ctx,
        style="hooked",
        n_key_value_heads=c.n_key_value_heads,
        tied=is_tied(model),
        window=c.window_size if local else None,
        local_layers=tuple(local),
        eps=c.eps,
        config=plain_config(c),
        shapes={name: tuple(parameter.shape) for name, parameter in model.named_parameters()},
        hooks=tuple(name for name in model.hook_dict if not ((c.attn_only and "mlp" in name) or _of_expert(name))),
        divisors=tuple(float(block.attn.attn_scale) for block in model.blocks),
        because=tuple(because),
        outside=tuple(outside),
    )


def plain_config(config: Any) -> dict[str, Any]:
    """A TransformerLens configuration as JSON, without what says nothing of the function that the model computes."""
    plain = {k: _plain(v) for k, v in sorted(config.to_dict().items()) if k not in NOT_SHAPE and _is_plain(v)}
    return plain | ({"act_fn": GELU_TANH[0]} if plain["act_fn"] in GELU_TANH else {})


def _unread(model: "LanguageModel") -> list[str]:
    """What keeps a model from being one that predicts the next of its own tokens."""
    c = model.cfg
    unread = {
        "attention in both directions": c.attention_dir != "causal",
        f"outputs over {c.d_vocab_out} tokens and inputs over {c.d_vocab}": c.d_vocab_out != c.d_vocab,
    }
    return [what for what, there in unread.items() if there]


def _of_expert(name: str) -> bool:
    """Whether an activation is one of an expert or of their choice, which has no axis of rows."""
    return ".mlp.experts." in name or ".mlp.hook_expert" in name


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str) or _is_list(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(v, int | float | str) for v in value)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
