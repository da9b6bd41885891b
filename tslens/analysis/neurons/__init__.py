"""What does each MLP neuron fire on, and what does it write?  `neurons.profiles(model, stories)` answers."""

from tslens.analysis.neurons.reducer import Profiles, profiles
from tslens.analysis.neurons.result import ProfilesResult
from tslens.analysis.neurons.view import Profile

__all__ = ["Profile", "Profiles", "ProfilesResult", "profiles"]
