"""What an untrained model earns too says nothing: labels counted on a model beside its untrained twins."""

from tslens.halves import FEWEST
from tslens.twins.ablating import ABLATED_STORIES, ablated
from tslens.twins.counting import QUESTIONS, STORIES, TWINS, compare
from tslens.twins.result import TwinsResult
from tslens.twins.scoring import control
from tslens.twins.together import read_ahead

__all__ = [
    "ABLATED_STORIES",
    "FEWEST",
    "QUESTIONS",
    "STORIES",
    "TWINS",
    "TwinsResult",
    "ablated",
    "compare",
    "control",
    "read_ahead",
]
