"""What an untrained model earns too says nothing: labels counted on a model beside its untrained twins."""

from tslens.halves import FEWEST
from tslens.twins.ablating import ABLATED_STORIES, ablated, ablated_neurons
from tslens.twins.counting import QUESTIONS, STORIES, TWINS, compare, kept_counts, usual_questions
from tslens.twins.fading import faded
from tslens.twins.layers import layers
from tslens.twins.layers_result import LayersResult, side_by_side
from tslens.twins.measured import MEASURES, MeasuredResult, measured
from tslens.twins.rare_words import of_rare_words
from tslens.twins.result import TwinsResult
from tslens.twins.scoring import TURNS, control
from tslens.twins.tasks import beside_task, on_task
from tslens.twins.together import read_ahead

__all__ = [
    "ABLATED_STORIES",
    "FEWEST",
    "MEASURES",
    "QUESTIONS",
    "STORIES",
    "TURNS",
    "TWINS",
    "LayersResult",
    "MeasuredResult",
    "TwinsResult",
    "ablated",
    "ablated_neurons",
    "beside_task",
    "compare",
    "control",
    "faded",
    "kept_counts",
    "layers",
    "measured",
    "of_rare_words",
    "on_task",
    "read_ahead",
    "side_by_side",
    "usual_questions",
]
