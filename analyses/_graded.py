"""What models write, graded by story models' log-probabilities and compared model by model, with what controls say."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import torch

from tslens.evaluation import grading
from tslens.evaluation.grading.controls import CONTROLS, controls
from tslens.evaluation.grading.likelihood import LikelihoodGrader
from tslens.plots import save

if TYPE_CHECKING:
    from tslens.evaluation.writing import WritingResult
    from tslens.models import LanguageModel

SAMPLES = 2  # of each prompt and model, those of the lowest numbers
TRUE = "true endings"  # a writer among the models


def texts_of(written: "WritingResult") -> list[grading.GradedText]:
    """The first samples of every model and prompt, and the true ending of every prompt that has one."""
    drawn = (written.sampling == 0) & (written.sample < SAMPLES)
    found = [
        grading.GradedText(written.prompts[p], written.texts[i], written.models[m], written.endings[p])
        for i, m, p in zip(
            torch.nonzero(drawn).flatten().tolist(),
            written.model[drawn].tolist(),
            written.prompt[drawn].tolist(),
            strict=True,
        )
    ]
    ended = zip(written.prompts, written.endings, strict=True)
    return found + [grading.GradedText(prompt, ending, TRUE, ending) for prompt, ending in ended if ending]


def graded(
    name: str,
    written: "WritingResult",
    graders: "Mapping[str, LanguageModel]",
    true: Sequence[grading.GradedText],
    folder: Path,
) -> None:
    """Save, of every grader, its controls and how any two writers compare on the axes that it can score. The first of
    the true endings are damaged for the controls; among the others a text is ranked. None is one of the texts."""
    rubric, texts, made = grading.rubric("story"), texts_of(written), controls(true[:CONTROLS])
    tables: dict[str, list[pd.DataFrame]] = {"controls": [], "grades": []}
    for who, model in graders.items():
        one = LikelihoodGrader(model, true[CONTROLS:], name=f"likelihood of {who}")
        found = grading.grade(texts, one, rubric, made)
        trust = pd.DataFrame({"axis": list(found.trust), "trust": list(found.trust.values())})
        controlled, compared = grading.controlled(found, rubric), grading.compare(found)
        rows = controlled.summary().dropna(subset="difference").merge(trust, on="axis")
        tables["controls"].append(rows.assign(grader=one.name))
        tables["grades"].append(compared.summary().dropna(subset="difference").assign(grader=one.name))
        print(controlled, compared)
        if who == next(iter(graders)):
            save(compared.figure(), folder / f"{name}-grades.svg")
    for kind, parts in tables.items():
        pd.concat(parts).to_csv(folder / f"{name}-{kind}.csv", index=False, float_format="%.6g")
