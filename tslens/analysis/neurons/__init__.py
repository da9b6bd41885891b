"""What does each MLP neuron fire on, and what does it write?  `neurons.profiles(model, stories)` answers."""

from tslens.analysis.neurons.choice import choose
from tslens.analysis.neurons.fade import fade
from tslens.analysis.neurons.fade_result import FadeResult
from tslens.analysis.neurons.held_out import HeldOut, held_out
from tslens.analysis.neurons.held_out_result import HeldOutResult
from tslens.analysis.neurons.in_stories import in_stories, usual_choice
from tslens.analysis.neurons.in_stories_result import InStoriesResult
from tslens.analysis.neurons.mean_ablation import mean_ablation
from tslens.analysis.neurons.mean_ablation_result import MeanAblationResult
from tslens.analysis.neurons.patterns import Patterns, patterns
from tslens.analysis.neurons.patterns_result import PatternsResult
from tslens.analysis.neurons.rare_words import rare_words
from tslens.analysis.neurons.reducer import Profiles, profiles
from tslens.analysis.neurons.result import SILENT, ProfilesResult
from tslens.analysis.neurons.selectivity import Selectivity, selectivity
from tslens.analysis.neurons.selectivity_result import SelectivityResult
from tslens.analysis.neurons.view import Profile

__all__ = [
    "SILENT",
    "FadeResult",
    "HeldOut",
    "HeldOutResult",
    "InStoriesResult",
    "MeanAblationResult",
    "Patterns",
    "PatternsResult",
    "Profile",
    "Profiles",
    "ProfilesResult",
    "Selectivity",
    "SelectivityResult",
    "choose",
    "fade",
    "held_out",
    "in_stories",
    "mean_ablation",
    "patterns",
    "profiles",
    "rare_words",
    "selectivity",
    "usual_choice",
]
