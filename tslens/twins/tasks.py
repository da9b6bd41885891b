"""Whether untrained twins do a task of minimal pairs, and how many of their heads and MLPs have an effect on it.

Patching restores an answer, so only a network that does the task is patched. An untrained one mostly does not: its
accuracy is then the control, and its heads and MLPs count as none.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tslens import models
from tslens.analysis import circuits
from tslens.analysis.circuits.accuracy import CHANCE, DOES, RIGHT
from tslens.analysis.circuits.result import NODES
from tslens.analysis.circuits.runs import pairs_for
from tslens.errors import InputError
from tslens.halves import FEWEST, leading
from tslens.models.twins import twins
from tslens.progress import bar, off
from tslens.twins import kept as store
from tslens.twins.checked import named
from tslens.twins.counting import TWINS, Counts, result_of
from tslens.twins.result import TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel
    from tslens.stories.pairs import Pairs, Task

VERSION = "tasks, 4"
"""Part of the key of kept counts: raise it when a rule changes."""


def on_task(
    model: "LanguageModel",
    task: "str | Task",
    able: circuits.AccuracyResult,
    patched: circuits.PatchingResult | None = None,
    *,
    n: int = TWINS,
    pairs: int = 200,
    seed: int = 0,
) -> TwinsResult:
    """What a model's accuracy and patching count on `pairs` pairs of a task, beside `n` untrained twins on the same.

    Twins that do the task are patched too. Their counts are kept as those of labels are.

    Raises:
        InputError: no twin, fewer pairs than give an interval, or a model that has no twins.
    """
    if n < 1 or not able.of_halves:
        raise InputError(
            f"{n} twins on {able.pairs} pairs are no control: give 1 or more twins, and {FEWEST} pairs or more."
        )
    made = pairs_for(model, task, pairs, seed)
    texts = [" | ".join((pair.clean, pair.right, pair.corrupt, pair.wrong)) for pair in made.texts]
    kept, place = store.read(model, store.key(f"{VERSION} {made.task}", model, texts, None, []), _is_whole)
    left = [twin for twin in twins(n) if str(twin) not in kept]
    with bar(f"untrained twins on the task {made.task!r}", len(left)) as shown:
        for twin in left:
            with off():
                kept[str(twin)] = _of_twin(twin.of(model), made)
            store.write(place, kept)
            shown.advance()
    own = named(_whole(able.counts(), patched.counts() if patched else {}), _of_halves(able, patched))
    spec = models.spec_of(model)
    of = {NODES["head"]: spec.n_layers * spec.n_heads, NODES["MLP"]: spec.n_layers, RIGHT: 2 * able.pairs}
    found = result_of(models.name_of(model), able.pairs, own | kept, [str(twin) for twin in twins(n)], of)
    low, high, right = found.low.clone(), found.high.clone(), found.place(RIGHT)
    low[right] = min(float(low[right]), 2 * able.pairs * able.low)  # halves hold all templates, so not their variance
    high[right] = max(float(high[right]), 2 * able.pairs * able.high)
    high[found.place(DOES)] = min(float(high[found.place(DOES)]), 1.0)  # it does it, or not
    return replace(found, low=low, high=high, leads=found.leads & leading(low, found.most, found.p), unit="pairs")


def beside_task(found: TwinsResult, answer: circuits.PatchingResult) -> circuits.PatchingResult:
    """The answer of patching, with its counts beside those of twins, and how many of these do the task at all."""
    answer, does = found.beside(answer), found.of_twins[:, found.place(DOES)]
    able, of, right = int(does.sum()), len(found.twins), found.place(RIGHT)
    least, most = (int(end[right]) / (2 * found.stories) for end in (found.least, found.most))
    accuracy = f"{least:.3f} to {most:.3f}; chance {CHANCE:g}"
    said = (
        f"{able} of {of} untrained twins do the task (accuracy of all: {accuracy}); only these were patched."
        if able
        else f"None of {of} untrained twins does the task (accuracy {accuracy}): they have no answer to restore."
    )
    return replace(answer, beside_twins=f"{answer.beside_twins} {said}")


def _of_halves(able: circuits.AccuracyResult, patched: circuits.PatchingResult | None) -> list[Counts]:
    of_patched = patched.of_halves if patched else [{} for _ in able.of_halves]
    return [_whole(*both) for both in zip(able.of_halves, of_patched, strict=True)]


def _of_twin(twin: "LanguageModel", made: "Pairs") -> Counts:
    """The counts of a twin, patched if it does the task."""
    able = circuits.accuracy(twin, made)
    return _whole(able.counts(), circuits.patching(twin, made).counts() if able.does else {})


def _whole(able: Counts, patched: Counts) -> Counts:
    """Counts of both, those of patching 0 where nothing was patched."""
    return able | dict.fromkeys(NODES.values(), 0) | patched


def _is_whole(found: Any) -> bool:
    """Whether a file holds counts of twins, all of the same labels."""
    if not isinstance(found, dict) or not all(isinstance(counts, dict) for counts in found.values()):
        return False
    labels = {RIGHT, DOES, *NODES.values()}
    return all(counts.keys() == labels and {type(n) for n in counts.values()} == {int} for counts in found.values())
