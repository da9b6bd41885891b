"""Contrastive training: both formulas by hand, where each pushes, and that pieces add up."""

import math

import pytest
import torch

from tslens import models
from tslens.models import Spec
from tslens.stories import stories
from tslens.stories.sentences import shuffled
from tslens.tokenizer import Tokenizer
from tslens.train import recipe as recipes
from tslens.train.data import TrainingBatch
from tslens.train.objectives.contrastive import Contrastive, PublishedContrastive
from tslens.train.objectives.language import LanguageModelling

FORMS = [Contrastive(margin=5.0), PublishedContrastive()]  # a margin that no tiny model reaches


def model(seed: int = 0):
    return models.build(Spec.parse("16x1x2", d_vocab=40, n_ctx=12), seed=seed)


def batch(groups: int = 2, every: int = 3) -> TrainingBatch:
    rows = groups * every
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(40, (rows, 13), generator=generator)
    return TrainingBatch(tokens, group=every)


def test_the_bounded_form_by_hand():
    usual, other = torch.tensor([2.0, 2.0]), torch.tensor([2.2, 2.9])
    # gaps of 0.2 and 0.9, a margin of 0.5: 2 x 0.3 is added to the first, nothing to the second
    pushed = Contrastive(alpha=2.0, margin=0.5).push(usual, other)
    torch.testing.assert_close(pushed, torch.tensor([0.6, 0.0]))


def test_the_published_form_by_hand():
    pushed = PublishedContrastive().push(torch.tensor([9.0, 9.0]), torch.tensor([0.0, 2.49]))
    torch.testing.assert_close(pushed, torch.tensor([500.0, 2.0]))


def test_how_hard_each_form_pushes():
    """The published one has a pole; the bounded one pulls on what both kinds share as plain training does."""
    usual, other = (torch.tensor([0.01, 1.0, 3.0], requires_grad=True) for _ in range(2))
    (usual + PublishedContrastive().push(usual, other)).sum().backward()
    torch.testing.assert_close(usual.grad, torch.ones(3))
    torch.testing.assert_close(other.grad, torch.tensor([-5 / 0.02**2, -5 / 1.01**2, -5 / 3.01**2]))
    usual, other = torch.tensor([1.0, 1.0], requires_grad=True), torch.tensor([1.1, 1.9], requires_grad=True)
    (usual + Contrastive(alpha=0.7, margin=0.5).push(usual, other)).sum().backward()
    torch.testing.assert_close(other.grad, torch.tensor([-0.7, 0.0]))
    torch.testing.assert_close(usual.grad + other.grad, torch.ones(2))


@pytest.mark.parametrize("objective", FORMS)
def test_the_loss_is_the_formula_over_each_group(objective):
    it, given = model(), batch()
    total, parts = objective(it, given, torch.float32)
    by_row = -torch.log_softmax(it(given.tokens[:, :-1]), -1).gather(2, given.tokens[:, 1:, None]).mean((1, 2)).detach()
    usual, other = by_row.view(2, 3)[:, :2].mean(1), by_row.view(2, 3)[:, 2]
    n = given.predictions
    torch.testing.assert_close(total.detach() / n, (usual + objective.push(usual, other)).mean())
    for name, expected in {"L_n": usual, "L_c": other, "gap": other - usual}.items():
        torch.testing.assert_close(parts[name].detach() / n, expected.mean())


def test_what_is_not_predicted_does_not_count():
    it, given = model(), batch()
    mask = torch.rand(given.tokens.shape) < 0.7
    changed = given.tokens.clone()
    changed[:, -1] = 3
    mask[:, -1] = False
    one, two = (
        Contrastive()(it, TrainingBatch(tokens, mask, 3), torch.float32)[0].detach()
        for tokens in (given.tokens, changed)
    )
    assert torch.equal(one, two)


@pytest.mark.parametrize("objective", FORMS)
def test_the_pieces_of_a_batch_add_up_in_value_and_gradient(objective):
    it, given, found = model(), batch(groups=4), []
    for pieces in ([given], given.split(3), [given.share(0, 2), given.share(1, 2)]):
        totals = [objective(it, piece, torch.float32)[0] for piece in pieces]
        sum(totals).backward()
        found.append((sum(totals).detach(), it.blocks[0].mlp.W_in.grad.clone()))
        it.zero_grad()
    for total, gradient in found[1:]:
        torch.testing.assert_close(total, found[0][0])
        torch.testing.assert_close(gradient, found[0][1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("objective", FORMS)
def test_beside_plain_training_a_step_makes_shuffled_stories_less_likely(objective):
    """The law of the gradient: one small step lowers the objective, and against a step of plain training on the same
    usual rows the shuffled rows end with a higher loss and a wider gap."""
    given = batch()
    usual = TrainingBatch(given.tokens[[0, 1, 3, 4]])
    after = {}
    for name, learn in {
        "plain": lambda it: LanguageModelling()(it, usual, torch.float32)[0] / usual.predictions,
        "contrastive": lambda it: objective(it, given, torch.float32)[0] / given.predictions,
    }.items():
        it = model(seed=3)
        before = float(learn(it).detach())
        learn(it).backward()
        with torch.no_grad():
            for p in it.parameters():
                if p.grad is not None:
                    p -= 0.1 * p.grad
        assert float(learn(it).detach()) < before
        after[name] = {key: float(v.detach()) for key, v in objective(it, given, torch.float32)[1].items()}
    assert after["contrastive"]["L_c"] > after["plain"]["L_c"]
    assert after["contrastive"]["gap"] > after["plain"]["gap"]


def test_validation_gives_the_usual_loss_and_the_gap_on_the_same_stories():
    texts = [*list(stories("made", limit=6)), "One sentence is no order."]
    tokenizer = Tokenizer.train(texts, 300)
    it = models.build(Spec.parse("16x1x2", d_vocab=tokenizer.size, n_ctx=512), seed=0, tokenizer=tokenizer)
    found = Contrastive().validate(it, texts, precision="float32")
    plain = LanguageModelling()
    assert found.nats_per_token == plain.validate(it, texts, precision="float32").nats_per_token
    others = plain.validate(it, [shuffled(text) for text in texts[:6]], precision="float32").nats_per_token
    in_order = plain.validate(it, texts[:6], precision="float32").nats_per_token
    assert found.measured["validation_gap"] == pytest.approx(others - in_order, abs=1e-6)
    alone = Contrastive().validate(it, texts[6:], precision="float32")
    assert math.isnan(alone.gap) and "validation_gap" not in alone.measured


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"objective.alpha": "-1"}, "objective.alpha is -1; it must be a finite number, 0 or more"),
        ({"objective.margin": "0"}, "objective.margin is 0; it must be a finite number above 0"),
        ({"objective.margin": "wide"}, "objective.margin is 'wide'; it must be a number"),
        ({"objective.group": "1"}, "objective.group is 1; it must be 2 or more"),
        ({"objective.alfa": "1"}, "unknown key 'objective.alfa'. Did you mean 'alpha'"),
        ({"train.batch": "32"}, r"train.batch is 32; .* groups of 3 \(objective.group\), so it must be a multiple"),
        ({"train.micro_batch": "1"}, "train.micro_batch is 1; .* groups of 3"),
        ({"objective.name": "published-contrastive", "objective.margin": "1"}, "unknown key 'objective.margin'"),
    ],
)
def test_wrong_settings_are_refused_in_a_line(overrides, message):
    chosen = {"objective.name": "contrastive", "train.batch": "6"} | overrides
    with pytest.raises(ValueError, match=message):
        recipes.load("16x1x2", chosen)


def test_a_recipe_with_an_objective_survives_its_own_json():
    chosen = recipes.load("16x1x2", {"objective.name": "contrastive", "objective.alpha": "2", "train.batch": "6"})
    assert chosen.objective == Contrastive(alpha=2.0) and chosen.group == 3
    assert recipes.from_dict(chosen.to_dict()) == chosen
