"""What does each MLP neuron fire on, and what does it write?  `scan(model, stories, neurons.Profiles())` says."""

from tslens.analysis.neurons.reducer import Profiles
from tslens.analysis.neurons.result import Neurons

__all__ = ["Neurons", "Profiles"]
