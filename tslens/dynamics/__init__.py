"""What do heads, neurons and layers become over training, and do seeds agree?

`dynamics(runs, stories)` gives every score at each snapshot of runs of one recipe, which are its seeds;
`emergence(answer)` when each score rises and stays; `stability(runs, stories)` what the finished seeds have in common.
`snapshots(run, stories)` measures the snapshots of one run. What was measured is kept in the run's folder.
"""

from tslens.dynamics.emergence import EmergenceResult, emergence
from tslens.dynamics.measure import STORIES, kept_snapshots, snapshots
from tslens.dynamics.points import has_snapshots
from tslens.dynamics.result import DynamicsResult
from tslens.dynamics.seeds import dynamics
from tslens.dynamics.snapshot import SnapshotResult
from tslens.dynamics.stability import stability
from tslens.dynamics.stability_result import StabilityResult

__all__ = [
    "STORIES",
    "DynamicsResult",
    "EmergenceResult",
    "SnapshotResult",
    "StabilityResult",
    "dynamics",
    "emergence",
    "has_snapshots",
    "kept_snapshots",
    "snapshots",
    "stability",
]
