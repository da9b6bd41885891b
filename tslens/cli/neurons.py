"""The command that says what neurons do."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tslens.cli.delivery import Delivery, beside_twins, delivery
from tslens.cli.options import Engine, Json, Limit, Model, Precision, Stories, corpus_of, scanned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tslens.analysis.neurons import ProfilesResult
    from tslens.corpus import Corpus
    from tslens.models import LanguageModel
    from tslens.scan import Reducer


def neurons(
    *,
    model: Model,
    stories: Stories = None,
    limit: Limit = 200,
    top: int = 20,
    test: bool = False,
    classes: bool = False,
    patterns: bool = False,
    n: Annotated[int, Parameter(name="--twins")] = 0,
    ablate: bool = False,
    out: Path | None = None,
    engine: Engine = "local",
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Find what every MLP neuron fires on: top tokens beside samples, part of speech, effect on the logits.

    Parameters
    ----------
    top
        Tokens kept for each neuron.
    test
        Also show the tests behind `tail selector`: each label on stories and words that it was not made from.
    classes
        Also compare all tokens: which part of speech, place or name each neuron selects, and what the token explains.
    patterns
        Also find sets of words, and words before, that excite a neuron, and test them on the other half.
    n
        Untrained twins on which labels are counted too, on the first 100 stories; 19 give a p of 0.05 at best.
    ablate
        Also ablate labelled neurons, and as many others: is the loss higher on the tokens of the label?
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    """
    from tslens.analysis.neurons import Profiles, mean_ablation
    from tslens.forward import check_precision
    from tslens.models import load

    Profiles(k=top)  # a wrong --top is refused before the work
    check_precision(precision)
    with delivery(out, json_) as deliver:
        loaded = load(model)
        corpus = corpus_of(loaded, stories, limit)
        scan = partial(scanned, engine, model, loaded, corpus, precision=precision)
        profiles = _labelled(deliver, loaded, corpus, scan, top, n, test)
        _selected(deliver, loaded, corpus, scan, top, n, patterns=patterns, classes=classes)
        if ablate:
            deliver(mean_ablation(loaded, corpus, profiles), corpus=corpus)


def _labelled(
    deliver: Delivery,
    loaded: "LanguageModel",
    corpus: "Corpus",
    scan: "Callable[[Sequence[Reducer[Any, Any]]], list[Any]]",
    top: int,
    n: int,
    test: bool,
) -> "ProfilesResult":
    """Deliver the profiles with the tests of their labels, and with `test` these too, beside `n` untrained twins. Those
    of a compressor, which has no tokens of its own, are not tested unless that is asked for, and refused."""
    from tslens.analysis import neurons as method
    from tslens.models import CompressorSpec, spec_of

    asked: list[Reducer[Any, Any]] = [method.Profiles(k=top)]
    untested = isinstance(spec_of(loaded, compressors=True), CompressorSpec) and not test
    asked += [] if untested else [method.HeldOut(k=top)]
    labelled, *tests = scan(asked)
    profiles: ProfilesResult = tests[0].qualify(labelled) if tests else labelled
    profiles = beside_twins(deliver, loaded, corpus, asked[0], profiles, n, "of-labels")
    if test:
        beside_twins(deliver, loaded, corpus, asked[1], tests[0], n, "of-test")
    return profiles


def _selected(
    deliver: Delivery,
    loaded: "LanguageModel",
    corpus: "Corpus",
    scan: "Callable[[Sequence[Reducer[Any, Any]]], list[Any]]",
    top: int,
    n: int,
    *,
    patterns: bool,
    classes: bool,
) -> None:
    """What was asked for besides the profiles, beside `n` untrained twins."""
    from tslens.analysis import neurons as method

    reducers: list[tuple[str, bool, Reducer[Any, Any]]]
    reducers = [("patterns", patterns, method.Patterns(k=top)), ("classes", classes, method.Selectivity())]
    for name, asked, reducer in reducers:
        if asked:
            (answer,) = scan([reducer])
            beside_twins(deliver, loaded, corpus, reducer, answer, n, f"of-{name}")
