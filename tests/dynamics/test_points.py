"""The points of a run: the model before training is that of the seed, and what is no run is refused."""

from pathlib import Path

import torch

from tslens import models, runs
from tslens.dynamics.points import points
from tslens.train import recipe as recipes
from tslens.train import session


def test_step_0_is_the_model_that_training_began_with(in_tmp: Path, small: dict[str, str]) -> None:
    """A step at a vanishing rate leaves the weights as they were drawn."""
    small |= {"train.steps": "1", "optimizer.method": "adamw", "optimizer.lr": "1e-30", "seed": "3"}
    session.train(recipes.load("16x1x2", small), "still")
    before, after = (point.load() for point in points("still"))
    for name, weight in models.weights(before).items():
        torch.testing.assert_close(
            weight, models.weights(after)[name], atol=1e-29, rtol=0
        )  # where zero, moved by 1e-30
    assert models.name_of(before) == "still@0" and models.name_of(after) == "still@1"
    other = models.build(models.spec_of(before), seed=4)
    assert not torch.equal(models.weights(other)["embed.W_E"], models.weights(before)["embed.W_E"])


def test_snapshots_and_the_end_are_points_and_checkpoints_if_asked(there: Path) -> None:
    assert [point.step for point in points("one")] == [0, 1, 2, 3]
    assert [point.step for point in points("one", checkpoints=True)] == [0, 1, 2, 3]  # after 2 steps, which is there
    assert len({point.identity for point in points("one")}) == 4
    assert {p.identity for p in points("one")}.isdisjoint({p.identity for p in points("two")})
    end = models.weights(points("one")[-1].load())
    assert torch.equal(end["embed.W_E"], models.weights(models.load("one"))["embed.W_E"])
    assert [point.step for point in points(there / "two")] == [0, 1, 2, 3]


def test_a_run_whose_record_names_no_recipe_begins_at_its_first_snapshot(in_tmp: Path, made_words) -> None:
    folder, spec = runs.run_folder("old"), models.Spec(8, 1, 2, d_vocab=made_words.size, n_ctx=16)
    config = {"spec": spec.to_dict(), "tokenizer": made_words.hash, "step": 1}
    runs.write(folder / "snapshots" / "step-000001", config, models.weights(models.build(spec)))
    made_words.save(folder / runs.TOKENIZER)
    (point,) = points("old")
    assert point.step == 1 and models.spec_of(point.load()) == spec


def test_what_keeps_no_snapshots_is_refused(there: Path, refused, tmp_path: Path) -> None:
    with refused("no run is called 'onne'. Did you mean 'one'.* Runs that do: one, two"):
        points("onne")
    with refused("stories2M keeps no snapshots"):
        points("stories2M")
    with refused("keeps no snapshots.*train.keep_log_spaced"):
        points(tmp_path)
    with refused("no run is called ''"):
        points("")
