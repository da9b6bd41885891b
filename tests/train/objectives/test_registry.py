"""The objectives by their names: each is found, gives its name back, and is known by its old name too."""

import pytest

from tslens.train import recipe as recipes
from tslens.train.objectives import OBJECTIVES, Objective, name_of, named


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_is_found_by_its_name_and_gives_it_back(name: str) -> None:
    objective = named(name)()
    assert isinstance(objective, Objective) and name_of(objective) == name
    assert named(name.replace("-", " ")) is type(objective)


def test_an_old_recipe_names_an_objective_with_spaces() -> None:
    chosen = recipes.load("16x1x2", {"objective": "published contrastive", "train.batch": "6"})
    assert chosen.to_dict()["objective"]["name"] == "published-contrastive"


def test_the_nearest_name_is_named() -> None:
    with pytest.raises(ValueError, match=r"objective is 'contrastiv'\. Did you mean 'contrastive'\? Known: language-"):
        named("contrastiv")
