"""What each head is called, by what was found of it."""

from tslens.analysis.heads.ablation_result import has_role
from tslens.analysis.heads.kinds_result import KindsResult, WritesResult
from tslens.analysis.heads.result import RolesResult
from tslens.analysis.heads.role_tokens import WRITES

UNNAMED = "unresolved"


def names(
    heads: tuple[int, int], roles: RolesResult | None, kinds: KindsResult | None, writes: WritesResult | None
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
