"""The roles of heads at two context lengths, and which of them change."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Bool
from torch import Tensor

from tslens.analysis.heads.reducer import roles
from tslens.analysis.heads.result import COLOURED, EVIDENT, RolesResult
from tslens.batching import several_texts
from tslens.errors import InputError
from tslens.models import spec_of
from tslens.result import Result, read_on

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tslens.models import LanguageModel

SHORT, LONG = 64, 256
"""Tokens of the two contexts."""


@dataclass(frozen=True, eq=False)
class ContextsResult(Result):
    """The roles of every head at two context lengths, on the same stories. `content-dependent` and `diffuse` describe a
    head and are no roles."""

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head")

    model: str
    """The model's name."""
    names: list[str]
    """What the two contexts are called."""
    roles: list[list[list[str]]]
    """The role of each head, by context, layer and head."""
    changed: Bool[Tensor, "layer head"]
    """Whether it has a role at both contexts, and they differ."""
    lost: Bool[Tensor, "layer head"]
    """Whether it has a role at one of the two contexts alone."""

    def summary(self) -> "pd.DataFrame":
        """The heads whose role is not the same."""
        import pandas as pd

        rows: list[dict[str, Any]] = [
            {"layer": layer, "head": head}
            | {name: of[layer][head] for name, of in zip(self.names, self.roles, strict=True)}
            | {"changed": bool(self.changed[layer, head])}
            for layer, head in (self.changed | self.lost).nonzero().tolist()
        ]
        return pd.DataFrame(rows, columns=["layer", "head", *self.names, "changed"])

    def headline(self) -> str:
        """How many heads have another role, or a role at one of the contexts alone."""
        n, lost = self.changed.numel(), int(self.lost.sum())
        at = f"between {self.names[0]} and {self.names[1]}"
        said = f"{int(self.changed.sum())} of {n} heads change their role {at}; {lost} have one at one of the two alone"
        return f"{said}."

    def figure(self) -> "Figure":
        """The map of roles at the second context; heads whose role is not the same are grey."""
        from tslens import plots

        same = [
            ["not the same" if differ else role for role, differ in zip(*rows, strict=True)]
            for rows in zip(self.roles[1], (self.changed | self.lost).tolist(), strict=True)
        ]
        return plots.tiles(
            same,
            order=COLOURED,
            absent=("unresolved", "not the same"),
            title=f"{self.model}: roles at {self.names[0]} and at {self.names[1]}",
            row_label="layer",
            column_label="head",
        )


def at_contexts(model: "LanguageModel", stories: Iterable[str], precision: str = "float32") -> ContextsResult:
    """The roles of every head where stories are cut to 64 tokens, and by their first 256, as far as the context goes.

    By default the fraction that makes a head positional is of the first 128 tokens (`Roles`).

    Raises:
        InputError: no stories, or a context with no room for two tokens twice.
    """
    n_ctx, texts = spec_of(model).n_ctx, list(several_texts(stories))
    short, long = min(SHORT, n_ctx // 2), min(LONG, n_ctx)
    at_short = roles(model, texts, context=short, precision=precision)
    at_long = roles(model, texts, positions=long, precision=precision)
    answer: ContextsResult = read_on(contexts({f"{short} tokens": at_short, f"{long} tokens": at_long}), stories)
    return answer


def contexts(by_context: Mapping[str, RolesResult]) -> ContextsResult:
    """Which heads have another role at the second context than at the first; both by their names, in order.

    Raises:
        InputError: not two results, or results of different models.
    """
    if len(by_context) != 2:
        raise InputError(f"Two contexts are compared; {len(by_context)} were given.")
    first, second = by_context.values()
    if first.model != second.model or first.role_code.shape != second.role_code.shape:
        raise InputError(f"Roles of {first.model} and of {second.model} are not of one model. Give two of one.")
    named = torch.tensor([[[role in EVIDENT for role in row] for row in of.roles] for of in (first, second)])
    differ = first.role_code != second.role_code  # `content-dependent` and `diffuse` are no roles
    return ContextsResult(
        model=first.model,
        names=list(by_context),
        roles=[first.roles, second.roles],
        changed=differ & named.all(0),
        lost=named[0] != named[1],
        corpus=second.corpus,
    )
