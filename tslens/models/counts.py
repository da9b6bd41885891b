"""Which parameters a spec has, how many they are, and how many operations they take."""

import math

from tslens.models.compressor import CompressorSpec
from tslens.models.spec import Spec


def parameter_shapes(spec: Spec | CompressorSpec) -> dict[str, tuple[int, ...]]:
    """Every trained parameter by its TransformerLens name. Biases that a Llama-style model lacks are not here."""
    if isinstance(spec, CompressorSpec):
        return spec.parameter_shapes()
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


def n_parameters(spec: Spec | CompressorSpec, *, embeddings: bool = True) -> int:
    """Exact number of trained parameters; without the token, position and output embeddings if asked."""
    skip = () if embeddings else ("embed.", "pos_embed.", "unembed.", "encoder.embed.")
    return sum(math.prod(shape) for name, shape in parameter_shapes(spec).items() if not name.startswith(skip))


def flops_per_token(spec: Spec | CompressorSpec, context: int | None = None, *, training: bool = False) -> int:
    """Floating-point operations per token: two for each multiply-add of every matrix product, attention as the
    full square over `context` tokens (as dense kernels are counted); training is three times the forward pass."""
    if isinstance(spec, CompressorSpec):
        return spec.flops_per_token(context, training=training)
    context = context or spec.n_ctx
    matrices = sum(
        math.prod(shape)
        for name, shape in parameter_shapes(spec).items()
        if ".W_" in name.replace("._W_", ".W_") and not name.startswith(("embed.", "pos_embed.", "unembed."))
    )
    attention = 2 * context * spec.n_heads * spec.d_head * spec.n_layers
    forward = 2 * (matrices + attention + spec.d_model * spec.d_vocab)
    return 3 * forward if training else forward
