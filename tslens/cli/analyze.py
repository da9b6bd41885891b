"""The commands that say what heads and neurons do."""

from pathlib import Path

from tslens.cli.delivery import delivery
from tslens.cli.options import Json, Limit, Model, Precision, Stories, corpus_of


def heads(
    *,
    model: Model,
    text: str | None = None,
    stories: Stories = None,
    limit: Limit = 200,
    ablate: bool = False,
    swap: bool = False,
    probe: bool = False,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Find the role of every attention head, with effect size and evidence.

    Parameters
    ----------
    text
        A text of your own: shows where every head attends in it, with one heat map per head in --out.
    ablate
        Also ablate every head in turn, by three kinds, and measure the loss on 32 of the stories, there also on the
        tokens that the head's role predicts, and on repeated random tokens.
    swap
        Also swap words and shift positions in 100 of the stories, and show which roles that contradicts.
    probe
        Also read the part of speech from every head's queries and keys, on held-out stories and words.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens.analysis import heads as method
    from tslens.forward import check_precision
    from tslens.models import load
    from tslens.scan import scan

    check_precision(precision)
    with delivery(out, json_) as deliver:
        loaded = load(model)
        if text is not None:
            attention = method.pattern(loaded, text, precision=precision)
            deliver(attention, figures=attention.figures())
        if stories is None and text is not None and not (ablate or swap or probe):
            return
        corpus = corpus_of(loaded, stories, limit)
        roles = scan(loaded, corpus, method.Roles(), precision=precision)
        deliver(roles, corpus=corpus)
        if swap:
            swapped = method.swaps(loaded, corpus)
            deliver(swapped, corpus=corpus)
            deliver(method.agreement(roles, swapped), corpus=corpus)
        if ablate:
            deliver(method.ablation(loaded, rows=16), "on-repeated-tokens")
            deliver(method.ablation(loaded, corpus, roles=roles), "on-stories", corpus=corpus)
        if probe:
            deliver(method.probes(loaded, corpus, precision=precision), corpus=corpus)


def neurons(
    *,
    model: Model,
    stories: Stories = None,
    limit: Limit = 200,
    top: int = 20,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Find what every MLP neuron fires on: top tokens beside samples, part of speech, effect on the logits.

    Parameters
    ----------
    top
        Tokens kept for each neuron.
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    """
    from tslens.analysis import neurons as method
    from tslens.forward import check_precision
    from tslens.models import load

    method.Profiles(k=top)  # a wrong --top is refused before the work
    check_precision(precision)
    with delivery(out, json_) as deliver:
        loaded = load(model)
        corpus = corpus_of(loaded, stories, limit)
        deliver(method.profiles(loaded, corpus, k=top, precision=precision), corpus=corpus)
