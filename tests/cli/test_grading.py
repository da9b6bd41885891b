"""`tslens eval grade`: a rehearsal of the whole path against a server on the loopback, and graders without a key."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.evaluation.grading.conftest import FALL, noise
from tests.llm.server import Server, spread, stop_under_way
from tslens import cli, runs
from tslens.cli import large_model
from tslens.cli.graders import controls_for, true_texts
from tslens.errors import InputError
from tslens.evaluation.grading import (
    ComparisonResult,
    ControlsResult,
    GradedText,
    GradesResult,
    likelihood,
    read_texts,
    rubric,
)
from tslens.evaluation.grading.controls import controls, true_endings
from tslens.evaluation.grading.stated import can_be_judged, endings
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import suite
from tslens.models import Spec, build, load, weights
from tslens.report.answers import kept_suites
from tslens.report.suites import section
from tslens.stories import stories
from tslens.stories.instruct import parse
from tslens.tokenizer import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
FAST = {"first_wait": 0.001, "longest_wait": 0.004, "poll": 0.001}
ASK = ("eval", "grade", "--texts", "found/completions.jsonl", "--yes", "--again", "0")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with what two models, one untrained, wrote after 25 beginnings with known endings."""
    folder = tmp_path_factory.mktemp("grading")
    begun = true_endings(stories("made", limit=100), 25)
    rows = [json.dumps({"prompt": text.prompt, "ending": text.completion}) for text in begun]
    (folder / "begun.jsonl").write_text("\n".join(rows), encoding="utf-8")
    tokenizer = Tokenizer.train([text.completion for text in begun], size=300)
    spec = Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=512)
    run = folder / "runs" / "untrained"
    runs.write(run, {"spec": spec.to_dict(), "tokenizer": tokenizer.hash}, weights(build(spec)))
    tokenizer.save(run / runs.TOKENIZER)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        models = ("--model", "stories2M", "--model", "untrained")
        words = ("--prompts", "begun.jsonl", "--n", "2", "--beams", "0", "--limit-tokens", "20", "--out", "found")
        assert cli.main(["eval", "write", *models, *words]) == 0
    return folder


@pytest.fixture
def here(written, monkeypatch):
    monkeypatch.chdir(written)
    monkeypatch.setenv("ANTHROPIC_API_KEY", Server.key)
    monkeypatch.setattr(large_model, "PACE", FAST)
    monkeypatch.setattr(likelihood, "TWINS", 1)  # seven take seven times as long
    return written


@pytest.fixture(scope="module")
def reply(written):
    """A judge behind a server: controls by their damage, other texts by how many of their words are known."""
    true = true_texts(read_texts(written / "found/completions.jsonl"), None)[0]
    kinds = {(c.text.prompt, c.text.completion): c.kind for c in controls(true)}
    known = set(re.findall("[a-z]+", " ".join(stories("made", limit=300)).lower()))

    def judge(system, text, schema):
        form = r"<beginning (\w{16})>\n(.*)\n</beginning \1>\n\n<continuation \1>\n(.*)\n</continuation \1>"
        code, begun, found = re.fullmatch(form, text, re.DOTALL).groups()
        assert text.count(code) == 4
        words = re.findall("[a-z]+", found.lower())
        poor = sum(word not in known for word in words) > 0.3 * len(words)
        fall = FALL.get(kinds.get((begun, found), ""), {})
        scores = {
            name: (3 if poor else 9) - fall.get(name, 0) * (not poor) + noise(found + name) - 1
            for name in ("grammar", "creativity", "consistency", "plot")
        }
        return {"comment": "a comment", "age_group": "4-5"} | {n: max(1, s) for n, s in scores.items()}

    return judge


def killed(server, cache, lines):
    """Grade in another process, and kill it once the cache has so many lines."""
    command = [sys.executable, "-m", "tslens", *ASK, "--cache", str(cache), "--concurrency", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ | {"ANTHROPIC_BASE_URL": server.url})
    try:
        while not (cache.exists() and cache.read_bytes().count(b"\n") > lines):
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def test_ctrl_c_keeps_the_grades_that_are_paid(in_tmp, monkeypatch, capsys):
    monkeypatch.setenv("ANTHROPIC_API_KEY", Server.key)
    Path("texts.jsonl").write_text('{"prompt": "One day Tom", "completion": "ran home."}\n', encoding="utf-8")
    words = ["--texts", "texts.jsonl", "--yes", "--concurrency", "3", "--cache", "answers.jsonl", "--out", "graded"]
    with Server(faults={"slow": 1.0}, slow=60) as server, monkeypatch.context() as patch:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        stop_under_way(server, patch, 3)
        assert cli.main(["eval", "grade", *words]) == 130
        assert len(server.asked) == 3
    said = capsys.readouterr().err.splitlines()[-3:]
    assert "stopping: waiting for the 3 answers under way" in said[0]
    assert re.search(r"the asking broke off; the answers cost \$0\.0*[1-9]\d*$", said[1])
    assert said[2].startswith("tslens: interrupted; what was received is kept in answers.jsonl")
    assert Path("answers.jsonl").read_bytes().count(b"\n") == 1 + 3 and not Path("graded").exists()


@pytest.mark.thorough
def test_a_rehearsal(here, reply, monkeypatch, capsys):
    """Texts are written, graded by the SDK over a bad line, killed, gone on with, controlled and compared."""
    cache = here / "answers.jsonl"
    with Server(reply, faults=spread(0.3, without=("refusal",)), slow=0.05) as server:
        killed(server, cache, 20)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert cli.main([*ASK[:-1], "10", "--cache", str(cache), "--out", "graded", "--preferences"]) == 0
        said = capsys.readouterr()
        twice = sum(times - 1 for times in server.answered.values())
        assert twice <= 10 + 2  # graded again on purpose, and under way when it was killed
        calls = len(server.asked)
        assert cli.main([*ASK[:-1], "10", "--cache", str(cache), "--json"]) == 0
        assert len(server.asked) == calls  # a second run costs nothing
        answers = {text: given[0] for text, given in server.replies.items()}
    records = json.loads(capsys.readouterr().out)
    assert [r["result"] for r in records] == [
        "GradesResult",
        "ControlsResult",
        "ComparisonResult",
        "GraderAgreementResult",
    ]
    assert said.out.startswith("A rehearsal, no finding. Scores by rehearsal (claude-")
    assert "Expected $" in said.err and "the answers cost $" in said.err
    assert [path.name for path in (here / "graded").iterdir()] == ["rehearsal"]
    graded = here / "graded/rehearsal"
    grades = GradesResult.load(graded)
    assert grades.grader.startswith("rehearsal") and not grades.failures and len(grades.of()) == 100
    for i, completion in enumerate(grades.completions):  # none invented
        (answer,) = {a["plot"] for text, a in answers.items() if f">\n{completion}\n<" in text} or {None}
        assert answer == grades.score[i, grades.axes.index("plot"), 0]
    trusted = [axis for axis, told in grades.trust.items() if told == "trusted"]
    assert trusted == ["grammar", "consistency", "plot"]
    assert ControlsResult.load(graded).trust == grades.trust
    verdicts = ComparisonResult.load(graded)
    assert {v for v, axis in zip(verdicts.verdicts, verdicts.axes, strict=True) if axis in trusted} == {
        "stories2M > untrained"
    }
    files = {path.name for path in graded.iterdir()}
    assert {"grades.svg", "controls.svg", "comparison.svg", "grader-agreement.svg", "preferences-plot.svg"} <= files
    kept = [cache, *(path for path in (here / "graded").rglob("*") if path.is_file())]
    assert len(kept) > 10 and all(Server.key.encode() not in path.read_bytes() for path in kept)


@pytest.mark.parametrize(
    "words",
    [
        ASK,
        ("eval", "facts", "--model", "stories2M", "--completions", "1", "--twins", "0", "--grader", "large", "--yes"),
    ],
    ids=["texts", "a suite"],
)
def test_message_batches_give_the_same_grades_at_half_the_price(here, reply, monkeypatch, capsys, words):
    found = []
    for name in ("single", "batch"):
        place = f"{name}-of-{words[1]}"
        with Server(reply if words is ASK else even, faults={}) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            more = ("--batch",) if name == "batch" else ()
            assert cli.main([*words, *more, "--cache", f"{place}.jsonl", "--out", place]) == 0
            assert bool(server.batches) == (name == "batch")
        said = capsys.readouterr()
        (grades,) = (GradesResult.load(path.parent) for path in (here / place).rglob("GradesResult"))
        found.append((grades, float(re.search(r"the answers cost \$([\d.]+)", said.err)[1])))
    (one, dear), (other, cheap) = found
    assert one.completions == other.completions and one.trust == other.trust
    assert one.score.nan_to_num(-1).equal(other.score.nan_to_num(-1))
    assert cheap == pytest.approx(dear / 2, rel=0.1)


def test_a_rehearsal_stands_in_no_table_with_another_grader(here, reply, monkeypatch, capsys):
    with Server(reply) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        graders = ("--grader", "large", "--grader", "stories2M")
        assert cli.main([*ASK, "--cache", "mixed.jsonl", *graders, "--out", "mixed"]) == 0
    found = {path.relative_to(here / "mixed").as_posix() for path in (here / "mixed").rglob("*Result")}
    kinds = ("GradesResult", "ControlsResult", "ComparisonResult")
    assert found == {f"{folder}/{kind}" for folder in ("rehearsal/1", "2") for kind in kinds}
    assert GradesResult.load(here / "mixed/rehearsal/1").is_rehearsal
    assert GradesResult.load(here / "mixed/2").grader == "likelihood of stories2M"


def test_a_permanent_failure_is_listed_and_the_exit_code_says_so(here, reply, monkeypatch, capsys):
    with Server(reply, faults={"refusal": 0.1}) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert cli.main([*ASK, "--cache", "refused.jsonl", "--out", "refused"]) == large_model.INCOMPLETE
    said = capsys.readouterr()
    grades = GradesResult.load(here / "refused/rehearsal")
    assert grades.failures and f"{len(grades.failures)} texts could not be graded" in said.out
    assert all("refusal" in failure for failure in grades.failures)
    assert "without an answer: refusal" in said.err


def test_a_limit_holds_for_all_graders_and_repetitions(here, reply, monkeypatch, capsys):
    words = [*ASK[:-1], "10", "--cache", "limit.jsonl", "--limit-usd", "0.15"]  # ten times a worst case
    with Server(reply) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        code = cli.main([*words, "--grader", "large", "--grader", "claude-haiku-4-5"])
    said = capsys.readouterr()
    assert code == large_model.INCOMPLETE
    assert 0.13 < float(re.search(r"the answers cost \$([\d.]+)", said.err)[1]) <= 0.15


def test_without_any_score_the_cost_is_said_and_nothing_is_ranked(here, reply, monkeypatch, capsys):
    with Server(reply, faults={"refusal": 1.0}) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        words = [*ASK[:-1], "5", "--cache", "refusals.jsonl", "--preferences", "--json"]
        assert cli.main(words) == large_model.INCOMPLETE
    said = capsys.readouterr()
    assert "plot (untrustworthy (too few controls))\n" in said.err
    assert "creativity (no control): 0 models on 0 prompts" in said.err
    assert "no agreement: no text was graded twice" in said.err and "the answers cost $" in said.err
    assert [one["result"] for one in json.loads(said.out)] == ["GradesResult", "ControlsResult", "ComparisonResult"]


def test_the_cost_is_said_whatever_fails_after_the_asking(here, reply, monkeypatch, capsys):
    def full(*_):
        raise InputError("the disk is full")

    monkeypatch.setattr("tslens.evaluation.grading.compare", full)
    with Server(reply) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert cli.main([*ASK, "--cache", "paid.jsonl"]) == 2
    said = capsys.readouterr().err
    assert "the disk is full" in said and re.search(r"requests were sent; the answers cost \$0\.0[1-9]", said)


def test_the_cost_is_said_when_the_key_is_refused(here, reply, monkeypatch, capsys):
    def refuse(system, text, schema):
        if len(server.usages) == 20:
            server.key = "sk-another"
        return reply(system, text, schema)

    with Server(refuse) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert cli.main([*ASK, "--cache", "refused-key.jsonl"]) == 2
        answered = len(server.usages)
    said = capsys.readouterr().err
    assert "refuses the key" in said and said.count("answers cost") == 1
    assert re.search(r"the asking broke off; the answers cost \$0\.0\d*[1-9]\d*\n", said)
    assert Path("refused-key.jsonl").read_bytes().count(b"\n") == answered + 1


@pytest.mark.parametrize(
    ("scores", "rubric", "message"),
    [
        ({"plot": 11}, "story", "wrong.jsonl, line 1: plot is '11'; it may be 1 to 10"),
        ({"plots": 9}, "story", "wrong.jsonl has no score by the rubric 'story'"),
        (None, "charm.toml", "likelihood of stories2M scores grammar"),
    ],
)
def test_a_grader_that_cannot_grade_is_refused_before_a_large_model_is_paid(
    here, monkeypatch, capsys, scores, rubric, message
):
    row = {"prompt": "of another", "completion": "text", **(scores or {})}
    Path("wrong.jsonl").write_text(json.dumps(row), encoding="utf-8")
    charm = {"name": "charm", "question": "Is it charming?", "lowest": "no", "highest": "yes"}
    axis = "".join(f"{key} = {json.dumps(value)}\n" for key, value in charm.items())
    Path("charm.toml").write_text(f'task = "Grade."\n[[axis]]\n{axis}', encoding="utf-8")
    other = "stories2M" if scores is None else "wrong.jsonl"
    with Server() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        words = ["--cache", f"unpaid-{len(message)}.jsonl", "--rubric", rubric, "--grader", "large", "--grader", other]
        assert cli.main([*ASK, *words]) == 2
        assert server.asked == []
    said = capsys.readouterr().err.strip().splitlines()
    assert message in said[-1] and "Expected" not in "".join(said)


def test_two_large_models_have_one_price_and_one_question(here, monkeypatch, capsys):
    """The answer is no, so neither is asked."""
    answers = io.StringIO("n\n")
    answers.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", answers)
    graders = ("--grader", "large", "--grader", "claude-haiku-4-5")
    words = [word for word in ASK if word != "--yes"]
    with Server() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert cli.main([*words, "--cache", "two.jsonl", *graders]) == 2
        assert server.asked == []
    said = capsys.readouterr().err
    each = [[float(usd) for usd in one] for one in re.findall(r"Expected \$([\d.]+).*at most \$([\d.]+)", said)]
    ((requests, *total),) = re.findall(r"together (\d+) requests: expected \$([\d.]+); at most \$([\d.]+)", said)
    assert len(each) == 2 and int(requests) == sum(map(int, re.findall(r"(\d+) requests to claude", said)))
    assert [float(usd) for usd in total] == pytest.approx([sum(one) for one in zip(*each, strict=True)], abs=0.02)
    assert said.count("Spend it?") == 1 and "nothing was asked and nothing spent" in said


def test_controls_look_like_the_texts():
    """Whole stories behind instructions where texts follow these, and the mark of what is right where texts have it."""
    told = [GradedText("Words: dog\nStory: \n\n", "A dog ran.")]
    true, ranked = true_texts(told, None)
    assert (len(true), len(ranked)) == (25, 100)
    assert all(parse(text.prompt).blocks and not text.expected for text in true + ranked)
    marked = [*told, GradedText("A cat", " ran.", expected="ran")]
    for text in true_texts(marked, None)[0]:
        assert text.expected and text.completion.strip().startswith(text.expected) and not parse(text.prompt).blocks
    endings = [GradedText(t.prompt, "So it was.", ending=t.completion) for t in true_endings(stories("made"), 90)]
    controlled, among = true_texts(endings, None)
    assert [t.completion for t in controlled + among] == [t.ending for t in endings]
    assert len(true_texts(endings[:60], None)[1]) == 100  # too few are left: generated ones
    own = [replace(text, ending=text.completion, expected="ran") for text in true]
    assert [(t.prompt, t.completion) for t in true_texts(own, None)[0]] == [(t.prompt, t.completion) for t in true]


SUITE = """
question = "What is it like?"
[[pair]]
about = "what a stove and a freezer do"
right = "It is warm on the stove and cold in the freezer."
wrong = "The other way round."
prompts = [
  { text = "Dad left the soup on the stove. Soon it was very", accepted = ["hot", "warm"] },
  { text = "Dad left the soup in the freezer. Soon it was very", accepted = ["cold", "icy"] },
]
[[pair]]
about = "what cows and dogs say"
right = "The cow says moo; the dog says woof."
wrong = "The cow barks, or the dog says moo."
prompts = [
  { text = "The farmer heard the cow say", accepted = ["moo"] },
  { text = "The farmer heard the dog say", accepted = ["woof"] },
]
"""


def even(system, text, schema):
    """A judge that calls right what has an even number of letters."""
    found = re.search(r"<continuation (\w{16})>\n(.*)\n</continuation \1>", text, re.DOTALL).group(2)
    return {"comment": "", "verdict": "success" if len(found) % 2 == 0 else "fail"}


def test_a_grader_labels_what_a_suite_s_models_wrote(here, monkeypatch, capsys):
    """A text that the server refuses has no label. The controls find the grader out, and its labels are marked."""
    monkeypatch.setattr("tslens.evaluation.grading.large.is_rehearsal", lambda settings: False)  # as if not here
    (here / "mine.toml").write_text(SUITE)
    words = ("eval", "./mine.toml", "--model", "stories2M", "--cache", "suite.jsonl", "--yes")
    assert cli.main([*words, "--grader", "large", "--completions", "0"]) == 2
    assert "give --completions 1 or more" in capsys.readouterr().err
    with Server(even) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert cli.main([*words, "--completions", "3", "--grader", "large", "--out", "labelled"]) == 0
        said, calls = capsys.readouterr(), len(server.asked)
        assert cli.main([*words, "--completions", "3", "--grader", "large"]) == 0
        assert len(server.asked) == calls
    found = SuiteResult.load(here / "labelled" / "mine")
    (name,) = set(found.labels) - {"match"}
    assert f"success, by {name} (untrustworthy: " in said.out and "Expected $" in said.err
    assert re.search(rf"fail, by {re.escape(name)}(?! \(untrustworthy: )", said.out) is None
    page = (here / "labelled" / "mine" / "SuiteResult" / "table.html").read_text(encoding="utf-8")
    assert f"Scored graded by {name} (untrustworthy: " in page
    told = [
        (text, given)
        for texts, rows in zip(found.completions[0], found.labels[name][0], strict=True)
        for text, given in zip(texts, rows, strict=True)
    ]
    assert len(told) == 4 * 3
    assert all(given == (0 if not text.strip() or len(text) % 2 else 2) for text, given in told)
    trust = ControlsResult.load(here / "labelled" / "mine").trust["verdict"]
    assert trust == "untrustworthy (may obey orders, misses wrong ending)" and found.trust == {name: trust}
    assert all(re.search(r"\n\n<right \w{16}>\n", text) for text, _ in server.asked)  # controls too
    with Server(even, faults={"refusal": 0.2}) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        words = [word if word != "suite.jsonl" else "suite2.jsonl" for word in words]
        assert cli.main([*words, "--completions", "3", "--grader", "large"]) == large_model.INCOMPLETE


def test_a_rehearsal_of_a_suite_stands_apart(here, monkeypatch, capsys):
    """Its labels are in no table of the suite and not kept for the page; its grades and controls say what they are."""
    monkeypatch.setenv("TSLENS_CACHE", str(here / "kept"))
    words = ("eval", "facts", "--model", "untrained", "--cache", "facts.jsonl", "--yes", "--completions", "1")
    with Server(even) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert cli.main([*words, "--grader", "large", "--out", "rehearsed"]) == 0
    answer, heading, apart = capsys.readouterr().out.partition("A rehearsal, no finding. Scores by rehearsal (")
    assert "success, by match" in answer and "rehearsal" not in answer
    assert heading and "Controls of rehearsal (" in apart
    out = here / "rehearsed"
    assert {path.stem for path in out.iterdir()} == {"facts", "rehearsal", "suite-facts", "suite-facts-match"}
    assert list(SuiteResult.load(out / "facts").labels) == ["match"]
    assert not [path for path in (out / "facts").rglob("*") if path.is_file() and b"rehearsal" in path.read_bytes()]
    assert GradesResult.load(out / "rehearsal/facts").is_rehearsal
    assert ControlsResult.load(out / "rehearsal/facts").grader.startswith("rehearsal (")
    (kept,) = kept_suites(load("untrained"))
    assert list(kept.labels) == ["match"] and kept.trust == {}
    assert "rehearsal" not in section([kept], "untrained")


def test_controls_of_answers_are_right_and_wrong_ones():
    """Texts of one's own with right and wrong endings, by the rubric that asks what is right; else damaged endings."""
    asked = suite("facts").by_hand[:5]  # no whole pairs
    texts = [
        GradedText(p.text, f" {said}. It was fun.", expected=" / ".join(p.accepted), rejected=" / ".join(p.rejected))
        for p in asked
        for said in ("wet", "old")
    ]
    made, ranked = controls_for(texts, rubric("verdict"), None, 0)
    by = {kind: [one.text for one in made if one.kind == kind] for kind in ("true ending", "wrong ending", "orders")}
    assert [len(by[kind]) for kind in by] == [25] * 3 and len(made) == 75 and len(ranked) == 100
    assert {text.prompt for text in by["true ending"][:5]} == {p.text for p in asked}
    for right, wrong in zip(by["true ending"], by["wrong ending"], strict=True):
        assert right.completion.startswith(f" {endings(right.expected)[0]}. ") and can_be_judged(right)
        assert wrong.completion.startswith(f" {endings(right.rejected)[0]}. ") and right.prompt == wrong.prompt
    for found, by_ in ((texts, "story"), ([replace(text, rejected="") for text in texts], "verdict")):
        kinds = {one.kind for one in controls_for(found, rubric(by_), None, 0)[0]}
        assert kinds == {"true ending", "shuffled", "cut", "stopped", "with errors", "foreign", "orders"}


@pytest.mark.thorough
def test_a_loaded_model_says_which_own_texts_are_right(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with Path("own.jsonl").open("w") as file:
        for prompt in suite("facts").by_hand[:12]:
            row = {"prompt": prompt.text, "expected": prompt.accepted[0], "rejected": prompt.rejected[0]}
            for who, said in (("knows", prompt.accepted[0]), ("does not", prompt.rejected[0])):
                print(json.dumps(row | {"completion": f" {said}.", "model": who}), file=file)
    words = "eval grade --texts own.jsonl --rubric verdict --grader stories2M --out graded"
    assert cli.main(words.split()) == 0
    assert "verdict trusted" in capsys.readouterr().out
    found = GradesResult.load("graded")
    assert found.mean("knows", "verdict").low > found.mean("does not", "verdict").high + 0.5


def test_a_server_that_always_says_seven_is_untrustworthy(here, monkeypatch, capsys):
    seven = {"comment": "", "grammar": 7, "creativity": 7, "consistency": 7, "plot": 7, "age_group": "4-5"}
    with Server(lambda *_: seven) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert cli.main([*ASK, "--cache", "seven.jsonl", "--json", "--preferences"]) == 0
    said = capsys.readouterr()
    grades, *others = json.loads(said.out)
    ranked = [one["by"] for one in others if one["result"] == "PreferencesResult"]
    assert [by.split(", ")[1] for by in ranked] == ["creativity (no control)", "age group (no control)"]
    assert re.search(r"no ranking by rehearsal .*, plot \(untrustworthy", said.err)
    told = [grades["trust"][axis].split(" ")[0] for axis in ("grammar", "consistency", "plot")]
    assert told == ["untrustworthy"] * 3


def test_without_a_yes_or_a_key_nothing_is_asked(here, monkeypatch, capsys):
    with Server() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        words = [word for word in ASK if word != "--yes"]
        assert cli.main([*words, "--cache", "none.jsonl"]) == 2
        assert "--yes" in capsys.readouterr().err
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        assert cli.main([*ASK, "--cache", "none.jsonl"]) == 2
        assert "ANTHROPIC_API_KEY" in capsys.readouterr().err
        assert server.asked == []


def test_a_run_and_a_table_need_no_key(here, monkeypatch, capsys):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    rows = [json.loads(line) for line in Path("found/completions.jsonl").read_text(encoding="utf-8").splitlines()]
    table = [
        {"prompt": r["prompt"], "completion": r["completion"], "grammar": 1 + (r["model"] != "untrained") * 8}
        for r in rows
    ]
    pd.DataFrame(table).to_csv("ann.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)  # an untrained model writes \r
    words = ["--texts", "found/completions.jsonl", "--grader", "stories2M", "--grader", "ann.csv", "--json"]
    assert cli.main(["eval", "grade", *words]) == 0
    said = json.loads(capsys.readouterr().out)
    grades = [one for one in said if one["result"] == "GradesResult"]
    assert [one["grader"] for one in grades] == ["likelihood of stories2M", "ann"]
    told = [one["trust"]["grammar"] for one in grades]
    assert told == ["trusted", "untrustworthy (too few controls)"]
    (row,) = [row for row in said[-1]["rows"] if row["axis"] == "grammar"]
    assert row["texts"] == 100 and row["kappa_low"] > 0.2


def test_a_text_that_a_model_cannot_read_is_no_success(here, capsys):
    rows = [{"prompt": "Once upon a time. " * 400, "completion": " The end."}, {"prompt": "A", "completion": " b."}]
    Path("long.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words = ["eval", "grade", "--texts", "long.jsonl", "--grader", "stories2M", "--json"]
    assert cli.main(words) == large_model.INCOMPLETE
    grades = next(one for one in json.loads(capsys.readouterr().out) if one["result"] == "GradesResult")
    assert [failure.partition(": ")[2] for failure in grades["failures"]] == ["the prompt fills the model's context"]


def test_a_table_alone_is_not_asked_again(here, capsys):
    """People scored 40 of the texts, once."""
    found = read_texts(here / "found/completions.jsonl")[:40]
    rows = [{"prompt": t.prompt, "completion": t.completion, "plot": 1 + len(t.completion) % 10} for t in found]
    Path("people.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words = ["--texts", "found/completions.jsonl", "--grader", "people.jsonl", "--again", "30", "--preferences"]
    assert cli.main(["eval", "grade", *words]) == 0
    said = capsys.readouterr()
    assert "plot, again" not in said.out and "Scores by people" in said.out
    assert "no ranking by people, grammar (untrustworthy (too few controls))" in said.err and "cost" not in said.err


def test_models_are_ranked_by_preferences_in_a_file(in_tmp, capsys):
    rows = [f"P{i},a,b,{'a' if i % 4 else 'tie'}" for i in range(20)]
    Path("people.csv").write_text("\n".join(["prompt,first,second,preferred", *rows]))
    assert cli.main(["eval", "rank", "people.csv", "--out", "ranked"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("a is preferred most by people, with strength ") and "20 preferences on 20 prompts" in said
    assert (in_tmp / "ranked/preferences.svg").exists()
    Path("people.csv").write_text("prompt,first,second,preferred\nP,a,b,c\n")
    assert cli.main(["eval", "rank", "people.csv"]) == 2
    assert "people.csv, line 2: 'preferred' is 'c'" in capsys.readouterr().err


def test_what_models_write_is_graded(here, capsys):
    words = ["--model", "untrained", "--prompts", "begun.jsonl", "--n", "1", "--grader", "stories2M", "--json"]
    assert cli.main(["eval", "grade", *words]) == 0
    grades = json.loads(capsys.readouterr().out)[0]
    assert {row["model"] for row in grades["rows"]} == {"untrained"} and len(grades["models"]) == 25 + 7 * 25


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --texts"),
        (["--texts", "found/completions.jsonl", "--model", "stories2M"], "give --texts"),
        (["--model", "stories2M"], "give --prompts"),
        (["--texts", "no.jsonl"], "no file"),
        (["--texts", "begun.jsonl"], "line 1 has no column 'completion'"),
        (["--texts", "found/completions.jsonl", "--rubric", "storey"], "Did you mean 'story'"),
        (["--texts", "found/completions.jsonl", "--grader", "storis2M"], "stories2M"),
        (["--texts", "found/completions.jsonl", "--grader", "large", "--grader", "large", "--yes"], "same name"),
        (["--texts", "found/completions.jsonl", "--grader", "stories2M", "--margin", "0"], "--margin"),
    ],
)
def test_what_cannot_be_graded_is_one_line(here, capsys, words, message):
    assert cli.main(["eval", "grade", *words]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert message in said[-1] and said[-1].startswith("tslens: ")
