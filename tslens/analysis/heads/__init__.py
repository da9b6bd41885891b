"""What does each attention head do, and how sure are we?

`roles(model, stories)` gives the role of every head with its evidence; `pattern(model, text)` the attention over one
text; `ablation(model)` the change of the loss when a head is ablated. `Roles` is the reducer, for a scan with others.
"""

from tslens.analysis.heads.ablation import AblationResult, ablation
from tslens.analysis.heads.reducer import Roles, roles
from tslens.analysis.heads.result import CLASSES, COLOURED, ROLES, PatternResult, RolesResult
from tslens.analysis.heads.view import pattern

__all__ = [
    "CLASSES",
    "COLOURED",
    "ROLES",
    "AblationResult",
    "PatternResult",
    "Roles",
    "RolesResult",
    "ablation",
    "pattern",
    "roles",
]
