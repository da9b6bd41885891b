"""Tied embeddings: one matrix for embedding and unembedding, trained and saved once."""

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.models.protocols import EmbedPart, LanguageModel, UnembedPart


class Tied(nn.Module):
    """An unembedding that reads the token embedding's own parameter, so that one matrix is trained and saved once."""

    def __init__(self, embed: "EmbedPart", unembed: "UnembedPart") -> None:
        super().__init__()
        self._embed = [embed]  # in a list: a reference, not a second owner
        self.b_U, self.hook_in, self.hook_out = unembed.b_U, unembed.hook_in, unembed.hook_out

    @property
    def W_U(self) -> Tensor:  # noqa: N802  TransformerLens calls it so
        return self._embed[0].W_E.T

    def forward(self, residual: Tensor) -> Tensor:
        logits: Tensor = self.hook_out(self.hook_in(residual) @ self.W_U + self.b_U)
        return logits


def tie(model: "LanguageModel") -> None:
    """Replace the weight of the model's unembedding by the token embedding; its bias and hooks stay."""
    model.unembed = Tied(model.embed, model.unembed)
    model.process_weights_ = _refuse_processing
    model.setup()


def is_tied(model: "LanguageModel") -> bool:
    """Whether `tie` was applied to this model, or to the one that it is a copy of."""
    return isinstance(model.unembed, Tied)


def _refuse_processing(*_: Any, **__: Any) -> None:
    raise InputError(
        "This model ties its unembedding to its token embedding, and weight processing would change each separately. "
        "Process an untied copy: untied = tslens.models.untied(model)."
    )
