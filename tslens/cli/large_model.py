"""What commands that ask a large model share: its options, the price and a yes before, and the cost after."""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tslens import progress
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.llm import CostEstimate, Outcome, Settings

MODEL = "claude-haiku-5-5"
INCOMPLETE = 3
"""Exit code of a command that did not get all it asked for."""
PACE: dict[str, Any] = {}
"""Settings that no option sets: waits and tries."""


@Parameter(name="*", help="The large model, and what it may cost.")
@dataclass(frozen=True)
class LargeModel:
    """The large model that is asked, and what it may cost. The key is the environment variable ANTHROPIC_API_KEY."""

    large_model: Annotated[str, Parameter(help="Id of the large model that is asked.")] = MODEL
    thinking: Annotated[int, Parameter(help="Tokens that it may think before each answer.")] = 0
    limit_usd: Annotated[
        float | None,
        Parameter(help="US dollars that this command never exceeds; what is left then is reported as missing."),
    ] = None
    yes: Annotated[bool, Parameter(negative=(), help="Spend what it costs without asking.")] = False
    batch: Annotated[bool, Parameter(negative=(), help="Ask by message batches: half the price, and up to a day.")] = (
        False
    )
    concurrency: Annotated[int, Parameter(help="Requests under way at once, where they are not in batches.")] = 8
    cache: Annotated[
        Path | None,
        Parameter(
            help="File of the answers received, so that none is paid twice. Default: one for each model, and for each "
            "server of ANTHROPIC_BASE_URL, in the cache folder of tslens."
        ),
    ] = None
    prices: Annotated[
        Path | None, Parameter(help="TOML file of prices. Default: ~/.config/tslens/prices.toml, else tslens's own.")
    ] = None

    def settings(self) -> "Settings":
        """The settings of the client. InputError for a model whose name cannot be a file's."""
        from tslens.files import cache
        from tslens.llm import Settings
        from tslens.llm.requests import host_of

        if not self.large_model or not self.large_model.replace("-", "").replace(".", "").isalnum():
            raise InputError(f"{self.large_model!r} is no id of a large model; give one such as {MODEL}")
        place = re.sub(r"[^\w.]+", "-", host_of())
        return Settings(
            self.large_model,
            thinking=self.thinking,
            limit_usd=self.limit_usd,
            batch=self.batch,
            concurrency=self.concurrency,
            cache=self.cache or cache() / "answers" / f"{self.large_model}{place and '@' + place}.jsonl",
            prices=self.prices,
            **PACE,
        )


def confirm(estimates: "Sequence[CostEstimate]", yes: bool) -> None:
    """Print what it will cost, by large model and together, and ask once whether to go on.

    Nobody is asked where the cache has all answers, or where the answer is `yes` already.

    Raises:
        InputError: there is no key, the answer is no, or nobody can be asked.
    """
    from tslens.llm.client import check_key
    from tslens.llm.requests import dollars

    for estimate in estimates:
        progress.note(str(estimate))
    paid = [estimate for estimate in estimates if estimate.requests]
    if len(paid) > 1:
        usd, most = (sum(getattr(one, name) for one in paid) for name in ("usd", "most_usd"))
        requests = sum(one.requests for one in paid)
        progress.note(
            f"together {requests:,} requests: expected {dollars(usd)}; at most {dollars(most)} if each is asked once"
        )
    if paid:
        check_key(paid[0].model)
    if yes or not paid:
        return
    if not sys.stdin.isatty():
        raise InputError("nobody can be asked whether to spend this; give --yes if it may be spent")
    print("Spend it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was asked and nothing spent; --limit-usd caps the cost, --batch halves it")


def tell_cost(error: BaseException) -> bool:
    """Print on stderr what was spent by asking that this error, or Ctrl-C, ended; False if it says nothing of that."""
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith("the answers cost")]
    for note in notes:
        progress.note(f"the asking broke off; {note}")
    return bool(notes)


def print_cost(outcomes: "Sequence[Outcome]") -> None:
    """Print on stderr what the answers cost, and why requests have none."""
    from tslens.llm import Budget
    from tslens.llm.requests import BUDGET

    sent = sum(not outcome.cached and outcome.failure != BUDGET for outcome in outcomes)
    cost = Budget(None)
    cost.spent, cost.lost = sum(outcome.usd for outcome in outcomes), sum(outcome.lost_usd for outcome in outcomes)
    progress.note(f"{sent:,} of {len(outcomes):,} requests were sent; {cost}")
    why = Counter(outcome.failure for outcome in outcomes if outcome.failure)
    for failure, count in why.most_common():
        progress.note(f"{count:,} without an answer: {failure}")
