"""Transformers built by hand: planted heads and neurons among random ones, as ordinary models."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tslens.audit.features import CODE, TRUTHS, embedding, place_of, positions, read, squared_length
from tslens.audit.neuron_plants import NEURONS
from tslens.audit.plants import HEADS, HIGH_GAIN, LAYERS, RANDOM, WRITERS, planted_in
from tslens.audit.terms import match, query_key
from tslens.audit.vocabulary import FLAG_OF_CLASS, Vocabulary
from tslens.models import LanguageModel, Spec, build, from_weights, weights

WIDTH, HEAD_WIDTH, CONTEXT, N_NEURONS = 448, 64, 128, 128
ROTARY_BASE = 1e8
SHARP = 0.125
"""Standard deviation of random weights of high gain: scores of random heads then vary by about 4 nats."""
QUIET = 0.1
"""What random components write, as a share of what initial weights would: plants of later layers read through it."""
FIRING = 5.0
"""What a planted neuron reads where it fires, and minus this where it does not, before its nonlinearity."""
WRITES: dict[str, tuple[tuple[str, str], ...]] = {
    "previous token": (("code", "before"), ("stop", "after stop")),
    "duplicate token": (("bos", "first"),),
    "last quotation mark": (("opening", "inside"),),
    "uniform": (("noun", "fraction"),),
    "induction": (("code", "copy"),),
    **{f"{word} before {of}": ((FLAG_OF_CLASS[word], f"next {of}"),) for word, of in WRITERS.items()},
}
"""Plants that write: the feature of their keys that they read, and the feature that they write. Two are programs in the
sense of Tracr (Lindner et al. 2023, arXiv 2301.05062), compiled by hand: what followed the earlier copy of a token, and
the share of nouns so far."""
NEXT = 2.0
"""By how much what is written of a class raises the logits of its words, for each unit of the residual."""
SMALL = 0.1
"""Length of the share of nouns: small, because it changes a token's length."""

Place = tuple[int, int]
"""Layer, and head or neuron."""


@dataclass(frozen=True)
class Planted:
    """A model whose every head and neuron is known."""

    model: LanguageModel
    vocabulary: Vocabulary
    heads: dict[Place, str]
    """What each head is: one of `plants.HEADS`, or of `plants.RANDOM`."""
    neurons: dict[Place, str]
    """What each neuron is: one of `plants.NEURONS`, or of `plants.RANDOM`."""
    writes: bool = True
    """Whether it is known what the heads write."""


def planted_spec(vocabulary: Vocabulary, style: str = "gpt2") -> Spec:
    """The shape of a planted model: five layers of seven heads, of which seven are random."""
    return Spec(
        WIDTH,
        len(LAYERS),
        WIDTH // HEAD_WIDTH,
        d_vocab=vocabulary.tokenizer.size,
        n_ctx=CONTEXT,
        style="llama" if style == "llama" else "gpt2",
        d_mlp=N_NEURONS,
        tied=False,
        rotary_base=ROTARY_BASE,
    )


def plant(vocabulary: Vocabulary, style: str = "gpt2", *, seed: int = 0) -> Planted:
    """A model with every plant, at places, among random components and with codes drawn by the
    seed. What is random reads no part of speech and no BOS, so that it deserves no label for them."""
    spec, generator = planted_spec(vocabulary, style), torch.Generator().manual_seed(seed)
    tensors = weights(build(spec, seed=seed))
    table, code = embedding(vocabulary, spec.d_model, generator)
    tensors["embed.W_E"] = table
    if spec.style == "gpt2":
        tensors["pos_embed.W_pos"] = positions(spec.n_ctx, spec.d_model)
    tensors["unembed.W_U"] = torch.zeros(spec.d_model, spec.d_vocab)
    tensors["unembed.W_U"][place_of("copy")] = 0.5 * code.T
    for of in WRITERS.values():
        flag = vocabulary.flags[FLAG_OF_CLASS[of]].float()
        tensors["unembed.W_U"][place_of(f"next {of}")] = NEXT * torch.stack([flag, -flag])
    heads: dict[Place, str] = {}
    neurons: dict[Place, str] = {}
    for layer in range(spec.n_layers):
        heads |= _heads(tensors, spec, layer, seed, generator)
        neurons |= _neurons(tensors, spec, layer, code[vocabulary.word], generator)
    model = from_weights(spec, tensors, vocabulary.tokenizer, origin=f"planted model {seed}")
    return Planted(model, vocabulary, heads, neurons)


def _heads(
    tensors: dict[str, Tensor], spec: Spec, layer: int, seed: int, generator: torch.Generator
) -> dict[Place, str]:
    """Write the heads of a layer, in an order that is drawn; says what each is."""
    names = planted_in(layer, seed)
    names += [RANDOM[(i + layer) % 2] for i in range(spec.n_heads - len(names))]
    order = torch.randperm(spec.n_heads, generator=generator).tolist()
    parts = [tensors[f"blocks.{layer}.attn.W_{part}"] for part in "QKVO"]
    for head, name in zip(order, names, strict=True):
        W_Q, W_K, W_V, W_O = (part[head] for part in parts)
        if name in RANDOM:
            for part in (W_Q, W_K):
                if name == HIGH_GAIN:
                    part.normal_(0.0, SHARP, generator=generator)
                _blind(part)
        else:
            W_Q[:], W_K[:] = query_key(HEADS[name].terms(spec.d_model), spec, layer)
        _blind(W_V)
        if name in WRITES:
            W_V.zero_()
            W_O.zero_()
            _write(W_V, W_O, name, spec, layer)
        else:
            W_O *= QUIET if name in RANDOM else 0.0  # a plant that nothing reads writes nothing
    return {(layer, head): name for head, name in zip(order, names, strict=True)}


def _write(W_V: Tensor, W_O: Tensor, name: str, spec: Spec, layer: int) -> None:
    """Copy features of the keys to others, in the length that they have in the embedding, or of `SMALL`."""
    scale = math.sqrt(squared_length(spec.d_model, learned=spec.style == "gpt2", layer=layer) / spec.d_model)
    at = 0
    for source, target in WRITES[name]:
        if source == "code":
            W_V[place_of(source), at : at + CODE] = torch.eye(CODE)
            W_O[at : at + CODE, place_of(target)] = scale * torch.eye(CODE)
            at += CODE
        else:
            W_V[:, at] = read(source, spec.d_model)
            length = SMALL if target == "fraction" else 1.0
            W_O[at, place_of(target)] = scale * length * torch.tensor([1.0, -1.0])
            at += 1


def _blind(weight: Float[Tensor, "d_model out"]) -> None:
    """Random weights do not read what has to do with parts of speech or BOS."""
    for block in TRUTHS:
        weight[place_of(block)] = 0.0


def _neurons(
    tensors: dict[str, Tensor],
    spec: Spec,
    layer: int,
    word: Float[Tensor, " code"],
    generator: torch.Generator,
) -> dict[Place, str]:
    """Write the neurons of a layer: those of `NEURONS` first, then random ones of both kinds in turns."""
    prefix, gated = f"blocks.{layer}.mlp.", spec.style == "llama"
    gate = tensors[prefix + ("W_gate" if gated else "W_in")]
    names = [*NEURONS, *(RANDOM[i % 2] for i in range(spec.mlp_width - len(NEURONS)))]
    sharp = torch.tensor([name == HIGH_GAIN for name in names])
    into = [gate, tensors[prefix + "W_in"]] if gated else [gate]
    for weight in into:
        weight[:, sharp] = SHARP * torch.randn(spec.d_model, int(sharp.sum()), generator=generator)
        _blind(weight)
    constant = read("constant", spec.d_model)
    for column, plant in enumerate(NEURONS.values()):
        if plant.flag == "code":
            found = match("code", "code", 1.0, spec.d_model).query @ word - 0.8 * constant
            gate[:, column] = 10 * FIRING * found
        elif plant.flag:
            gate[:, column] = FIRING * read(plant.flag, spec.d_model)
        else:
            gate[:, column] = plant.level * constant
        if gated:
            into[1][:, column] = constant
        tensors[prefix + "W_out"][column] = 0.0
    tensors[prefix + "W_out"] *= QUIET
    return {(layer, column): name for column, name in enumerate(names)}
