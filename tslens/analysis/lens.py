"""What would the model say after each layer? (logit lens)

The residual stream between blocks is read as if it were the last: final norm, then unembedding (nostalgebraist 2020,
"interpreting GPT: the logit lens"). Weights are as trained: no norm is folded in, nothing is centred, and the final
norm measures each residual by its own scale.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward, stats
from tslens.models import Spec, spec_of, tokenizer_of
from tslens.result import Result
from tslens.scan import Batch

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from transformer_lens import HookedTransformer

ROWS = 256  # positions whose logits exist at a time
COLUMNS = 24  # positions in a figure


@dataclass(frozen=True, eq=False)
class LensOfPrompt(Result):
    """The logit lens over one text: what every depth would say next, at every position."""

    frame_axes: ClassVar[tuple[str, ...]] = ("depth", "pos")

    model: str
    """Name of the model's shape."""
    text: str
    """What was read."""
    tokens: list[str]
    """The tokens as text to show, BOS first."""
    depths: list[str]
    """Names of the depths: `embed` before any block, then the number of the block just passed."""
    top_tokens: list[list[list[str]]]
    """The likeliest next tokens as text, by depth, position and rank."""
    top_ids: Int[Tensor, "depth pos k"]
    """Their ids."""
    top_probability: Float[Tensor, "depth pos k"]
    """Their probabilities."""
    true_probability: Float[Tensor, "depth pos"]
    """Probability of the token that really comes next; NaN at the last position."""
    true_rank: Int[Tensor, "depth pos"]
    """Its rank, 1 for the likeliest; 0 at the last position, where none comes next."""
    entropy: Float[Tensor, "depth pos"]
    """Entropy of the next-token distribution, nats."""

    @property
    def axis_labels(self) -> Mapping[str, list[Any]]:
        return {"depth": self.depths}

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """As every Result's, with the token read and the likeliest next one, and its probability, as columns."""
        frame = super().to_frame(field)
        if field is None:
            frame.insert(2, "token", self.tokens * len(self.depths))
            frame.insert(3, "top_token", [best[0] for row in self.top_tokens for best in row])
            frame.insert(4, "top_probability", self.top_probability[..., 0].numpy().ravel())
        return frame

    def summary(self) -> "pd.DataFrame":
        """One row per position: the token, and the likeliest next token after every depth."""
        import pandas as pd

        columns: dict[str, list[Any]] = {"pos": list(range(len(self.tokens))), "token": self.tokens}
        for depth, row in zip(self.depths, self.top_tokens, strict=True):
            columns[depth] = [best[0] for best in row]
        columns["true next"] = [*self.tokens[1:], ""]
        columns["its rank"] = self.true_rank[-1].tolist()
        columns["its probability"] = self.true_probability[-1].tolist()
        return pd.DataFrame(columns)

    def figure(self, first: int = 0) -> "Figure":
        """The likeliest next token after each depth, the last on top, coloured by its probability.

        From position `first`, as many positions as a figure has room for.
        """
        from tslens import plots

        if not 0 <= first < len(self.tokens):
            raise ValueError(f"There is no position {first}: they run from 0 to {len(self.tokens) - 1}.")
        shown = slice(first, first + COLUMNS)
        return plots.heatmap(
            self.top_probability[:, shown, 0].flip(0),
            self.depths[::-1],
            self.tokens[shown],
            title=f"Logit lens of {self.model}: the likeliest next token",
            row_label="after block",
            column_label="token read",
            colour_label="its probability",
            limits=(0.0, 1.0),
            texts=[[_visible(best[0]) for best in row[shown]] for row in self.top_tokens[::-1]],
        )


def _visible(token: str) -> str:
    """The token as it is shown in a cell: no margin, and something to see where it is all margin."""
    return token.strip() or token.replace(" ", "␣").replace("\n", "↵")


@dataclass(frozen=True, eq=False)
class LensByDepth(Result):
    """The logit lens over a corpus, by depth. Intervals are 95%, over whole stories."""

    frame_axes: ClassVar[tuple[str, ...]] = ("depth",)

    model: str
    """Name of the model's shape."""
    stories: int
    """Stories that were read."""
    tokens: int
    """Tokens that were predicted."""
    depths: list[str]
    """Names of the depths: `embed` before any block, then the number of the block just passed."""
    loss: Float[Tensor, " depth"]
    """Cross-entropy of the next token, nats per token."""
    loss_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    loss_high: Float[Tensor, " depth"]
    """Upper end of its interval."""
    kl: Float[Tensor, " depth"]
    """KL divergence of the final distribution from this depth's, nats per token."""
    kl_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    kl_high: Float[Tensor, " depth"]
    """Upper end of its interval."""
    agreement: Float[Tensor, " depth"]
    """Share of positions where this depth's likeliest token is the final one's."""
    agreement_low: Float[Tensor, " depth"]
    """Lower end of its interval."""
    agreement_high: Float[Tensor, " depth"]
    """Upper end of its interval."""

    @property
    def axis_labels(self) -> Mapping[str, list[Any]]:
        return {"depth": self.depths}

    def figure(self) -> "Figure":
        """Loss and divergence from the last depth, and agreement with it, by depth; bands are the intervals."""
        from tslens import plots

        common = {"x_label": "after block", "ticks": self.depths}
        nats = {
            "series": {"loss": self.loss, "KL of the final from this": self.kl},
            "bands": {
                "loss": (self.loss_low, self.loss_high),
                "KL of the final from this": (self.kl_low, self.kl_high),
            },
            "title": f"Logit lens of {self.model}",
            "y_label": "nats per token",
        }
        share = {
            "series": {"agreement": self.agreement},
            "bands": {"agreement": (self.agreement_low, self.agreement_high)},
            "title": "Same likeliest token as the final",
            "y_label": "share of positions",
        }
        return plots.panels(nats | common, share | common)


def hooks(spec: Spec) -> list[str]:
    """The residual stream at every depth: before each block, and after the last."""
    return [f"blocks.{i}.hook_resid_pre" for i in range(spec.n_layers)] + [
        f"blocks.{spec.n_layers - 1}.hook_resid_post"
    ]


def depth_names(spec: Spec) -> list[str]:
    """What the depths are called: `embed`, then the number of the block just passed."""
    return ["embed", *map(str, range(spec.n_layers))]


@dataclass(frozen=True)
class Head:
    """What turns a residual into log-probabilities: the final norm and the unembedding, as trained."""

    spec: Spec
    norm: tuple[Tensor, Tensor | None]
    unembedding: Float[Tensor, "d_model d_vocab"]

    @classmethod
    def of(cls, model: "HookedTransformer") -> "Head":
        """The head of this model, without gradients."""
        bias = getattr(model.ln_final, "b", None)
        norm = (model.ln_final.w.detach(), None if bias is None else bias.detach())
        return cls(spec_of(model), norm, model.unembed.W_U.detach())

    def log_probabilities(self, residual: Float[Tensor, "row d_model"]) -> Float[Tensor, "row d_vocab"]:
        """Of the next token, read from this residual as if it were the last."""
        normed = forward.norm(residual.float(), *self.norm, self.spec.eps, self.spec.style)
        return (normed @ self.unembedding).log_softmax(-1)


def prompt(model: "HookedTransformer", text: str, k: int = 5) -> LensOfPrompt:
    """The logit lens over one text: after every depth and at every position, the `k` likeliest next tokens and what
    is said of the true one.

    Raises:
        ValueError: the text is empty or longer than the model's context, or `k` is not within the vocabulary.
    """
    spec, tokenizer, head = spec_of(model), tokenizer_of(model), Head.of(model)
    ids = tokenizer.encode([text])[0]
    if len(ids) < 2:
        raise ValueError("The prompt is empty: there is no next token to read. Give at least one word.")
    if len(ids) > spec.n_ctx:
        raise ValueError(
            f"The prompt is {len(ids)} tokens long with BOS, and this model's context is {spec.n_ctx}. "
            f"Cut it by at least {len(ids) - spec.n_ctx} tokens."
        )
    if not 1 <= k <= tokenizer.size:
        raise ValueError(f"k is {k}; it must be from 1 to the vocabulary's {tokenizer.size:,}.")
    device = next(model.parameters()).device
    tokens = torch.tensor(ids, device=device)
    with torch.inference_mode():
        seen = forward.activations(model, tokens[None], hooks(spec))
        depths = [_read(head, seen[name][0], tokens, k) for name in hooks(spec)]
    top_ids, top, true, rank, entropy = (torch.stack(parts).cpu().clone() for parts in zip(*depths, strict=True))
    return LensOfPrompt(
        model=spec.name,
        text=text,
        tokens=tokenizer.pieces(ids),
        depths=depth_names(spec),
        top_tokens=[[tokenizer.pieces(best) for best in row] for row in top_ids.tolist()],
        top_ids=top_ids,
        top_probability=top,
        true_probability=true,
        true_rank=rank,
        entropy=entropy,
    )


def _read(head: Head, residual: Tensor, tokens: Tensor, k: int) -> tuple[Tensor, ...]:
    """Top ids and probabilities, probability and rank of the true next token, and entropy, by position."""
    logp = torch.cat([head.log_probabilities(rows) for rows in residual.split(ROWS)])
    top = logp.topk(k)
    true = logp[:-1].gather(1, tokens[1:, None])
    rank = 1 + (logp[:-1] > true).sum(1)
    return (
        top.indices,
        top.values.exp(),
        torch.nn.functional.pad(true[:, 0].exp(), (0, 1), value=torch.nan),
        torch.nn.functional.pad(rank, (0, 1)),
        -(logp.exp() * logp).nan_to_num(0.0).sum(-1),
    )


@dataclass
class State:
    """The model's head, and sums over tokens by group of stories."""

    head: Head
    stories: Float[Tensor, " group"]
    tokens: Float[Tensor, " group"]
    sums: Float[Tensor, "group measure depth"]
    """Loss, KL and agreement."""


@dataclass(frozen=True)
class Depth:
    """A reducer for `LensByDepth`: the logit lens over a corpus.

    Every next token within the story is predicted; logits exist for a few hundred positions at a time.
    """

    groups: int = 32
    """Groups of stories behind the intervals (delete-a-group jackknife)."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The residual stream at every depth."""
        return hooks(spec)

    def start(self, model: "HookedTransformer") -> State:
        """No stories yet, and the model's head."""
        head, g = Head.of(model), self.groups
        sums = torch.zeros(g, 3, head.spec.n_layers + 1, dtype=torch.float64)
        return State(head, torch.zeros(g, dtype=torch.float64), torch.zeros(g, dtype=torch.float64), sums)

    def update(self, state: State, activations: Mapping[str, Tensor], batch: Batch) -> State:
        """Add the tokens of a batch."""
        residuals = [activations[name] for name in hooks(state.head.spec)]
        predicted = batch.mask[:, 1:].to(residuals[0].device)
        targets = batch.tokens[:, 1:].to(residuals[0].device)[predicted]
        groups = (batch.stories % self.groups)[:, None].expand(batch.mask[:, 1:].shape)[batch.mask[:, 1:]]
        rows = [residual[:, :-1][predicted] for residual in residuals]
        for part, found in _measured(state.head, rows, targets):
            state.sums.index_add_(0, groups[part], found.double().cpu())
        state.tokens.index_add_(0, groups, torch.ones(len(groups), dtype=torch.float64))
        state.stories.index_add_(0, batch.stories % self.groups, torch.ones(len(batch.stories), dtype=torch.float64))
        return state

    def merge(self, a: State, b: State) -> State:
        """Sums add up."""
        return State(a.head, a.stories + b.stories, a.tokens + b.tokens, a.sums + b.sums)

    def finish(self, state: State) -> LensByDepth:
        """Means per token, with intervals over groups of stories (NaN where fewer than four stories were read)."""
        some = state.tokens > 0
        sums, tokens = state.sums[some], state.tokens[some, None, None]
        if not len(sums):
            raise ValueError("No story has two tokens: there is nothing to predict. Give stories of at least a word.")
        mean = sums.sum(0) / tokens.sum()
        low = high = torch.full_like(mean, torch.nan)
        if len(sums) >= 4:
            without = (sums.sum(0) - sums) / (tokens.sum() - tokens)
            interval = stats.jackknife(mean.numpy(), without.numpy())
            low, high = torch.as_tensor(interval.low), torch.as_tensor(interval.high)
        fields = {
            f"{name}{end}": values[i].float()
            for i, name in enumerate(("loss", "kl", "agreement"))
            for end, values in (("", mean), ("_low", low), ("_high", high))
        }
        return LensByDepth(
            model=state.head.spec.name,
            stories=int(state.stories.sum()),
            tokens=int(state.tokens.sum()),
            depths=depth_names(state.head.spec),
            **fields,
        )


def _measured(head: Head, rows: list[Tensor], targets: Tensor) -> Iterator[tuple[slice, Float[Tensor, "row 3 depth"]]]:
    """Loss, KL from this depth to the last, and agreement with the last, a few rows at a time."""
    for start in range(0, len(targets), ROWS):
        part = slice(start, min(start + ROWS, len(targets)))
        final = head.log_probabilities(rows[-1][part])
        weights, best = final.exp(), final.argmax(-1)
        own = torch.linalg.vecdot(weights, final)
        found = []
        for residual in rows:
            logp = final if residual is rows[-1] else head.log_probabilities(residual[part])
            loss = -logp.gather(1, targets[part, None])[:, 0]
            kl = own - torch.linalg.vecdot(weights, logp)
            found.append(torch.stack([loss, kl, (logp.argmax(-1) == best).float()], dim=1))
        yield part, torch.stack(found, dim=2)
