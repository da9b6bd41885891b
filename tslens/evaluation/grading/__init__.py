"""Grade texts by rubrics: graders, controls that say whether to believe them, agreement, and comparisons of models."""

from tslens.evaluation.grading.agreement import GraderAgreementResult, agreement
from tslens.evaluation.grading.comparisons import ComparisonResult, compare, is_own
from tslens.evaluation.grading.controls import ControlText
from tslens.evaluation.grading.grade import grade
from tslens.evaluation.grading.graders import Failure, Grade, Grader
from tslens.evaluation.grading.preferences import PreferencesResult, bradley_terry, preferences, read_preferences
from tslens.evaluation.grading.result import GradesResult
from tslens.evaluation.grading.rubrics import Axis, Rubric, rubric, rubrics
from tslens.evaluation.grading.suites import graded
from tslens.evaluation.grading.texts import GradedText, read_texts
from tslens.evaluation.grading.trust import ControlsResult, controlled

__all__ = [
    "Axis",
    "ComparisonResult",
    "ControlText",
    "ControlsResult",
    "Failure",
    "Grade",
    "GradedText",
    "Grader",
    "GraderAgreementResult",
    "GradesResult",
    "PreferencesResult",
    "Rubric",
    "agreement",
    "bradley_terry",
    "compare",
    "controlled",
    "grade",
    "graded",
    "is_own",
    "preferences",
    "read_preferences",
    "read_texts",
    "rubric",
    "rubrics",
]
