"""Scores of the snapshots of a run: one pass over the stories for each, kept beside the run."""

import contextlib
import hashlib
import time
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward, models, stats
from tslens.analysis import heads, lens, neurons
from tslens.analysis.heads.repeated import repeated_tokens, repetition_scores
from tslens.analysis.heads.result import CLASSES
from tslens.corpus import Corpus
from tslens.dynamics.points import Point, folder_of, points
from tslens.dynamics.snapshot import (
    BOS,
    INDUCTION,
    LOSS,
    POSITIONAL,
    PREVIOUS,
    REPETITION,
    UNITS,
    SnapshotResult,
    units_of,
    within,
)
from tslens.errors import InputError
from tslens.forward.trunk import refuse_compressor
from tslens.generate import Sampling, generate, with_room
from tslens.halves import FEWEST, joined, on_halves, reach
from tslens.progress import bar, note, off
from tslens.scan import Reducer, scan

if TYPE_CHECKING:
    from tslens.models import LanguageModel

STORIES = 100
VERSION = 10
"""Part of the key of kept snapshots: raise it when the rule of a score changes."""
REDUCERS: tuple[Reducer[Any, Any], ...] = (heads.Roles(), neurons.Profiles(), lens.ByDepth())
PROMPTS = ("", "Once upon a time there was a little")
SAMPLING, TOKENS = Sampling(temperature=0.7, top_p=0.95), 100
ONE_WORD = "one word"


def snapshots(
    run: str | Path, stories: Iterable[str], *, limit: int = STORIES, checkpoints: bool = False
) -> list[SnapshotResult]:
    """Measure a run at each of its points (see `points`) on the first `limit` stories, each text once, earliest first.

    What was measured is kept in the run's folder: a second call reads it, and a call that was stopped is resumed.

    Raises:
        InputError: a run without snapshots, a compressor, or fewer stories than give an interval.
    """
    texts, found, folder = read_texts(stories, limit), dict[int, SnapshotResult](), folder_of(run)
    known = points(run, checkpoints=checkpoints)
    with bar(f"snapshots of {folder.name}", len(known)) as shown:
        for point in known:
            place = folder / "dynamics" / key_of(point, texts, stories)
            kept, began = _read(place), time.monotonic()
            if kept is None:
                with off():
                    kept = measure(point.load(), point.step, texts)
                with contextlib.suppress(OSError):  # where nothing can be kept, it is measured anew next time
                    kept.save(place)
                if not found:
                    seconds = (time.monotonic() - began) * (len(known) - 1)
                    note(f"Measuring {len(known)} snapshots of {folder.name}, once: about {seconds:.0f} s more.")
            found[point.step] = kept
            shown.advance()
    return [found[step] for step in sorted(found)]


def kept_snapshots(run: str | Path, stories: Iterable[str], *, limit: int = STORIES) -> list[SnapshotResult]:
    """What `snapshots` gives, if all of it is kept; else an empty list. Nothing is measured."""
    texts, folder = list(dict.fromkeys(islice(stories, limit))), folder_of(run)
    found = [_read(folder / "dynamics" / key_of(point, texts, stories)) for point in points(run)]
    whole = [each for each in found if each is not None]
    return whole if len(whole) == len(found) else []


def read_texts(stories: Iterable[str], limit: int) -> list[str]:
    """The first stories, each text once; InputError for too few."""
    texts = list(dict.fromkeys(islice(stories, limit)))
    if len(texts) < FEWEST:
        raise InputError(f"The interval of a score needs {FEWEST} different stories; there are {len(texts)}.")
    return texts


def measure(model: "LanguageModel", step: int, texts: Sequence[str]) -> SnapshotResult:
    """All scores of one model: a pass for heads, neurons and lens, repeated random tokens, and what it writes."""
    refuse_compressor(model)
    answers = on_halves(model, texts, REDUCERS)
    roles, profiles, depth = next(answers)
    rows = [(_scores(*half), half[2].loss) for half in answers]
    scores = _scores(roles, profiles, depth)
    value, width = _stacked([scores])[0], reach(_stacked([row for row, _ in rows]))
    low, high, at = value - width, value + width, list(UNITS).index
    of = units_of(list(scores), roles.role_code, profiles.label)
    low[len(UNITS) :], high[len(UNITS) :] = joined(*(part[len(UNITS) :] for part in (value, width, of)))
    for name, interval in _on_repeated_tokens(model).items():
        value[at(name)], low[at(name)], high[at(name)] = interval.estimate, interval.low, interval.high
    beside = reach(torch.stack([loss for _, loss in rows])).float()
    prompts = with_room(model, PROMPTS)
    return SnapshotResult(
        model=models.name_of(model),
        step=step,
        stories=len(texts),
        scores=list(scores),
        value=value.float(),
        low=within(low, list(scores)).float(),
        high=within(high, list(scores)).float(),
        depths=depth.depths,
        lens=depth.loss,
        lens_low=depth.loss - beside,
        lens_high=depth.loss + beside,
        role_code=roles.role_code,
        effect=roles.effect,
        measured=torch.stack(
            [_explained(roles, "previous token"), roles.induction_random, _explained(roles, "BOS sink"), _share(roles)]
        ),
        labels=[*profiles.tags, ONE_WORD],
        label=torch.where(profiles.by_word, len(profiles.tags), profiles.label),
        prompts=prompts,
        texts=generate(model, prompts, max_new_tokens=TOKENS, sampling=SAMPLING),
    )


def scores_of(model: "LanguageModel", texts: Sequence[str]) -> dict[str, float]:
    """Every score of one model, without intervals: what `measure` finds, in one pass and for less."""
    refuse_compressor(model)
    found = _scores(*scan(model, texts, REDUCERS))
    return found | {name: float(interval.estimate) for name, interval in _on_repeated_tokens(model).items()}


def _scores(roles: heads.RolesResult, profiles: neurons.ProfilesResult, depth: lens.ByDepthResult) -> dict[str, float]:
    """Every score, in the order of `UNITS` and then of the counts; those on repeated random tokens come later."""
    found = {
        LOSS: float(depth.loss[-1]),
        REPETITION: 0.0,
        PREVIOUS: float(_explained(roles, "previous token").max()),
        INDUCTION: 0.0,
        BOS: float(_explained(roles, "BOS sink").max()),
        POSITIONAL: float(_share(roles).mean()),
    }
    return found | roles.counts() | profiles.counts()


def _explained(roles: heads.RolesResult, claim: str) -> Float[Tensor, "layer head"]:
    """The share of each head's KL from uniform attention that a class of keys explains; 0 where there is none."""
    return roles.claim_effect[CLASSES.index(claim)].nan_to_num(0.0)


def _share(roles: heads.RolesResult) -> Float[Tensor, "layer head"]:
    """The positional fraction, from 0 on: below, position predicts no better than uniform attention does."""
    return roles.positional_fraction.nan_to_num(0.0).clamp(min=0)


def _on_repeated_tokens(model: "LanguageModel") -> dict[str, stats.Interval]:
    """The strongest head's mass on what followed the first time, and how much lower the loss is the second time."""
    tokens = repeated_tokens(model)
    length = (tokens.shape[1] - 1) // 2
    losses = forward.token_losses(model, tokens.to(next(model.parameters()).device)).double().cpu()
    first, second = losses[:, 1:length].mean(1), losses[:, length + 1 :].mean(1)  # the second token on, of each half
    mass = repetition_scores(model).induction.flatten(1)
    return {
        REPETITION: stats.paired_difference(first.numpy(), second.numpy()),
        INDUCTION: stats.mean_interval(mass[:, mass.mean(0).argmax()].numpy()),
    }


def _stacked(rows: Sequence[dict[str, float]]) -> Float[Tensor, "row score"]:
    return torch.tensor([list(row.values()) for row in rows], dtype=torch.float64)


def key_of(point: Point, texts: Sequence[str], stories: object) -> str:
    """The folder of a kept snapshot, after its step and all that decides it.

    Stories that the model writes itself count as their recipe: another machine's rounding changes a few of them.
    """
    recipe = stories.recipe if isinstance(stories, Corpus) else ""
    digest = hashlib.blake2b(digest_size=8)
    read_on = [recipe, str(len(texts))] if recipe else texts
    for part in (str(VERSION), *map(repr, REDUCERS), repr((PROMPTS, SAMPLING, TOKENS)), point.identity, *read_on):
        digest.update(part.encode() + b"\0")
    return f"step-{point.step:06d}-{digest.hexdigest()}"


def _read(place: Path) -> SnapshotResult | None:
    with contextlib.suppress(OSError, InputError):
        return SnapshotResult.load(place)
    return None
