"""What does each MLP neuron fire on, and what does it write to the logits? `scan(model, stories, neurons.Profiles())`."""

from tslens.analysis.neurons.result import Neurons

__all__ = ["Neurons"]
