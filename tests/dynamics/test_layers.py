"""Neurons by layer at the points of a run: each as a model by itself has them, beside the same fresh twins."""

from pathlib import Path

import pytest
import torch

from tslens import dynamics, models, twins
from tslens.dynamics import LayersByStepResult
from tslens.models.twins import Twin
from tslens.scan import scan
from tslens.stories import stories
from tslens.twins import reading
from tslens.twins.layers import REDUCERS
from tslens.twins.layers_result import ANY, RULES


@pytest.mark.thorough
def test_every_step_has_the_counts_of_its_model_and_the_twins_of_all(
    there: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = list(stories("made", limit=24))
    found = dynamics.layers("one", texts, n=2)
    assert found.steps == [0, 1, 2, 3] and found.models == [name for name in NAMES for _ in range(2)]
    assert found.twins == ["fresh twin 0", "fresh twin 1"]
    end = twins.layers(models.load("one"), texts, n=2)
    assert torch.equal(found.count[..., -2:], end.count) and torch.equal(found.low[..., -2:], end.low)
    tested, profiles = scan(Twin("fresh", 1).of(models.load("one@1")), texts, REDUCERS)
    for counts, counted in ((tested.counts(), found.of_twins[1, 0]), (profiles.counts(), found.of_twins[1, 1])):
        for step in range(4):
            assert counted[:, 2 * step : 2 * step + 2].sum(1).tolist() == list(counts.values())[: len(found.tags)]
    found.save(tmp_path)
    assert LayersByStepResult.load(tmp_path).steps == found.steps
    monkeypatch.setattr(reading, "answers_of", lambda *_: pytest.fail("all is kept"))
    assert torch.equal(dynamics.layers("one", texts, n=2).count, found.count)


NAMES = ["one@0", "one@1", "one@2", "one"]


def test_the_table_and_the_figure_of_steps() -> None:
    """Two layers of 10 neurons at steps 0, 1 and 8, of which the second gains 3 nouns that predict."""
    count = torch.zeros(2, 3, 6, dtype=torch.int64)
    nouns = [0, 0, 0, 1, 0, 3]
    count[0, 0], count[0, 1], count[1, :2] = torch.tensor(nouns), torch.tensor(nouns), torch.tensor(nouns) + 2
    of_twins = torch.zeros(1, 2, 3, 6, dtype=torch.int64)
    of_twins[0, 0, :2] = torch.tensor([0, 1] * 3)
    made = LayersByStepResult(
        stories=30,
        twins=["fresh twin 0"],
        tags=[ANY, "NOUN", "ADJ"],
        models=["a@0", "a@0", "a@1", "a@1", "a", "a"],
        layer=torch.tensor([0, 1] * 3),
        depth=torch.tensor([0.5, 1.0] * 3),
        neurons=torch.full((6,), 10),
        count=count,
        low=(count - 1.0).clamp(min=0),
        high=count + 1.0,
        least=of_twins[0],
        most=of_twins[0],
        p=torch.where(of_twins[0] >= count, 1.0, 0.5),
        leads=count - 1 > of_twins[0],
        of_twins=of_twins,
        step=torch.tensor([0, 0, 1, 1, 8, 8]),
    )
    table = made.summary()
    assert table["tag"].tolist() == ["any", "any", "NOUN"] and table["layer"].tolist() == [0, 1, 1]
    assert table.iloc[2][["@0", "@1", "@8", "low", "high", "twins_most", "prefer"]].tolist() == [0, 1, 3, 2, 4, 1, 5]
    assert "of a 0 and 3 have" in str(made) and "a@1" not in made.said()
    chart = made._chart(RULES[0], "NOUN", "nouns")
    assert chart["series"]["layer 1"].tolist() == pytest.approx([0, 0.1, 0.3]) and chart["ticks"] == [0, 1, 8]
    assert chart["bands"]["untrained twins"][1].tolist() == pytest.approx([0.1] * 3)
    assert made.figure() is not None
