"""Peers of the race compute the same thing: the same loss of the same weights, one whole step that moves them."""

import pytest
import torch

from tslens.bench.peers import GPT2, HOOKED, HOOKED_FP32, OURS, PEERS, PLAIN, TrainingSetup, peer
from tslens.bench.size import random_tokens
from tslens.models import Spec
from tslens.train.optimizer import OptimizerSettings

SPEC = Spec.parse("16x2", d_vocab=60, n_ctx=13)
ROWS = random_tokens(3, 13, 60)


def test_hooked_transformer_and_ours_have_the_same_loss() -> None:
    """Of the same weights: over all tokens, or as HookedTransformer is timed, without the last."""
    ours = peer(OURS, TrainingSetup(SPEC)).loss
    timed, whole = (peer(HOOKED, TrainingSetup(SPEC, all_predicted=all_)).loss for all_ in (False, True))
    torch.testing.assert_close(whole(ROWS), ours(ROWS))
    torch.testing.assert_close(timed(ROWS), ours(ROWS[:, :-1]))


def test_gpt2_predicts_as_many_tokens_where_all_are_predicted() -> None:
    whole = peer(GPT2, TrainingSetup(SPEC, all_predicted=True))
    logits = whole.model(input_ids=ROWS).logits
    by_hand = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ROWS[:, 1:].flatten())
    torch.testing.assert_close(whole.loss(ROWS), by_hand)


@pytest.mark.parametrize("name", PEERS)
def test_a_step_lowers_the_loss_of_its_own_rows_and_forgets_the_gradients(name: str) -> None:
    made = peer(name, TrainingSetup(SPEC))
    optimizer = made.optimizer(OptimizerSettings(method="adamw", lr=1e-2))
    before = made.loss(ROWS).item()
    for _ in range(3):
        made.step(ROWS, optimizer, clip=1.0)
    assert made.loss(ROWS).item() < before
    assert all(p.grad is None for p in made.trained)


@pytest.mark.parametrize("name", [OURS, PLAIN, GPT2])
def test_what_decays_is_the_same_for_every_peer(name: str) -> None:
    """The matrices of the blocks and the embedding of tokens, as many weights for each."""
    groups = peer(name, TrainingSetup(SPEC)).optimizer(OptimizerSettings(method="adamw")).param_groups
    decays = [sum(p.numel() for p in group["params"]) for group in groups if group["weight_decay"]]
    assert decays == [2 * 12 * 16 * 16 + 60 * 16]


def test_the_default_of_hooked_transformer_stays_in_float32() -> None:
    low = TrainingSetup(SPEC, torch.bfloat16)
    exact = peer(HOOKED, TrainingSetup(SPEC)).loss(ROWS)
    assert torch.equal(peer(HOOKED_FP32, low).loss(ROWS), exact)
    assert not torch.equal(peer(HOOKED, low).loss(ROWS), exact)
