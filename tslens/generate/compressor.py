"""How a compressor generates, token by token, when it reads in pairs.

The trunk keeps keys and values of the pairs that are whole; the decoder those of the pair that is being written. A
prompt may end within a pair: its last token is then the decoder's, exactly as in training, and no half pair is read.
"""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.forward.compressor import encode, refuse_hooks
from tslens.generate.cache import Cache

if TYPE_CHECKING:
    from tslens.models.compressor import Compressor


class CompressorWriter(Cache):
    """A compressor that reads tokens and says the logits after them. All rows are at the same place of a pair, so their
    lengths are all odd or all even; `generate` sees to that."""

    def __init__(self, model: "Compressor", rows: list[list[int]], places: int, dtype: torch.dtype) -> None:
        refuse_hooks(model)
        width, filler = max(len(row) for row in rows), rows[0][0]
        shape = model.spec
        super().__init__(model, shape.trunk, [(width - len(row)) // 2 for row in rows], places // 2 + 1, dtype)
        self.model = model
        self.encoder = forward.layers(model.encoder, shape.encoder, dtype, pack=True)
        self.within = Cache(model.decoder, shape.decoder, [0] * len(rows), 2, dtype)
        self.unembed = forward.Product((model.unembed.W_U.to(dtype), None), pack=True)
        self.prompt = torch.tensor([[filler] * (width - len(row)) + row for row in rows], device=self.device)
        self.lone: Tensor | None = None
        """The token that waits for its pair to be whole, `[row 1]`."""
        self.vector = torch.empty(0)
        """The trunk's last vector, `[row 1 d_model]`."""

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        """Row i goes on from what was row `rows[i]`."""
        super().reorder(rows)
        self.within.reorder(rows)
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
        x = self.within.run(torch.cat(said, 1) + self.model.decoder.pos_embed.W_pos[at : at + len(said)])
        final = self.model.ln_final
        last = forward.norm(x[:, -1], final.w, final.b, self.spec.eps, self.spec.style)
        return self.unembed(last.to(self.dtype))[0].float()

    def _read(self, new: Int[Tensor, "row pair 2"]) -> None:
        """Whole pairs through encoder and trunk; the first of a row, and its padding, are half empty or empty."""
        place = torch.arange(self.filled, self.filled + new.shape[1], device=self.device)
        real = torch.stack([place > self.pad[:, None], place >= self.pad[:, None]], -1)
        vectors = encode(self.model, self.encoder, new.flatten(0, 1), real.flatten(0, 1))
        positions = F.embedding(self.positions(new.shape[1]), self.model.pos_embed.W_pos)
        self.vector = self.run(vectors.view(*new.shape[:2], -1) + positions)[:, -1:]
