"""Ask requests one by one, several at a time, or in message batches; every answer is kept as soon as it is there."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tslens import progress
from tslens.errors import InputError
from tslens.interrupt import stop_requested
from tslens.llm import batches
from tslens.llm.budget import Budget
from tslens.llm.client import Busy, Lost, RejectedError, attempt, connect, read, tokens_of, wait_of
from tslens.llm.halt import Halt
from tslens.llm.loop import finish
from tslens.llm.prices import Tokens, price_of, thinking_of
from tslens.llm.requests import BUDGET, Outcome, Request, Settings, dollars
from tslens.llm.store import AnswerStore

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


def ask(
    requests: Sequence[Request],
    settings: Settings,
    on_progress: Callable[[Outcome], None] | None = None,
    budget: Budget | None = None,
) -> list[Outcome]:
    """The outcome of every request, in their order. What the cache holds is not asked; equal requests are asked once.

    `on_progress` is called with each outcome when it is there. `budget` is one that several calls share; else this call
    has its own, of `settings.limit_usd`. Answers to requests that a kill or an error left
    unfinished are in the cache, and a message batch goes on: the same call again finishes the rest. An error that ends
    the call waits for the answers under way, and has a note of what was spent. So do Ctrl-C and
    SIGTERM, which do not wait for a message batch; a second Ctrl-C ends the call at once.

    Raises:
        InputError: no key, no SDK, no price; the API refuses the key or does not know the model; a cache that another
            process writes, or of another version.
    """
    run = Requests(requests, settings, on_progress, budget or Budget(settings.limit_usd))
    with run.store.writing():
        run.take_known()
        if run.pending:
            run.client = connect(settings)
            run.budget.begin()
            drawn = progress.bar(f"asking {settings.model}", len(run.pending), steady=True)
            with run.budget.noted(), stop_requested() as run.halt.is_stopped, drawn as run.bar:
                finish(run.everything())
                run.halt.check()
    return [run.outcomes[key] if first else _same(run.outcomes[key], asked) for asked, key, first in run.asked]


def cached(requests: Sequence[Request], settings: Settings) -> list[Outcome | None]:
    """The outcomes that the cache holds, None for the others; nothing is asked. InputError for what is no cache."""
    store = AnswerStore(settings.cache)
    return [known(request, request.key(settings.name), store) for request in requests]


def known(request: Request, key: str, store: AnswerStore) -> Outcome | None:
    """The outcome that the cache holds."""
    line = store.found.get(key)
    if line is None:
        return None
    if "answer" not in line:
        return Outcome(request, failure=line["failure"], cached=True)
    try:
        answer = request.answer.model_validate(line["answer"])
    except ValidationError:  # by validators that the schema does not show, changed since
        return None
    return Outcome(request, answer, cached=True, input_tokens=line["input"], output_tokens=line["output"])


class Requests:
    """Requests on their way to outcomes."""

    client: "AsyncAnthropic"
    bar: progress.Bar

    def __init__(
        self,
        requests: Sequence[Request],
        settings: Settings,
        on_progress: Callable[[Outcome], None] | None,
        budget: Budget,
    ) -> None:
        self.settings = settings
        self.price = price_of(settings.model, settings.prices)
        self.thinking = thinking_of(settings, self.price)
        self.store = AnswerStore(settings.cache)
        self.budget = budget
        self.on_progress = on_progress
        self.halt = Halt()
        self.halt.reason = self._interrupted
        self._under_way = 0
        """answers that are waited for, those of message batches aside"""
        self.pending: dict[str, Outcome] = {}
        """outcomes without an answer yet, by key"""
        self.outcomes: dict[str, Outcome] = {}
        self.asked: list[tuple[Request, str, bool]] = []
        """every request, its key, and whether it is the first with this key"""
        for request in requests:
            key = request.key(settings.name)
            self.asked.append((request, key, key not in self.pending))
            self.pending.setdefault(key, Outcome(request))

    def take_known(self) -> None:
        """Take outcomes from the cache."""
        for key, outcome in list(self.pending.items()):
            if found := known(outcome.request, key, self.store):
                self._done(key, found)

    async def everything(self) -> None:
        """Ask what is pending. Raises why not all of it was asked, once answers under way are there."""
        with self.halt.watching():
            async with self.client:
                await batches.collect(self)
                await (batches.everything(self) if self.settings.batch else self._side_by_side())

    async def _side_by_side(self) -> None:
        """Ask one by one, several at a time."""
        keys = iter(list(self.pending))  # shared: each worker takes the next

        async def work() -> None:
            for key in keys:
                try:
                    await self._one(key)
                except Exception as error:
                    self.halt.set(error)
                if self.halt.why:
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.settings.concurrency, len(self.pending))):
                group.create_task(work())
        self.halt.check()

    def _interrupted(self) -> KeyboardInterrupt:
        """Say what is still waited for after Ctrl-C or SIGTERM; returns what ends the call then."""
        if self._under_way:
            answers = "the answer" if self._under_way == 1 else f"the {self._under_way} answers"
            progress.note(f"stopping: waiting for {answers} under way, which cost; Ctrl-C again stops at once")
        elif self.store.under_way & self.pending.keys():
            progress.note("stopping: the message batch under way goes on, and the same command reads it later")
        kept = f"; what was received is kept in {self.store.path}, and the same command goes on from there"
        return KeyboardInterrupt("interrupted" + kept * (self.store.path is not None))

    async def _one(self, key: str) -> None:
        """Ask one request until it has an answer or has failed."""
        request, number = self.pending[key].request, 0
        most = self.price.most(request, self.settings)
        parameters = request.parameters(self.settings, self.thinking)
        while key in self.pending and not self.halt.why:
            if not await self.budget.reserve(most):
                self.fail(key, BUDGET)
                return
            if self.halt.why:
                await self.budget.settle(most)
                return
            self._under_way += 1
            try:
                found = await attempt(lambda: self.client.messages.create(**parameters), self.settings)
            except RejectedError as error:
                await self.budget.settle(most)
                self.fail(key, str(error))
                return
            except BaseException as error:
                # Others wait for what is reserved; an InputError says that nothing was answered, so nothing cost.
                await self.budget.settle(most, lost=0.0 if isinstance(error, InputError) else most)
                raise
            finally:
                self._under_way -= 1
            if isinstance(found, Lost | Busy):
                lost = most if isinstance(found, Lost) else 0.0
                self.pending[key].lost_usd += lost
                await self.budget.settle(most, lost=lost)
                number += 1
                if number >= self.settings.tries:
                    self.fail(key, f"no answer in {number} tries ({found.why})")
                else:
                    await self.halt.rest(wait_of(self.settings, key, number - 1, found.wait))
            else:
                await self._keep(key, found, most)

    async def _keep(self, key: str, message: Any, most: float) -> None:
        """Keep an answer and settle what was reserved for it, also if it cannot be kept: others wait for it."""
        try:
            spent = self.received(key, message, most)
        except BaseException:
            await self.budget.settle(most, lost=most)
            raise
        await self.budget.settle(most, spent=spent)

    def received(self, key: str, message: Any, most: float, *, batch: bool = False) -> float:
        """Keep what an answer says, first of all; returns what it cost, `most` if it does not say."""
        outcome = self.pending[key]
        tokens = tokens_of(message)
        usd = most if tokens is None else self.price.usd(tokens, batch=batch)
        tokens = tokens or Tokens()
        answer = read(message, outcome.request.answer)
        if not isinstance(answer, str):
            self.store.answer(key, outcome.request.kind, answer.model_dump(mode="json"), tokens, usd)
        elif answer == "refusal" or self.store.misses[key] + 1 >= self.settings.misses:
            self.store.failure(key, answer, tokens, usd)
        else:
            self.store.miss(key, answer, tokens, usd)
        outcome.usd += usd
        outcome.input_tokens += tokens.all_input
        outcome.output_tokens += tokens.output
        if not isinstance(answer, str):
            outcome.answer = answer
            self._done(key, outcome)
        elif key in self.store.found:
            self.fail(key, answer)
        return usd

    def fail(self, key: str, why: str) -> None:
        """Give a request up."""
        self.pending[key].failure = why
        self._done(key, self.pending[key])

    def _done(self, key: str, outcome: Outcome) -> None:
        del self.pending[key]
        self.outcomes[key] = outcome
        if not outcome.cached:
            self.bar.advance(note=dollars(self.budget.spent))
        if self.on_progress is not None:
            self.on_progress(outcome)


def _same(outcome: Outcome, request: Request) -> Outcome:
    """The outcome for another request that is equal: paid once."""
    return Outcome(request, outcome.answer, outcome.failure, True, outcome.input_tokens, outcome.output_tokens)
