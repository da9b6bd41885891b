"""Scores of models on the prompts of a suite, by the probability of each ending."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from tslens.errors import InputError
from tslens.evaluation.kept_lines import kept_log_probabilities
from tslens.evaluation.lines import first_of_ending
from tslens.evaluation.matching import label
from tslens.evaluation.scores import NULL, Labels, partners
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import Prompt, Suite
from tslens.evaluation.writing import continuations
from tslens.models import name_of, spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel, TextTokenizer

NEW_TOKENS = 40
"""The length of a completion: mostly two or three sentences."""

Endings = list[tuple[int, str, bool]]
"""The prompt of each ending, its text, and whether it is accepted."""


def evaluate(
    models: "LanguageModel | Sequence[LanguageModel] | Mapping[str, LanguageModel]",
    suite: Suite,
    *,
    written: int = 0,
    twins: "Mapping[str, LanguageModel] | None" = None,
    seed: int = 0,
    precision: str = "float32",
    batch_tokens: int = 4096,
) -> SuiteResult:
    """The log-probability of every ending given its prompt under each model, and the best accepted and rejected ones.

    Models are given one, several, or by the names to call them. Prompts are read as the beginning of a story, BOS
    first; the log-probabilities are kept, those of templates apart (see `kept_log_probabilities`). With `written`, each
    model also continues every prompt written by hand so many times, and what it writes is labelled by matching.
    `twins` are those of `untrained`: under them the endings are scored too, and nothing is written.
    InputError for a prompt longer than a model's context.
    """
    named = _by_name(models)
    asked = [(i, text, yes) for i, p in enumerate(suite.prompts) for text, yes in _endings(p)]
    prompts, endings = [suite.prompts[i].text for i, _, _ in asked], [text for _, text, _ in asked]
    rows = {name: _rows(name, model, prompts, endings) for name, model in named}
    options: dict[str, Any] = {"precision": precision, "batch_tokens": batch_tokens, "what": "endings"}
    options["parts"] = [suite.prompts[i].templated for i, _, _ in asked]
    found = [kept_log_probabilities(model, *zip(*rows[name], strict=True), **options).float() for name, model in named]
    topics = list(dict.fromkeys(p.about for p in suite.prompts))
    first = {p.about: p for p in suite.prompts}
    result = SuiteResult(
        models=[name for name, _ in named],
        suite=suite.name,
        question=suite.question,
        prompts=[p.text for p in suite.prompts],
        topics=topics,
        looks_right=[first[topic].right for topic in topics],
        looks_wrong=[first[topic].wrong for topic in topics],
        endings=endings,
        templated=torch.tensor([p.templated for p in suite.prompts]),
        topic=torch.tensor([topics.index(p.about) for p in suite.prompts]),
        prompt=torch.tensor([i for i, _, _ in asked]),
        accepted=torch.tensor([yes for _, _, yes in asked]),
        **_best(asked, torch.stack(found), len(suite.prompts)),
    )
    if twins:
        result = dataclasses.replace(result, twins=_of_twins(evaluate(twins, suite, precision=precision)))
    if not (written and suite.by_hand):
        return result
    return _with_completions(result, dict(named), suite, written, seed, precision)


def _of_twins(answers: SuiteResult) -> list[dict[str, Any]]:
    """The rows of the summary, with the model that each is a twin `of`."""
    rows = answers.summary().drop(columns=[*NULL]).to_dict("records")
    return [{"of": row["model"].partition(" of ")[2], **row} for row in rows]


def _with_completions(
    result: SuiteResult,
    models: "Mapping[str, LanguageModel]",
    suite: Suite,
    written: int,
    seed: int,
    precision: str,
) -> SuiteResult:
    """The result with what each model writes after the prompts written by hand, labelled by matching."""
    texts = [_completions(model, suite.by_hand, written, seed, precision) for model in models.values()]
    others = [[each[i] for i in partners(len(suite.by_hand))] for each in texts]
    how = f"{written} after each prompt, at temperature 1, seed {seed}, of at most {NEW_TOKENS} tokens"
    asked_to_write = dataclasses.replace(result, completions=texts, sampling=[how] * len(models))
    return asked_to_write.with_labels("match", _matched(texts, suite), chance=_matched(others, suite))


def _matched(texts: Sequence[list[list[str]]], suite: Suite) -> Labels:
    """The label of each text by model and prompt, by matching."""
    return [[[label(t, p) for t in own] for own, p in zip(each, suite.by_hand, strict=False)] for each in texts]


def _completions(
    model: "LanguageModel", prompts: Sequence[Prompt], n: int, seed: int, precision: str
) -> list[list[str]]:
    """`n` texts after each prompt at temperature 1, of at most 40 tokens."""
    rows = [prompt.text for prompt in prompts for _ in range(n)]
    found = continuations(model, rows, limit_tokens=NEW_TOKENS, seed=seed, precision=precision)
    return [found[i : i + n] for i in range(0, len(found), n)]


def _by_name(
    models: "LanguageModel | Sequence[LanguageModel] | Mapping[str, LanguageModel]",
) -> list[tuple[str, "LanguageModel"]]:
    """The models with a name for each; a name that two have gets a number."""
    if isinstance(models, Mapping):
        return list(models.items())
    several = cast("list[LanguageModel]", list(models) if isinstance(models, list | tuple) else [models])
    if not several:
        raise InputError("no model is given; a suite scores one or more.")
    names = [name_of(model) for model in several]
    numbers = [names[: i + 1].count(name) for i, name in enumerate(names)]
    return [
        (name if n == 1 else f"{name} ({n})", model) for name, n, model in zip(names, numbers, several, strict=True)
    ]


def _endings(prompt: Prompt) -> list[tuple[str, bool]]:
    return [(text, True) for text in prompt.accepted] + [(text, False) for text in prompt.rejected]


def _best(asked: Endings, log_probability: Float[Tensor, "model ending"], prompts: int) -> dict[str, Any]:
    """The best accepted and rejected ending of each prompt under each model, and the margins between them."""
    owner, good = torch.tensor([i for i, _, _ in asked]), torch.tensor([yes for _, _, yes in asked])
    sizes = torch.tensor([len(f" {text}".encode()) for _, text, _ in asked])

    def best(values: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        of = (owner == torch.arange(prompts)[:, None]) & wanted
        value, place = zip(*(torch.where(of, each, -torch.inf).max(1) for each in values), strict=True)
        return torch.stack(value), torch.stack(place)

    (yes, yes_at), (no, no_at) = best(log_probability, good), best(log_probability, ~good)
    per_byte = log_probability / sizes
    return {
        "margin": yes - no,
        "margin_per_byte": best(per_byte, good)[0] - best(per_byte, ~good)[0],
        "best_accepted": yes_at,
        "best_rejected": no_at,
        "text_bytes": sizes,
        "log_probability": log_probability,
    }


def _rows(
    name: str, model: "LanguageModel", prompts: Sequence[str], endings: Sequence[str]
) -> list[tuple[list[int], int]]:
    """The tokens of each prompt with its ending as one text, and the index of the ending's first token.

    Both are tokenized as one text, as in training; the ending begins at the first token that differs from those of the
    prompt alone.
    """
    tokenizer: TextTokenizer = tokenizer_of(model)
    context = spec_of(model, compressors=True).n_ctx
    alone = tokenizer.encode(list(prompts))
    whole = tokenizer.encode([f"{prompt} {ending}" for prompt, ending in zip(prompts, endings, strict=True)])
    for prompt, row in zip(prompts, whole, strict=True):
        if len(row) - 1 > context:
            raise InputError(
                f"prompt {prompt[:40]!r}... with its ending takes {len(row)} tokens, the context of {name} is "
                f"{context}. Shorten it."
            )
    return [(row, first_of_ending(before, row)) for before, row in zip(alone, whole, strict=True)]
