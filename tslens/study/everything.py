"""Ask the questions of `tslens analyze all`, part by part, and continue a study that was stopped."""

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from tslens import progress
from tslens.batching import several_texts
from tslens.corpus import Corpus, counted
from tslens.errors import InputError
from tslens.forward.trunk import refuse_compressor
from tslens.memory import give_back, giving_back
from tslens.models import name_of
from tslens.result import Result
from tslens.scan import Reducer, scan
from tslens.study.findings import finding
from tslens.study.kept import Kept, kept
from tslens.study.parts import PARTS
from tslens.study.result import EverythingResult
from tslens.study.work import ALL, NONE, StudyPart, Work
from tslens.twins import FEWEST, STORIES, TWINS, TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel

Scan = Callable[[Sequence[Reducer[Any, Any]]], list[Any]]
PERCENT = 100.0


@dataclass(frozen=True)
class Answer:
    """The answer to one question of a study."""

    name: str
    result: Result
    which: str
    """What tells it from other answers of its kind; empty where it is the only one."""


@dataclass(frozen=True)
class _Done:
    """A part that was asked: its answers, or why it has none, and the seconds that it took."""

    part: StudyPart
    answers: dict[str, Result]
    why: str
    seconds: float


def everything(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    checked: int = STORIES,
    twins: int = TWINS,
    scanned: Scan | None = None,
) -> list[Answer]:
    """The answers to the questions of `tslens analyze all` about a model, the summary (`EverythingResult`) first.

    They are about heads, labels of neurons, layers and tasks. Not asked are what neurons select (`neurons.selectivity`,
    `neurons.patterns`), what they do (`neurons.mean_ablation`, `neurons.fade`), circuits, patching and paths.

    The scan reads all `stories`; labels are checked by `twins` untrained twins, by swaps and by ablations on `checked`
    of them. A question that has no answer for this model or these stories says why in the summary. Every part is kept
    when it ends, in the run's folder or else in the cache: a study that was stopped continues there, and one that was
    finished is read. `scanned` answers reducers over the stories elsewhere (`cluster.scan_on_cluster`).

    Raises:
        InputError: no story, fewer checked ones than 1, a compressor, or another process studies the same.
    """
    refuse_compressor(model)
    corpus = stories if isinstance(stories, Corpus) else _named(stories)
    if checked < 1 or not len(corpus):
        raise InputError(f"A study of {len(corpus)} stories, {checked} of them checked, asks nothing. Give more.")
    if twins and checked < FEWEST:
        raise InputError(
            f"Counts on {checked} checked stories have no interval beside those of untrained twins. Give {FEWEST} or "
            "more, or no twin."
        )
    work = Work(model, corpus, scanned or partial(scan, model, corpus), min(checked, len(corpus)), twins, {})
    with kept(model, corpus, [checked, twins]) as keeper, giving_back():
        done = _all(work, keeper)
    return [Answer("summary", _summary(work, done), ""), *_answers(done)]


def _named(stories: Iterable[str]) -> Corpus:
    return Corpus(tuple(several_texts(stories)), getattr(stories, "description", "the given stories"))


def _all(work: Work, keeper: Kept) -> list[_Done]:
    """Every part, read or asked. Kept parts are read first, so that the time left is that of the others."""
    found = {part.name: keeper.read(part.name, part.answers) for part in PARTS}
    left = sum(part.cost(work) for part in PARTS if found[part.name] is None)
    done = []
    with progress.bar("asking", PERCENT, steady=True) as bar:
        for part in PARTS:
            known = found[part.name]
            if known is None:
                bar.update(bar.done, what=part.name)
                with progress.part(bar, PERCENT * part.cost(work) / left):
                    done.append(_ask(part, work))
                if not done[-1].why:
                    keeper.write(part.name, done[-1].answers, done[-1].seconds)
            else:
                done.append(_Done(part, known[0], "", known[1]))
            work.found.update(done[-1].answers)
    return done


def _ask(part: StudyPart, work: Work) -> _Done:
    began, answers, why = time.monotonic(), dict[str, Result](), ""
    try:
        answers = {name: _described(answer, part, work) for name, answer in part.ask(work).items()}
    except InputError as error:
        why = f"no answer: {error}"
    give_back()
    return _Done(part, answers, why, time.monotonic() - began)


def _described(answer: Result, part: StudyPart, work: Work) -> Result:
    """The answer with the stories that its intervals are over."""
    if not (n := _stories_of(answer, part, work)):
        return answer
    whole = work.corpus.description
    few = f"{counted(n)} of {whole} Every interval is over the {n:,}."
    return dataclasses.replace(answer, corpus=whole if n == len(work.corpus) else few)


def _stories_of(answer: Result, part: StudyPart, work: Work) -> int:
    """The stories that an answer's intervals are over; 0 where it reads none."""
    if part.reads == NONE:
        return 0
    if part.reads == ALL:
        return len(work.corpus)
    own = getattr(answer, "stories", None)
    return min(own, work.checked) if isinstance(own, int) else work.checked  # not those that it makes itself


def _answers(done: Sequence[_Done]) -> list[Answer]:
    often = Counter(kind for part in PARTS for kind in part.answers.values())
    return [
        Answer(name, answer, _without_kind(name) if often[type(answer)] > 1 else "")
        for one in done
        for name, answer in one.answers.items()
    ]


def _without_kind(name: str) -> str:
    """`on-stories` of `ablation on stories`."""
    return name.partition(" ")[2].replace(" ", "-")


def _summary(work: Work, done: Sequence[_Done]) -> EverythingResult:
    twins = work.found.get("twins")
    counts = twins if isinstance(twins, TwinsResult) else None
    rows = [
        (name, finding(answer, counts), _stories_of(answer, one.part, work))
        for one in done
        for name, answer in one.answers.items()
    ]
    rows.sort(key=lambda row: not row[0].startswith("twins"))  # what exceeds untrained models comes first
    rows += [(one.part.name, one.why, 0) for one in done if one.why]
    return EverythingResult(
        model=name_of(work.model),
        answers=[name for name, _, _ in rows],
        findings=[said for _, said, _ in rows],
        stories=torch.tensor([n for _, _, n in rows], dtype=torch.int64),
        parts=[one.part.name for one in done],
        seconds=torch.tensor([one.seconds for one in done], dtype=torch.float32),
        corpus=work.corpus.description,
    )
