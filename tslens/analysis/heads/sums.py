"""What is added up about a head's attention, story by story, so that one pass is enough?

Everything is a sum over queries, kept per group of stories. Two corpora merge by adding, and leaving a group out
gives the intervals. A query is counted from the third position on: the first two have BOS and at most themselves to
look at.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

FIRST = 2  # the first query that is counted
BOS, SELF, PREVIOUS, DUPLICATE, INDUCTION = range(5)  # the classes of keys, in the order of `result.CLASSES`
N_CLASSES = 5

Sums = dict[str, Tensor]


@dataclass(frozen=True)
class Keys:
    """Which keys of a batch belong to which class, whatever the head."""

    real: Bool[Tensor, "batch query"]
    """True on tokens of a story."""
    visible: Bool[Tensor, "query key"]
    """True where a query may look."""
    content: Int[Tensor, "found 4"]
    """Which content class, story, query and key: keys that duplicate the query's token (0), keys that follow such a
    duplicate (1), and the same two where another story of the batch has them (2, 3)."""
    sizes: Float[Tensor, "batch content query"]
    """How many keys of each content class a query has."""
    lengths: Int[Tensor, " batch"]
    """Tokens of each story, BOS included."""
    groups: Int[Tensor, " batch"]
    """The group that each story belongs to."""
    n_groups: int
    """How many groups there are."""


def keys_of(
    tokens: Int[Tensor, "batch pos"],
    mask: Bool[Tensor, "batch pos"],
    visible: Bool[Tensor, "pos pos"],
    groups: Int[Tensor, " batch"],
    n_groups: int,
) -> Keys:
    """The classes of keys of a batch; BOS is in none of the content classes.

    The null of a content class is the story next to it in the batch: same queries, same head, about the same
    positions, but the keys are where *that* story has its duplicates. So it depends on which stories share a batch,
    and a batch of one story has no null: where all are such, the content claims have neither p nor role.
    """
    looks = visible & torch.ones_like(visible).tril(-1)
    looks[:, 0] = False
    duplicate = (tokens[:, :, None] == tokens[:, None, :]) & looks
    follows = torch.zeros_like(duplicate)
    follows[:, :, 2:] = (tokens[:, :, None] == tokens[:, None, 1:-1]) & looks[:, 2:]
    content = torch.stack([duplicate, follows], dim=1)
    other = content.roll(1, dims=0) if len(tokens) > 1 else torch.zeros_like(content)
    content = torch.cat([content, other], dim=1) & mask[:, None, :, None]
    places = content.transpose(0, 1).nonzero()
    return Keys(mask, visible, places, content.sum(-1).double(), mask.sum(1), groups, n_groups)


def zeros(n_groups: int, n_layers: int, n_heads: int, positions: int, device: torch.device | str = "cpu") -> Sums:
    """All sums at nothing. `pattern` is the one that is large, and so it alone is in single precision."""
    g, layers, heads = n_groups, n_layers, n_heads
    shapes = {
        "stories": (g,),
        "squares": (g,),
        "at_position": (g, positions),
        "queries": (g,),
        "log_visible": (g, layers),
        "entropy": (g, layers, heads),
        "distance": (g, layers, heads),
        "r_full": (g, layers, heads),
        "r_causal": (g, layers, heads),
        "pattern_entropy": (g, layers, heads, positions),
        "class_queries": (g, layers, N_CLASSES),
        "class_fair": (g, layers, N_CLASSES),
        "class_mass": (g, layers, heads, N_CLASSES),
        "class_explained": (g, layers, heads, N_CLASSES),
        "class_departure": (g, layers, heads, N_CLASSES),
        "null_queries": (g, layers, 2),
        "null_mass": (g, layers, heads, 2),
    }
    sums = {name: torch.zeros(shape, dtype=torch.float64, device=device) for name, shape in shapes.items()}
    sums["pattern"] = torch.zeros(g, layers, heads, positions, positions, device=device)
    return sums


def add_batch(sums: Sums, keys: Keys) -> None:
    """Add what does not depend on a layer: stories, and queries by position."""
    positions = sums["at_position"].shape[1]
    here = keys.real[:, :positions]
    _add(sums["stories"], keys, torch.ones(len(keys.groups)))
    _add(sums["squares"], keys, (keys.lengths > FIRST).double())
    _add(sums["at_position"][:, : here.shape[1]], keys, here.double())
    _add(sums["queries"], keys, keys.real[:, FIRST:].sum(1).double())


def attend(scores: Float[Tensor, "batch head query key"]) -> tuple[Tensor, Float[Tensor, "batch head query"]]:
    """The pattern of finite scores, and its entropy in nats.

    Entropy is log Z - E[score], with log Z read off the likeliest key: no logarithm of every weight is taken.
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
    """Add one layer's attention. Both arrays are changed: on padding they become zero."""
    pattern *= keys.real[:, None, :, None]
    entropy *= keys.real[:, None]
    distance = _distance(pattern)
    _add_correlations(sums, layer, pattern, distance, keys)
    _add_positions(sums, layer, pattern, entropy, keys)

    counted = keys.real.clone()
    counted[:, :FIRST] = False
    log_visible = keys.visible.sum(-1).double().log()
    _add(sums["log_visible"][:, layer], keys, (log_visible * counted).sum(1))
    _add(sums["entropy"][:, layer], keys, (entropy * counted[:, None]).sum(2))
    _add(sums["distance"][:, layer], keys, (distance * counted[:, None]).sum(2))
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
    for name, (cells, d, d2) in {"r_full": whole, "r_causal": half}.items():
        spread = (cells * squares - weight**2).clamp(min=0) * (cells * d2 - d**2)
        r = (cells * product - weight * d) / spread.sqrt()
        _add(sums[name][:, layer], keys, torch.where(enough & (spread > 0), r, 0.0))


def _add_positions(sums: Sums, layer: int, pattern: Tensor, entropy: Tensor, keys: Keys) -> None:
    """The pattern itself over the first positions: its mean is what a head does whatever the story."""
    n = min(sums["pattern"].shape[-1], pattern.shape[-1])
    _add(sums["pattern"][:, layer, :, :n, :n], keys, pattern[:, :, :n, :n])
    _add(sums["pattern_entropy"][:, layer, :, :n], keys, entropy[:, :, :n])


def _add_classes(
    sums: Sums, layer: int, pattern: Tensor, departure: Tensor, counted: Bool[Tensor, "batch query"], keys: Keys
) -> None:
    """Attention mass on each class of keys, and how much of the departure from uniform the class explains.

    With m the mass on a class and f the share of the keys that it is, kl(m, f) is at most KL(pattern, uniform)
    (relative entropy never grows when keys are lumped together), so their ratio is a share. BOS is taken out first,
    exactly: KL = kl(on BOS, 1/n) + (1 - on BOS) KL(the rest, uniform over the rest). The other classes share out the
    second term, so that a head which rests on BOS when it has nothing to do is still known by what it does.
    """
    visible = keys.visible.sum(-1).double()
    bos_visible = keys.visible[:, 0].double()
    on_bos = (pattern[..., 0] * bos_visible).double()
    on_bos_explains = _kl(on_bos, bos_visible / visible)
    rest = (departure - on_bos_explains).clamp(min=0)

    content = _content_mass(pattern, keys)
    diagonals = [torch.diagonal(pattern, offset, -2, -1).double() for offset in (0, -1)]
    previous = torch.nn.functional.pad(diagonals[1], (1, 0))
    can_look_back = (visible > 1).double()
    candidates = [bos_visible, torch.ones_like(visible), can_look_back, *keys.sizes.transpose(0, 1)]
    masses = [on_bos, diagonals[0], previous, *content]

    for which, (mass, size) in enumerate(zip(masses, candidates, strict=True)):
        asked = (counted & (size > 0)).double()  # [batch query]
        if which >= N_CLASSES:
            _add(sums["null_queries"][:, layer, which - N_CLASSES], keys, asked.sum(1))
            _add(sums["null_mass"][:, layer, :, which - N_CLASSES], keys, (mass * asked[:, None]).sum(2))
            continue
        if which == BOS:
            explained, total = torch.sign(mass - size / visible) * on_bos_explains, departure
        else:
            left = (1 - on_bos).clamp(min=0)
            share, fair = (
                (mass / left.clamp(min=1e-9)).clamp(max=1),
                (size / (visible - bos_visible)).expand(len(asked), -1)[:, None],
            )
            explained = torch.sign(share - fair) * left * _kl(share, fair)
            total = torch.maximum(rest, explained.abs())  # rounding aside, rest is the greater
        _add(sums["class_queries"][:, layer, which], keys, asked.sum(1))
        _add(sums["class_fair"][:, layer, which], keys, (size / visible * asked).sum(1))
        _add(sums["class_mass"][:, layer, :, which], keys, (mass * asked[:, None]).sum(2))
        _add(sums["class_explained"][:, layer, :, which], keys, (explained * asked[:, None]).sum(2))
        _add(sums["class_departure"][:, layer, :, which], keys, (total * asked[:, None]).sum(2))


def _content_mass(pattern: Tensor, keys: Keys) -> Float[Tensor, "content batch head query"]:
    """Mass on each content class. Few keys are in one, so only those are read."""
    batch, heads, n, _ = pattern.shape
    which, story, query, key = keys.content.unbind(1)
    mass = torch.zeros(4 * batch * n, heads, dtype=torch.float64, device=pattern.device)
    mass.index_add_(0, (which * batch + story) * n + query, pattern[story, :, query, key].double())
    return mass.view(4, batch, n, heads).transpose(2, 3)


def _kl(m: Tensor, f: Tensor) -> Tensor:
    """KL divergence of a coin with chance m from one with chance f, nats; 0 where f leaves no choice."""
    inside = f.clamp(1e-9, 1 - 1e-9)
    m = m.clamp(0, 1)
    value = torch.xlogy(m, m / inside) + torch.xlogy(1 - m, (1 - m) / (1 - inside))
    return torch.where((f > 0) & (f < 1), value, 0.0).clamp(min=0)
