"""Can the labels be believed?  `audit(model, stories)` holds them against planted truth.

Random components read neither word classes nor BOS, so that a label of theirs is an error of chance; other heads that
have no kind by their making may prefer some words, and so a kind, by chance: these errors are counted too.
`plant(vocabulary)` builds a transformer whose every head and neuron is known; `judge` holds the labels against it.
`keep(model, found)` keeps a verdict beside the model, `verdict_of(model)` reads it.
"""

from tslens.audit.judging import Judged, judge
from tslens.audit.kept import Verdict, keep, verdict_of
from tslens.audit.planted import Planted, plant
from tslens.audit.result import AuditResult
from tslens.audit.running import audit
from tslens.audit.simulated import simulated
from tslens.audit.tallies import tallies
from tslens.audit.vocabulary import Vocabulary

__all__ = [
    "AuditResult",
    "Judged",
    "Planted",
    "Verdict",
    "Vocabulary",
    "audit",
    "judge",
    "keep",
    "plant",
    "simulated",
    "tallies",
    "verdict_of",
]
