"""A local page on which a person grades texts, blind and in random order, by the same rubric as any grader.

It listens on the loopback alone, at an address with a random token, and answers no request that names another host.
"""

import csv
import hmac
import html
import secrets
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from string import Template
from urllib.parse import parse_qs, urlsplit

from tslens.errors import InputError
from tslens.evaluation.grading.rubrics import TEN, Axis, Rubric
from tslens.evaluation.grading.texts import GradedText
from tslens.files import atomic
from tslens.parsing import rows

LARGEST_FORM = 16_384  # bytes
PLACE = "127.0.0.1"
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Labels:
    """Texts and the grades that a person gave, kept in a CSV file that is whole after every answer."""

    def __init__(self, texts: Sequence[GradedText], rubric: Rubric, path: Path) -> None:
        self.rubric, self.path, self._lock = rubric, path, threading.Lock()
        self.texts = list({(text.prompt, text.completion): text for text in texts if not text.is_empty}.values())
        self.given: dict[int, dict[str, str]] = {}
        numbers = {(text.prompt, text.completion): i for i, text in enumerate(self.texts)}
        self._others: list[dict[str, str]] = []
        """rows of the file about other texts"""
        if path.exists():
            for where, row in rows(path):
                missing = [name for name in self.columns if row.get(name) is None]
                if missing:
                    raise InputError(f"{where} has no column {missing[0]!r}; it was graded by another rubric.")
                kept = {name: str(row[name]) for name in self.columns}
                number = numbers.get((kept["prompt"], kept["completion"]))
                if number is None:
                    self._others.append(kept)
                else:
                    self.given[number] = kept

    @property
    def columns(self) -> list[str]:
        """The columns of the file."""
        return ["prompt", "completion", *(axis.key for axis in self.rubric.axes), "comment"]

    @property
    def next(self) -> int | None:
        """The first text without a grade; None when all have one."""
        return next((i for i in range(len(self.texts)) if i not in self.given), None)

    def give(self, number: int, answers: dict[str, str]) -> None:
        """Keep the grade of a text, on disk too. InputError for an unknown text, or a missing or impossible answer."""
        if not 0 <= number < len(self.texts):
            raise InputError(f"there is no text {number}.")
        for axis in self.rubric.axes:
            if axis.score(answers.get(axis.key, "")) is None:
                raise InputError(f"{axis.name} needs one of its answers.")
        text = self.texts[number]
        row = {name: answers.get(name, "").strip() for name in self.columns}
        with self._lock, atomic(self.path) as file:
            self.given[number] = row | {"prompt": text.prompt, "completion": text.completion}
            writer = csv.DictWriter(file, self.columns, lineterminator="\n", quoting=csv.QUOTE_ALL)
            writer.writeheader()
            writer.writerows([*self._others, *(self.given[i] for i in sorted(self.given))])

    def page(self, said: str = "") -> str:
        """The page of the next text, or of the end; every text is escaped."""
        number = self.next
        body = "<h1>Done</h1><p>All texts are graded. You may close this page.</p>"
        if number is not None:
            text, rubric = self.texts[number], self.rubric
            right = f"<p>Right would be: {html.escape(text.expected)}</p>" if text.expected else ""
            questions = "".join(map(_question, rubric.axes))
            body = (
                f"<p>{html.escape(rubric.task.strip())}</p>{f'<p role=alert>{html.escape(said)}</p>' if said else ''}"
                f"<p class='text given'>{html.escape(text.prompt)}</p>{right}"
                f"<p class='text new'>{html.escape(text.completion)}</p>"
                f"<form method=post><input type=hidden name=number value={number}>{questions}"
                "<fieldset><legend>Comment</legend><textarea name=comment rows=2 cols=60 maxlength=1000></textarea>"
                "</fieldset><button>Save and go on</button></form>"
            )
        template = Template((resources.files("tslens") / "assets" / "label.html").read_text(encoding="utf-8"))
        return template.substitute(done=len(self.given), total=len(self.texts), body=body)


def _question(axis: Axis) -> str:
    answers = axis.values or tuple(map(str, TEN))
    levels = [f"{answer}: {told}" for answer, told in axis.levels]
    buttons = "".join(
        f"<label><input type=radio name={axis.key} value='{shown}' required> {shown}</label>"
        for shown in map(html.escape, answers)
    )
    hint = f"<br><small>{html.escape('; '.join(levels))}</small>" if levels else ""
    return f"<fieldset><legend><b>{axis.name}</b> {html.escape(axis.question)}{hint}</legend>{buttons}</fieldset>"


class LabelServer(ThreadingHTTPServer):
    """Serves the page of `labels` at `url`, which holds the token; `on_end` is called when it has said that all are
    graded."""

    def __init__(self, labels: Labels, port: int = 0, on_end: Callable[[], None] | None = None) -> None:
        super().__init__((PLACE, port), _LabelHandler)
        self.labels, self.on_end = labels, on_end
        self.token = secrets.token_urlsafe(32)
        self.host = f"{PLACE}:{self.server_address[1]}"
        self.url = f"http://{self.host}/{self.token}/"


class _LabelHandler(BaseHTTPRequestHandler):
    server: LabelServer
    timeout = 30  # seconds that a connection may stay silent

    def do_GET(self) -> None:
        if self._may_enter():
            ended = self.server.labels.next is None  # now, not once the page is out: the last grade may come meanwhile
            self._answer(HTTPStatus.OK, self.server.labels.page())
            if ended and self.server.on_end:
                self.server.on_end()

    def do_POST(self) -> None:
        if not self._may_enter():
            return
        size = self.headers.get("Content-Length", "")
        if not (size.isdecimal() and int(size) <= LARGEST_FORM):
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too large")
            return
        form = parse_qs(self.rfile.read(int(size)).decode(errors="replace"), keep_blank_values=True)
        answers = {name: values[0] for name, values in form.items()}
        try:
            number = answers.pop("number", "")
            self.server.labels.give(int(number) if number.isdecimal() else -1, answers)
        except InputError as error:
            self._answer(HTTPStatus.BAD_REQUEST, self.server.labels.page(str(error)))
            return
        self._answer(HTTPStatus.SEE_OTHER, "", {"Location": f"/{self.server.token}/"})

    def _may_enter(self) -> bool:
        """Whether the request is for this host, comes from its own page, and knows the token; else it is refused."""
        own = f"http://{self.server.host}"
        if self.headers.get("Host") != self.server.host or self.headers.get("Origin", own) != own:
            self._answer(HTTPStatus.FORBIDDEN, "forbidden")
            return False
        given = urlsplit(self.path).path.strip("/").encode(errors="replace")
        if not hmac.compare_digest(given, self.server.token.encode()):
            self._answer(HTTPStatus.NOT_FOUND, "not found")
            return False
        return True

    def _answer(self, status: HTTPStatus, text: str, more: dict[str, str] | None = None) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (HEADERS | (more or {}) | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "tslens"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the address holds the token."""
