"""The command that asks a large model for stories."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tslens.cli.delivery import print_json
from tslens.cli.large_model import INCOMPLETE, LargeModel, confirm, print_cost, tell_cost
from tslens.cli.options import Json
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.llm import Settings
    from tslens.stories.asked import Told, Wish

MOST = 1_000_000
"""Requests of one command, at most."""


def ask(
    n: int,
    *,
    out: Path,
    seed: int = 0,
    words: str | None = None,
    features: str | None = None,
    vocabulary: Path | None = None,
    tries: int = 3,
    large: LargeModel = LargeModel(),  # noqa: B008  frozen
    json_: Json = False,
) -> int:
    """Ask a large model for stories that hold given words and features; the price comes first.

    What was received is kept: the same command again goes on. Exits with 3 if some stories are missing.

    Parameters
    ----------
    n
        Number of stories.
    out
        A .jsonl file: one story a line, with the words and features that were asked for.
    seed
        Random seed of words and features; those of story i of a seed are always the same.
    words
        Words of every story, joined by commas. Default: a noun, a verb and an adjective, drawn for each.
    features
        Of every story, such as dialogue,badending (a wrong name lists all), or none. Default: a random subset for each.
    vocabulary
        TOML file with lists of words `noun`, `verb` and `adjective` to draw from. Default: the generator's words.
    tries
        Stories asked for one request, while they lack what it asks for or simple words, are unfinished, or came before.
    """
    from tslens import files, llm
    from tslens.stories import asked

    if n < 1 or tries < 1 or n * tries > MOST:
        raise InputError(f"{n:,} stories in {tries:,} tries: give 1 or more of both, and {MOST:,} requests at most")
    if out.suffix.lower() != ".jsonl":
        raise InputError(f"{out} has the extension {out.suffix or '(none)'!r}; stories are written to .jsonl")
    wanted, settings = _wanted(n, seed, words, features, vocabulary), large.settings()
    now, further = asked.requests_of(wanted, settings, tries)
    confirm([llm.estimate(now, settings, further)], large.yes)
    found = _told(wanted, settings, tries)
    print_cost(found.outcomes)
    if found.stories:
        with files.atomic(out) as file:
            file.writelines(json.dumps(story, ensure_ascii=False) + "\n" for story in found.stories)
    _print(found, n, out, json_)
    return 0 if len(found.stories) == n else INCOMPLETE


def _wanted(n: int, seed: int, words: str | None, features: str | None, vocabulary: Path | None) -> "list[Wish]":
    """What the stories must hold, by the options."""
    from tslens.stories import asked

    if words is not None and vocabulary is not None:
        raise InputError("--words and --vocabulary both say which words the stories hold; give one of them")
    given = [word.strip() for word in (words or "").split(",") if word.strip()]
    if words is not None and not given:
        raise InputError("--words names no word; give some, joined by commas, such as dog,run,happy")
    wanted = asked.wishes(
        n,
        seed,
        words=given,
        features=None if features is None else asked.features_of(features),
        vocabulary=None if vocabulary is None else asked.vocabulary_of(vocabulary),
    )
    return list(wanted)


def _told(wanted: "list[Wish]", settings: "Settings", tries: int) -> "Told":
    """The stories that come; what was spent is printed also where an error ends the asking."""
    from tslens.stories import asked

    try:
        return asked.ask(wanted, settings, tries)
    except BaseException as error:
        tell_cost(error)
        raise


def _print(found: "Told", n: int, out: Path, as_json: bool) -> None:
    """Print what came and what did not."""
    missing = n - len(found.stories)
    place = str(out) if found.stories else None
    if as_json:
        usd = sum(outcome.usd + outcome.lost_usd for outcome in found.outcomes)  # as grades count it
        counts = {"stories": len(found.stories), "missing": missing, "rejected": dict(found.rejected)}
        print_json(counts | {"usd": usd, "written_to": place})
        return
    print(f"{len(found.stories):,} stories" + (f" written to {place}" if place else "") + f", {missing:,} missing")
    for fault, count in found.rejected.most_common():
        print(f"{count:,} rejected: {fault}")
