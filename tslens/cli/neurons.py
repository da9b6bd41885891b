"""The command that says what neurons do."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import Parameter

from tslens.cli.delivery import Delivery, beside_twins, delivery
from tslens.cli.options import Engine, Json, Limit, Model, Precision, Stories, corpus_of, scanned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tslens.analysis.neurons import HeldOutResult, ProfilesResult
    from tslens.corpus import Corpus
    from tslens.models import LanguageModel
    from tslens.result import CountedResult
    from tslens.scan import Reducer
    from tslens.twins import TwinsResult

Caused = TypeVar("Caused", bound="CountedResult")

Top = Annotated[
    int | None, Parameter(help="Tokens kept for each neuron; else those above its 99.9% quantile, 20 to 64.")
]
Sample = Annotated[
    int, Parameter(help="Random tokens that labels are held against; a rare word needs more (untested: too few).")
]
Twins = Annotated[
    int,
    Parameter(
        name="--twins",
        help="Untrained twins on which labels are counted too, on the first 100 stories; 19 give a p of 0.05 at best. "
        "With 0 labels stand beside the twins that a page or a study of these stories has kept, if any.",
    ),
]
ByLayer = Annotated[
    bool,
    Parameter(
        name="--layers",
        negative=(),
        help="Also count the neurons of each part of speech by layer, beside 19 twins unless --twins gives a number.",
    ),
]
Ablate = Annotated[
    bool,
    Parameter(help="Also ablate labelled neurons, and as many others: is the loss higher on the label's tokens?"),
]
Fade = Annotated[
    bool,
    Parameter(
        help="Also hold labels against true parts of speech, and steer: does it write so? (minutes; kept for the page)"
    ),
]
OfLayer = Annotated[int | None, Parameter(name="--layer", help="Print neurons of this layer only.")]
OfLabel = Annotated[
    str | None,
    Parameter(name="--label", help="Print neurons with this label only: a part of speech, `token` or `unresolved`."),
]
OfWord = Annotated[
    str | None,
    Parameter(name="--word", help="Print neurons with this word among their top tokens only, the largest share first."),
]
Beside = Annotated[
    str | None,
    Parameter(
        help="Another model, such as hf:FOLDER_OR_HUB_ID: --layers of both, by relative depth, on the same stories."
    ),
]


def neurons(
    *,
    model: Model,
    stories: Stories = None,
    limit: Limit = 200,
    top: Top = None,
    sample: Sample = 1000,
    layer: OfLayer = None,
    label: OfLabel = None,
    word: OfWord = None,
    test: bool = False,
    classes: bool = False,
    patterns: bool = False,
    n: Twins = 0,
    layers: ByLayer = False,
    beside: Beside = None,
    ablate: Ablate = False,
    fade: Fade = False,
    out: Path | None = None,
    engine: Engine = "local",
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Find what every MLP neuron fires on: top tokens beside samples, part of speech, effect on the logits.

    Parameters
    ----------
    test
        Also show the tests behind `tail selector`: each label on stories and words that it was not made from.
    classes
        Also compare all tokens: which part of speech, place or name each neuron selects, and what the token explains.
    patterns
        Also find sets of words, and words before, that excite a neuron, and test them on the other half.
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    """
    from tslens.forward import check_precision
    from tslens.models import load

    drawn = _drawn(top, sample)
    check_precision(precision)
    with delivery(out, json_) as deliver:
        others = _others(beside, loaded := load(model))
        choose = _choice(loaded, layer, label, word)
        corpus = corpus_of(loaded, stories, limit)
        scan = partial(scanned, engine, model, loaded, corpus, precision=precision)
        profiles, tested = _labelled(deliver, loaded, corpus, scan, drawn, n, test, fade, choose)
        _selected(deliver, loaded, corpus, scan, drawn, n, patterns=patterns, classes=classes)
        _layers(deliver, [loaded, *others] if layers or others else [], corpus, n)
        _caused(deliver, loaded, corpus, profiles if ablate else None, tested if fade else None, n)


def _drawn(top: int | None, sample: int) -> "Mapping[str, Any]":
    """The options of reducers that say what is kept of each neuron; a wrong number is refused before the work."""
    from tslens.analysis.neurons import Profiles
    from tslens.analysis.neurons.labels import ENOUGH
    from tslens.errors import InputError

    Profiles(top, sample)
    if sample < 2 * ENOUGH:
        least = f"a label is held against {ENOUGH} tokens that have it and {ENOUGH} others"
        raise InputError(f"--sample {sample} can show no label: {least}. Give {2 * ENOUGH} or more.")
    return {"k": top, "sample": sample}


def _choice(
    loaded: "LanguageModel", layer: int | None, label: str | None, word: str | None
) -> "Callable[[ProfilesResult], ProfilesResult]":
    """What leaves in the printed table the neurons that were asked for; a wrong choice is refused before the work."""
    from tslens.analysis.neurons import choice
    from tslens.models import CompressorSpec, spec_of, story_tokenizer_of

    if layer is None and label is None and word is None:
        return lambda found: found
    tokenizer, spec = story_tokenizer_of(loaded), spec_of(loaded, compressors=True)
    layers = spec.trunk_layers if isinstance(spec, CompressorSpec) else spec.n_layers
    choice.check(layers, tokenizer.pieces(range(tokenizer.size)), layer, label, word)
    return partial(choice.choose, layer=layer, label=label, word=word)


def _labelled(
    deliver: Delivery,
    loaded: "LanguageModel",
    corpus: "Corpus",
    scan: "Callable[[Sequence[Reducer[Any, Any]]], list[Any]]",
    drawn: "Mapping[str, Any]",
    n: int,
    test: bool,
    fade: bool,
    choose: "Callable[[ProfilesResult], ProfilesResult]",
) -> "tuple[ProfilesResult, HeldOutResult | None]":
    """Deliver the profiles with the tests of their labels, and with `test` these too, beside `n` untrained twins. Those
    of a compressor, which has no tokens of its own, are not tested unless that is asked for, and refused."""
    from tslens.analysis import neurons as method
    from tslens.models import CompressorSpec, spec_of
    from tslens.twins import of_rare_words

    asked: list[Any] = [method.Profiles(**drawn)]
    untested = isinstance(spec_of(loaded, compressors=True), CompressorSpec) and not (test or fade)
    asked += [] if untested else [method.HeldOut(**drawn)]
    labelled, *tests = scan(asked)
    labelled = labelled if untested else method.rare_words(loaded, corpus, labelled, scan)
    if n and not untested:
        deliver(counted := of_rare_words(loaded, corpus, asked[0], n=n), "of-rare-words", printed=False)
        labelled = replace(labelled, rare_beside=f"On {counted.stories} stories: {counted.said(counted.labels)}.")
    profiles: ProfilesResult = tests[0].qualify(labelled) if tests else labelled
    profiles = beside_twins(deliver, loaded, corpus, asked[0], choose(profiles), n, "of-labels")
    if test:
        beside_twins(deliver, loaded, corpus, asked[1], tests[0], n, "of-test")
    return profiles, tests[0] if tests else None


def _caused(
    deliver: Delivery,
    loaded: "LanguageModel",
    corpus: "Corpus",
    ablated: "ProfilesResult | None",
    steered: "HeldOutResult | None",
    n: int,
) -> None:
    """Deliver what ablating neurons of these labels does, and FADE's measures, each beside `n` untrained twins."""
    from tslens import twins
    from tslens.analysis import neurons as method
    from tslens.report import fade

    def beside(answer: "Caused", count: "Callable[..., TwinsResult]", name: str) -> "Caused":
        if n:
            deliver(counted := count(loaded, corpus, n=n), name, printed=False)
            answer = counted.beside(answer)
        deliver(answer, corpus=corpus)
        return replace(answer, corpus=corpus.description)

    if ablated is not None:
        beside(method.mean_ablation(loaded, corpus, ablated), twins.ablated_neurons, "of-ablation")
    if steered is not None:
        fade.keep(loaded, beside(method.fade(loaded, corpus, steered), twins.faded, "of-fade"))


def _selected(
    deliver: Delivery,
    loaded: "LanguageModel",
    corpus: "Corpus",
    scan: "Callable[[Sequence[Reducer[Any, Any]]], list[Any]]",
    drawn: "Mapping[str, Any]",
    n: int,
    *,
    patterns: bool,
    classes: bool,
) -> None:
    """What was asked for besides the profiles, beside `n` untrained twins."""
    from tslens.analysis import neurons as method

    reducers: list[tuple[str, bool, Reducer[Any, Any]]]
    reducers = [("patterns", patterns, method.Patterns(**drawn)), ("classes", classes, method.Selectivity())]
    for name, asked, reducer in reducers:
        if asked:
            (answer,) = scan([reducer])
            beside_twins(deliver, loaded, corpus, reducer, answer, n, f"of-{name}")


def _others(name: str | None, loaded: "LanguageModel") -> "list[LanguageModel]":
    """The model of `--beside`, if any; InputError if it has the same name."""
    from tslens.errors import InputError
    from tslens.models import load, name_of

    others = [load(name)] if name else []
    if any(name_of(other) == name_of(loaded) for other in others):
        raise InputError(f"--beside {name} has the name of the model itself, {name_of(loaded)}; give another model.")
    return others


def _layers(deliver: Delivery, both: "Sequence[LanguageModel]", corpus: "Corpus", n: int) -> None:
    """Neurons of each part of speech by layer, of one model or of two side by side, each beside its own twins."""
    from tslens.twins import TWINS, layers, side_by_side

    if both:
        deliver(side_by_side([layers(model, corpus, n=n or TWINS) for model in both]))
