"""The command that scores models on instructions."""

from pathlib import Path

from tslens.cli.delivery import delivery
from tslens.cli.options import Json, Limit, LossStories, Models, Precision
from tslens.errors import InputError


def instruct(
    *,
    model: Models = None,
    stories: LossStories = None,
    limit: Limit = 300,
    samples: int = 2,
    limit_tokens: int = 256,
    seed: int = 0,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Measure how far models write what instructions ask for, beyond what they write anyway.

    By rule: words, dialogue, a moral, the given sentence, overlap with the summary. Beside stories for other
    instructions and for none; for combinations asked for together in training, and for those held out of it.

    Parameters
    ----------
    samples
        Stories for each instruction.
    limit_tokens
        Largest number of tokens of a story.
    seed
        Of the stories.
    out
        A folder for the figure (SVG), the scores of every instruction (CSV) and the whole answer.
    """
    if not model:
        raise InputError("give --model, once for each model to be scored; `tslens models` lists the known ones.")
    from tslens.cli.options import corpus_of
    from tslens.evaluation import instruct as suite
    from tslens.models import load

    loaded = [load(name) for name in model]
    corpus = corpus_of(loaded[0], stories, limit, self_written=False)
    with delivery(out, json_) as deliver:
        answer = suite.instruct(
            loaded, corpus.texts, samples=samples, max_new_tokens=limit_tokens, seed=seed, precision=precision
        )
        deliver(answer, corpus=corpus)
