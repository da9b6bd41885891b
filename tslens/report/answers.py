"""Answers kept beside a model for its page: to suites of prompts and instructions, its score card, what it copies."""

import contextlib
import dataclasses
from collections.abc import Iterable, Sequence
from itertools import count, takewhile
from typing import TYPE_CHECKING, TypeVar

import torch

from tslens import lock
from tslens.errors import InputError
from tslens.evaluation.card import CardResult
from tslens.evaluation.copies import CopiesResult
from tslens.evaluation.grading import rubric
from tslens.evaluation.grading.graders import rehearses
from tslens.evaluation.grading.suites import RUBRIC
from tslens.evaluation.grading.trust import TRUSTED, UNTRUSTWORTHY
from tslens.evaluation.instruct import InstructGradesResult, InstructResult
from tslens.evaluation.pairs import PairsResult
from tslens.evaluation.prompts import NEW_TOKENS
from tslens.evaluation.scores import UNRECORDED, Labels
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import Suite, suite, suites
from tslens.result import Result
from tslens.twins import kept as store

if TYPE_CHECKING:
    from tslens.models import LanguageModel

VERSION = "answers, 3"
"""Part of the key of kept answers: raise it when what gives or scores them changes."""
CARDS = "answers, 4"
"""The same of score cards, minimal pairs, copies and instructions."""
SAME = 1e-3
"""Nats by which the log-probabilities of endings differ at most between two readings of the same weights."""
PATIENCE = 10.0
"""Seconds that one keeping of answers waits for another, which reads and writes a few files."""
Kind = TypeVar("Kind", bound=Result)
PAIRS = ("minimal-pairs", "minimal-pairs-of-others")
Given = tuple[list[list[int | None]], str, list[list[int | None]]]
"""A grader's labels of the completions of one model, what its controls said of it then, and its labels by chance; the
last two are empty if unknown."""
Written = tuple[list[list[str]], dict[str, Given], str]
"""The completions of one model by prompt, their labels by who gave them, and how the completions were drawn."""


def keep_suite(model: "LanguageModel", asked: Suite, found: SuiteResult) -> None:
    """Keep the answers to a suite that comes with tslens, and of older ones the completions and labels that they lack.

    The labels of a rehearsal are not kept: they are no findings. Those of another grader stand beside what its controls
    say of it. Where nothing can be kept, they have to be found again. Of two gradings that end at once the second waits
    for the first, whose labels it reads. InputError if it has waited for ten seconds.
    """
    if asked.name not in suites() or asked != suite(asked.name):
        return
    name = _of_suite(model, asked)
    place = store.places(model, name)[0]
    with contextlib.suppress(OSError), lock.held(place, "ask again later", wait=PATIENCE):
        older = _read(model, name, SuiteResult)
        _keep(model, name, _findings(found if older is None else with_older(_findings(found), _findings(older))))


def kept_suites(model: "LanguageModel") -> list[SuiteResult]:
    """The answers that were kept of a model with these weights to the suites as they are now, the last to each."""
    read = (_read(model, _of_suite(model, suite(name)), SuiteResult) for name in suites())
    return [_findings(found) for found in read if found is not None]


def keep_card(model: "LanguageModel", found: CardResult, *, is_short: bool = False) -> None:
    """Keep a score card. One from few minimal pairs `is_short`: it does not replace one of `tslens eval card`."""
    _keep(model, _name(model, "all" if is_short else "texts" if found.reference else "pairs"), found)


def kept_card(model: "LanguageModel") -> CardResult | None:
    """The fullest score card kept of a model with these weights: with texts, of many pairs, of few; or None."""
    read = (_read(model, _name(model, kind), CardResult) for kind in ("texts", "pairs", "all"))
    return next((found for found in read if found is not None), None)


def keep_pairs(model: "LanguageModel", found: PairsResult, *, is_own: bool) -> None:
    """Keep the scores of a model, and of those beside it, on our own minimal pairs or on those of others."""
    _keep(model, _name(model, PAIRS[not is_own]), found)


def kept_pairs(model: "LanguageModel") -> list[PairsResult]:
    """The last scores that were kept of a model with these weights: on our own minimal pairs, then on those of
    others."""
    read = (_read(model, _name(model, kind), PairsResult) for kind in PAIRS)
    return [found for found in read if found is not None]


def keep_copies(model: "LanguageModel", found: CopiesResult) -> None:
    """Keep what a model copies from its training stories."""
    _keep(model, _name(model, "copies"), found)


def kept_copies(model: "LanguageModel") -> CopiesResult | None:
    """What was last kept on copies by a model with these weights, or None."""
    return _read(model, _name(model, "copies"), CopiesResult)


def keep_instruct(model: "LanguageModel", found: InstructResult, grades: Sequence[InstructGradesResult]) -> None:
    """Keep how far a model does what instructions ask, with what graders say of the same texts, rehearsals apart."""
    _keep(model, _name(model, "instruct"), found)
    real = (one for one in grades if not rehearses(one.grader))
    for number, one in enumerate(real):
        _keep(model, _name(model, f"instruct-grades-{number}"), one)


def kept_instruct(model: "LanguageModel") -> tuple[InstructResult | None, list[InstructGradesResult]]:
    """What was last kept on instructions by a model with these weights, or None; and the grades of the same texts."""
    found = _read(model, _name(model, "instruct"), InstructResult)
    if found is None:
        return None, []
    names = (_name(model, f"instruct-grades-{number}") for number in count())
    grades = takewhile(lambda one: one is not None, (_read(model, name, InstructGradesResult) for name in names))
    return found, [one for one in grades if one is not None and _of_same_texts(one, found)]


def _of_same_texts(grades: InstructGradesResult, found: InstructResult) -> bool:
    alike = grades.models == found.models and grades.instructions == found.instructions
    return alike and torch.equal(grades.rule.nan_to_num(-1), found.score.nan_to_num(-1))


def with_older(found: SuiteResult, older: SuiteResult) -> SuiteResult:
    """The answers, with the completions and labels of older ones for each model of which these have more.

    More is more graders, then more texts. Log-probabilities say which models are the same; names may change.
    """
    written = []
    for i, own in enumerate(found.log_probability):
        before = (
            _written(older, j)
            for j, other in enumerate(older.log_probability)
            if own.shape == other.shape and torch.allclose(own, other, atol=SAME)
        )
        written.append(_fuller(_written(found, i), next(before, ([], {}, ""))))
    if not any(texts for texts, _, _ in written):
        return found
    graders = dict.fromkeys(by for _, given, _ in written for by in given)
    texts = [own or [[] for _ in range(found.by_hand)] for own, _, _ in written]
    none: Labels = [[[None for _ in row] for row in own] for own in texts]
    labels: dict[str, Labels] = {}
    trust: dict[str, str] = {}
    chance: dict[str, Labels] = {}
    for by in graders:
        labels[by] = [given[by][0] if by in given else none[i] for i, (_, given, _) in enumerate(written)]
        if any(null := [given[by][2] if by in given else [] for _, given, _ in written]):
            chance[by] = null
        if said := _least(given[by][1] for _, given, _ in written if by in given):
            trust[by] = said
    sampling = [how for _, _, how in written]
    return dataclasses.replace(found, completions=texts, labels=labels, trust=trust, chance=chance, sampling=sampling)


def _least(said: Iterable[str]) -> str:
    """Of what controls said of one grader in several runs the worst; empty if they said nothing in any."""
    told = set(said)
    if told == {""}:
        return ""
    worst_first = sorted(told, key=lambda one: (not one.startswith(UNTRUSTWORTHY), one == TRUSTED, one))
    return worst_first[0] or UNRECORDED


def _findings(result: SuiteResult) -> SuiteResult:
    """The answers without the labels of rehearsals, which also stand among older ones that were kept with them."""
    labels = {by: rows for by, rows in result.labels.items() if not rehearses(by)}
    trust = {by: said for by, said in result.trust.items() if by in labels}
    chance = {by: rows for by, rows in result.chance.items() if by in labels}
    return dataclasses.replace(result, labels=labels, trust=trust, chance=chance)


def _written(result: SuiteResult, model: int) -> Written:
    texts = result.completions[model] if result.completions else []
    null = {by: rows[model] for by, rows in result.chance.items()}
    given = {by: (rows[model], result.trust.get(by, ""), null.get(by, [])) for by, rows in result.labels.items()}
    there = {by: one for by, one in given.items() if any(label is not None for row in one[0] for label in row)}
    return (texts if any(texts) else []), there, result.sampling[model] if result.sampling else ""


def _fuller(own: Written, older: Written) -> Written:
    if own[0] == older[0]:
        return own[0], older[1] | own[1], own[2] or older[2]
    size, size_of_older = ((len(given), sum(map(len, texts))) for texts, given, _ in (own, older))
    return own if size >= size_of_older else older


def _of_suite(model: "LanguageModel", asked: Suite) -> str:
    """Where the answers to a suite are kept: after the weights, the prompts, and what writes and grades."""
    rules = "\0".join([VERSION, repr(asked), repr(rubric(RUBRIC)), str(NEW_TOKENS)])
    return f"suites/{store.of_weights(model, rules)}/{asked.name}"


def _name(model: "LanguageModel", kind: str) -> str:
    return f"answers/{store.of_weights(model, CARDS)}/{kind}"


def _keep(model: "LanguageModel", name: str, found: Result) -> None:
    with contextlib.suppress(OSError):
        found.save(store.places(model, name)[0])


def _read(model: "LanguageModel", name: str, kind: type[Kind]) -> Kind | None:
    for place in store.places(model, name):
        with contextlib.suppress(OSError, InputError):
            return kind.load(place)
    return None
