"""The two runs of minimal pairs through one model: the activations of each, and the margin of the right answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward
from tslens.draws import check_seed
from tslens.models import Spec, output_bias, spec_of, story_tokenizer_of
from tslens.stories.pairs import Pairs, Task
from tslens.stories.pairs import pairs as made_pairs

if TYPE_CHECKING:
    from tslens.forward.edited import Edit
    from tslens.models import LanguageModel


def pairs_for(model: "LanguageModel", task: "str | Task | Pairs", n: int, seed: int) -> Pairs:
    """Pairs of a task in the model's own tokens, or those given."""
    check_seed(seed)
    if isinstance(task, Pairs):
        return task
    return made_pairs(task, story_tokenizer_of(model), n, context=spec_of(model).n_ctx, seed=seed)


@dataclass(frozen=True)
class Runs:
    """Runs of a model on pairs, from the embeddings of the clean and of the corrupt prompts."""

    forward: forward.EditedForward
    pairs: Pairs
    clean: Float[Tensor, "pair pos d_model"]
    """The residual stream before the first block, on the clean prompts."""
    corrupt: Float[Tensor, "pair pos d_model"]

    @classmethod
    def of(cls, model: "LanguageModel", pairs: Pairs) -> "Runs":
        """The embeddings of both prompts."""
        run, device = forward.EditedForward.of(model), next(model.parameters()).device
        return cls(run, pairs, run.embedded(pairs.clean.to(device)), run.embedded(pairs.corrupt.to(device)))

    @property
    def spec(self) -> Spec:
        return self.forward.spec

    def margin(self, residual: Float[Tensor, "pair pos d_model"]) -> Float[Tensor, " pair"]:
        """The logit of the right answer minus that of the wrong one after the last token, from the last residual."""
        device = residual.device
        ends = residual[torch.arange(len(residual), device=device), self.pairs.length.to(device) - 1]
        w: Tensor = self.forward.model.unembed.W_U
        normed, bias = self.forward.normed(ends).double(), output_bias(self.forward.model)

        def logits(tokens: Tensor) -> Tensor:
            found: Tensor = (normed * w[:, tokens].T.double()).sum(-1)
            return forward.capped(found if bias is None else found + bias[tokens].double(), self.spec.logit_cap)

        return logits(self.pairs.right.to(device)) - logits(self.pairs.wrong.to(device))

    def margins(
        self, start: Float[Tensor, "pair pos d_model"], edits: "Mapping[str, Edit] | None" = None, first: int = 0
    ) -> Float[Tensor, " pair"]:
        """The margin of a run with edits, from the residual stream before block `first`."""
        return self.margin(self.forward(start, edits, first=first)[0])

    def activations(
        self, start: Float[Tensor, "pair pos d_model"], names: Sequence[str]
    ) -> tuple[Float[Tensor, " pair"], dict[str, Tensor]]:
        """The margin of a run without edits, and these of its activations."""
        residual, kept = self.forward(start, keep=names)
        return self.margin(residual), kept
