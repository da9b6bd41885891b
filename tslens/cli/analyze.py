"""The commands that say what heads do, and which labels untrained twins earn too."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.delivery import Delivery, beside_twins, delivery
from tslens.cli.options import Engine, Json, Limit, Model, Precision, Stories, corpus_of, scanned
from tslens.errors import InputError
from tslens.progress import note

if TYPE_CHECKING:
    from tslens.analysis.heads import RolesResult
    from tslens.corpus import Corpus
    from tslens.models import LanguageModel


def heads(
    *,
    model: Model,
    text: str | None = None,
    stories: Stories = None,
    limit: Limit = 200,
    ablate: bool = False,
    swap: bool = False,
    probe: bool = False,
    kinds: bool = False,
    n: Annotated[int, Parameter(name="--twins")] = 0,
    out: Path | None = None,
    engine: Engine = "local",
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Find the role of every attention head, with effect size and evidence.

    Parameters
    ----------
    text
        A text of your own: shows where every head attends in it, with one heat map per head in --out.
    ablate
        Also ablate every head, by three kinds: the loss on 32 stories, by the head's labels, and on repeated tokens.
    swap
        Also swap words and shift positions in 100 of the stories, and show which roles that contradicts.
    probe
        Also read the part of speech from every head's queries and keys, on held-out stories and words.
    kinds
        Also name keys chosen by content and word classes written, beyond twins; kernel families; roles at 64 tokens.
    n
        Untrained twins that are asked too, 19 for a p of 0.05; with 0 the counts of roles that a page or study kept.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens.analysis import heads as method
    from tslens.forward import check_precision
    from tslens.models import load

    check_precision(precision)
    with delivery(out, json_) as deliver:
        loaded, reducer = load(model), method.Roles()
        if text is not None:
            deliver(attention := method.pattern(loaded, text, precision=precision), figures=attention.figures())
        if text is not None and stories is None and not (ablate or swap or probe or kinds):
            return
        corpus = _enough(corpus_of(loaded, stories, limit), ablate or swap)
        (found,) = scanned(engine, model, loaded, corpus, [reducer], precision)
        roles = beside_twins(deliver, loaded, corpus, reducer, found, n, "of-roles")
        _further(deliver, loaded, corpus, roles, precision, n, swap=swap, kinds=kinds, ablate=ablate, probe=probe)


def _enough(corpus: "Corpus", has_intervals: bool) -> "Corpus":
    """The stories; InputError, before roles are read, where they are too few for intervals of swaps or ablations."""
    from tslens.analysis.heads.evidence import MIN_GROUPS

    if has_intervals and len(corpus) < MIN_GROUPS:
        raise InputError(f"An interval needs {MIN_GROUPS} stories or more; there are {len(corpus)}. Give more.")
    return corpus


def _further(
    deliver: Delivery,
    loaded: "LanguageModel",
    corpus: "Corpus",
    roles: "RolesResult",
    precision: str,
    n: int,
    *,
    swap: bool,
    kinds: bool,
    ablate: bool,
    probe: bool,
) -> None:
    """What was asked for besides the roles; ablations beside `n` untrained twins."""
    from tslens.analysis import heads as method
    from tslens.twins import ablated, control, read_ahead

    swapped = method.swaps(loaded, corpus) if swap else None
    if swapped is not None:
        deliver(swapped, corpus=corpus)
        deliver(agreement := method.agreement(roles, swapped), corpus=corpus)
        roles = agreement.withhold(roles)
    chosen = written = None
    if kinds:
        of_kinds, of_writes = method.Kinds(made=method.MADE), method.Writes()
        read_ahead(loaded, corpus, scored=[of_kinds, of_writes])
        twins = control(loaded, corpus, of_kinds)
        chosen = method.kinds(loaded, corpus, roles=roles, control=twins, precision=precision)
        deliver(chosen, corpus=corpus)
        twins = control(loaded, corpus, of_writes)
        written = method.writes(loaded, corpus, control=twins, precision=precision)
        deliver(written, corpus=corpus)
        beside_twins(deliver, loaded, corpus, method.Kernels(), method.kernels(roles, swapped), n, "of-kernels")
        deliver(method.at_contexts(loaded, corpus, precision), corpus=corpus)
    if ablate:
        if not kinds:
            note("Kinds of keys and written classes are not asked: a head without a name may have one (--kinds).")
        ablation = partial(method.ablation, loaded, roles=roles, keys=chosen, writes=written)
        deliver(ablation(rows=16), "on-repeated-tokens")
        found = ablation(corpus)
        if n:
            deliver(counted := ablated(loaded, corpus, n=n), "of-ablation", printed=False)
            found = counted.beside(found)
        deliver(found, "on-stories", corpus=corpus)
    if probe:
        probed = method.probes(loaded, corpus, precision=precision)
        beside_twins(deliver, loaded, corpus, method.Probes(), probed, n, "of-probes")


def twins(
    *,
    model: Model,
    stories: Stories = None,
    limit: Limit = 100,
    n: Annotated[int, Parameter(name="--twins")] = 19,
    out: Path | None = None,
    json_: Json = False,
) -> None:
    """Count labels of heads and neurons, and positions that layers settle, beside those of untrained twins.

    A twin has the model's shape: freshly initialised, or with the values of every weight permuted. The counts are kept.

    Parameters
    ----------
    n
        Untrained twins; 19 give a p of 0.05 at best.
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    """
    from tslens.forward.trunk import refuse_compressor
    from tslens.models import load
    from tslens.twins import compare

    with delivery(out, json_) as deliver:
        refuse_compressor(loaded := load(model))
        corpus = corpus_of(loaded, stories, limit)
        found = compare(loaded, corpus, n=n, limit=limit or len(corpus))
        deliver(found, corpus=corpus)
