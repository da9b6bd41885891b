"""Answers of a server that misbehaves: none lost, none asked for again, none invented, and no limit exceeded."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

from tests.llm.server import Server, _Handler, ctrl_c, spread, stop_under_way
from tslens import llm, lock
from tslens.errors import InputError
from tslens.evaluation.grading.large import is_rehearsal
from tslens.llm.client import quoted
from tslens.llm.prices import Tokens

ROOT = Path(__file__).resolve().parents[2]
Score = Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
LINE = 65
"""Rough length of a line of the cache."""


class Grade(BaseModel):
    grammar: Score
    plot: Score


def requests(n, max_tokens=100, start=0):
    return [
        llm.Request("Grade the story.", f"Story {i}: the dog ran.", Grade, max_tokens) for i in range(start, start + n)
    ]


def billed(server):
    """What the server bills, lost answers included."""
    price = llm.price_of("claude-haiku-4-5")
    return sum(
        price.usd(
            Tokens(
                usage["input_tokens"],
                usage["output_tokens"],
                usage["cache_creation_input_tokens"],
                usage["cache_read_input_tokens"],
            ),
            batch=batch,
        )
        for usage, batch in server.usages
    )


@pytest.mark.parametrize("batch", [False, True])
def test_500_at_30_percent_faults(settings, tmp_path, batch):
    faults = spread(0.3) | {"expired": 0.05, "errored": 0.05, "trouble": 0.3}
    with Server(faults=faults) as server:
        given = settings(server, cache=tmp_path / "answers.jsonl", batch=batch, concurrency=16)
        outcomes = llm.ask(asked := requests(500), given)
        assert [outcome.request for outcome in outcomes] == asked
        assert server.again == []  # what was received was not asked for again
        for outcome in outcomes:
            text = outcome.request.text
            if outcome.answer is None:
                assert outcome.failure in ("refusal", "malformed", "truncated")
                assert text not in server.replies
            else:  # nothing is invented, nothing lost
                assert outcome.answer.model_dump() in server.replies[text]
        failed = [outcome for outcome in outcomes if outcome.failure]
        refused = {text for text, fault in server.asked if fault == "refusal"}
        assert refused <= {outcome.request.text for outcome in failed}
        assert 0 < len(failed) < 100
        spent, lost = sum(o.usd for o in outcomes), sum(o.lost_usd for o in outcomes)
        assert spent - 1e-9 <= billed(server) <= spent + lost + 1e-9
        calls = len(server.asked)
        again = llm.ask(requests(500), given)
        assert len(server.asked) == calls  # a second run costs nothing
        assert [o.answer for o in again] == [o.answer for o in outcomes]
        assert [o.failure for o in again] == [o.failure for o in outcomes]
        assert all(o.cached and o.usd == 0 for o in again)


@pytest.mark.parametrize(("batch", "times"), [(False, 1.5), (False, 3), (True, 1.1), (True, 1.5)])
def test_a_limit_is_never_exceeded(settings, tmp_path, batch, times):
    """Lost answers count as spent: what the server bills stays below the limit too."""
    asked = requests(60)
    with Server(faults=spread(0.4), seed=3) as server:
        given = settings(server, cache=tmp_path / "a.jsonl", batch=batch)
        limit = times * llm.estimate(asked, given).most_usd / len(asked)
        given.limit_usd = limit
        outcomes = llm.ask(asked, given)
        assert sum(o.usd + o.lost_usd for o in outcomes) <= limit + 1e-12
        assert billed(server) <= limit + 1e-12
        stopped = [o for o in outcomes if o.failure == "budget"]
        assert stopped
        assert any(o.answer for o in outcomes)
        given.limit_usd = None  # and goes on where it stopped
        llm.ask(asked, given)
        assert server.again == []


@pytest.mark.parametrize("batch", [False, True])
def test_a_request_that_does_not_fit_leaves_the_money_to_shorter_ones(settings, tmp_path, batch):
    """The first by its order, and dearer than all of the limit."""
    long, short = requests(1, 5000, start=90), requests(4)
    with Server() as server:
        given = settings(server, cache=tmp_path / "a.jsonl", batch=batch)
        given.limit_usd = llm.estimate(long, given).most_usd * 0.99
        assert llm.estimate(short, given).most_usd < given.limit_usd
        first, *others = llm.ask([*long, *short], given)
    assert first.failure == "budget" and all(one.answer for one in others)


def test_a_budget_holds_for_all_calls_that_share_it(settings):
    """Also where requests wait for others under way, each call in an event loop of its own."""
    with Server(faults=spread(0.3), seed=3) as server:
        given = settings(server)
        limit = 1.5 * llm.estimate(requests(60), given).most_usd / 60
        budget = llm.Budget(limit)
        found = [llm.ask(requests(60, start=start), given, budget=budget) for start in (0, 100, 200)]
        assert billed(server) <= budget.spent + budget.lost + 1e-12 <= limit + 2e-12
        assert sum(o.usd + o.lost_usd for call in found for o in call) == pytest.approx(budget.spent + budget.lost)
        assert any(o.answer for o in found[0]) and all(o.failure == "budget" for o in found[2])


def test_what_a_call_had_reserved_when_it_broke_off_is_lost(settings):
    def stop(outcome):
        raise RuntimeError("stop")

    with Server(faults={"slow": 1.0}) as server:
        given, budget = settings(server), llm.Budget(1.0)
        with pytest.raises(RuntimeError, match="stop"):
            llm.ask(requests(20), given, stop, budget)
        sent = len(server.asked)
        llm.ask(requests(1, start=100), given, budget=budget)
        assert budget.lost >= (sent - 1) * llm.estimate(requests(1), given).most_usd > 0
        assert billed(server) <= budget.spent + budget.lost


@pytest.mark.parametrize("broken", ["a full disk", "our own fault"])
def test_no_request_waits_for_ever_where_an_answer_cannot_be_kept(settings, monkeypatch, broken):
    """The others wait for what was reserved for it, where a limit lets them not be asked at once."""

    def fail(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    place = {"a full disk": "store.AnswerStore.answer", "our own fault": "asking.attempt"}[broken]
    monkeypatch.setattr(f"tslens.llm.{place}", fail)
    ended = []

    def work() -> None:
        with Server() as server:
            given = settings(server, concurrency=8)
            given.limit_usd = 1.5 * llm.estimate(requests(30), given).most_usd / 30
            with pytest.raises(OSError, match="No space"):
                llm.ask(requests(30), given)
            ended.append(True)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(30)
    assert ended


def refusing(server, monkeypatch, text, after):
    """One request is refused, with all others, once `after` are under way or answered."""
    messages = _Handler._messages

    def refuse(handler, body):
        if text not in body["messages"][0]["content"]:
            return messages(handler, body)
        while len(server.asked) < after:
            time.sleep(0.001)
        return handler._error(403, "permission_error", "no")

    monkeypatch.setattr(_Handler, "_messages", refuse)


def test_answers_under_way_are_kept_when_the_key_is_refused(settings, tmp_path, monkeypatch):
    with Server(faults={"slow": 1.0}, slow=0.2) as server:
        refusing(server, monkeypatch, "Story 7:", 7)
        given, budget, told = settings(server, cache=tmp_path / "a.jsonl"), llm.Budget(1.0), []
        with pytest.raises(InputError, match="refuses the key") as error:
            llm.ask(requests(30), given, told.append, budget)
        assert 7 <= len(told) == len(server.asked) == len(server.usages) < 29
        assert all(llm.cached([o.request], given)[0].answer for o in told)
        assert (budget.spent, budget.lost) == (pytest.approx(billed(server)), 0)
    assert error.value.__notes__ == [str(budget)]
    assert str(budget) == f"the answers cost ${budget.spent:.6f}"


def test_what_is_interrupted_counts_as_lost(settings, monkeypatch):
    def stop(outcome):
        raise KeyboardInterrupt

    with Server() as server:
        budget = llm.Budget(None)
        with pytest.raises(KeyboardInterrupt) as error:
            llm.ask(requests(1), settings(server), stop, budget)
        assert budget.lost >= billed(server) > 0
        assert "and at most $" in error.value.__notes__[0]


def plainly(asked, given, budget):
    with pytest.raises(KeyboardInterrupt) as error:
        llm.ask(asked, given, budget=budget)
    return error.value


def in_a_notebook(asked, given, budget):
    async def cell():
        return plainly(asked, given, budget)

    return asyncio.run(cell())


@pytest.mark.parametrize("ask", [plainly, in_a_notebook])
def test_the_first_ctrl_c_waits_for_answers_under_way(settings, tmp_path, monkeypatch, capsys, ask):
    with Server(faults={"slow": 1.0}, slow=60) as server:
        given, budget = settings(server, cache=tmp_path / "a.jsonl", concurrency=4), llm.Budget(1.0)
        stop_under_way(server, monkeypatch, 4)
        error = ask(requests(30), given, budget)
        assert len(server.asked) == len(server.usages) == 4
        assert sum(found is not None for found in llm.cached(requests(30), given)) == 4
        assert (budget.spent, budget.lost) == (pytest.approx(billed(server)), 0)
        assert error.__notes__ == [str(budget)]
        kept = f"what was received is kept in {given.cache}"
        assert str(error) == f"interrupted; {kept}, and the same command goes on from there"
        said = " ".join(capsys.readouterr().err.split())
        assert said == "stopping: waiting for the 4 answers under way, which cost; Ctrl-C again stops at once"
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert all(o.answer for o in llm.ask(requests(30), given))
        assert len(server.asked) == 30


@pytest.mark.parametrize("ask", [plainly, in_a_notebook])
def test_the_second_ctrl_c_stops_at_once(settings, monkeypatch, ask):
    """No answer came; what they may cost counts as lost."""
    with Server(faults={"slow": 1.0}, slow=60) as server:
        given, budget = settings(server, concurrency=4), llm.Budget(1.0)
        stop_under_way(server, monkeypatch, 4, twice=True)
        error = ask(requests(30), given, budget)
        assert (len(server.asked), server.usages) == (4, [])
        most = llm.price_of(given.model).most(requests(1)[0], given)
        assert (budget.spent, budget.lost) == (0, pytest.approx(4 * most, rel=0.01))
        assert error.__notes__ == [str(budget)]


def test_ctrl_c_does_not_wait_where_no_answer_is_under_way(settings, monkeypatch):
    """The server is busy, and the next try is half an hour away."""
    with Server(faults={"529": 1.0}) as server:
        stop_under_way(server, monkeypatch, 2)
        began = time.monotonic()
        plainly(requests(9), settings(server, concurrency=2, first_wait=3600.0, longest_wait=3600.0), llm.Budget(None))
        assert len(server.asked) == 2
        assert time.monotonic() - began < 900


def test_ctrl_c_after_the_last_answer_is_not_forgotten(settings, tmp_path):
    def stop(outcome):
        ctrl_c()

    with Server() as server:
        given = settings(server, cache=tmp_path / "a.jsonl")
        with pytest.raises(KeyboardInterrupt, match="what was received is kept"):
            llm.ask(requests(1), given, stop)
        assert llm.cached(requests(1), given)[0].answer


def test_a_rehearsal_answers_for_no_other_server(settings, tmp_path, monkeypatch):
    real = llm.Settings("claude-haiku-4-5", cache=tmp_path / "a.jsonl")
    assert requests(1)[0].key(real.name) == "8f1d795c0092de3b5777e6c8d7405bd2"  # in the caches of users
    assert llm.Settings("claude-haiku-4-5", base_url="https://API.anthropic.com/v1", thinking=9).name == (
        "claude-haiku-4-5 thinking 9"
    )
    with Server() as server:
        rehearsed = settings(server, cache=real.cache)
        llm.ask(requests(3), rehearsed)
        with monkeypatch.context() as patch:
            patch.setattr("tslens.llm.requests.VENDOR", "127.0.0.1")
            llm.ask(requests(5), rehearsed)  # as if it were the API's own server
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert llm.estimate(requests(9), real).cached == 5
    assert llm.estimate(requests(9), rehearsed).cached == 3
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://proxy.example:8000/")
    assert real.name == "claude-haiku-4-5 at proxy.example:8000"
    assert is_rehearsal(rehearsed) and not is_rehearsal(real)
    for address in ("http://localhost:8", "http://[::1]:8", "http://[::1]", "http://127.3.2.1"):
        assert is_rehearsal(llm.Settings("claude-haiku-4-5", base_url=address))
    ports = {llm.Settings("claude-haiku-4-5", base_url=f"http://127.0.0.1:{port}").name for port in (8, 9)}
    assert len(ports) == 2  # two servers of one host answer for themselves
    assert [one is not None for one in llm.cached(requests(4), rehearsed)] == [True] * 3 + [False]


def test_what_is_no_address_is_refused(refused, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://[::1")
    with refused("no address of a server"):
        _ = llm.Settings("claude-haiku-4-5").name


def test_a_limit_below_one_request_asks_nothing(settings):
    with Server() as server:
        outcomes = llm.ask(requests(3), settings(server, limit_usd=1e-9))
        assert [o.failure for o in outcomes] == ["budget"] * 3
        assert server.asked == []


def test_the_prefix_is_cached_and_the_structure_is_asked_for(settings):
    with Server() as server:
        first, second = llm.ask(requests(2), settings(server, concurrency=1))
        (body, _) = server.bodies
    assert body["system"] == [{"type": "text", "text": "Grade the story.", "cache_control": {"type": "ephemeral"}}]
    schema = body["output_config"]["format"]["schema"]
    assert schema["properties"]["grammar"]["enum"] == list(range(1, 11))
    assert body["thinking"] == {"type": "disabled"}
    price = llm.price_of("claude-haiku-4-5")
    assert first.usd > second.usd  # which read the prefix from the cache
    assert second.usd == pytest.approx(price.usd(Tokens(second.input_tokens - 4, second.output_tokens, 0, 4)))


def test_equal_requests_are_asked_once_and_repetitions_each(settings):
    one = requests(1)[0]
    other = llm.Request(one.system, one.text, one.answer, one.max_tokens, repetition=1)
    with Server() as server:
        outcomes = llm.ask([one, other, one], settings(server))
        assert len(server.asked) == 2
    assert outcomes[0].answer == outcomes[2].answer
    assert outcomes[2].usd == 0
    assert one.key("a") != one.key("b")


@pytest.mark.parametrize("fault", ["malformed", "wrong", "missing", "truncated"])
def test_a_useless_answer_is_asked_again_some_times(settings, tmp_path, fault):
    with Server(faults={fault: 1.0}) as server:
        given = settings(server, cache=tmp_path / "a.jsonl")
        (outcome,) = llm.ask(requests(1), given)
        assert len(server.asked) == 3
        assert outcome.failure == ("truncated" if fault == "truncated" else "malformed")
        assert outcome.usd == pytest.approx(billed(server))
        llm.ask(requests(1), given)
        assert len(server.asked) == 3


def test_useless_answers_of_a_killed_run_count(settings, tmp_path):
    with Server(faults={"malformed": 1.0}) as server:
        given = settings(server, cache=tmp_path / "a.jsonl")
        llm.ask(requests(1), given)
        lines = given.cache.read_bytes().splitlines(keepends=True)
        given.cache.write_bytes(b"".join(lines[:-1]))  # killed before the last one
        llm.ask(requests(1), given)
        assert len(server.asked) == 4


@pytest.mark.parametrize("fault", ["500", "504", "529", "rate limit", "drop", "drop in the middle"])
def test_a_server_that_never_answers_is_given_up(settings, tmp_path, fault):
    with Server(faults={fault: 1.0}) as server:
        given = settings(server, cache=tmp_path / "a.jsonl", tries=3)
        (outcome,) = llm.ask(requests(1), given)
        assert len(server.asked) == 3
        assert outcome.failure.startswith("no answer in 3 tries")
        assert (outcome.lost_usd > 0) == (fault in ("500", "504", "drop", "drop in the middle"))
        assert llm.ask(requests(1), given)[0].failure == outcome.failure
        assert len(server.asked) == 6  # it was not received, so it is asked for again


def test_what_was_never_sent_costs_nothing(settings):
    with Server() as server:
        given = settings(server, tries=2)
    (outcome,) = llm.ask(requests(1), given)  # the server has gone
    assert outcome.failure == "no answer in 2 tries (no connection)"
    assert outcome.lost_usd == 0


def test_white_space_around_the_key_is_no_part_of_it(settings, monkeypatch, refused):
    with Server() as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", f" {Server.key}\n")
        assert llm.ask(requests(1), settings(server))[0].answer
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-another-secret\n")
        with refused(r"invalid key \*\*\*\)"):
            llm.ask(requests(1), settings(server))
        for key in ("sk-sec ret", "sk-sec\u2026ret", "sk-sec\nret"):
            monkeypatch.setenv("ANTHROPIC_API_KEY", key)
            with refused("^the key in ANTHROPIC_API_KEY has a space, or a character that is not of ASCII; copy it"):
                llm.ask(requests(1), settings(server))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "\n")
        with refused("there is no key"):
            llm.ask(requests(1), settings(server))
        assert len(server.asked) == 1


def test_an_answer_that_comes_too_late_is_lost(settings):
    with Server(faults={"slow": 1.0}, slow=60) as server:
        (outcome,) = llm.ask(requests(1), settings(server, timeout=0.2, tries=1))
    assert outcome.failure == "no answer in 1 tries (timeout)"
    assert outcome.lost_usd > 0


def test_retry_after_is_honoured(monkeypatch, settings):
    waits, sleep = [], asyncio.sleep

    async def noted(seconds, *rest):
        waits.append(seconds)
        await sleep(0, *rest)

    monkeypatch.setattr("tslens.llm.halt.asyncio.sleep", noted)
    with Server(faults={"rate limit with retry-after": 1.0}) as server:
        llm.ask(requests(1), settings(server, tries=4, first_wait=7.0, longest_wait=7.0))
    assert waits.count(0.01) == 3
    waits.clear()
    with Server(faults={"529": 1.0}) as server:
        llm.ask(requests(1), settings(server, tries=4, first_wait=7.0, longest_wait=20.0))
    long = [wait for wait in waits if wait > 1]
    assert [low <= wait <= 2 * low for wait, low in zip(long, (3.5, 7, 10), strict=True)] == [True] * 3


def test_one_rejected_request_leaves_the_others(settings):
    bad = llm.Request("Grade the story.", "unspeakable", Grade, 100)
    with Server() as server:
        first, second = llm.ask([bad, *requests(1)], settings(server))
    assert first.failure == "rejected (status 400: messages: not acceptable)"
    assert second.answer is not None


def test_bad_input_gets_one_line(settings, refused, monkeypatch, tmp_path):
    with Server() as server:
        with refused("knows no model 'no-such-model'"):
            prices = tmp_path / "prices.toml"
            prices.write_text(
                "[factors]\nbatch=1\ncache_read=1\ncache_write=1\n[models]\nno-such-model={input=1,output=1}"
            )
            llm.ask(requests(1), settings(server, model="no-such-model", prices=prices))
        with refused("message batches need a cache"):
            settings(server, batch=True)
        with refused("limit of -1 US dollars"):
            settings(server, limit_usd=-1)
        with refused("always thinks.*--thinking"):
            llm.ask(requests(1), settings(server, model="claude-opus-5-5"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-another-secret")
        with refused("refuses the key in ANTHROPIC_API_KEY.*invalid key \\*\\*\\*"):
            llm.ask(requests(20), settings(server))
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        with refused("there is no key.*ANTHROPIC_API_KEY"):
            llm.ask(requests(1), settings(server))
        monkeypatch.setenv("TSLENS_OFFLINE", "1")
        monkeypatch.setenv("ANTHROPIC_API_KEY", Server.key)
        with refused("TSLENS_OFFLINE"):
            llm.ask(requests(1), llm.Settings("claude-haiku-4-5"))
        assert llm.ask(requests(1), settings(server))[0].answer
        monkeypatch.setitem(sys.modules, "anthropic", None)
        with refused(r"pip install 'tslens\[grader\]'"):
            llm.ask(requests(1), settings(server))


def test_the_address_comes_from_the_environment_and_thinking_gets_room(settings, monkeypatch):
    with Server() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        given = llm.Settings("claude-opus-5-5", thinking=1000)
        (outcome,) = llm.ask(requests(1), given)
        assert outcome.answer
        assert (server.bodies[0]["max_tokens"], server.bodies[0]["thinking"]) == (1100, {"type": "adaptive"})
    assert requests(1)[0].key(given.name) != requests(1)[0].key(given.model)


def test_it_runs_where_a_loop_runs_already(settings):
    async def notebook():
        return llm.ask(requests(2), settings(server))

    with Server() as server:
        assert all(outcome.answer for outcome in asyncio.run(notebook()))


def test_the_key_is_nowhere(settings, tmp_path):
    with Server(faults=spread(0.3)) as server:
        given = settings(server, cache=tmp_path / "a.jsonl")
        outcomes = llm.ask(requests(20), given)
        assert Server.key not in given.cache.read_text() + repr(given) + repr(outcomes)
        assert given.base_url not in given.cache.read_text()


@pytest.mark.parametrize("length", [150, 185, 199])
def test_a_server_that_repeats_the_key_is_not_quoted(monkeypatch, length):
    """Also where a long message is cut within the key."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", Server.key)
    said = quoted("x" * length + Server.key + " is no key")
    assert "sk-" not in said and len(said) <= 200


KILLED = """
import sys
from tests.llm.test_asking import requests
from tslens import llm
from pathlib import Path
llm.ask(requests(int(sys.argv[3])), llm.Settings("claude-haiku-4-5", cache=Path(sys.argv[1]), base_url=sys.argv[2],
        batch=sys.argv[4] == "batch", poll=0.01, concurrency=4))
"""


def killed(server, cache, n, how, when):
    """Start a run in another process, and kill it once `when()` is true."""
    command = [sys.executable, "-c", KILLED, str(cache), server.url, str(n), how]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)})
    try:
        while not when():
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def test_a_killed_run_goes_on(settings, tmp_path):
    cache = tmp_path / "a.jsonl"
    with Server(faults={"slow": 1.0}) as server:
        killed(server, cache, 200, "", lambda: cache.exists() and cache.read_bytes().count(b"\n") > 20)
        kept = {json.loads(line)["key"] for line in cache.read_text().splitlines()[1:]}
        calls = len(server.asked)
        outcomes = llm.ask(requests(200), settings(server, cache=cache))
        assert all(outcome.answer for outcome in outcomes)
        assert {o.request.key(settings(server).name) for o in outcomes if o.cached} == kept
        assert len(server.asked) - calls == 200 - len(kept)


def test_a_killed_run_reads_its_batch(settings, tmp_path):
    cache = tmp_path / "a.jsonl"
    with Server(polls=1_000_000) as server:
        killed(server, cache, 30, "batch", lambda: cache.exists() and b'"batch"' in cache.read_bytes())
        server.batches["msgbatch_0"]["polls"] = 2
        outcomes = llm.ask(requests(30), settings(server, cache=cache, batch=True))
        assert all(outcome.answer for outcome in outcomes)
        assert list(server.batches) == ["msgbatch_0"]
        assert server.again == []


def test_an_expired_batch_is_asked_again_and_results_find_their_requests(settings, tmp_path):
    def echo(system, text, schema):
        return {"grammar": int(text.split()[1][:-1]) % 10 + 1, "plot": 1}

    with Server(echo, expire_batches=1) as server:
        given = settings(server, cache=tmp_path / "a.jsonl", batch=True, batch_size=20)
        outcomes = llm.ask(requests(30), given)
        assert [o.answer.grammar for o in outcomes] == [i % 10 + 1 for i in range(30)]
        assert len(server.batches) == 3  # of 20 that expired, then 20, then 10
        assert sum(o.usd for o in outcomes) == pytest.approx(billed(server))
        assert llm.ask(requests(30), given)[0].cached


def interrupted(asked, given, server, monkeypatch):
    """Submit a batch, and press Ctrl-C when the run first looks whether it has ended."""
    state, looks = server.state, []

    def waits(name, *, look=True):
        looks.append(name)
        if len(looks) == 2:  # the first describes the batch when it is submitted
            ctrl_c()
        return state(name, look=False)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(server, "state", waits)
        llm.ask(asked, given)


def test_a_batch_that_another_call_wants_too_is_kept(settings, tmp_path, monkeypatch):
    with Server() as server:
        given = settings(server, cache=tmp_path / "a.jsonl", batch=True)
        interrupted(requests(10), given, server, monkeypatch)
        assert all(o.answer for o in llm.ask(requests(4), given))
        assert all(o.answer for o in llm.ask(requests(10), given))
        assert len(server.batches) == 1


def test_a_batch_under_way_is_not_paid_twice(settings, tmp_path, monkeypatch, capsys):
    """Also where the run that finds it asks without batches."""
    with Server() as server:
        given = settings(server, cache=tmp_path / "a.jsonl", batch=True, poll=3600.0)
        interrupted(requests(10), given, server, monkeypatch)  # which does not wait for the hour
        said = " ".join(capsys.readouterr().err.split())
        assert said == "stopping: the message batch under way goes on, and the same command reads it later"
        given.poll = 0.001
        given.batch = False
        found = llm.estimate(requests(12), given)
        assert (found.requests, found.under_way) == (12, 10)
        assert "10 of these are under way in a batch that was paid" in str(found)
        assert found.usd == pytest.approx(llm.estimate(requests(2, start=10), given).usd, rel=0.1)
        outcomes = llm.ask(requests(12), given)
        assert all(o.answer for o in outcomes)
        assert len(server.batches) == 1 and len(server.asked) == 12 and server.again == []
        assert sum(o.usd for o in outcomes) == pytest.approx(billed(server))
        assert llm.estimate(requests(12), given).under_way == 0


@pytest.mark.parametrize("status", ["429", "401"])
def test_a_batch_that_was_never_made_is_not_looked_for(settings, tmp_path, monkeypatch, status):
    """Else the next run takes another's batch of the same size for it."""
    made = "/v1/messages/batches"
    with Server(polls=0) as server:
        given = settings(server, cache=tmp_path / "a.jsonl", batch=True, tries=2)
        with monkeypatch.context() as patch:
            patch.setattr(server, "trouble", lambda path: "429" if path == made else None)
            if status == "401":

                def refuse(*_):
                    raise InputError("the API refuses the key")

                patch.setattr("tslens.llm.batches.attempt", refuse)
            if status == "401":
                with pytest.raises(InputError):
                    llm.ask(requests(5), given)
            else:
                assert {o.failure for o in llm.ask(requests(5), given)} == {"no answer in 2 tries (status 429)"}
        llm.ask(requests(5, start=50), settings(server, cache=tmp_path / "another.jsonl", batch=True))
        assert all(o.answer for o in llm.ask(requests(5), given))
        assert b'"batch": "msgbatch_0"' not in given.cache.read_bytes()


def test_a_batch_whose_id_never_arrived_is_found(settings, tmp_path, monkeypatch):
    """The connection drops after the batch was made; or the process ends there."""
    with Server(polls=0) as server:
        given, troubles = settings(server, cache=tmp_path / "a.jsonl", batch=True), ["drop in the middle"]
        made = "/v1/messages/batches"
        monkeypatch.setattr(server, "trouble", lambda path: troubles.pop() if path == made and troubles else None)
        assert all(o.answer for o in llm.ask(requests(7), given))
        assert len(server.batches) == 1

        def die(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("tslens.llm.store.AnswerStore.submitted", die)
            llm.ask(requests(8, start=100), given)
        assert len(server.batches) == 2
        outcomes = llm.ask(requests(8, start=100), given)
        assert all(o.answer for o in outcomes)
        assert len(server.batches) == 2


def test_after_a_batch_that_may_have_been_made_no_other_is_sent(settings, tmp_path, monkeypatch):
    """The API lists it too late: a second one would take its place in the record, and what it holds be paid again."""
    with Server(polls=0) as server:
        given = settings(server, cache=tmp_path / "a.jsonl", batch=True, tries=1, batch_size=5)
        made, troubles = "/v1/messages/batches", ["drop in the middle"]
        with monkeypatch.context() as patch:
            patch.setattr(server, "trouble", lambda path: troubles.pop() if path == made and troubles else None)

            async def nothing(_):
                return []

            patch.setattr("tslens.llm.batches._listed", nothing)
            outcomes = llm.ask(requests(12), given)
        assert len(server.batches) == 1 and not any(o.answer for o in outcomes)
        assert "may be listed later" in outcomes[-1].failure
        assert all(o.answer for o in llm.ask(requests(12), given))
        assert len(server.batches) == 3 and server.again == []


def test_a_batch_that_the_api_has_forgotten_is_asked_again(settings, tmp_path, monkeypatch):
    cache = tmp_path / "a.jsonl"
    with Server() as server:
        interrupted(requests(5), settings(server, cache=cache, batch=True), server, monkeypatch)
    with Server() as server:
        assert all(o.answer for o in llm.ask(requests(5), settings(server, cache=cache, batch=True)))


def test_a_cache_survives_a_torn_line_and_refuses_another_version(settings, tmp_path, refused):
    cache = tmp_path / "a.jsonl"
    with Server() as server:
        llm.ask(requests(3), settings(server, cache=cache))
        whole = cache.read_bytes()
        for cut in (1, 30, len(whole.splitlines()[-1]), len(whole) - 5):
            cache.write_bytes(whole[:-cut])
            assert llm.estimate(requests(3), settings(server, cache=cache)).requests >= 1
            assert all(o.answer for o in llm.ask(requests(3), settings(server, cache=cache)))
            lines = [json.loads(line) for line in cache.read_text().splitlines()]
            assert len(lines) == 4
        with lock.held(cache), refused("being written by process"):
            other = settings(server, cache=tmp_path / "." / "a.jsonl")
            in_another_thread(lambda: llm.ask(requests(4), other))
        cache.write_text('{"tslens_answers": 99}\n')
        with refused("cache of answers of version 99; this tslens reads version 1"):
            llm.ask(requests(1), settings(server, cache=cache))
        cache.write_text("Once upon a time\n")
        with refused("no cache of answers"):
            llm.estimate(requests(1), settings(server, cache=cache))
        for old, new in ((b'{"key', b"{key"), (b'"output": ', b'"output": ' + b"9" * 400)):
            cache.write_bytes(whole.replace(old, new, 1))
            with refused("damaged in line 2"):
                llm.estimate(requests(1), settings(server, cache=cache))


def in_another_thread(call):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def test_an_estimate_comes_from_the_api_or_from_bytes(settings, tmp_path, monkeypatch):
    asked = requests(100)
    with Server() as server:
        given = settings(server, cache=tmp_path / "a.jsonl")
        found = llm.estimate(asked, given)
        assert (found.requests, found.cached, server.counted) == (100, 0, 24)
        assert found.counted == "the API's count of 24 of them"
        assert server.asked == []
        assert 0 < found.usd < found.most_usd
        assert found.batch_usd == pytest.approx(found.usd / 2)
        llm.ask(asked[:40], given)
        less = llm.estimate(asked, given)
        assert (less.requests, less.cached) == (60, 40)
        spent = sum(o.usd for o in llm.ask(asked, given))
        assert spent <= less.most_usd
        with_further = llm.estimate(asked, given, requests(50, start=90))  # of which ten are among the first
        assert (with_further.requests, with_further.further) == (0, 40)
        with_further = llm.estimate(requests(1, start=900), given, requests(5, start=901))
        assert with_further.usd == pytest.approx(llm.estimate(requests(1, start=900), given).usd)
        assert with_further.most_usd == pytest.approx(6 * llm.estimate(requests(1, start=900), given).most_usd)
        assert "5 further requests may follow" in str(with_further)
        given.batch = True
        assert llm.estimate(requests(9, start=500), given).most_usd < found.most_usd / 100 * 9
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        assert "nobody counted" in llm.estimate(requests(9, start=500), given).counted
