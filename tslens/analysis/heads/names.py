"""Heads in words: what each is called, and which kinds most of them have."""

import torch

from tslens.analysis.heads.ablation_result import has_role
from tslens.analysis.heads.kinds_result import KindsResult, WritesResult
from tslens.analysis.heads.result import RolesResult
from tslens.analysis.heads.role_tokens import WRITES

UNNAMED = "unresolved"


def names(
    heads: tuple[int, int],
    roles: RolesResult | None = None,
    kinds: KindsResult | None = None,
    writes: WritesResult | None = None,
) -> list[list[str]]:
    """By layer and head, of which there are `heads`: the role, where that says what the head does; else the kinds of
    its keys and the word classes that it writes; else what describes it."""

    def name(layer: int, head: int) -> str:
        role = roles.roles[layer][head] if roles is not None else UNNAMED
        if has_role(role):
            return role
        chosen = kinds.kinds[layer][head] if kinds is not None else []
        written = [f"{WRITES}{word}" for word in writes.kinds[layer][head]] if writes is not None else []
        unknown = ", kind unknown" if role == "content-dependent" and kinds is not None else ""
        return ", ".join([*chosen, *written]) or f"{role}{unknown}"

    return [[name(layer, head) for head in range(heads[1])] for layer in range(heads[0])]


def commonest(found: KindsResult | WritesResult, n: int) -> list[str]:
    """The `n` kinds that most heads have: how many, and the largest score among them with its interval."""
    often = sorted(range(len(found.held)), key=lambda kind: -int(found.held[kind].sum()))[:n]
    said = []
    for kind in often:
        if held := int(found.held[kind].sum()):
            score = found.score[kind].masked_fill(~found.held[kind], -torch.inf)
            layer, head = divmod(int(score.argmax()), score.shape[1])
            value, low, high = (float(of[kind, layer, head]) for of in (found.score, found.low, found.high))
            said.append(f"{found.names[kind]} {held} ({layer}.{head}: {value:.2f}, {low:.2f} to {high:.2f})")
    return said
