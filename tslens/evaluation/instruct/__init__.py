"""Does a model write what an instruction asks for, and also what was never asked for together in training?"""

from tslens.evaluation.instruct.grades import InstructGradesResult, graded
from tslens.evaluation.instruct.result import InstructResult
from tslens.evaluation.instruct.running import instruct

__all__ = ["InstructGradesResult", "InstructResult", "graded", "instruct"]
