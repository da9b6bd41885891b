"""The shape of a model: its parameters, its operations and its name.

`512x12` has width 512, 12 layers and 4 heads; `256x8x8` has 8 heads.
"""

import dataclasses
import math
import re
from typing import Literal

from tslens.errors import InputError
from tslens.models.bounds import MOST_LAYERS, check_numbers, check_sizes
from tslens.models.model_spec import ModelSpec

Norm = Literal["layer", "rms", "none"]
"""What parts of a model read: the residual stream without its mean and scaled, scaled alone, or as it is."""
Positions = Literal["learned", "rotary", "queries and keys", "scores"]
"""Where positions enter: added to the residual stream, by turning queries and keys, added to these, or to scores."""

DEFAULT_HEADS = 4


@dataclasses.dataclass(frozen=True)
class Spec(ModelSpec):
    """The shape of a model: everything that `build` needs, and nothing that can be derived.

    `gpt2`: learned positions, layer norm, GELU (tanh form), biases. `llama`: rotary positions, RMS norm, gated SiLU
    MLP, no biases, grouped key/value heads. `window` limits the attention of `local_layers` to that many tokens
    (GPT-Neo), `scaled=False` leaves out the division by sqrt(d_head) (GPT-Neo too). `hooked` is for shapes that are
    read from other models (`models.hooked_spec`), which answer the same questions.
    """

    d_model: int
    n_layers: int
    n_heads: int = DEFAULT_HEADS
    d_vocab: int = 4096
    n_ctx: int = 256
    style: Literal["gpt2", "llama", "hooked"] = "gpt2"
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
        sizes = ("d_model", "n_heads", "d_vocab", "n_ctx", *optional)
        check_sizes({field: getattr(self, field) for field in sizes})
        check_sizes({"n_layers": self.n_layers}, MOST_LAYERS)
        check_numbers({"eps": self.eps})
        check_numbers({"rotary_base": self.rotary_base}, from_1=True)
        if self.d_model % self.n_heads:
            raise InputError(
                f"{self.n_heads} heads do not divide a width of {self.d_model}; "
                f"widths near it that they divide: {_near_multiples(self.d_model, self.n_heads)}."
            )
        if self.style not in ("gpt2", "llama"):
            raise InputError(f"style is {self.style!r}; it must be 'gpt2' or 'llama'.")
        if self.style == "llama" and self.d_head % 2:
            raise InputError(f"Rotary positions need an even head width; {self.d_model}/{self.n_heads} is odd.")
        if self.style == "gpt2" and self.n_key_value_heads not in (None, self.n_heads):
            raise InputError("Grouped key/value heads need style 'llama'.")
        if self.n_heads % self.key_value_heads:
            raise InputError(f"{self.n_key_value_heads} key/value heads do not divide {self.n_heads} heads.")
        if self.local_layers and not self.window:
            raise InputError("local_layers need a window (the number of tokens that they see).")
        if beyond := [i for i in self.local_layers if not 0 <= i < self.n_layers]:
            raise InputError(f"local_layers names layer {beyond[0]}; there are {self.n_layers}, from 0.")

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
    def has_mlp(self) -> bool:
        """Whether blocks have an MLP; one of experts has no neurons that are read, so that `mlp_width` is 0."""
        return True

    @property
    def norm(self) -> Norm:
        """The norm before attention, before the MLP, and before the unembedding."""
        return "layer" if self.style == "gpt2" else "rms"

    @property
    def final_norm(self) -> Norm:
        """The norm before the unembedding, where it is another one."""
        return self.norm

    @property
    def logit_cap(self) -> float:
        """A logit x ends as cap tanh(x / cap); 0 where it ends as it is."""
        return 0.0

    @property
    def post_norms(self) -> dict[str, str]:
        """The names of the norms after attention (`attn`) and MLP (`mlp`); none where both write as they are."""
        return {}

    @property
    def positions(self) -> Positions:
        """Where positions enter."""
        return "learned" if self.style == "gpt2" else "rotary"

    @property
    def biased(self) -> bool:
        """Whether attention, MLP and norms have biases."""
        return self.style == "gpt2"

    @property
    def scores_are_products(self) -> bool:
        """Whether attention scores are scaled products of the queries and keys that hooks show."""
        return True

    def score_scale(self, layer: int) -> float:
        """What the products of queries and keys of a layer are multiplied by."""
        return self.d_head**-0.5 if self.scaled else 1.0

    @property
    def name(self) -> str:
        """`512x12`, or `256x8x8` if the number of heads is not 4."""
        heads = "" if self.n_heads == DEFAULT_HEADS else f"x{self.n_heads}"
        return f"{self.d_model}x{self.n_layers}{heads}"

    def untied(self) -> "Spec":
        """The same shape with an unembedding of its own."""
        return dataclasses.replace(self, tied=False)

    @classmethod
    def parse(cls, name: str, *, d_vocab: int = 4096, n_ctx: int = 256) -> "Spec":
        """The spec of a name such as `512x12` or `256x8x8`, with this vocabulary and context."""
        match = re.fullmatch(r"(\d+)x(\d+)(?:x(\d+))?", name)
        if not match:
            raise InputError(
                f"{name!r} is no shape. Write WIDTHxLAYERS or WIDTHxLAYERSxHEADS, such as 256x8 or 256x8x8."
            )
        width, layers, heads = match.groups()
        n_heads = int(heads or DEFAULT_HEADS)
        return cls(d_model=int(width), n_layers=int(layers), n_heads=n_heads, d_vocab=d_vocab, n_ctx=n_ctx)

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every trained parameter by its TransformerLens name; a Llama-style model has no biases."""
        gpt2 = self.style == "gpt2"
        shapes: dict[str, tuple[int, ...]] = {"embed.W_E": (self.d_vocab, self.d_model)}
        if gpt2:
            shapes["pos_embed.W_pos"] = (self.n_ctx, self.d_model)
        block = self._block_shapes()
        shapes |= {f"blocks.{i}.{name}": shape for i in range(self.n_layers) for name, shape in block.items()}
        shapes["ln_final.w"] = (self.d_model,)
        if gpt2:
            shapes["ln_final.b"] = (self.d_model,)
        if not self.tied:
            shapes["unembed.W_U"] = (self.d_model, self.d_vocab)
        return shapes

    def _block_shapes(self) -> dict[str, tuple[int, ...]]:
        d, h, kv, dh, m = self.d_model, self.n_heads, self.key_value_heads, self.d_head, self.mlp_width
        grouped = "" if self.n_key_value_heads is None else "_"
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
        if self.style == "llama":
            return block | {"mlp.W_gate": (d, m)}
        block |= {"ln1.b": (d,), "attn.b_Q": (h, dh), "attn.b_K": (kv, dh), "attn.b_V": (kv, dh), "attn.b_O": (d,)}
        return block | {"ln2.b": (d,), "mlp.b_in": (m,), "mlp.b_out": (d,)}

    def flops_per_token(self, context: int | None = None, *, training: bool = False) -> int:
        """As `ModelSpec.flops_per_token` says; at the model's own context unless another is given."""
        matrices = sum(
            math.prod(shape)
            for name, shape in self.parameter_shapes().items()
            if ".W_" in name.replace("._W_", ".W_") and not name.startswith(("embed.", "pos_embed.", "unembed."))
        )
        attention = 2 * (context or self.n_ctx) * self.n_heads * self.d_head * self.n_layers
        forward = 2 * (matrices + attention + self.d_model * self.d_vocab)
        return 3 * forward if training else forward


def _near_multiples(width: int, heads: int) -> str:
    below = width // heads * heads
    return ", ".join(str(w) for w in (below, below + heads) if w)
