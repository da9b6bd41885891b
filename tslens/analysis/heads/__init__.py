"""What does each attention head do, and how sure are we?

`scan(model, stories, Roles())` gives `Heads`, one row per head; `pattern(model, text)` the attention over one story;
`ablation(model)` what the loss says when a head is taken out.
"""

from tslens.analysis.heads.ablation import Ablation, ablation
from tslens.analysis.heads.reducer import Roles
from tslens.analysis.heads.result import CLASSES, COLOURED, ROLES, Heads, Pattern
from tslens.analysis.heads.view import pattern

__all__ = ["CLASSES", "COLOURED", "ROLES", "Ablation", "Heads", "Pattern", "Roles", "ablation", "pattern"]
