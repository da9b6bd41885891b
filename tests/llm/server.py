"""A server on the loopback that speaks Messages, count_tokens and Message Batches, and misbehaves as a seed says."""

import contextlib
import itertools
import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

import pytest

from tslens import progress

FAULTS = (
    "rate limit with retry-after",
    "rate limit",
    "500",
    "504",
    "529",
    "drop",
    "drop in the middle",
    "slow",
    "malformed",
    "wrong",
    "missing",
    "truncated",
    "refusal",
)
"""What a call to Messages may get instead of an answer; `slow` is an answer. An answer is billed before a 504."""
BATCH_FAULTS = ("expired", "errored", "malformed", "wrong", "missing", "truncated", "refusal")
TROUBLE = "trouble"
"""What a call about a batch may meet: 429, 500, 529, a connection dropped before the call, or after it was obeyed, as
with a 504."""
ANSWERED = (None, "slow", "refusal")
"""Not asked again."""
Reply = Callable[[str, str, dict[str, Any]], dict[str, Any]]


def spread(share: float, *, without: tuple[str, ...] = ()) -> dict[str, float]:
    """Faults that together have this share, each the same one."""
    names = [name for name in FAULTS if name not in without]
    return dict.fromkeys(names, share / len(names))


def ctrl_c() -> None:
    """What a terminal sends on Ctrl-C, to the main thread."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def stop_under_way(server: "Server", patch: pytest.MonkeyPatch, after: int, *, twice: bool = False) -> None:
    """Ctrl-C once so many requests are under way. They are answered when the client says that it waits for them; with
    `twice`, Ctrl-C comes again then. For a server whose answers are all slow."""
    fault, note, number = server.fault, progress.note, itertools.count(1)

    def counted(text: str, names: tuple[str, ...]) -> str | None:
        found = fault(text, names)
        if next(number) == after:
            ctrl_c()
        return found

    def noted(said: str) -> None:
        note(said)
        if said.startswith("stopping: waiting for"):
            (ctrl_c if twice else server.released.set)()

    patch.setattr(server, "fault", counted)
    patch.setattr(progress, "note", noted)


def example(schema: Mapping[str, Any], draw: Random) -> Any:
    """A value that fits a schema."""
    if "$ref" in schema:
        raise NotImplementedError("schemas with definitions: give a reply")
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return example(schema["anyOf"][0], draw)
    kind = schema["type"]
    if kind == "object":
        return {name: example(inner, draw) for name, inner in schema["properties"].items()}
    values = {"array": [], "string": "a word", "integer": 7, "number": 0.5, "boolean": True, "null": None}
    return values[kind]


class Server:
    """`with Server(reply) as server:` answers at `server.url`.

    `reply(system, text, schema)` gives the fields of an answer; without it they are drawn by the schema and the text.
    `faults` gives probabilities by name (FAULTS; of batches BATCH_FAULTS and TROUBLE): which call gets which depends on
    the seed, its text, and how often that was asked, not on the order in which calls come.
    """

    key = "sk-test-0123456789"

    def __init__(
        self,
        reply: Reply | None = None,
        faults: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
        slow: float = 0.02,
        polls: int = 2,
        expire_batches: int = 0,
    ) -> None:
        unknown = set(faults or {}) - set(FAULTS) - {*BATCH_FAULTS, TROUBLE}
        assert not unknown, unknown
        self.reply, self.faults, self.seed, self.slow = reply, dict(faults or {}), seed, slow
        self.polls, self.expire_batches = polls, expire_batches
        self.lock = threading.Lock()
        self.asked: list[tuple[str, str]] = []
        """(text, fault or "") of every request for an answer, in the order of arrival, those in batches too"""
        self.answered: Counter[str] = Counter()
        """texts whose answer, or refusal, was sent whole"""
        self.again: list[str] = []
        """texts that were asked again after that"""
        self.replies: dict[str, list[dict[str, Any]]] = {}
        """good answers by text"""
        self.usages: list[tuple[dict[str, int], bool]] = []
        """tokens of everything that was billed, lost answers included, and whether in a batch"""
        self.counted = 0
        self.batches: dict[str, dict[str, Any]] = {}
        self.bodies: list[dict[str, Any]] = []
        self._attempts: Counter[str] = Counter()
        self.released = threading.Event()

    def __enter__(self) -> "Server":
        owner = self

        class Handler(_Handler):
            server_of_tests = owner

        self._http = _Http(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def fault(self, text: str, names: tuple[str, ...]) -> str | None:
        """What this call for `text` gets; the next one may get something else."""
        with self.lock:
            self._attempts[text] += 1
            draw = Random(f"{self.seed}:{text}:{self._attempts[text]}").random()
            chosen = None
            for name in names:
                draw -= self.faults.get(name, 0.0)
                if draw < 0:
                    chosen = name
                    break
            if self.answered[text]:
                self.again.append(text)
            self.asked.append((text, chosen or ""))
        return chosen

    def trouble(self, path: str) -> str | None:
        """What this call about a batch meets."""
        with self.lock:
            self._attempts[path] += 1
            draw = Random(f"{self.seed}:{path}:{self._attempts[path]}")
        kinds = ("429", "500", "504", "529", "drop", "drop in the middle")
        return draw.choice(kinds) if draw.random() < self.faults.get(TROUBLE, 0.0) else None

    def message(self, given: dict[str, Any], fault: str | None, *, batch: bool = False) -> dict[str, Any]:
        """The message that answers a request, spoiled by the fault."""
        system, text, schema = _parts(given)
        draw = Random(f"{self.seed}:{text}")
        fields = self.reply(system, text, schema) if self.reply else example(schema, draw)
        said = json.dumps(fields)
        if fault == "malformed":
            said = "Here is my answer: " + said[:-1]
        if fault == "wrong":
            said = json.dumps({"unheard-of": 11})
        if fault == "truncated":
            said = said[: len(said) // 2]
        with self.lock:
            first = not any(usage["cache_creation_input_tokens"] for usage, _ in self.usages)
            tokens = len(system) // 4
            usage = {
                "input_tokens": len(text) // 4 + 1,
                "cache_creation_input_tokens": tokens if first else 0,
                "cache_read_input_tokens": 0 if first else tokens,
                "output_tokens": given["max_tokens"] if fault == "truncated" else len(said) // 4 + 1,
            }
            self.usages.append((usage, batch))
            if fault in (None, "slow"):
                self.replies.setdefault(text, []).append(fields)
        reasons = {"truncated": "max_tokens", "refusal": "refusal"}
        return {
            "id": f"msg_{blake2b(text.encode(), digest_size=8).hexdigest()}",
            "type": "message",
            "role": "assistant",
            "model": given["model"],
            "content": [] if fault in ("missing", "refusal") else [{"type": "text", "text": said}],
            "stop_reason": reasons.get(str(fault), "end_turn"),
            "stop_sequence": None,
            "usage": usage,
        }

    def submit(self, requests: list[dict[str, Any]]) -> dict[str, Any]:
        """A new batch."""
        with self.lock:
            name = f"msgbatch_{len(self.batches)}"
            expired = len(self.batches) < self.expire_batches
            self.batches[name] = {"requests": requests, "polls": self.polls, "expired": expired}
        return self.state(name)

    def state(self, name: str, *, look: bool = True) -> dict[str, Any]:
        """A batch as the API describes it; every look brings it nearer to its end."""
        found = self.batches[name]
        found["polls"] -= look
        ended = found["polls"] < 0
        number = len(found["requests"])
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {"processing": 0 if ended else number, "succeeded": number if ended else 0}
            | dict.fromkeys(("errored", "canceled", "expired"), 0),
            "created_at": "2026-11-01T00:00:00Z",
            "expires_at": "2026-11-02T00:00:00Z",
            "ended_at": "2026-11-01T01:00:00Z" if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.url}/v1/messages/batches/{name}/results" if ended else None,
        }

    def listed(self) -> dict[str, Any]:
        """The batches, the latest first."""
        names = list(self.batches)[::-1]
        data = [self.state(name, look=False) for name in names]
        return {"data": data, "has_more": False, "first_id": None, "last_id": None}

    def results(self, name: str) -> str:
        """JSON lines of a batch's results, out of order; the same at every call."""
        found = self.batches[name]
        if "lines" not in found:
            lines = []
            for request in found["requests"]:
                text = _parts(request["params"])[1]
                fault = self.fault(text, BATCH_FAULTS)
                if found["expired"] or fault == "expired":
                    result: dict[str, Any] = {"type": "expired"}
                elif fault == "errored":
                    inner = {"type": "overloaded_error", "message": "Overloaded"}
                    result = {"type": "errored", "error": {"type": "error", "error": inner}}
                else:
                    result = {"type": "succeeded", "message": self.message(request["params"], fault, batch=True)}
                    if fault in ANSWERED:
                        self.answered[text] += 1
                lines.append(json.dumps({"custom_id": request["custom_id"], "result": result}))
            Random(self.seed).shuffle(lines)
            found["lines"] = lines
        return "\n".join(found["lines"]) + "\n"


def _parts(given: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    system = "".join(block["text"] for block in given["system"])
    schema = given["output_config"]["format"]["schema"]
    return system, given["messages"][0]["content"], schema


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news."""


class _Handler(BaseHTTPRequestHandler):
    server_of_tests: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def do_POST(self) -> None:
        server = self.server_of_tests
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self._may():
            return
        with server.lock:
            server.bodies.append(body)
        if self.path == "/v1/messages":
            self._messages(body)
        elif self.path == "/v1/messages/count_tokens":
            server.counted += 1
            system, text, schema = _parts(body)
            self._send(200, {"input_tokens": (len(system) + len(text) + len(json.dumps(schema))) // 4})
        elif self.path == "/v1/messages/batches":
            self._batches(lambda: server.submit(body["requests"]))
        else:
            self._error(404, "not_found_error", self.path)

    def do_GET(self) -> None:
        server = self.server_of_tests
        if not self._may():
            return
        words = self.path.partition("?")[0].strip("/").split("/")
        if words[:3] != ["v1", "messages", "batches"] or (words[3:] and words[3] not in server.batches):
            self._error(404, "not_found_error", self.path)
        elif not words[3:]:
            self._batches(server.listed)
        elif words[4:] == ["results"]:
            self._batches(lambda: server.results(words[3]))
        else:
            self._batches(lambda: server.state(words[3]))

    def _batches(self, answer: Callable[[], dict[str, Any] | str]) -> None:
        trouble = self.server_of_tests.trouble(self.path)
        if trouble in ("429", "500", "529"):
            self._error(int(trouble), "api_error", "trouble")
        elif trouble == "drop":
            self._drop()
        elif trouble == "504":
            answer()
            self._error(504, "timeout_error", "timed out")
        else:
            self._send(200, answer(), whole=trouble is None)

    def _may(self) -> bool:
        given = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        if given == self.server_of_tests.key:
            return True
        self._error(401, "authentication_error", f"invalid key {given}")
        return False

    def _messages(self, body: dict[str, Any]) -> None:
        server, text = self.server_of_tests, _parts(body)[1]
        if body["model"] == "no-such-model":
            self._error(404, "not_found_error", "model: no-such-model")
            return
        if "unspeakable" in text:
            self._error(400, "invalid_request_error", "messages: not acceptable")
            return
        fault = server.fault(text, FAULTS)
        if fault == "rate limit with retry-after":
            self._error(429, "rate_limit_error", "slow down", {"retry-after": "0.01"})
        elif fault == "rate limit":
            self._error(429, "rate_limit_error", "slow down")
        elif fault == "500":
            self._error(500, "api_error", "internal error")
        elif fault == "504":
            server.message(body, "malformed")  # billed, and on no list of replies
            self._error(504, "timeout_error", "timed out")
        elif fault == "529":
            self._error(529, "overloaded_error", "overloaded")
        elif fault == "drop":
            self._drop()
        else:
            if fault == "slow":
                server.released.wait(server.slow)
            message = server.message(body, fault)
            if fault == "drop in the middle":
                self._send(200, message, whole=False)
            else:
                self._send(200, message)
                with server.lock:
                    server.answered[text] += fault in ANSWERED

    def _error(self, status: int, kind: str, said: str, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, {"type": "error", "error": {"type": kind, "message": said}}, headers)

    def _send(
        self,
        status: int,
        value: dict[str, Any] | str,
        headers: Mapping[str, str] | None = None,
        *,
        whole: bool = True,
    ) -> None:
        raw = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json" if isinstance(value, dict) else "application/x-jsonl")
        self.send_header("content-length", str(len(raw)))
        for name, held in (headers or {}).items():
            self.send_header(name, held)
        self.end_headers()
        self.wfile.write(raw if whole else raw[: len(raw) // 2])
        self.wfile.flush()
        if not whole:
            self._drop()

    def _drop(self) -> None:
        """Close the connection."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(2)
