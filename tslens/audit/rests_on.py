"""Which simulated intervals each label rests on, and how often these cover the truth at the least.

A family of kernels has no interval (`KernelsResult` says why), so its coverage is unknown and not that of another.
"""

import math
from collections.abc import Sequence

from tslens.analysis.heads.kinds import NULLS
from tslens.analysis.heads.kinds_weights import KINDS
from tslens.analysis.heads.result import EVIDENT
from tslens.audit.coverage import UNIFORM, Simulated, sort_of
from tslens.audit.judging import ANY_KIND, MORE, ONE_WORD, PART_OF_SPEECH, PLANTED_KINDS, PREDICTS, SETS
from tslens.audit.label_intervals import KIND, TESTED, WRITTEN

SHARE, FRACTION = "share of attention", "positional fraction"
NONE = "no interval"
"""What stands for the sort of an interval that a label does not have."""

RESTS_ON: dict[str, tuple[str, ...]] = dict.fromkeys(EVIDENT, (SHARE,)) | {
    "positional": (FRACTION,),
    PART_OF_SPEECH: ("AUROC",),
    ONE_WORD: ("AUROC",),
    PREDICTS: (f"{TESTED}, auroc", f"{TESTED}, AUROC"),
    SETS: (f"{TESTED}, auroc",),
    ANY_KIND: (KIND,),
}
"""How the names of the simulated intervals begin that decide each label; nothing where it has no interval."""
RESTS_ON |= {label: (f"{KIND}, {NULLS.count(KINDS.index(kind))} ",) for label, kind in PLANTED_KINDS.items()}
RESTS_ON |= {label: () if label.endswith(" kernels") else (WRITTEN,) for label in MORE if label != SETS}


def coverage(label: str, tests: Sequence[Simulated]) -> tuple[float, str]:
    """The least coverage of the intervals that a label rests on, and their sort; NaN and `NONE` where it has none."""
    found = [test for test in tests if test.kind != UNIFORM and test.name.startswith(RESTS_ON[label] or (" ",))]
    return (min(test.value for test in found), sort_of(test.kind for test in found)) if found else (math.nan, NONE)
