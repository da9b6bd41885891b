"""The neurons that are planted: what each fires on, and the label that is right for it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NeuronPlant:
    """A kind of neuron: it fires on tokens with a flag, on one word, always or never."""

    label: str
    """Its right label: a part of speech, `one word`, or nothing."""
    flag: str = ""
    """The flag of the tokens that it fires on; `rarity`: the rarer a token, the more it fires."""
    more: tuple[str, ...] = ()
    """What other questions should count it as: neurons of a set of words."""
    level: float = 0.0
    """What it adds up from the constant: a neuron without a flag fires always or never."""


NEURONS: dict[str, NeuronPlant] = {
    "nouns": NeuronPlant("NOUN", flag="noun"),
    "adjectives": NeuronPlant("ADJ", flag="adjective"),
    "one word": NeuronPlant("one word", flag="code"),
    "set of words": NeuronPlant("", flag="set", more=("word set neurons",)),
    "rare words": NeuronPlant("", flag="rarity"),
    "nothing": NeuronPlant("", level=-80.0),
    "everything": NeuronPlant("", level=8.0),
}
"""Every neuron that is planted, by its name."""
