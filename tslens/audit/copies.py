"""Copies of a model in which the weights of one head a layer, and of three neurons a layer, are replaced by plants.

Trained weights leave no room for features of our own, so a plant here is fitted to what the model itself has: the
query and key matrices of a head by gradient descent on the divergence from the attention it should have, a neuron by
logistic regression on what its MLP reads. A plant counts only if it does its work on stories that it was not fitted on:
at least nine tenths of its attention where it should be, or an AUROC of at least 0.99. A neuron of a part of speech
counts only where tokens tell nine tenths of its words, as pieces of words do not. What a model cannot carry is left out
and said.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward, stats
from tslens.audit.planted import Place, Planted
from tslens.audit.vocabulary import Vocabulary
from tslens.draws import draw
from tslens.errors import InputError
from tslens.forward.blocks import apply_rotary
from tslens.gradients import gradients
from tslens.models import HookedSpec, LanguageModel, Spec, from_weights, spec_of, story_tokenizer_of, weights

PLANTS = ("previous token", "BOS sink", "fixed class", "self", "offset 3", "uniform")
"""Heads that are fitted. Duplicate tokens and induction are roles only in models that copy, so they are planted by
hand alone."""
NEURONS = ("nouns", "adjectives", "one word")
LENGTH, STEPS, RATE, ROWS = 320, 300, 0.03, 2
PURE_HEAD, PURE_NEURON = 0.9, 0.99


@dataclass(frozen=True)
class Beginnings:
    """Beginnings of stories, all of one length: those that plants are fitted on, and those that they are held to."""

    fitted: Int[Tensor, "row pos"]
    held_out: Int[Tensor, "row pos"]

    @classmethod
    def of(cls, model: LanguageModel, texts: Sequence[str]) -> "Beginnings":
        ids = story_tokenizer_of(model).encode(texts)
        length = min(LENGTH, spec_of(model).n_ctx, int(np.median([len(row) for row in ids])))
        rows = torch.tensor([row[:length] for row in ids if len(row) >= length])
        half = (len(rows) + 1) // 2
        return cls(rows[:half], rows[half:])


@gradients()
def copies(
    model: LanguageModel, vocabulary: Vocabulary, texts: Sequence[str], *, seed: int = 0
) -> tuple[list[Planted], list[str]]:
    """Copies of the model that together hold each of `PLANTS` in one head, and each of `NEURONS` in every layer; and
    the plants that this model cannot carry. What is not planted is not judged."""
    spec, rows = spec_of(model), Beginnings.of(model, texts)
    made, lost = list[Planted](), list[str]()
    carried = [name for name in NEURONS if vocabulary.told.get(name, 1.0) >= PURE_HEAD]
    lost += [f"{name} ({vocabulary.told[name]:.0%} told by tokens)" for name in NEURONS if name not in carried]
    for first in range(0, len(PLANTS), spec.n_layers):
        copied, heads, neurons = model, dict[Place, str](), dict[Place, str]()
        for layer in range(spec.n_layers):  # in this order: what is planted changes what later layers read
            for name in PLANTS[first + layer : first + layer + 1]:
                head = int(draw(torch.tensor(seed), torch.tensor(layer))) % spec.n_heads
                copied, share = _with_head(copied, vocabulary, rows, (layer, head), name, seed)
                if share >= PURE_HEAD:
                    heads[layer, head] = name
                else:
                    lost.append(f"{name} in layer {layer} ({share:.0%} of its attention)")
            if not made:
                copied, found, missed = _with_neurons(copied, vocabulary, rows, layer, carried, seed)
                neurons |= found
                lost += missed
        made.append(Planted(copied, vocabulary, heads, neurons, writes=False))
    return made, lost


def check_can_carry(model: LanguageModel) -> None:
    """InputError for a model whose copies cannot carry plants of heads and of neurons."""
    spec = spec_of(model)
    if not spec.mlp_width:
        raise InputError("An audit plants heads and neurons, and this model has no neurons that are read.")
    if isinstance(spec, HookedSpec) and not (spec.scores_are_products and spec.positions == "learned"):
        raise InputError("An audit fits plants to this model only if it adds positions to the residual stream.")


def target(name: str, tokens: Int[Tensor, "row pos"], vocabulary: Vocabulary) -> Float[Tensor, "row query key"]:
    """The attention that a plant should have; where it has no key, it rests on BOS."""
    n = tokens.shape[1]
    at = torch.arange(n)
    distance = (at[:, None] - at).expand(len(tokens), n, n)
    offsets = {"previous token": 1, "self": 0, "offset 3": 3}
    if name in offsets:
        on = distance == offsets[name]
    elif name == "uniform":
        on = distance >= 0
    elif name == "fixed class":
        on = (distance >= 0) & vocabulary.flags["noun"][tokens][:, None]
    else:
        on = torch.zeros_like(distance, dtype=torch.bool)
    on = on.clone()
    on[:, :, 0] |= ~on.any(-1)
    return on.float() / on.sum(-1, keepdim=True)


def _read(model: LanguageModel, spec: Spec, tokens: Tensor, layer: int, part: str) -> Tensor:
    """What attention (`ln1`) or MLP (`ln2`) of a layer reads: the norm's output with its gain and bias."""
    before, between = (f"blocks.{layer}.hook_resid_{place}" for place in ("pre", "mid"))
    in_turn = between in forward.hook_names(spec)  # else attention and MLP read the same
    name = between if part == "ln2" and in_turn else before
    with torch.no_grad():
        stream = forward.activations(model, tokens, [name])[name]
        kind, gain = forward.norm_before(model, layer, part)
        read: Tensor = forward.norm(stream, *gain, spec.eps, kind)
        return read


def _with_head(
    model: LanguageModel, vocabulary: Vocabulary, rows: Beginnings, place: Place, name: str, seed: int
) -> tuple[LanguageModel, float]:
    """A copy with this head replaced, and the share of its attention that is where it should be on other stories."""
    spec, (layer, head) = spec_of(model), place
    grouped = spec.n_key_value_heads is not None
    key_head = head // (spec.n_heads // spec.key_value_heads)
    prefix, generator = f"blocks.{layer}.attn.", torch.Generator().manual_seed(seed)
    fitted = [0.05 * torch.randn(2, spec.d_model, spec.d_head, generator=generator), torch.zeros(2, 1, spec.d_head)]
    if name == "uniform":
        fitted[0].zero_()
    else:
        x, wanted = _read(model, spec, rows.fitted, layer, "ln1"), target(name, rows.fitted, vocabulary)
        _fit(fitted, spec, layer, x, wanted, generator)
    x, wanted = _read(model, spec, rows.held_out, layer, "ln1"), target(name, rows.held_out, vocabulary)
    with torch.no_grad():
        pattern = _scores(fitted, spec, layer, x).softmax(-1)
    share = float(torch.minimum(pattern, wanted).sum(-1)[:, 2:].mean())
    tensors = {key: value.clone() for key, value in weights(model).items()}
    tensors[prefix + "W_Q"][head], tensors[prefix + ("_W_K" if grouped else "W_K")][key_head] = fitted[0]
    if spec.biased:
        tensors[prefix + "b_Q"][head], tensors[prefix + "b_K"][key_head] = fitted[1][:, 0]
    return from_weights(spec, tensors, vocabulary.tokenizer, origin="a planted copy"), share


def _scores(fitted: list[Tensor], spec: Spec, layer: int, x: Float[Tensor, "row pos d_model"]) -> Tensor:
    weight, bias = fitted
    q, k = (x @ weight[i] + (bias[i] if spec.biased else 0.0) for i in (0, 1))
    q, k = q[:, :, None], k[:, :, None]
    if spec.positions == "rotary":
        cos_sin = forward.rotary_cos_sin(spec, torch.arange(x.shape[1]))
        q, k = (apply_rotary(part, cos_sin, spec.rotary_adjacent) for part in (q, k))
    return forward.attention_scores(spec, layer, q, k)[:, 0]


def _fit(fitted: list[Tensor], spec: Spec, layer: int, x: Tensor, wanted: Tensor, generator: torch.Generator) -> None:
    """Gradient descent (Adam) on the cross-entropy between wanted and given attention."""
    for tensor in fitted:
        tensor.requires_grad_(True)
    optimizer = torch.optim.Adam(fitted, lr=RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, STEPS)
    for _ in range(STEPS):
        chosen = torch.randint(len(x), (ROWS,), generator=generator)
        scores = _scores(fitted, spec, layer, x[chosen])
        log = torch.where(scores.isinf(), 0.0, scores.log_softmax(-1))
        loss = -(wanted[chosen] * log).sum(-1)[:, 1:].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    for tensor in fitted:
        tensor.requires_grad_(False)


def _with_neurons(
    model: LanguageModel, vocabulary: Vocabulary, rows: Beginnings, layer: int, names: Sequence[str], seed: int
) -> tuple[LanguageModel, dict[Place, str], list[str]]:
    """A copy with neurons of a layer replaced, those that do their work, and those that do not."""
    spec = spec_of(model)
    found, lost = dict[Place, str](), list[str]()
    tensors = {key: value.clone() for key, value in weights(model).items()}
    x = [_read(model, spec, tokens, layer, "ln2")[:, 1:].flatten(0, 1) for tokens in _both(rows)]
    for number, name in enumerate(names):
        place = (layer, (int(draw(torch.tensor(seed), torch.tensor(layer))) + number) % spec.mlp_width)
        area = _write_neuron(tensors, spec, place, x, [_fires(name, t, vocabulary) for t in _both(rows)])
        if area >= PURE_NEURON:
            found[place] = name
        else:
            lost.append(f"{name} in layer {layer} (AUROC {area:.3f})")
    return from_weights(spec, tensors, vocabulary.tokenizer, origin="a planted copy"), found, lost


def _both(rows: Beginnings) -> tuple[Tensor, Tensor]:
    return rows.fitted, rows.held_out


def _fires(name: str, tokens: Int[Tensor, "row pos"], vocabulary: Vocabulary) -> Tensor:
    """Whether a planted neuron should fire, on every token but BOS, row after row."""
    flag = {"nouns": "noun", "adjectives": "adjective"}.get(name)
    tokens = tokens[:, 1:].flatten()
    return tokens == vocabulary.word if flag is None else vocabulary.flags[flag][tokens]


def _write_neuron(
    tensors: dict[str, Tensor], spec: Spec, place: Place, x: Sequence[Tensor], fires: Sequence[Tensor]
) -> float:
    """Write a neuron that fires where it should on the first stories; its AUROC on the second."""
    from sklearn.linear_model import LogisticRegression

    layer, neuron = place
    gated = f"blocks.{layer}.mlp.W_gate" in tensors
    model = LogisticRegression(C=100.0, class_weight="balanced", max_iter=500, fit_intercept=not gated)
    if not fires[0].any() or not fires[1].any():
        return float("nan")
    model.fit(x[0].numpy(), fires[0].numpy())
    direction = torch.from_numpy(model.coef_[0]).float()
    for name in ("W_gate", "W_in") if gated else ("W_in",):
        tensors[f"blocks.{layer}.mlp.{name}"][:, neuron] = direction
    if not gated:
        tensors[f"blocks.{layer}.mlp.b_in"][neuron] = float(model.intercept_[0])
    return float(stats.auroc((x[1] @ direction).numpy(), fires[1].numpy()).estimate)
