"""Token-by-token generation with a compressor, which reads tokens in pairs.

The trunk caches keys and values of the whole pairs; the decoder those of the pair in progress. A prompt may end within
a pair: the decoder then reads its last token, exactly as in training, and the encoder reads no half pair.
"""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.forward.compressor import encode, refuse_hooks
from tslens.generate.cache import Cache, Writer
from tslens.models import CompressorSpec

if TYPE_CHECKING:
    from tslens.models import LanguageModel


class CompressorWriter(Writer):
    """A compressor with its caches. All rows are at the same place of a pair, so their lengths are all odd or all
    even; `generate` ensures that."""

    def __init__(
        self,
        model: "LanguageModel",
        spec: CompressorSpec,
        rows: list[list[int]],
        places: int,
        dtype: torch.dtype,
        like: "CompressorWriter | None" = None,
    ) -> None:
        refuse_hooks(model)
        width = max(map(len, rows))
        pad = [(width - len(row)) // 2 for row in rows]
        super().__init__(model, spec.trunk, rows, pad, places // 2 + 1, dtype, like)
        self.encoder: list[forward.Layer] = (
            forward.layers(model.encoder, spec.encoder, dtype, pack=True) if like is None else like.encoder
        )
        self.within: Cache = Cache(
            model.decoder, spec.decoder, [0] * len(rows), 2, dtype, None if like is None else like.within
        )
        self.lone: Tensor | None = None
        """The first token of an incomplete pair, `[row 1]`."""
        self.vector = torch.empty(0)
        """The trunk's last vector, `[row 1 d_model]`."""

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        """Let row i continue the former row `rows[i]`."""
        super().reorder(rows)
        self.within.reorder(rows)
        self._take(rows)

    def keep(self, rows: Int[Tensor, " row"]) -> None:
        """Keep these rows alone, as a `Cache` does."""
        super().keep(rows)
        self.within.keep(rows)
        self._take(rows)

    def _take(self, rows: Int[Tensor, " row"]) -> None:
        self.vector = self.vector[rows]
        self.lone = None if self.lone is None else self.lone[rows]

    def step(self, tokens: Int[Tensor, "row pos"]) -> Float[Tensor, "row d_vocab"]:
        """Feed tokens, return the logits after the last of them."""
        begins = self.filled == 0
        tokens = F.pad(tokens, (1, 0)) if begins else tokens
        tokens = tokens if self.lone is None else torch.cat([self.lone, tokens], 1)
        whole = tokens.shape[1] // 2
        said = []  # what the decoder has not read yet
        if whole:
            self._read(tokens[:, : 2 * whole].unflatten(1, (whole, 2)))
            self.within.filled = 0
            said.append(self.vector)
        self.lone = tokens[:, 2 * whole :] if tokens.shape[1] % 2 else None
        if self.lone is not None:
            said.append(F.embedding(self.lone, self.model.embed.W_E))
        at = self.within.filled
        positions = self.model.decoder.pos_embed.W_pos[at : at + len(said)]
        return self.logits(self.within.run(torch.cat(said, 1) + positions))

    def _read(self, new: Int[Tensor, "row pair 2"]) -> None:
        """Run whole pairs through encoder and trunk; a row's first pair is half empty, its padding empty."""
        place = torch.arange(self.filled, self.filled + new.shape[1], device=self.device)
        real = torch.stack([place > self.pad[:, None], place >= self.pad[:, None]], -1)
        vectors = encode(self.model, self.encoder, new.flatten(0, 1), real.flatten(0, 1))
        positions = F.embedding(self.positions(new.shape[1]), self.model.pos_embed.W_pos)
        self.vector = self.run(vectors.view(*new.shape[:2], -1) + positions)[:, -1:]
