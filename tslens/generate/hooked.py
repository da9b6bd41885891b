"""Generation with a model that the fast forward does not cover: every step reads the rows anew."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.generate.cache import Writer
from tslens.models import LanguageModel, spec_of


class HookedWriter(Writer):
    """Token-by-token generation without a cache. Rows are padded on the left, as in every `Writer`; the model reads
    them padded on the right."""

    def __init__(self, model: LanguageModel, rows: list[list[int]]) -> None:
        self.model, self.n_ctx = model, spec_of(model).n_ctx
        self.device = next(model.parameters()).device
        width, filler = max(map(len, rows)), rows[0][0]
        self.pad = torch.tensor([width - len(row) for row in rows], device=self.device)
        self.prompt = torch.tensor([[filler] * (width - len(row)) + row for row in rows], device=self.device)
        self.read = self.prompt[:, :0]

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        """Let row i continue the former row `rows[i]`."""
        self.read, self.pad = self.read[rows], self.pad[rows]

    def keep(self, rows: Int[Tensor, " row"]) -> None:
        """Keep these rows alone."""
        self.reorder(rows)

    def step(self, tokens: Int[Tensor, "row pos"]) -> Float[Tensor, "row d_vocab"]:
        """Feed tokens, return the logits after the last of them."""
        self.read = torch.cat([self.read, tokens], dim=1)
        width, length = self.read.shape[1], self.read.shape[1] - self.pad
        # A finished row stays in the batch; its output is dropped, and past its context its last token is not read.
        at = (torch.arange(min(width, self.n_ctx), device=self.device) + self.pad[:, None]).clamp(max=width - 1)
        final, _ = forward.residual(self.model, self.read.gather(1, at))
        rows = torch.arange(len(final), device=self.device)
        return forward.unembed(self.model, final[rows, length.clamp(max=self.n_ctx) - 1])
