"""A compressor's trunk as a HookedTransformer, for the analyses that take any model.

The encoder reads each pair by itself. So over the pairs of given stories it is a table with a vector for each pair.
With that table as its token embedding the trunk *is* a HookedTransformer whose tokens are pairs, and scan, heads and
neurons work on it as on any other.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import torch
from torch import Tensor

from tslens import models
from tslens.errors import InputError
from tslens.forward.blocks import layers
from tslens.forward.compressor import encode, refuse_hooks
from tslens.models.protocols import TextTokenizer
from tslens.models.record import record_of
from tslens.models.tied import Tied

if TYPE_CHECKING:
    from tslens.models import LanguageModel

ROWS = 4096  # pairs that are encoded at a time

NO_LOGITS = (
    "A compressor's trunk has no logits of its own, its decoder makes them: ask the compressor itself for loss, "
    "stories or logits. The lens and ablation need a model that is no compressor."
)

Pair = tuple[int, int]


def trunk(model: "LanguageModel", stories: Iterable[str]) -> "LanguageModel":
    """The trunk as a HookedTransformer over the pairs of these stories, with a tokenizer that splits text into them.

    Its positions are pairs. Token ids below the vocabulary's size stand for a token after an empty place (as BOS at the
    start of every story), those above for the pairs, in ascending order. A story's last token is left out if it has no
    partner: the trunk never reads it. The final norm is the compressor's own; logits come from its decoder, so asking
    this model for logits is an error. Weights are copied: memory grows with the number of distinct pairs.
    """
    tokenizer, spec = models.tokenizer_of(model), model.spec
    refuse_hooks(model)
    found: set[Pair] = set()
    for text in stories:
        (row,) = tokenizer.encode([text])
        found.update(_paired(row))
    seen = sorted(found)  # the same ids in whatever order the stories come
    table = _table(model, seen)
    shape = models.Spec.from_dict(spec.trunk.to_dict() | {"d_vocab": len(table)})
    view = models.build(shape, seed=None)
    own = models.weights(model)
    models.load_weights(view, {name: own.get(name, table) for name in shape.parameter_shapes()} | {"embed.W_E": table})
    view.unembed = NoLogits(view.embed, view.unembed)
    view.setup()
    record = record_of(view)
    record.tokenizer = PairTokenizer(tokenizer, seen)
    record.name = f"{models.name_of(model)}'s trunk"
    record.readout = model.embed.W_E.detach().T
    return view.to(next(model.parameters()).device, print_details=False).eval()


def _paired(row: Sequence[int]) -> list[Pair]:
    """The whole pairs after the first token, which is alone in its pair."""
    return list(zip(row[1::2], row[2::2], strict=False))


def _table(model: "LanguageModel", seen: list[Pair]) -> Tensor:
    """The encoder's vector for every single token, then for every pair, on the CPU."""
    n = model.spec.d_vocab
    every = torch.cat(
        [torch.stack([torch.zeros(n, dtype=torch.long), torch.arange(n)], 1), torch.tensor(seen).view(-1, 2)]
    )
    real = torch.ones_like(every, dtype=torch.bool)
    real[:n, 0] = False
    device = next(model.parameters()).device
    with torch.no_grad():
        weights = layers(model.encoder, model.spec.encoder, pack=True)
        parts = [
            encode(model, weights, every[at : at + ROWS].to(device), real[at : at + ROWS].to(device)).cpu()
            for at in range(0, len(every), ROWS)
        ]
    return torch.cat(parts)


class PairTokenizer:
    """Splits text into pairs of another tokenizer's tokens; knows only the pairs that it was built with."""

    def __init__(self, base: TextTokenizer, seen: Sequence[Pair]) -> None:
        self.base, self.pairs = base, list(seen)
        self.numbers = {pair: base.size + i for i, pair in enumerate(self.pairs)}
        self.bos, self.bos_text, self.eos, self.ends = base.bos, base.bos_text, base.eos, base.ends

    def __repr__(self) -> str:
        return f"PairTokenizer({len(self.pairs):,} pairs of {self.base!r})"

    @property
    def size(self) -> int:
        """Number of single tokens and pairs."""
        return self.base.size + len(self.pairs)

    def encode(self, texts: Sequence[str], *, bos: bool = True) -> list[list[int]]:
        """The pairs of each text, BOS first unless `bos` is false; InputError for an unknown pair."""
        rows = []
        for row in self.base.encode(texts):
            try:
                numbers = [self.numbers[pair] for pair in _paired(row)]
            except KeyError as error:
                shown = "".join(self.base.pieces(error.args[0]))
                raise InputError(
                    f"The pair {shown!r} is in none of the stories that this trunk was made with."
                ) from None
            rows.append([self.bos, *numbers] if bos else numbers)
        return rows

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of the pairs."""
        return self.base.decode([token for i in ids for token in self._tokens(int(i))])

    def pieces(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """Each token or pair as displayed text."""
        return ["".join(self.base.pieces(self._tokens(int(i)))) for i in ids]

    def _tokens(self, number: int) -> Pair | tuple[int]:
        return (number,) if number < self.base.size else self.pairs[number - self.base.size]


def refuse_compressor(model: "LanguageModel") -> None:
    """InputError for a compressor, before work that needs the logits of a HookedTransformer."""
    if isinstance(models.spec_of(model, compressors=True), models.CompressorSpec):
        raise InputError(NO_LOGITS)


class NoLogits(Tied):
    """Stands in for an unembedding and raises an error when used."""

    @property
    def W_U(self) -> Any:  # noqa: N802
        raise InputError(NO_LOGITS)
