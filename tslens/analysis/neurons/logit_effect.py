"""The direct effect of each neuron on the logits."""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.forward.blocks import final_gain
from tslens.models import readout, spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def written_by_neurons(model: "LanguageModel") -> Float[Tensor, "layer neuron d_model"]:
    """What each neuron of a model writes to the residual stream per unit of activation: its row of `W_out`, with the
    gain of a norm after the MLP."""
    return torch.stack([forward.written(model, i, "mlp").weight for i in range(spec_of(model).n_layers)])


def logit_effect(
    model: "LanguageModel", written: Float[Tensor, "layer neuron d_model"], n: int
) -> tuple[Int[Tensor, "sign layer neuron effect"], Float[Tensor, "sign layer neuron effect"]]:
    """The `n` tokens whose logits each neuron raises most (sign 0) and lowers most (sign 1), with the change.

    Direct logit attribution: what a neuron writes to the residual stream, through the final norm's gain to `W_U` (the
    weights as trained, nothing folded; with layer norm's centring, without the division by its scale, which depends on
    the token), minus the mean over the vocabulary, which softmax ignores.
    """
    if n == 0:
        none = written.new_zeros(2, *written.shape[:2], 0)
        return none.long(), none
    named = readout(model)[:, : tokenizer_of(model).size]  # a model may have room for more tokens than there are
    spec, unembed = spec_of(model), final_gain(model)[0][:, None] * named
    tokens, values = [], []
    for out in written:
        for rows in forward.centred(spec.final_norm, out).split(512):
            logits = rows @ unembed
            logits = logits - logits.mean(-1, keepdim=True)
            ends = [logits.topk(n, largest=largest) for largest in (True, False)]
            tokens.append(torch.stack([end.indices for end in ends]))
            values.append(torch.stack([end.values for end in ends]))
    shape = (2, len(written), -1, n)
    return torch.cat(tokens, 1).view(shape), torch.cat(values, 1).detach().view(shape)
