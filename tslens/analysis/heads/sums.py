"""Sums over a head's attention, story by story, from one pass.

Everything is a sum over queries, kept per group of stories. The sums of two corpora add, and leaving a group out gives
the intervals. Queries count from the third position on: the first two can attend only to BOS and themselves.
"""

import dataclasses
from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens.analysis.heads.keys import BOS, N_CLASSES, N_CONTENT, Keys
from tslens.result import axes_of

Added = TypeVar("Added", bound="AddedSums")

FIRST = 2  # the first query that is counted


@dataclasses.dataclass
class AddedSums:
    """What dataclasses of sums have in common: two are added field by field."""

    def plus(self: Added, other: Added) -> Added:
        """The sums of both."""
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in dataclasses.fields(self)))


@dataclasses.dataclass
class Sums:
    """Sums over queries, for each group of stories, in double precision except for `pattern`, which is large."""

    stories: Float[Tensor, " group"]
    """Stories."""
    correlated: Float[Tensor, " group"]
    """Stories long enough for a correlation."""
    queries: Float[Tensor, " group"]
    """Queries that are counted."""
    at_position: Float[Tensor, "group pos"]
    """Queries at each position."""
    log_visible: Float[Tensor, "group layer"]
    """Entropy of uniform attention, nats."""
    entropy: Float[Tensor, "group layer head"]
    """Entropy of the attention, nats."""
    distance: Float[Tensor, "group layer head"]
    """Mean distance to the keys, tokens."""
    r_full: Float[Tensor, "group layer head"]
    """Correlation of weight and distance over the full square, one value per story."""
    r_causal: Float[Tensor, "group layer head"]
    """The same over the causal half."""
    pattern: Float[Tensor, "group layer head pos pos"]
    """Attention by query and key, at the first positions."""
    pattern_entropy: Float[Tensor, "group layer head pos"]
    """Entropy of the attention by query, at the first positions, nats."""
    class_queries: Float[Tensor, "group layer key_class"]
    """Queries that have a key of the class."""
    class_uniform: Float[Tensor, "group layer key_class"]
    """Mass that uniform attention puts on the class, over these queries (as in the fields below)."""
    class_mass: Float[Tensor, "group layer head key_class"]
    """Mass on the class."""
    class_explained: Float[Tensor, "group layer head key_class"]
    """Nats of the KL divergence from uniform attention that the class explains."""
    class_kl: Float[Tensor, "group layer head key_class"]
    """Nats of the KL divergence that the class could explain: all of them for BOS, those off BOS for the others."""
    matched_keys: Float[Tensor, "group layer content"]
    """Keys of a content class that have a null key."""
    excess_mass: Float[Tensor, "group layer head content"]
    """Mass on these keys minus mass on their null keys."""

    @classmethod
    def zeros(
        cls, n_groups: int, n_layers: int, n_heads: int, positions: int, device: torch.device | str = "cpu"
    ) -> "Sums":
        """All sums at 0."""
        sizes = {"group": n_groups, "layer": n_layers, "head": n_heads, "pos": positions}
        sizes |= {"key_class": N_CLASSES, "content": N_CONTENT}

        def of(field: "dataclasses.Field[Tensor]") -> Tensor:
            shape = [sizes[axis] for axis in (axes_of(cls, field.name) or ())]
            dtype = torch.float32 if field.name == "pattern" else torch.float64
            return torch.zeros(shape, dtype=dtype, device=device)

        return cls(**{field.name: of(field) for field in dataclasses.fields(cls)})

    def tensors(self) -> dict[str, Tensor]:
        """Every sum by its name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __add__(self, other: "Sums") -> "Sums":
        theirs = other.tensors()
        return Sums(**{name: total + theirs[name].to(total.device) for name, total in self.tensors().items()})

    def present(self) -> "Sums":
        """The sums of the groups that have a story, on the CPU."""
        kept = self.stories > 0
        return Sums(**{name: total[kept].cpu() for name, total in self.tensors().items()})


def add_batch(sums: Sums, keys: Keys) -> None:
    """Add the sums that do not depend on a layer: stories, and queries by position."""
    positions = sums.at_position.shape[1]
    here = keys.real[:, :positions]
    _add(sums.stories, keys, torch.ones(len(keys.groups)))
    _add(sums.correlated, keys, (keys.lengths > FIRST).double())
    _add(sums.at_position[:, : here.shape[1]], keys, here.double())
    _add(sums.queries, keys, keys.real[:, FIRST:].sum(1).double())


def attend(scores: Float[Tensor, "batch head query key"]) -> tuple[Tensor, Float[Tensor, "batch head query"]]:
    """The pattern of finite scores, and its entropy in nats.

    Entropy is log Z - E[score], with log Z from the likeliest key, so no logarithm of every weight is taken.
    """
    pattern = scores.softmax(-1)
    log_z = scores.amax(-1) - pattern.amax(-1).log()
    return pattern, (log_z - torch.linalg.vecdot(pattern, scores)).clamp(min=0)


def add_layer(
    sums: Sums,
    layer: int,
    pattern: Float[Tensor, "batch head query key"],
    entropy: Float[Tensor, "batch head query"],
    keys: Keys,
) -> None:
    """Add one layer's attention. Modifies both arrays: sets padding to zero."""
    pattern *= keys.real[:, None, :, None]
    entropy *= keys.real[:, None]
    distance = _distance(pattern)
    _add_correlations(sums, layer, pattern, distance, keys)
    _add_positions(sums, layer, pattern, entropy, keys)

    counted = keys.real.clone()
    counted[:, :FIRST] = False
    log_visible = keys.visible.sum(-1).double().log()
    _add(sums.log_visible[:, layer], keys, (log_visible * counted).sum(1))
    _add(sums.entropy[:, layer], keys, (entropy * counted[:, None]).sum(2))
    _add(sums.distance[:, layer], keys, (distance * counted[:, None]).sum(2))
    _add_classes(sums, layer, pattern, log_visible - entropy, counted, keys)


def _add(total: Tensor, keys: Keys, values: Float[Tensor, "batch *rest"]) -> None:
    total.index_add_(0, keys.groups.to(total.device), values.to(total.device, total.dtype))


def _distance(pattern: Tensor) -> Float[Tensor, "batch head query"]:
    """Mean distance from each query to its keys (0 for padding, whose rows are zero)."""
    at = torch.arange(pattern.shape[-1], device=pattern.device, dtype=pattern.dtype)
    return at * pattern.sum(-1) - pattern @ at


def _add_correlations(sums: Sums, layer: int, pattern: Tensor, distance: Tensor, keys: Keys) -> None:
    """Pearson's r between attention weight and token distance, story by story: full square and causal half."""
    n = keys.lengths.double()[:, None]
    weight = n  # each of the n rows adds up to 1
    squares = torch.linalg.vector_norm(pattern, dim=(-2, -1)).double() ** 2
    product = distance.sum(-1).double()
    enough = keys.lengths[:, None] > FIRST
    whole = (n**2, n * (n**2 - 1) / 3, n**2 * (n**2 - 1) / 6)  # cells, sum of |i - j|, sum of its square
    half = (n * (n + 1) / 2, n * (n**2 - 1) / 6, n**2 * (n**2 - 1) / 12)
    for total, (cells, d, d2) in ((sums.r_full, whole), (sums.r_causal, half)):
        spread = (cells * squares - weight**2).clamp(min=0) * (cells * d2 - d**2)
        r = (cells * product - weight * d) / spread.sqrt()
        _add(total[:, layer], keys, torch.where(enough & (spread > 0), r, 0.0))


def _add_positions(sums: Sums, layer: int, pattern: Tensor, entropy: Tensor, keys: Keys) -> None:
    """The pattern itself over the first positions: its mean is what a head does regardless of the story."""
    n = min(sums.pattern.shape[-1], pattern.shape[-1])
    _add(sums.pattern[:, layer, :, :n, :n], keys, pattern[:, :, :n, :n])
    _add(sums.pattern_entropy[:, layer, :, :n], keys, entropy[:, :, :n])


def _add_classes(
    sums: Sums, layer: int, pattern: Tensor, kl: Tensor, counted: Bool[Tensor, "batch query"], keys: Keys
) -> None:
    """Attention mass on each class of keys, and how much of the KL divergence from uniform the class explains.

    With m the mass on a class and u its share of the keys, kl(m, u) is at most KL(pattern, uniform) (relative entropy
    never grows when keys are merged), so their ratio is a share. BOS is split off first, exactly:
    KL = kl(on BOS, 1/n) + (1 - on BOS) KL(the rest, uniform over the rest). The other classes are shares of the
    second term, so a head that attends to BOS when it has nothing to do is still classified by what it does otherwise.
    """
    visible = keys.visible.sum(-1).double()
    bos_visible = keys.visible[:, 0].double()
    on_bos = (pattern[..., 0] * bos_visible).double()
    bos_explains = _coin_kl(on_bos, bos_visible / visible)
    rest, left = (kl - bos_explains).clamp(min=0), (1 - on_bos).clamp(min=0)

    previous = torch.nn.functional.pad(torch.diagonal(pattern, -1, -2, -1).double(), (1, 0))
    sizes = [bos_visible, torch.ones_like(visible), (visible > 1).double(), *keys.sizes.transpose(0, 1)]
    content = _add_content(sums, layer, pattern, keys)
    masses = [on_bos, torch.diagonal(pattern, 0, -2, -1).double(), previous, *content]
    for which, (mass, size) in enumerate(zip(masses, sizes, strict=True)):
        asked = (counted & (size > 0)).double()  # [batch query]
        if which == BOS:
            explained, total = torch.sign(mass - size / visible) * bos_explains, kl
        else:
            share = (mass / left.clamp(min=1e-9)).clamp(max=1)
            uniform = (size / (visible - bos_visible)).expand(len(asked), -1)[:, None]
            explained = torch.sign(share - uniform) * left * _coin_kl(share, uniform)
            total = torch.maximum(rest, explained.abs())  # rounding aside, rest is the greater
        _add(sums.class_queries[:, layer, which], keys, asked.sum(1))
        _add(sums.class_uniform[:, layer, which], keys, (size / visible * asked).sum(1))
        _add(sums.class_mass[:, layer, :, which], keys, (mass * asked[:, None]).sum(2))
        _add(sums.class_explained[:, layer, :, which], keys, (explained * asked[:, None]).sum(2))
        _add(sums.class_kl[:, layer, :, which], keys, (total * asked[:, None]).sum(2))


def _add_content(sums: Sums, layer: int, pattern: Tensor, keys: Keys) -> Float[Tensor, "content batch head query"]:
    """Mass on each content class; adds the excess of matched keys over their null keys. Few keys are in a class or a
    null, so only those are read."""
    batch, heads, n, _ = pattern.shape
    which, story, query, key = keys.content.unbind(1)
    on_keys = pattern[story, :, query, key].double()
    mass = torch.zeros(N_CONTENT * batch * n, heads, dtype=torch.float64, device=pattern.device)
    mass.index_add_(0, (which * batch + story) * n + query, on_keys)

    at, null = keys.matched, keys.null[keys.matched]
    which, story = which[at], story[at]
    excess = on_keys[at] - pattern[story, :, query[at], null].double()
    by_story = torch.zeros(batch * N_CONTENT, heads, dtype=torch.float64, device=pattern.device)
    by_story.index_add_(0, story * N_CONTENT + which, excess)
    _add(sums.excess_mass[:, layer], keys, by_story.view(batch, N_CONTENT, heads).transpose(1, 2))
    number = torch.bincount(story * N_CONTENT + which, minlength=batch * N_CONTENT)
    _add(sums.matched_keys[:, layer], keys, number.view(batch, N_CONTENT).double())
    return mass.view(N_CONTENT, batch, n, heads).transpose(2, 3)


def _coin_kl(m: Tensor, f: Tensor) -> Tensor:
    """KL divergence of Bernoulli(m) from Bernoulli(f), nats; 0 where f is 0 or 1."""
    inside = f.clamp(1e-9, 1 - 1e-9)
    m = m.clamp(0, 1)
    value = torch.xlogy(m, m / inside) + torch.xlogy(1 - m, (1 - m) / (1 - inside))
    return torch.where((f > 0) & (f < 1), value, 0.0).clamp(min=0)
