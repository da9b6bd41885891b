"""Ask models the prompts of a suite, and keep their answers for their pages."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.evaluation.suite_result import SuiteResult
    from tslens.evaluation.suites import Suite
    from tslens.models import LanguageModel

Written = Annotated[int, Parameter(name="--completions", help="Completions of each prompt to match; 0 for none.")]


def answered(
    suite: "Suite",
    models: "Mapping[str, LanguageModel]",
    twins: "Mapping[str, LanguageModel]",
    *,
    completions: int,
    seed: int,
    precision: str,
) -> "SuiteResult":
    """The answers of models to a suite, and of their untrained twins."""
    from tslens.evaluation.prompts import evaluate as score
    from tslens.evaluation.writing import MOST

    if not 0 <= completions <= MOST:
        raise InputError(f"--completions is {completions:,}; give from 0 to {MOST:,}.")
    return score(models, suite, written=completions, twins=twins, seed=seed, precision=precision)


def keep(models: "Mapping[str, LanguageModel]", suite: "Suite", found: "SuiteResult") -> None:
    """Keep the answers to a suite for the page of each model."""
    from tslens.report.answers import keep_suite

    for model in models.values():
        keep_suite(model, suite, found)
