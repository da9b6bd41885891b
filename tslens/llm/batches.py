"""Message batches: half the price, within a day; a batch is kept by its id, so that another process can read it."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tslens import progress
from tslens.errors import InputError
from tslens.llm.client import AbsentError, Busy, Lost, RejectedError, UnreachableError, attempt, insist, quoted, wait_of
from tslens.llm.requests import BUDGET

if TYPE_CHECKING:
    from tslens.llm.asking import Requests

MOST_BYTES = 100_000_000
"""Of one batch; the API takes 256 MB."""
COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
"""What the requests of a batch are, by the API's count."""


async def collect(run: "Requests") -> None:
    """Read the batches that an earlier process submitted: what they hold is billed, and is not asked a second time.

    Raises:
        InputError: the API cannot be reached for longer than all tries; the batch goes on and can be read later.
    """
    if run.store.intended is not None:
        keys, before = run.store.intended
        if any(key in run.pending for key in keys) and await _found(run, keys, before) is None:
            run.store.intend((), ())
    for batch, keys in list(run.store.batches.items()):
        run.halt.check()
        wanted = [key for key in keys if key in run.pending]
        if wanted:
            progress.note(f"waiting for the message batch {batch}, which holds {len(wanted):,} of these requests")
            most = sum(_most(run, key) for key in wanted)
            await run.budget.reserve(most, always=True)
            await _read(run, batch, keys, most)


async def everything(run: "Requests") -> None:
    """Submit what is pending, until all is answered. Raises what `collect` raises."""
    sent: Counter[str] = Counter()
    while run.pending:
        run.halt.check()
        for key in [key for key in run.pending if sent[key] >= run.settings.tries]:
            run.fail(key, f"no answer in {run.settings.tries} batches")
        chosen, most = _chosen(run)
        if chosen:
            sent.update(chosen)
            submitted = await _submitted(run, chosen, most)
            if submitted is not None:
                await _read(run, submitted, chosen, most)
            elif run.store.intended is not None:  # it may have been made; another would take its place in the record
                for key in list(run.pending):
                    run.fail(key, "not sent: a batch that was lost on the way may be listed later. Ask again")
        else:
            for key in list(run.pending):
                run.fail(key, BUDGET)


def _most(run: "Requests", key: str) -> float:
    return run.price.most(run.pending[key].request, replace(run.settings, batch=True))


def _chosen(run: "Requests") -> tuple[list[str], float]:
    """What goes into the next batch: as much as fits, by money, number and bytes. With its worst case in dollars."""
    chosen: list[str] = []
    most, size = 0.0, 0
    for key, outcome in run.pending.items():
        more = _most(run, key)
        if most + more > run.budget.left:
            continue  # a shorter one may fit
        size += outcome.request.most_input
        if len(chosen) == run.settings.batch_size or (chosen and size > MOST_BYTES):
            break
        chosen.append(key)
        most += more
    return chosen, most


async def _submitted(run: "Requests", keys: list[str], most: float) -> str | None:
    """The id of a new batch, kept before anything else; `most` stays reserved. None: these requests have failed."""
    sent: Any = [
        {"custom_id": key, "params": run.pending[key].request.parameters(run.settings, run.thinking)} for key in keys
    ]
    why, lost = f"no answer in {run.settings.tries} tries", False
    before = [name for name, _ in await _listed(run)]
    run.halt.check()
    run.store.intend(keys, before)
    for number in range(run.settings.tries):
        if not await run.budget.reserve(most):
            why = BUDGET
            break
        try:
            found = await attempt(lambda: run.client.messages.batches.create(requests=sent), run.settings)
        except InputError as error:
            await run.budget.settle(most)
            if not lost:
                run.store.intend((), ())
            if not isinstance(error, RejectedError):
                raise
            why = str(error)
            break
        if not isinstance(found, Lost | Busy):
            run.store.submitted(found.id, keys)
            return found.id
        if isinstance(found, Lost):
            lost = True
            if name := await _found(run, keys, before):
                return name
            for key in keys:
                run.pending[key].lost_usd += _most(run, key)
        await run.budget.settle(most, lost=most if isinstance(found, Lost) else 0.0)
        why = f"no answer in {run.settings.tries} tries ({found.why})"
        await run.halt.rest(wait_of(run.settings, keys[0], number, found.wait))
        if run.halt.why:
            break
    if not lost:  # else it may have been made, and be listed later
        run.store.intend((), ())
    for key in keys:
        run.fail(key, why)
    return None


async def _listed(run: "Requests") -> list[tuple[str, int]]:
    """The latest batches: id and number of requests of each."""

    async def look() -> list[tuple[str, int]]:
        page = await run.client.messages.batches.list(limit=100)
        return [(batch.id, sum(getattr(batch.request_counts, name) for name in COUNTS)) for batch in page.data]

    return await insist(look, run.settings, "batches", run.halt.rest_or_raise)


async def _found(run: "Requests", keys: list[str], before: list[str]) -> str | None:
    """The id of a batch that was made and whose id never arrived: a new one of this size, kept. None if there is none.

    Should it be another's, its results are of other requests, and these are asked again.
    """
    for name, size in await _listed(run):
        if name not in before and name not in run.store.batches and size == len(keys):
            run.store.submitted(name, keys)
            return name
    return None


async def _read(run: "Requests", batch: str, keys: list[str], most: float) -> None:
    """Wait for a batch and take its results, in whatever order; gives back what was reserved for it.

    What has expired, or failed for a reason that passes, stays pending.
    """
    spent = 0.0

    async def look() -> str:
        return (await run.client.messages.batches.retrieve(batch)).processing_status

    async def take() -> bool:
        nonlocal spent
        async for line in await run.client.messages.batches.results(batch):
            if line.custom_id in run.pending and line.custom_id not in taken:
                taken.add(line.custom_id)
                spent += _took(run, line.custom_id, line.result)
        return True

    taken: set[str] = set()
    try:
        while await insist(look, run.settings, batch, run.halt.rest_or_raise) != "ended":
            await run.halt.rest_or_raise(run.settings.poll)
        await insist(take, run.settings, batch, run.halt.rest_or_raise)
    except AbsentError:  # the API keeps results for some weeks
        pass
    except UnreachableError as error:
        raise UnreachableError(
            f"the message batch {batch} cannot be read: {error}. It goes on: ask again later"
        ) from None
    if all(key in run.pending or key in run.outcomes for key in keys):
        run.store.ended(batch)  # else another call wants the rest of it
    await run.budget.settle(most, spent=spent)


def _took(run: "Requests", key: str, result: Any) -> float:
    """Take one result; returns what it cost."""
    if result.type == "succeeded":
        return run.received(key, result.message, _most(run, key), batch=True)
    error = getattr(getattr(result, "error", None), "error", None)
    if result.type == "errored" and getattr(error, "type", "") == "invalid_request_error":
        run.fail(key, f"rejected ({quoted(getattr(error, 'message', ''))})")
    return 0.0
