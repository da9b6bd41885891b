"""Which tokens does a head look at, and what does it say about them? (its QK and OV circuits in tokens)

Elhage et al. 2021, "A mathematical framework for transformer circuits".
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.analysis.circuits.matrices import check_head, logit_matrix, rotation
from tslens.draws import check_seed
from tslens.models import name_of, spec_of, story_tokenizer_of
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tslens.models import LanguageModel

CELLS = 2**24  # of a product of tokens by tokens that exist at a time
COPIES = 5  # a token is copied if it is among this many that it makes likeliest


@dataclass(frozen=True, eq=False)
class TokensResult(Result):
    """The strongest pairs of tokens in one head's QK circuit (which query looks at which key) and OV circuit (which
    attended token makes which next token likelier), and whether the head copies.

    The head reads the token's embedding alone, through its norm; positions, and all that earlier blocks write, are left
    out, or of the latter all but the first MLP (`through`).
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("rank",)

    model: str
    """The model's name."""
    head: str
    """`layer.head`."""
    through: str
    """What is read: `embedding`, or `embedding and MLP 0`."""
    query: list[str]
    key: list[str]
    attended: list[str]
    promoted: list[str]
    qk: Float[Tensor, " rank"]
    """Attention score of the query and the key, less the query's mean over all keys."""
    ov: Float[Tensor, " rank"]
    """Logit that attending to the one token adds to the other, less the mean over attended tokens and over promoted
    ones; before the final norm's scale."""
    copying: float
    """Sum of the OV circuit's eigenvalues over the sum of their absolute values: 1 if the head copies, -1 if it does
    the opposite."""
    copying_null: float
    """Mean of the same with the unembedding turned at random."""
    copying_p: float
    """Share of random rotations that copy as much, two-sided, at least 1 / (draws + 1)."""
    copied: float
    """Share of tokens that are among the 5 which they make likeliest."""
    copied_chance: float
    """That share for a random order of the tokens."""

    def headline(self) -> str:
        """Whether the head copies."""
        return (
            f"Head {self.head} copies {self.copying:.2f} on a scale from -1 to 1 (turned at random "
            f"{self.copying_null:.2f}, p = {self.copying_p:.3f}): {self.copied:.0%} of tokens make themselves likelier "
            f"than nearly all others (by chance {self.copied_chance:.0%})."
        )

    def summary(self) -> "pd.DataFrame":
        """The pairs, side by side."""
        import pandas as pd

        columns = {"query": self.query, "key": self.key, "qk": self.qk}
        return pd.DataFrame(columns | {"attended": self.attended, "promoted": self.promoted, "ov": self.ov})

    def figure(self) -> "Figure":
        """Bars of the strongest OV pairs."""
        from tslens import plots

        names = [f"{a!r} → {b!r}" for a, b in zip(self.attended, self.promoted, strict=True)]
        copying = f"copying {self.copying:.2f} (random {self.copying_null:.2f}, p = {self.copying_p:.3f})"
        return plots.bars(names, self.ov, title=f"{self.model}, head {self.head}: {copying}", x_label="logit")


def tokens(
    model: "LanguageModel",
    layer: int,
    head: int,
    *,
    k: int = 20,
    through_mlp: bool = True,
    draws: int = 99,
    seed: int = 0,
) -> TokensResult:
    """The `k` strongest pairs of tokens of one head's QK and OV circuits, and its copying score with its null.

    `through_mlp` reads tokens as the first MLP leaves them (heads after the first layer only): tied models write a
    token's meaning there. No product of the whole vocabulary by itself is held.

    Raises:
        InputError: there is no such head.
    """
    check_seed(seed)
    check_head(spec := spec_of(model), layer, head)
    through = through_mlp and layer > 0 and spec.has_mlp
    with torch.inference_mode():
        stream, towards = read_tokens(model, through), logit_matrix(model)
        q, keys, v = _as_computed(model, stream, layer, head)
        out = forward.written(model, layer, "attn").weight[head]
        qk = top_pairs(q * spec.score_scale(layer), keys.T, k)
        ov = top_pairs(v, out @ towards, k)
        ranks = own_ranks(v, out @ towards)
        score = copying_score(out, towards @ v)
        generator, device = torch.Generator().manual_seed(seed), out.device
        turns = (rotation(spec.d_model, generator, spec).to(device) for _ in range(draws))
        drawn = torch.tensor([copying_score(out @ turn, towards @ v) for turn in turns])
    known = (tokenizer := story_tokenizer_of(model)).pieces(range(tokenizer.size))
    pieces = known + [""] * (len(stream) - len(known))
    return TokensResult(
        model=name_of(model),
        head=f"{layer}.{head}",
        through="embedding and MLP 0" if through else "embedding",
        query=[pieces[i] for i in qk[1].tolist()],
        key=[pieces[i] for i in qk[2].tolist()],
        attended=[pieces[i] for i in ov[1].tolist()],
        promoted=[pieces[i] for i in ov[2].tolist()],
        qk=qk[0].cpu(),
        ov=ov[0].cpu(),
        copying=score,
        copying_null=float(drawn.mean()),
        copying_p=(1 + int((drawn.abs() >= abs(score)).sum())) / (1 + draws),
        copied=float((ranks < COPIES).float().mean()),
        copied_chance=COPIES / len(stream),
    )


def read_tokens(model: "LanguageModel", through_mlp: bool) -> Float[Tensor, "token d_model"]:
    """The residual stream that holds one token alone: its embedding, and with `through_mlp` what the first MLP adds."""
    embeddings = forward.embeddings(model)
    if not through_mlp:
        return embeddings
    run = forward.EditedForward.of(model)
    parts = []
    for part in embeddings.split(max(1, CELLS // (8 * (run.spec.mlp_width or model.cfg.d_mlp)))):
        nothing = {"blocks.0.hook_attn_out": torch.zeros_like(part[:, None])}
        parts.append(run(part[:, None], nothing, last=0)[0][:, 0])
    return torch.cat(parts)


def _as_computed(
    model: "LanguageModel", stream: Float[Tensor, "token d_model"], layer: int, head: int
) -> list[Float[Tensor, "token d_head"]]:
    """Every token's query, key and value in one head (no rotation); values less their mean over tokens."""
    (kind, gain), block = forward.norm_before(model, layer), model.blocks[layer]
    read = forward.norm(stream, *gain, spec_of(model).eps, kind)
    q, k, v = (read @ getattr(block.attn, f"W_{n}")[head] + getattr(block.attn, f"b_{n}")[head] for n in "QKV")
    return [q, k, v - v.mean(0)]


def top_pairs(
    left: Float[Tensor, "row d_head"], right: Float[Tensor, "d_head column"], k: int
) -> tuple[Float[Tensor, " rank"], Int[Tensor, " rank"], Int[Tensor, " rank"]]:
    """The `k` largest entries of `left @ right`, less the mean of their row, with their rows and columns; the product
    is made some rows at a time."""
    right = right - right.mean(1, keepdim=True)  # takes the mean from every row of the product
    n, step = right.shape[1], max(1, CELLS // right.shape[1])
    best = (left[:step] @ right).flatten().topk(min(k, step * n, len(left) * n))
    values, places = best.values, best.indices
    for start in range(step, len(left), step):
        found = left[start : start + step] @ right
        better = (found > values[-1]).nonzero()  # few: far cheaper than to order them all
        values = torch.cat([values, found[better[:, 0], better[:, 1]]])
        places = torch.cat([places, (better[:, 0] + start) * n + better[:, 1]])
        values, order = values.topk(k)
        places = places[order]
    return values, places // n, places % n


def own_ranks(left: Float[Tensor, "token d_head"], right: Float[Tensor, "d_head token"]) -> Int[Tensor, " token"]:
    """How many entries of its row of `left @ right` are above the one on the diagonal, for every token."""
    step, ranks = max(1, CELLS // len(left)), []
    for start in range(0, len(left), step):
        rows = left[start : start + step] @ right
        own = rows.gather(1, torch.arange(start, start + len(rows), device=rows.device)[:, None])
        ranks.append((rows > own).sum(1))
    return torch.cat(ranks)


def copying_score(out: Float[Tensor, "d_head d_model"], read: Float[Tensor, "d_model d_head"]) -> float:
    """The sum of the eigenvalues of the OV circuit in tokens over the sum of their absolute values; they are those of a
    small matrix, since the eigenvalues of AB and BA are the same but for zeros."""
    found = torch.linalg.eigvals((out @ read).double())
    return float(found.sum().real / found.abs().sum().clamp(min=1e-30))
