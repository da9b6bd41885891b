"""What does each feature of a sparse autoencoder fire on? The reducer that asks it as of neurons."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tslens import forward
from tslens.analysis.neurons import HeldOut, HeldOutResult, Profiles
from tslens.batching import several_texts
from tslens.errors import InputError
from tslens.models import Spec, name_of, spec_of, weights_key
from tslens.sae.dictionary import KINDS, NEURONS, TRAINED, Dictionary
from tslens.sae.result import FeaturesResult, HeldOutFeaturesResult
from tslens.sae.training import Training, dictionary
from tslens.scan import Batch
from tslens.stories.identity import content_hash

if TYPE_CHECKING:
    from tslens.models import LanguageModel

READ = "blocks.0.mlp.hook_post"
"""The name under which the reducers of neurons get the features, as if they were the neurons of a first layer."""


@dataclasses.dataclass
class FeaturesState:
    """A dictionary, and the state of the neurons' reducer about its features."""

    made: Dictionary
    inside: Any


@dataclasses.dataclass(frozen=True)
class Features:
    """A reducer that reads the features of a dictionary by a reducer of neurons, `Profiles` or `HeldOut`.

    It gives `FeaturesResult` or `HeldOutFeaturesResult`. The dictionary is made when the scan begins, from `texts` and
    the model that is scanned: a twin has its own.
    """

    training: Training
    texts: tuple[str, ...] = dataclasses.field(repr=False)
    """Stories to train on; they are part of what decides the answer."""
    kind: str = TRAINED
    by: Profiles | HeldOut = dataclasses.field(default_factory=Profiles)
    made: dict[str, Dictionary] = dataclasses.field(default_factory=dict, repr=False, compare=False)
    """Cache: the dictionary of each model, by a hash of its weights. Reducers of one kind may share it."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The activation that the dictionary reads."""
        return [self._hook]

    @property
    def _hook(self) -> str:
        return f"{self.training.block}.mlp.hook_post" if self.kind == NEURONS else self.training.hook

    def dictionary(self, model: "LanguageModel") -> Dictionary:
        """The dictionary of a model, made now if it is not kept."""
        key = weights_key(model)
        if key not in self.made:
            self.made[key] = self._dictionary(model)
        return self.made[key].on(next(model.parameters()).device)

    def _dictionary(self, model: "LanguageModel") -> Dictionary:
        if self.kind != NEURONS:
            return dictionary(model, self.texts, self.training, kind=self.kind)
        if not spec_of(model).mlp_width:
            raise InputError(
                f"{name_of(model)} has no neurons, beside which features are read. To train an autoencoder on it "
                "alone: tslens.sae.dictionary(model, texts, training)."
            )
        none = torch.zeros(0)
        written = forward.written(model, int(self.training.block.split(".")[1]), "mlp").weight
        return Dictionary(NEURONS, self._hook, torch.zeros(0, 0), none, written, none, 0, torch.nan)

    def start(self, model: "LanguageModel") -> FeaturesState:
        """The dictionary, and an empty state."""
        made = self.dictionary(model)
        return FeaturesState(made, self.by.start_on(model, made.decoder[None]))

    def update(self, state: FeaturesState, activations: Mapping[str, Tensor], batch: Batch) -> FeaturesState:
        """Update the inner state by the features of a batch."""
        found = {READ: state.made.encode(activations[self._hook])}
        return FeaturesState(state.made, self.by.update(state.inside, found, batch))

    def merge(self, a: FeaturesState, b: FeaturesState) -> FeaturesState:
        """The state of both corpora; InputError if they were read by different autoencoders."""
        if not torch.equal(a.made.decoder, b.made.decoder):
            raise InputError(
                "These parts were read by autoencoders that differ, as those trained on different machines do. "
                "Scan all stories on one machine."
            )
        return FeaturesState(a.made, self.by.merge(a.inside, b.inside))

    def finish(self, state: FeaturesState) -> FeaturesResult | HeldOutFeaturesResult:
        """The result, of the kind that the inner reducer gives."""
        found, made = self.by.finish(state.inside), state.made
        own = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
        own |= {"kind": made.kind, "hook": made.hook}
        if isinstance(found, HeldOutResult):
            return HeldOutFeaturesResult(**own)
        return FeaturesResult(**own, k=made.k, explained=made.explained)


def readers(training: Training, texts: Iterable[str]) -> tuple[Features, ...]:
    """A reducer for each of `KINDS`: neurons, features of an autoencoder trained on `texts`, and random features."""
    fit = tuple(several_texts(texts))
    return tuple(Features(training, fit, kind) for kind in KINDS)


def apart(stories: Iterable[str], asked: Sequence[Features]) -> list[str]:
    """The different stories to read; InputError if one of them is also trained on."""
    texts = list(dict.fromkeys(stories))
    fit = {content_hash(text) for reader in asked for text in reader.texts}
    if shared := set(map(content_hash, texts)) & fit:
        raise InputError(f"{len(shared)} stories are to be trained on and read: they cannot judge. Give others.")
    return texts
