"""The page on which a person grades: what it shows, saves and refuses."""

import csv
import re
import threading
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest

from tslens.errors import InputError
from tslens.evaluation.grading import GradedText
from tslens.evaluation.grading.graders import TableGrader
from tslens.evaluation.grading.labelling import Labels, LabelServer

EVIL = "<script>alert(1)</script> $done </p><form>"
TEXTS = [
    GradedText("A <b>cat</b>", EVIL, "secret-model"),
    GradedText("A dog", ' "ran",\naway', "secret-model", expected="a < b"),
]
GOOD = {"grammar": "7", "creativity": "5", "consistency": "6", "plot": "4", "age_group": "6-7", "comment": "fine, so"}


@pytest.fixture
def served(tmp_path, story):
    """A running page, and `ask(method, path, form, **headers)`."""
    labels = Labels(TEXTS, story, tmp_path / "out" / "ann.csv")
    with LabelServer(labels) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def ask(method="GET", path=None, form=None, **headers):
            connection = HTTPConnection("127.0.0.1", server.server_address[1], timeout=300)
            body = None if form is None else urlencode(form)
            connection.request(method, path or f"/{server.token}/", body, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer, text

        yield server, ask
        server.shutdown()
        thread.join()


def test_texts_are_escaped_and_their_writers_are_not_told(served):
    _, ask = served
    answer, page = ask()
    assert answer.status == 200 and "&lt;script&gt;alert(1)&lt;/script&gt; $done" in page and "<script" not in page
    assert "A &lt;b&gt;cat&lt;/b&gt;" in page and "secret-model" not in page
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Server"] == "tslens"
    assert len(re.findall("type=radio name=plot", page)) == 10 and len(re.findall("name=age_group", page)) == 6


def test_a_person_grades_everything(served, story):
    server, ask = served
    assert "0 of 2 graded" in ask()[1]
    answer, _ = ask("POST", form=GOOD | {"number": 0})
    assert answer.status == 303 and answer.headers["Location"] == f"/{server.token}/"
    page = ask()[1]
    assert "1 of 2 graded" in page and "Right would be: a &lt; b" in page
    ended = threading.Event()
    server.on_end = ended.set
    ask("POST", form=GOOD | {"number": 1, "plot": "10"})
    assert "Done" in ask()[1] and ended.wait(300)
    table = TableGrader(server.labels.path)
    first, second = table.grade(TEXTS, story)
    assert first.scores == {"grammar": 7, "creativity": 5, "consistency": 6, "plot": 4, "age group": 3}
    assert second.scores["plot"] == 10
    assert [path.name for path in server.labels.path.parent.iterdir()] == ["ann.csv"]


def test_a_grade_given_while_a_page_is_sent_does_not_end_the_serving(served, monkeypatch):
    server, ask = served
    ended, page = threading.Event(), server.labels.page

    def slow_page(said=""):
        text = page(said)
        for number in (0, 1):
            server.labels.give(number, GOOD)
        return text

    server.on_end = ended.set
    monkeypatch.setattr(server.labels, "page", slow_page)
    assert "0 of 2 graded" in ask()[1]
    monkeypatch.undo()
    assert not ended.is_set()
    assert "Done" in ask()[1] and ended.wait(300)


def test_grades_are_kept_and_gone_on_with(served, story):
    server, ask = served
    ask("POST", form=GOOD | {"number": 0})
    again = Labels([TEXTS[1], TEXTS[0], GradedText("A fox", "hid")], story, server.labels.path)
    assert again.next == 0 and list(again.given) == [1]
    again.give(2, GOOD)
    fewer = Labels([TEXTS[1]], story, server.labels.path)
    fewer.give(0, GOOD)
    with server.labels.path.open() as file:
        assert {row["completion"] for row in csv.DictReader(file)} == {EVIL, ' "ran",\naway', "hid"}


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"number": 0, "plot": "11"}, "plot needs one of its answers"),
        ({"number": 0, "age_group": ""}, "age group needs one of its answers"),
        ({"number": 7}, "no text 7"),
        ({"number": "x"}, "no text -1"),
    ],
)
def test_an_impossible_answer_is_not_saved(served, form, message):
    server, ask = served
    answer, page = ask("POST", form=GOOD | form)
    assert answer.status == 400 and message in page and not server.labels.path.exists()


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/x/", "/" + "a" * 43 + "/", "/%C3%BC/"])
def test_without_the_token_nothing_is_shown(served, path):
    _, ask = served
    for method in ("GET", "POST"):
        answer, page = ask(method, path, form=GOOD | {"number": 0})
        assert answer.status == 404 and page == "not found"


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Host": "localhost:80"}, {"Origin": "http://evil.example"}, {"Origin": "null"}],
)
def test_other_hosts_and_other_pages_are_refused(served, headers):
    server, ask = served
    for method in ("GET", "POST"):
        answer, page = ask(method, form=GOOD | {"number": 0}, **headers)
        assert answer.status == 403 and page == "forbidden"
    assert not server.labels.path.exists()


def test_its_own_page_may_post(served):
    server, ask = served
    assert ask("POST", form=GOOD | {"number": 0}, Origin=f"http://{server.host}")[0].status == 303


def test_a_form_that_is_too_large(served):
    server, ask = served
    assert ask("POST", form=GOOD | {"number": 0, "comment": "x" * 20_000})[0].status == 413
    assert not server.labels.path.exists()


def test_it_listens_on_the_loopback_with_another_token_each_time(story, tmp_path):
    labels = Labels(TEXTS, story, tmp_path / "a.csv")
    with LabelServer(labels) as one, LabelServer(labels) as other:
        assert one.server_address[0] == other.server_address[0] == "127.0.0.1"
        assert one.token != other.token and len(one.token) >= 43
        assert one.url == f"http://127.0.0.1:{one.server_address[1]}/{one.token}/"


def test_equal_texts_are_graded_once_and_empty_ones_never(story, tmp_path):
    assert len(Labels([TEXTS[0], TEXTS[0], GradedText("A", " ")], story, tmp_path / "a.csv").texts) == 1


def test_a_file_of_another_rubric(story, tmp_path):
    (tmp_path / "a.csv").write_text("prompt,completion,verdict\nA,b,fail\n")
    with pytest.raises(InputError, match="line 2 has no column 'grammar'"):
        Labels(TEXTS, story, tmp_path / "a.csv")
