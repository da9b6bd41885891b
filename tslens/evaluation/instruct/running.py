"""The instruct suite: every model writes a story for every instruction, and rules score it."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import models
from tslens.errors import InputError
from tslens.evaluation.instruct.result import InstructResult
from tslens.evaluation.instruct.rules import MEASURES, ReadStory, read, scores, told
from tslens.evaluation.instruct.seen import GROUPS, groups
from tslens.evaluation.lines import ending_log_probabilities
from tslens.evaluation.writing import continuations
from tslens.models import LanguageModel
from tslens.stories.instruct import Instruction, documents

OTHERS = 5  # other instructions' stories that each instruction is compared with
LEAST = 16  # tokens that the context must leave for a story


def instruct(
    candidates: Sequence[LanguageModel],
    texts: Sequence[str],
    *,
    samples: int = 2,
    max_new_tokens: int = 256,
    seed: int = 0,
    precision: str = "float32",
) -> InstructResult:
    """What each model writes for the instructions of these texts (TinyStories-Instruct's, Eldan and Li 2023, arXiv
    2305.07759), scored by rule, beside two nulls: what it writes for other instructions, and without any.

    Instructions are grouped by what the first model's run was trained on (`seen`). Instructions of which no rule can
    tell anything, or that leave no room for a story in a model's context, are left out and counted.

    InputError for fewer than two instructions, or texts without any.
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; it must be at least 1.")
    asked = list(documents(texts))
    tellable = [each for each, can in zip(asked, told(asked), strict=True) if can]
    chosen = [each for each in tellable if all(_fits(model, each) for model in candidates)]
    if len(chosen) < 2:
        raise InputError(
            f"{len(chosen)} of {len(asked)} instructions can be scored; at least 2 are needed. Give more of them, or "
            "models of a longer context."
        )
    tables, written = [], []
    for model in candidates:
        prompts = [each.head for each in chosen for _ in range(samples)]
        stories, free = (
            continuations(model, begun, limit_tokens=max_new_tokens, seed=seed, precision=precision)
            for begun in (prompts, [models.story_head_of(model)] * len(prompts))
        )
        tables.append(_table(chosen, read(stories), read(free), samples))
        written.append(stories)
    return InstructResult(
        models=[models.name_of(model) for model in candidates],
        measures=list(MEASURES),
        groups=list(GROUPS),
        instructions=[each.head for each in chosen],
        stories=written,
        samples=samples,
        left_out=len(asked) - len(chosen),
        score=torch.stack([table[0] for table in tables]),
        other=torch.stack([table[1] for table in tables]),
        free=torch.stack([table[2] for table in tables]),
        group=torch.tensor(groups(candidates[0], chosen)),
        **_of_true(candidates, chosen, precision),
    )


def _of_true(candidates: Sequence[LanguageModel], chosen: Sequence[Instruction], precision: str) -> dict[str, Any]:
    """The log-probability of the true stories given their instructions under each model, and their bytes."""
    told_of = [(each.head, each.story) for each in chosen]
    found = [ending_log_probabilities(model, told_of, precision=precision) for model in candidates]
    return {
        "story_log_probability": torch.tensor(found, dtype=torch.float64),
        "story_bytes": torch.tensor([len(each.story.encode()) for each in chosen]),
    }


def _fits(model: LanguageModel, instruction: Instruction) -> bool:
    spec = models.spec_of(model, compressors=True)
    return len(models.tokenizer_of(model).encode([instruction.head])[0]) + LEAST <= spec.n_ctx


def _table(
    chosen: Sequence[Instruction], stories: Sequence[ReadStory], free: Sequence[ReadStory], samples: int
) -> tuple[Float[Tensor, "instruction measure"], ...]:
    """The mean scores of each instruction: of its own stories, of others' stories, and of free ones of its own."""
    own, other, unasked = [], [], []
    for number, instruction in enumerate(chosen):
        of = [(number + 1 + step) % len(chosen) for step in range(min(OTHERS, len(chosen) - 1))]
        own.append([scores(instruction, stories[number * samples + i]) for i in range(samples)])
        other.append([scores(instruction, stories[j * samples + i]) for j in of for i in range(samples)])
        unasked.append([scores(instruction, free[number * samples + i]) for i in range(samples)])
    return tuple(torch.tensor([list(map(_mean, zip(*rows, strict=True))) for rows in t]) for t in (own, other, unasked))


def _mean(column: Sequence[float]) -> float:
    return sum(column) / len(column)
