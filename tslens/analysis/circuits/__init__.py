"""Which heads and MLPs answer a question, and how sure are we? (minimal pairs, patching, circuits)"""

from tslens.analysis.circuits.accuracy import AccuracyResult, accuracy
from tslens.analysis.circuits.patching import patching
from tslens.analysis.circuits.result import PatchingResult

__all__ = ["AccuracyResult", "PatchingResult", "accuracy", "patching"]
