"""The command that makes stories with the embedded generator."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

from cyclopts import Parameter

from tslens import progress
from tslens.cli.delivery import print_json
from tslens.cli.options import Json
from tslens.errors import InputError

Words = Annotated[
    str,
    Parameter(
        help="Words that every story must hold, joined by commas, in any inflection: dog,run,happy; fish/VERB for one "
        "part of speech. A request that no story can meet is refused."
    ),
]
Features = Annotated[
    str,
    Parameter(
        help="Features that every story must show, joined by commas: dialogue, plot twist, bad ending, moral value, "
        "foreshadowing, conflict."
    ),
]
Instruct = Annotated[
    bool,
    Parameter(
        help="Put the blocks of TinyStories-Instruct before each story: words, features, a sentence and a summary, in "
        "a subset and order drawn for each."
    ),
]


def make(
    n: int = 1000,
    *,
    out: Path | None = None,
    seed: int = 0,
    words: Words = "",
    features: Features = "",
    instruct: Instruct = False,
    json_: Json = False,
) -> None:
    """Make stories with the embedded generator, to a file or to the terminal.

    Parameters
    ----------
    n
        Number of stories.
    out
        A .txt file (stories with <|endoftext|> between them) or a .jsonl file (one story a line with its ground
        truth: words, features, summary, sentence, characters, pronouns, part of speech of every word). Without it the
        stories are printed; with --json as such lines.
    seed
        Random seed; story i of a seed is always the same.
    """
    from random import Random

    from tslens.stories.generator import StoryRequest, generate, requested
    from tslens.stories.instruct import Instruction, draw_kinds

    if n < 1:
        raise InputError(f"{n} stories were asked for; give 1 or more")
    if out is not None and out.suffix.lower() not in (".txt", ".jsonl"):
        raise InputError(f"{out} has the extension {out.suffix or '(none)'!r}; stories are written to .txt or .jsonl")
    as_json = out.suffix.lower() == ".jsonl" if out is not None else json_
    request = StoryRequest.parse(
        *([part.strip() for part in text.split(",") if part.strip()] for text in (words, features))
    )
    made = requested(request, n, seed) if words or features else generate(n, seed)
    made_stories = made if out is None else progress.track(made, "making stories", n)
    with _written(out) as file:
        for number, story in enumerate(made_stories):
            text, record = story.text, story.to_dict()
            if instruct:
                text = Instruction.from_made(story, draw_kinds(Random(f"{seed}:{number}:instruct"))).format()
                record |= {"text": text, "story": story.text}
            line = json.dumps(record, ensure_ascii=False) if as_json else f"{text}\n<|endoftext|>"
            file.write(f"{line}\n")
    if out is not None and json_:
        print_json({"stories": n, "written_to": str(out)})
    elif out is not None:
        print(f"{n:,} stories written to {out}")


@contextmanager
def _written(out: Path | None) -> Iterator[IO[str]]:
    """A text file that is written atomically; or the terminal."""
    if out is None:
        yield sys.stdout
        return
    from tslens import files

    with files.atomic(out) as file:
        yield file
