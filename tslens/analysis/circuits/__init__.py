"""Which heads and MLPs answer a question, and how sure are we? (minimal pairs, patching, circuits, composition)"""

from tslens.analysis.circuits.accuracy import AccuracyResult, accuracy
from tslens.analysis.circuits.circuit import circuit
from tslens.analysis.circuits.circuit_result import CircuitResult
from tslens.analysis.circuits.composition import CompositionResult, composition
from tslens.analysis.circuits.patching import patching
from tslens.analysis.circuits.paths import paths
from tslens.analysis.circuits.paths_result import PathsResult
from tslens.analysis.circuits.result import PatchingResult
from tslens.analysis.circuits.tokens import TokensResult, tokens

__all__ = [
    "AccuracyResult",
    "CircuitResult",
    "CompositionResult",
    "PatchingResult",
    "PathsResult",
    "TokensResult",
    "accuracy",
    "circuit",
    "composition",
    "patching",
    "paths",
    "tokens",
]
