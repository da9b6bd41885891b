"""Do swapped words contradict the roles of heads? The answer, with what is withheld."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Bool
from torch import Tensor

from tslens.analysis.heads.replaced import SWAPS, TOKENS
from tslens.analysis.heads.result import ROLES, RolesResult
from tslens.analysis.heads.swaps_result import (
    BY_NEITHER,
    BY_POSITION,
    CONTENT,
    OF_ALL_KEYS,
    POSITION,
    UNRESOLVED,
    VERDICTS,
    SwapsResult,
)
from tslens.errors import InputError
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class AgreementResult(Result):
    """Which roles the swaps contradict. A contradicted role is withheld: read it as `unresolved`.

    Copies of any tokens and copies of any words decide together. Words of the same part of speech, copies with half of
    the words replaced, and shifts are shown beside them, and decide nothing: `against` says what each kind of swap
    alone would contradict.
    """

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
    tokens break words up, so they err towards content. Words of the same part of speech keep what their class says:
    against a role of content they say only that the class decides, or position."""

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
        and of how many each kind of swap alone says the opposite. Agreement counts those that are left open; that by
        random tokens is what it would be if these alone decided."""
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
        alone = against[TOKENS]
        counts["agreement by random tokens"] = 1 - int(alone) / len(frame) if len(frame) else float("nan")
        counts |= {f"against, {swap}": int(n) for swap, n in zip(SWAPS, against, strict=True)}
        return counts | {
            "withheld": ", ".join(f"{row.layer}.{row.head} ({row.role})" for row in gone.itertuples()) or "none"
        }

    def headline(self) -> str:
        """How many roles are confirmed and contradicted, and the agreement."""
        return f"{self.said()} (agreement {self.agreement:.2f})." if self.labelled else "No role says what decides."

    def said(self) -> str:
        """How many roles, and how many `content-dependent` heads, are confirmed and contradicted, in words."""
        words, rows = {"roles": "roles", "content-dependent": "content-dependent heads"}, self.summary()
        return "; ".join(
            f"{one.confirmed} of {one.labelled} {words[one.heads]} confirmed, {one.contradicted} contradicted and "
            "withheld"
            for one in rows[rows["heads"].isin(list(words)) & (rows["labelled"] > 0)].itertuples()
        )

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
