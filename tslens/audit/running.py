"""The audit of a model's labels: plants, twins, simulated corpora, and other ways of reading."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, islice, repeat
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from tslens import models, stats
from tslens.analysis import heads
from tslens.audit.ablation_intervals import of_ablations
from tslens.audit.copies import check_can_carry, copies
from tslens.audit.coverage import Simulated
from tslens.audit.judging import (
    ALL,
    ANY_KIND,
    MORE,
    ONE_WORD,
    PART_OF_SPEECH,
    PLANTED_KINDS,
    PREDICTS,
    SETS,
    Controlled,
    Judged,
    answers,
    judge,
)
from tslens.audit.label_intervals import of_labels
from tslens.audit.planted import plant
from tslens.audit.rests_on import coverage
from tslens.audit.result import AuditResult
from tslens.audit.settings import READ_AGAIN, changed
from tslens.audit.simulated import RUNS, simulated
from tslens.audit.tallies import tallies
from tslens.audit.vocabulary import Vocabulary
from tslens.errors import InputError
from tslens.evaluation.loss import loss
from tslens.models.twins import twins
from tslens.progress import bar, off
from tslens.result import read_on
from tslens.twins.scoring import control

if TYPE_CHECKING:
    from tslens.models import LanguageModel

STORIES, SEEDS, TWINS = 100, 3, 2
FEWEST = 20
GENERATED = 32
"""Generated stories, in which it is known whom a pronoun stands for."""


def audit(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    seeds: int = SEEDS,
    n: int = TWINS,
    runs: int = RUNS,
    limit: int = STORIES,
) -> AuditResult:
    """Hold the labels of heads and neurons against planted truth on the first `limit` stories, each text once.

    `seeds` models of the model's style are built by hand (some plants take turns: two models hold them all), `n` is the
    number of its untrained twins, `runs` that of simulated corpora. The model itself is copied, and not changed.

    Raises:
        InputError: fewer than 20 different stories, no model to build, or stories without nouns or adjectives.
    """
    name, texts = models.name_of(model), list(dict.fromkeys(islice(stories, limit)))
    if len(texts) < FEWEST:
        raise InputError(f"An audit needs {FEWEST} different stories; there are {len(texts)}.")
    if min(seeds, n, runs) < 1:
        raise InputError(f"seeds={seeds}, twins={n} and runs={runs}: an audit needs one of each, or more.")
    check_can_carry(model)
    with bar("audit", seeds + n + 5) as shown:
        judged = _by_hand(
            "llama" if models.spec_of(model).positions == "rotary" else "gpt2", texts, seeds, n, shown.advance
        )
        controlled = controlled_by(model, texts, n)
        copied, own = _of_model(model, texts, n, controlled, shown.advance)
        tests = _simulated(model, texts, runs)
        shown.advance()
        read, ways = changed(model, texts[:READ_AGAIN], controlled)
        shown.advance()
    found = AuditResult(
        model=name,
        stories=len(texts),
        models=seeds,
        labels=list(ALL),
        **_by_label(judged + copied, tests),
        twins=n,
        **_by_plant(judged + copied),
        **own,
        **_by_test(tests),
        runs=runs,
        ways=list(ways),
        changed=torch.tensor(list(ways.values())),
        read=read,
        command=f"tslens audit --model {name} --limit {limit} --seeds {seeds} --twins {n} --runs {runs}",
    )
    return cast(AuditResult, read_on(found, stories))


def _by_hand(style: str, texts: Sequence[str], seeds: int, n: int, advance: Callable[[], None]) -> list[Judged]:
    """Everything planted by hand, with its label. Kinds of keys have the thresholds that a user's model has, from `n`
    untrained twins of the first of these models."""
    vocabulary = Vocabulary.of_words(texts, list(heads.Kinds(made=GENERATED).truth.values()))
    controlled = controlled_by(plant(vocabulary, style).model, texts, n)
    advance()
    found: list[Judged] = []
    for seed in range(seeds):
        with off():
            found += judge(plant(vocabulary, style, seed=seed), texts, controlled)
        advance()
    return found


def _of_model(
    model: "LanguageModel", texts: Sequence[str], n: int, controlled: Controlled, advance: Callable[[], None]
) -> tuple[list[Judged], dict[str, Any]]:
    """Everything planted in copies of the model, with its label; and what the copies cannot carry, the labels of the
    model, and those of its twins."""
    with off():
        made, lost = copies(model, Vocabulary.of(models.story_tokenizer_of(model), texts), texts)
        copied = [j for planted in made for j in judge(planted, texts, controlled)]
    advance()
    with off():
        own = _of_labels(answers(model, texts, controlled).counts()).long()
    advance()
    of_twins = _of_twins(model, texts, n, controlled, advance)
    return copied, {"lost": lost, "count": own, "of_twins": of_twins}


def controlled_by(model: "LanguageModel", texts: Sequence[str], n: int, made: int = GENERATED) -> Controlled:
    """The reducers for kinds of keys and for written classes, with the thresholds of `n` untrained twins of the model;
    `made` generated stories are read for pronouns."""
    kinds, writes = heads.Kinds(made=made, known={}), heads.Writes(known={})
    with off():
        of_kinds, of_writes = (
            control(model, texts, reducer, n=n, turns=0, limit=len(texts)) for reducer in (kinds, writes)
        )
    return Controlled(replace(kinds, control=of_kinds), replace(writes, control=of_writes))


def _by_label(judged: Sequence[Judged], tests: Sequence[Simulated]) -> dict[str, Any]:
    """Power, false discoveries and coverage of every label."""
    counted = list(tallies(judged).values())
    planted, named, random, false = (
        torch.tensor([getattr(tally, field) for tally in counted]) for field in ("planted", "named", "random", "false")
    )
    power = stats.wilson(named.numpy(), planted.numpy())
    of = torch.tensor([t.random if t.label in (ONE_WORD, SETS) else t.false + t.named for t in counted])
    share = stats.wilson(false.numpy(), of.numpy())
    covering = [coverage(label, tests) for label in ALL]
    return {
        "planted": planted,
        "named": named,
        "power": torch.from_numpy(power.estimate).float(),
        "power_low": torch.from_numpy(power.low).float(),
        "random": random,
        "false": false,
        "false_share": torch.from_numpy(share.estimate).float(),
        "false_high": torch.from_numpy(share.high).float(),
        "false_low": torch.from_numpy(share.low).float(),
        "least_missed": _detectable(planted),
        "least_false": _detectable(random),
        "coverage": torch.tensor([value for value, _ in covering]),
        "covers": [sort for _, sort in covering],
    }


def _detectable(n: torch.Tensor) -> torch.Tensor:
    """The smallest share of cases that `n` of them show with a probability of 95%."""
    return 1 - 0.05 ** (1 / n.clamp(min=1))


def _by_plant(judged: Sequence[Judged]) -> dict[str, Any]:
    """How often each plant was planted, and called rightly."""
    n = Counter(j.truth for j in judged if not j.random)
    right = Counter(j.truth for j in judged if not j.random and j.right)
    return {
        "plants": list(n),
        "plant_n": torch.tensor(list(n.values())),
        "plant_right": torch.tensor([right[plant] for plant in n]),
    }


def _by_test(tests: Sequence[Simulated]) -> dict[str, Any]:
    """The simulated intervals and p-values."""
    return {
        "tests": [test.name for test in tests],
        "test_kinds": [test.kind for test in tests],
        "test_value": torch.tensor([test.value for test in tests]),
        "test_p": torch.tensor([test.p for test in tests]),
        "test_detectable": torch.tensor([test.detectable for test in tests]),
    }


def _of_twins(
    model: "LanguageModel", texts: Sequence[str], n: int, controlled: Controlled, advance: Callable[[], None]
) -> torch.Tensor:
    """The mean count of each label in the model's untrained twins. Where twins give thresholds, those of the others do,
    and these alone, as for the plants: turned heads raise them for neither."""
    counts = Counter[str]()
    for twin in twins(n):
        with off():
            others = partial(control, model, texts, n=n, turns=0, limit=len(texts), without=twin)
            kinds = replace(controlled.kinds, control=heads.Control())
            writes = replace(controlled.writes, control=heads.Control())
            kinds, writes = replace(kinds, control=others(kinds)), replace(writes, control=others(writes))
            counts.update(answers(twin.of(model), texts, Controlled(kinds, writes)).counts())
        advance()
    return _of_labels(counts) / n


def _of_labels(counts: Counter[str]) -> torch.Tensor:
    """The count of each of `ALL`."""
    names = {PART_OF_SPEECH: "part-of-speech neurons", ONE_WORD: "one-word neurons"}
    names[PREDICTS] = "part-of-speech neurons that predict"
    names |= {label: label for label in (*PLANTED_KINDS, ANY_KIND, *MORE)}
    return torch.tensor([counts[names.get(label, f"{label} heads")] for label in ALL])


def _simulated(model: "LanguageModel", texts: Sequence[str], runs: int) -> list[Simulated]:
    """The simulated corpora, those of the loss drawn from the model's own stories, and those of labels."""
    with off():
        found = loss(model, texts)
    rngs, others = (map(np.random.default_rng, zip(repeat(kind), count(), strict=False)) for kind in (1, 2))
    tests = simulated(found.nats.numpy(), found.tokens.numpy(), runs=runs)
    return tests + of_labels(runs, rngs) + of_ablations(runs, others)
