"""What does each attention head do, and how sure are we?

`roles(model, stories)` gives the role of every head with its evidence; `pattern(model, text)` the attention over one
text; `ablation(model, stories)` the loss without each head. `Roles` is the reducer, for a scan with others.
`swaps(model, stories)` says whether position or content decides where a head attends, `agreement(roles, swaps)` which
roles that contradicts. `probes(model, stories)` reads parts of speech from queries and keys; `Probes` is its reducer.
`kinds(model, stories)` says which keys each head chooses by their content, `writes` which word
classes it writes; `Kinds` and `Writes` are their reducers.
`kernels(roles)` says how the attention of positional heads falls with distance (`Kernels` is its reducer),
`at_contexts` which roles change with the context.
"""

from tslens.analysis.heads.ablation import ablation
from tslens.analysis.heads.ablation_result import AblationResult
from tslens.analysis.heads.agreement import AgreementResult, agreement
from tslens.analysis.heads.contexts import ContextsResult, at_contexts, contexts
from tslens.analysis.heads.control import Control
from tslens.analysis.heads.kernels import Kernels, kernels
from tslens.analysis.heads.kernels_result import FAMILIES, KernelsResult
from tslens.analysis.heads.kinds import MADE, Kinds, kinds
from tslens.analysis.heads.kinds_result import KindsResult, WritesResult
from tslens.analysis.heads.kinds_weights import KINDS
from tslens.analysis.heads.pattern import PatternResult
from tslens.analysis.heads.probes import Probes, probes
from tslens.analysis.heads.probes_result import ProbesResult
from tslens.analysis.heads.reducer import Roles, roles
from tslens.analysis.heads.result import (
    CLASSES,
    COLOURED,
    EVIDENT,
    FADING,
    GROWING,
    MOSTLY,
    PUBLISHED,
    ROLES,
    RolesResult,
)
from tslens.analysis.heads.swaps import swaps
from tslens.analysis.heads.swaps_result import SwapsResult
from tslens.analysis.heads.view import pattern
from tslens.analysis.heads.writes import Writes, writes

__all__ = [
    "CLASSES",
    "COLOURED",
    "EVIDENT",
    "FADING",
    "FAMILIES",
    "GROWING",
    "KINDS",
    "MADE",
    "MOSTLY",
    "PUBLISHED",
    "ROLES",
    "AblationResult",
    "AgreementResult",
    "ContextsResult",
    "Control",
    "Kernels",
    "KernelsResult",
    "Kinds",
    "KindsResult",
    "PatternResult",
    "Probes",
    "ProbesResult",
    "Roles",
    "RolesResult",
    "SwapsResult",
    "Writes",
    "WritesResult",
    "ablation",
    "agreement",
    "at_contexts",
    "contexts",
    "kernels",
    "kinds",
    "pattern",
    "probes",
    "roles",
    "swaps",
    "writes",
]
