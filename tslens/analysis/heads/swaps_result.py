"""Results of swaps and shifts: what decides each head's attention, and which roles the swaps contradict."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.heads.replaced import SWAPS, TOKENS, WORD
from tslens.analysis.heads.result import ROLES, RolesResult
from tslens.errors import InputError
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

VERDICTS = ("position decides", "content decides", "unresolved")
"""What a swap test says. `verdict_code` counts along this list."""
POSITION, CONTENT, UNRESOLVED = range(3)
Q = 0.05
LITTLE, MUCH = 1 / 3, 2 / 3
"""Position decides where the change is below the one, content where it is above the other, twice the share of position.
Planted heads lie far beyond: 0 if position decides, 0.85 or more if content does."""

KEYS = ("all keys", "keys but BOS")
"""The keys over which a change is measured."""

BY_POSITION = frozenset({"previous token", "positional", "BOS sink", "self"})
"""Roles that say that position decides."""
BY_NEITHER = frozenset({"diffuse", "unresolved"})
"""Roles that say nothing of what decides. Every other role says that content does."""
OF_ALL_KEYS = frozenset({"positional", "BOS sink", "content-dependent"})
"""Roles that are a claim about the whole attention; every other is one about the attention that is not on BOS."""


def verdicts(
    change: Float[Tensor, "keys swap layer head"], q: Float[Tensor, "keys swap layer head"]
) -> Int[Tensor, "keys layer head"]:
    """What decides: content where any tokens *and* any words change more than two thirds, position where both change
    less than one third, each with q < 0.05; else unresolved.

    Both are asked, because each errs to one side: tokens without order break up words, and so disturb what a head reads
    of a word's beginning and end; words of as many tokens leave that as it is.
    """
    asked, sure = change[:, [TOKENS, WORD]], q[:, [TOKENS, WORD]] < Q
    content, position = ((asked > MUCH) & sure).all(1), ((asked < LITTLE) & sure).all(1)
    return torch.where(content, CONTENT, torch.where(position, POSITION, UNRESOLVED))


@dataclass(frozen=True, eq=False)
class SwapsResult(Result):
    """How much every head's attention changes where words are replaced and where positions are shifted.

    0: nothing changes; 1: as much as between unrelated patterns of the same spread about uniform attention. Intervals
    are 95%, from the jackknife over stories. A local head's window counts tokens, so it moves with a shift.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head")
    axis_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"swap": SWAPS, "keys": KEYS}

    model: str
    """The model's name."""
    stories: int
    """Stories that were read."""
    copies: int
    """Copies of each story with half of their words replaced, of each kind of swap."""
    context: int
    """Tokens of a story that were read, at most."""
    replaced: float
    """Share of the tokens whose word can be replaced."""

    change: Float[Tensor, "keys swap layer head"]
    """Share of the attention's divergence from uniform (chi-square) that follows the words, where each is replaced: by
    any tokens, by any word of as many tokens, or by one of the same part of speech, capitals and frequency."""
    low: Float[Tensor, "keys swap layer head"]
    """Lower end of its interval."""
    high: Float[Tensor, "keys swap layer head"]
    """Upper end of its interval."""
    q: Float[Tensor, "keys swap layer head"]
    """False discovery rate of the claim that the share is below one third or above two thirds (Benjamini-Hochberg over
    all)."""

    beside: Float[Tensor, "swap layer head"]
    """Where half of the words are replaced, the change at unswapped keys from unswapped queries over the distance from
    uniform attention there: how far a pair depends on the words beside it. Near 0 in a first layer for any head."""
    beside_low: Float[Tensor, "swap layer head"]
    """Lower end of its interval."""
    beside_high: Float[Tensor, "swap layer head"]
    """Upper end of its interval."""

    shift: Float[Tensor, "keys layer head"]
    """Share of the divergence from uniform that follows the place in the story, where every position but that of BOS
    is shifted by 8 tokens or more; NaN where the context has no room."""
    shift_low: Float[Tensor, "keys layer head"]
    """Lower end of its interval."""
    shift_high: Float[Tensor, "keys layer head"]
    """Upper end of its interval."""

    verdict_code: Int[Tensor, "keys layer head"]
    """What decides, as its place in `VERDICTS`."""

    @property
    def verdicts(self) -> list[list[list[str]]]:
        """What decides where each head attends, over all keys and over those but BOS, by layer and head."""
        return [[[VERDICTS[code] for code in row] for row in keys] for keys in self.verdict_code.tolist()]

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per head, its fields by keys and kind of swap in columns of their own; with `field` as `Result`'s."""
        import pandas as pd

        if field is not None:
            return super().to_frame(field)
        layers, heads = self.verdict_code.shape[1:]
        columns: dict[str, Any] = {
            "layer": [layer for layer in range(layers) for _ in range(heads)],
            "head": list(range(heads)) * layers,
        }
        for i, keys in enumerate(KEYS):
            columns[f"verdict, {keys}"] = [verdict for row in self.verdicts[i] for verdict in row]
            for j, swap in enumerate(SWAPS):
                for name in ("change", "low", "high", "q"):
                    columns[f"{name}, {swap}, {keys}"] = getattr(self, name)[i, j].flatten().numpy()
            for name in ("shift", "shift_low", "shift_high"):
                columns[f"{name}, {keys}"] = getattr(self, name)[i].flatten().numpy()
        for j, swap in enumerate(SWAPS):
            columns[f"beside, {swap}"] = self.beside[j].flatten().numpy()
        return pd.DataFrame(columns)

    def summary(self) -> "pd.DataFrame":
        """What decides for every head, its change by each kind of swap, and by a shift; intervals are in `to_frame`."""
        changes = [f"change, {swap}, all keys" for swap in SWAPS]
        return self.to_frame()[["layer", "head", *(f"verdict, {keys}" for keys in KEYS), *changes, "shift, all keys"]]

    def figure(self) -> "Figure":
        """The change of every head by each kind of swap, and by a shift."""
        from tslens import plots

        names = [f"{layer}.{head}" for layer, row in enumerate(self.verdicts[0]) for head in range(len(row))]
        return plots.bars(
            names,
            self.change[0, TOKENS].flatten(),
            low=self.low[0, TOKENS].flatten(),
            high=self.high[0, TOKENS].flatten(),
            baseline=self.change[0, WORD].flatten(),
            title=f"Heads of {self.model}: how much of the attention follows the words",
            x_label="share of its divergence from uniform that other tokens change (mark: other words)",
        )


@dataclass(frozen=True, eq=False)
class AgreementResult(Result):
    """Which roles the swaps contradict. A contradicted role is withheld: read it as `unresolved`."""

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head")

    model: str
    """The model's name."""
    roles: list[list[str]]
    """The role of each head before any is withheld, by layer and head."""
    verdicts: list[list[str]]
    """What the swaps say decides where the role makes its claim: over all keys or those but BOS, by layer and head."""
    labelled: int
    """Heads whose role says what decides."""
    contradicted: int
    """Those for which the swaps say the opposite."""
    confirmed: int
    """Those for which the swaps say the same; the others the swaps leave open."""

    withheld: Bool[Tensor, "layer head"]
    """True where the role is contradicted."""
    against: Bool[Tensor, "swap layer head"]
    """Whether one kind of swap alone speaks against the role: its interval lies on the other side of one half. Random
    tokens break words up, so they err towards content; words of the same part of speech towards position."""

    @property
    def agreement(self) -> float:
        """The share of the labelled heads whose role the swaps do not contradict, before any is withheld."""
        return 1 - self.contradicted / self.labelled if self.labelled else float("nan")

    @property
    def kept(self) -> list[list[str]]:
        """The role of each head; `unresolved` where it is withheld."""
        pairs = zip(self.roles, self.withheld.tolist(), strict=True)
        return [["unresolved" if gone else role for role, gone in zip(*pair, strict=True)] for pair in pairs]

    def withhold(self, answer: RolesResult) -> RolesResult:
        """These roles, `unresolved` where one is withheld."""
        return replace(answer, role_code=torch.where(self.withheld, ROLES.index("unresolved"), answer.role_code))

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """As `Result.to_frame`, with role and verdict in words."""
        frame = super().to_frame(field)
        if field is None:
            for at, (name, words) in enumerate((("role", self.roles), ("verdict", self.verdicts)), start=2):
                frame.insert(at, name, [word for row in words for word in row])
        return frame

    def summary(self) -> "pd.DataFrame":
        """Roles, `content-dependent`, and both: how many are confirmed, left open and contradicted, which are withheld;
        and of how many each kind of swap alone says the opposite."""
        import pandas as pd

        frame = self.to_frame()
        frame = frame[[claimed(role) != UNRESOLVED for role in frame["role"]]]
        described = frame["role"] == "content-dependent"
        groups = {"roles": frame[~described], "content-dependent": frame[described], "both": frame}
        return pd.DataFrame([{"heads": name} | self._counts(of_group) for name, of_group in groups.items()])

    def _counts(self, frame: "pd.DataFrame") -> dict[str, Any]:
        """Counts of some labelled heads, by what the swaps say of them."""
        gone = frame[frame["withheld"]]
        confirmed = sum(VERDICTS[claimed(row.role)] == row.verdict for row in frame.itertuples())
        counts: dict[str, Any] = {
            "labelled": len(frame),
            "confirmed": confirmed,
            "open": len(frame) - confirmed - len(gone),
            "contradicted": len(gone),
            "agreement": 1 - len(gone) / len(frame) if len(frame) else float("nan"),
        }
        against = self.against.numpy()[:, frame["layer"], frame["head"]].sum(1)
        counts |= {f"against, {swap}": int(n) for swap, n in zip(SWAPS, against, strict=True)}
        return counts | {
            "withheld": ", ".join(f"{row.layer}.{row.head} ({row.role})" for row in gone.itertuples()) or "none"
        }

    def figure(self) -> "Figure":
        """The map of roles that remain."""
        from tslens import plots
        from tslens.analysis.heads.result import COLOURED

        return plots.tiles(
            self.kept,
            order=COLOURED,
            title=f"Heads of {self.model}: roles that swaps do not contradict",
            row_label="layer",
            column_label="head",
        )


def agreement(roles: RolesResult, swaps: SwapsResult) -> AgreementResult:
    """For each head with a role, whether the swaps contradict it: a role of position where content decides, or a role
    of content where position does.

    Raises:
        InputError: the two are of different models.
    """
    if roles.role_code.shape != swaps.verdict_code.shape[1:] or roles.model != swaps.model:
        raise InputError(f"Roles of {roles.model} and swaps of {swaps.model} are not of one model. Give two of one.")
    said = torch.tensor([[claimed(role) for role in row] for row in roles.roles])
    whole = torch.tensor([[role in OF_ALL_KEYS for role in row] for row in roles.roles])
    found = torch.where(whole, swaps.verdict_code[0], swaps.verdict_code[1])
    labelled, decided, same = said != UNRESOLVED, found != UNRESOLVED, said == found
    low, high = (torch.where(whole, ends[0], ends[1]) for ends in (swaps.low, swaps.high))
    return AgreementResult(
        model=roles.model,
        roles=roles.roles,
        verdicts=[[VERDICTS[code] for code in row] for row in found.tolist()],
        labelled=int(labelled.sum()),
        contradicted=int((labelled & decided & ~same).sum()),
        confirmed=int((labelled & same).sum()),
        withheld=labelled & decided & ~same,
        against=((said == POSITION) & (low > 0.5)) | ((said == CONTENT) & (high < 0.5)),
        corpus=swaps.corpus,
    )


def claimed(role: str) -> int:
    """What a role says decides, as its place in `VERDICTS`."""
    if role in BY_NEITHER:
        return UNRESOLVED
    return POSITION if role in BY_POSITION else CONTENT
