"""The commands that say what heads, neurons and layers do."""

from collections.abc import Iterable
from pathlib import Path

from tslens.cli._delivery import delivery
from tslens.cli._options import STORIES, Json, Limit, Model, Precision, Stories


def heads(
    *,
    model: Model,
    stories: Stories = STORIES,
    limit: Limit = 200,
    ablate: bool = False,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Say what every attention head does: its role, how strongly, how surely.

    Parameters
    ----------
    ablate
        Also take every head out in turn and measure the loss on repeated random tokens and on 16 of the stories.
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    """
    from tslens.analysis import heads as method
    from tslens.models import load
    from tslens.scan import scan

    with delivery(out, json_) as deliver:
        loaded, corpus = load(model), _corpus(stories, limit)
        answer = scan(loaded, corpus, method.Roles(), precision=precision)
        deliver(answer)
        if ablate:
            deliver(method.ablation(loaded), "on-repeated-tokens")
            deliver(method.ablation(loaded, corpus), "on-stories")


def neurons(
    *,
    model: Model,
    stories: Stories = STORIES,
    limit: Limit = 200,
    top: int = 20,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Say what every MLP neuron fires on: top tokens beside samples, part of speech, effect on the logits.

    Parameters
    ----------
    top
        Tokens kept for each neuron.
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    """
    from tslens.analysis import neurons as method
    from tslens.models import load
    from tslens.scan import scan

    with delivery(out, json_) as deliver:
        deliver(scan(load(model), _corpus(stories, limit), method.Profiles(k=top), precision=precision))


def lens(
    *,
    model: Model,
    prompt: str | None = None,
    stories: str | None = None,
    limit: Limit = 200,
    top: int = 5,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Say what the model would predict after each layer (logit lens): over one prompt, or by depth over stories.

    Parameters
    ----------
    prompt
        A text to look at, token by token.
    stories
        A file, a dataset, or `validation` (the embedded generator's, which is read where there is no prompt either).
    top
        Tokens kept for each position of the prompt.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens.analysis import lens as method
    from tslens.models import load
    from tslens.scan import scan

    with delivery(out, json_) as deliver:
        loaded = load(model)
        if prompt is not None:
            deliver(method.prompt(loaded, prompt, top))
        if stories is not None or prompt is None:
            corpus = _corpus(stories or STORIES, limit)
            deliver(scan(loaded, corpus, method.Depth(), precision=precision))


def _corpus(source: str, limit: int | None) -> Iterable[str]:
    """The stories by name: in a list where they are few, so that a bar knows how many there are."""
    from tslens.stories import stories as read

    found = read(source, limit=limit)
    return found if limit is None else list(found)
