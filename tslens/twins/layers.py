"""Neurons of each part of speech, layer by layer: counts of a model and of its untrained twins on the same stories."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from tslens import models, pos
from tslens.analysis.neurons import HeldOut, HeldOutResult, Profiles, ProfilesResult
from tslens.halves import PAIRS, on_halves
from tslens.memory import give_back
from tslens.models.twins import twins
from tslens.progress import off, stage
from tslens.result import read_on
from tslens.scan import Reducer
from tslens.twins import counting
from tslens.twins import kept as store
from tslens.twins.counting import MODEL, STORIES, TWINS
from tslens.twins.layers_result import ANY, LayersResult
from tslens.twins.reading import Question, ask

if TYPE_CHECKING:
    from tslens.models import LanguageModel

VERSION = "neurons by layer, 7"
"""Part of the key of kept counts: raise it when the rule of a label changes."""
REDUCERS: tuple[Reducer[Any, Any], ...] = (HeldOut(whole=False), Profiles())
"""One for each of `RULES`."""

Rows = list[list[list[int]]]
"""Counts by rule, part of speech and layer."""


def layers(model: "LanguageModel", stories: Iterable[str], *, n: int = TWINS, limit: int = STORIES) -> LayersResult:
    """Count the neurons of each part of speech in every layer of a model and of `n` of its untrained twins, on the
    first `limit` stories, each text once.

    What counts is a label that predicts where its neuron fires (`HeldOutResult.predicts`); the number of neurons that
    prefer a part of speech, by the rule of `Profiles`, stands beside it. All counts are kept as those of `compare` are.

    Raises:
        InputError: fewer stories than give an interval, no twin, or a model that has no twins or no neurons.
    """
    texts = counting.enough_texts(stories, n, limit)
    asked, chosen = question(model, texts, stories), twins(n)
    ask(model, texts, [asked], chosen)
    return cast(
        LayersResult, read_on(result_of(model, len(texts), asked.kept, [str(twin) for twin in chosen]), stories)
    )


def question(model: "LanguageModel", texts: Sequence[str], stories: object) -> Question:
    """What is asked of the twins; the model's own counts, and those on halves of the stories, are there."""
    kept, place = store.read(model, store.key(VERSION, model, texts, stories, REDUCERS), _is_whole)
    if MODEL not in kept:
        with stage("counting neurons by layer"), off():
            kept |= _on_halves(model, texts)
        store.write(place, kept)
    return Question(REDUCERS, _rows_of, kept, place)


def result_of(model: "LanguageModel", stories: int, kept: Mapping[str, Rows], names: list[str]) -> LayersResult:
    """The counts of a model, of halves of its stories and of the twins of these names, as kept."""
    spec, tags = models.spec_of(model), [ANY, *pos.TAGS]
    counts = {name: _flat(rows) for name, rows in kept.items()}
    every = dict.fromkeys(counts[MODEL], spec.mlp_width)
    found = counting.result_of(models.name_of(model), stories, counts, names, every, read_once=True)
    shape = (len(REDUCERS), len(tags), spec.n_layers)
    by_layer = {field: values.unflatten(-1, shape) for field, values in found.tensors().items()}
    return LayersResult(
        stories=stories,
        twins=names,
        tags=tags,
        models=[found.model] * spec.n_layers,
        layer=torch.arange(spec.n_layers),
        depth=torch.arange(1, spec.n_layers + 1) / spec.n_layers,
        neurons=torch.full((spec.n_layers,), spec.mlp_width),
        count=by_layer["count"],
        low=by_layer["low"],
        high=by_layer["high"],
        least=by_layer["least"],
        most=by_layer["most"],
        p=by_layer["p"],
        leads=by_layer["leads"],
        of_twins=by_layer["of_twins"],
    )


def _on_halves(model: "LanguageModel", texts: Sequence[str]) -> dict[str, Rows]:
    """The counts on all texts and on halves of them. One reducer after the other: states of many halves are large."""
    by_rule = []
    for reducer in REDUCERS:
        by_rule.append([_rows_of(answers) for answers in on_halves(model, texts, [reducer])])
        give_back()
    merged = [[row for rows in of_rules for row in rows] for of_rules in zip(*by_rule, strict=True)]
    return {f"half {i - 1}" if i else MODEL: rows for i, rows in enumerate(merged)}


def _rows_of(answers: Sequence[HeldOutResult | ProfilesResult]) -> Rows:
    """By rule, part of speech and layer, the neurons with a label: of the tests those whose label predicts."""
    labels = [
        torch.where(answer.predicts, answer.label, -1) if isinstance(answer, HeldOutResult) else answer.label
        for answer in answers
    ]
    return [[(label == i).sum(1).tolist() for i in range(len(pos.TAGS))] for label in labels]


def _flat(rows: Rows) -> counting.Counts:
    """The counts with those of all parts of speech together first, under running numbers."""
    counts = torch.tensor(rows)
    with_all = torch.cat([counts.sum(1, keepdim=True), counts], 1)
    return dict(zip(map(str, count()), with_all.flatten().tolist(), strict=False))


def _is_whole(found: Any) -> bool:
    """Whether a file holds counts by rule, part of speech and layer: of the model, of all halves, and of some twins."""
    try:
        shapes = {(np.asarray(rows).shape, np.asarray(rows).dtype.kind) for rows in found.values()}
        names = {MODEL, *(f"half {i}" for i in range(2 * PAIRS))}
        return names <= found.keys() and len(shapes) == 1 and shapes.pop() == (np.asarray(found[MODEL]).shape, "i")
    except (AttributeError, TypeError, ValueError):
        return False
