"""What do heads, neurons and layers become over training, and do seeds agree?

`dynamics(runs, stories)` gives every score at each snapshot of runs of one recipe, which are its seeds;
`emergence(answer)` when each score rises and stays; `stability(runs, stories)` what the finished seeds have in common.
`snapshots(run, stories)` measures the snapshots of one run, `beside_twins` untrained twins of its finished model beside
them; `layers(run, stories)` counts the neurons of each part of speech by layer at each of them, beside untrained twins.
What was measured is kept in the run's folder.
"""

from tslens.dynamics.emergence import EmergenceResult, emergence
from tslens.dynamics.layers import LayersByStepResult, layers
from tslens.dynamics.measure import STORIES, kept_snapshots, snapshots
from tslens.dynamics.points import has_snapshots
from tslens.dynamics.result import DynamicsResult
from tslens.dynamics.seeds import dynamics
from tslens.dynamics.snapshot import SnapshotResult
from tslens.dynamics.stability import stability
from tslens.dynamics.stability_result import StabilityResult
from tslens.dynamics.untrained import beside_kept_twins, beside_twins

__all__ = [
    "STORIES",
    "DynamicsResult",
    "EmergenceResult",
    "LayersByStepResult",
    "SnapshotResult",
    "StabilityResult",
    "beside_kept_twins",
    "beside_twins",
    "dynamics",
    "emergence",
    "has_snapshots",
    "kept_snapshots",
    "layers",
    "snapshots",
    "stability",
]
