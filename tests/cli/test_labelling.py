"""`tslens eval label`: prints the address, serves the page, and ends when all is graded."""

import re
import threading
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tslens import cli, progress

FORM = {"grammar": "7", "creativity": "5", "consistency": "6", "plot": "4", "age_group": "6-7"}


@pytest.fixture
def texts(in_tmp):
    (in_tmp / "t.csv").write_text("prompt,completion,model\nA cat,ran.,x\nA dog,slept.,y\n", encoding="utf-8")
    return in_tmp


def test_a_person_grades_and_the_command_ends(texts, monkeypatch, capsys):
    told, said = threading.Event(), []

    def note(text):
        said.append(text)
        told.set()

    monkeypatch.setattr(progress, "note", note)
    code = []
    command = ["eval", "label", "--texts", "t.csv", "--out", "ann.csv", "--limit", "1"]
    thread = threading.Thread(target=lambda: code.append(cli.main(command)), daemon=True)
    thread.start()
    assert told.wait(600)
    host, token = re.search(r"http://(127\.0\.0\.1:\d+)/([\w-]+)/", said[0]).groups()

    def ask(method, form=None):
        connection = HTTPConnection(host, timeout=300)
        connection.request(method, f"/{token}/", form and urlencode(form))
        return connection.getresponse().read().decode()

    assert "0 of 1 graded" in ask("GET")
    assert cli.main(command) == 2  # a second page would write over the first one's grades
    assert "give another --out" in capsys.readouterr().err
    ask("POST", FORM | {"number": 0})
    assert "Done" in ask("GET")
    thread.join(300)
    assert code == [0] and Path("ann.csv").read_text().count("\n") == 2
    assert cli.main(command) == 0 and "all 1 texts are graded" in said[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--texts", "t.csv", "--out", "ann.txt"], "give a .csv file"),
        (["--texts", "t.csv", "--out", "ann.csv", "--limit", "0"], "at least 1"),
        (["--texts", "none.csv", "--out", "ann.csv"], "no file"),
    ],
)
def test_what_cannot_be_labelled_is_one_line(texts, capsys, words, message):
    assert cli.main(["eval", "label", *words]) == 2
    assert message in capsys.readouterr().err
