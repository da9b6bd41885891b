"""`tslens stories ask` against a server on the loopback: price, yes, rejected stories, resume after a kill."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.llm.server import Server, spread, stop_under_way
from tslens import cli
from tslens.cli import large_model
from tslens.stories import stories
from tslens.stories.asked import Wish

ROOT = Path(__file__).resolve().parents[2]
FAST = {"first_wait": 0.001, "longest_wait": 0.004, "poll": 0.001}


def tell(system, text, schema):
    """A story that holds the words, some talk and a moral."""
    words = re.search("Words: (.*)", text)[1].split(", ")
    named = " ".join(word.split(" (")[0] for word in words)
    return {"story": f'Tom met a friend. "Look at the {named}," said Tom. They learned to look.'}


class Careless:
    """A model whose first story for a request lacks the words, and whose second lacks the dialogue."""

    def __init__(self):
        self.asked = {}

    def __call__(self, system, text, schema):
        times = self.asked[text] = self.asked.get(text, 0) + 1
        story = tell(system, text, schema)["story"]
        return {"story": "Tom was sad." if times == 1 else story.replace('"', "") if times == 2 else story}


@pytest.fixture
def asked(monkeypatch, in_tmp):
    """`asked(SERVER, WORD, ...)`: the exit code of `tslens stories ask WORD ...`."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", Server.key)
    monkeypatch.setenv("TSLENS_CACHE", str(in_tmp / "cache"))
    monkeypatch.setattr(large_model, "PACE", FAST)

    def run(server, *words):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        return cli.main(["stories", "ask", *map(str, words)])

    return run


def test_the_price_is_told_without_a_key_and_nobody_is_asked_to_spend_it(asked, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    with Server(tell) as server:
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        assert asked(server, 3, "--out", "o.jsonl") == 2
    said = capsys.readouterr().err
    assert (
        "about 1," in said
        and "$0.0" in said
        and said.strip().splitlines()[-1].startswith("tslens: there is no key for ")
    )
    assert "Spend it?" not in said and not Path("o.jsonl").exists()


def written(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("batch", [False, True])
def test_stories_come_with_their_requests(asked, capsys, batch):
    useless = ("refusal", "malformed", "wrong", "missing", "truncated")  # asked again a few times only
    faults = spread(0.3, without=useless) | {"expired": 0.1}
    with Server(tell, faults=faults) as server:
        words = (40, "--out", "told.jsonl", "--yes", *["--batch"] * batch)
        assert asked(server, *words) == 0
        said = capsys.readouterr()
        assert "40 stories written to told.jsonl, 0 missing" in said.out
        assert "Expected $" in said.err
        assert "the answers cost $" in said.err
        found = written("told.jsonl")
        assert [set(row) for row in found] == [{"text", "words", "features", "model", "repetition"}] * 40
        assert all(Wish(tuple(row["words"]), tuple(row["features"])).fault(row["text"]) is None for row in found)
        assert list(stories("told.jsonl", clean=False)) == [row["text"] for row in found]  # what train reads
        assert server.again == []
        calls, before = len(server.asked), Path("told.jsonl").read_bytes()
        assert asked(server, *words) == 0
        assert len(server.asked) == calls  # a second run costs nothing
        assert Path("told.jsonl").read_bytes() == before
        assert asked(server, 45, *words[1:]) == 0  # and more stories begin with the same
        assert written("told.jsonl")[:40] == found


def test_stories_that_lack_something_are_asked_again(asked, capsys):
    with Server(Careless()) as server:
        words = ("--out", "told.jsonl", "--features", "dialogue", "--yes")
        assert asked(server, 5, *words, "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["rejected"] == {"words missing": 5, "dialogue missing": 5}
        assert (found["stories"], found["missing"]) == (5, 0)
        assert found["usd"] > 0
        assert [row["repetition"] for row in written("told.jsonl")] == [2_000_000] * 5
    with Server(Careless()) as server:
        assert asked(server, 5, *words, "--tries", 2, "--cache", "other.jsonl", "--seed", 1) == 3
        assert capsys.readouterr().out.splitlines()[0] == "0 stories, 5 missing"
        assert len(written("told.jsonl")) == 5  # as it was


def test_tries_that_follow_cached_answers_need_a_yes_too(asked, monkeypatch, capsys):
    """The first answers are in the cache, and were rejected: what follows them is new, and costs."""
    words = (5, "--out", "told.jsonl", "--features", "dialogue")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with Server(Careless()) as server:
        assert asked(server, *words, "--tries", 1, "--yes") == 3
        said, calls = capsys.readouterr().err, len(server.asked)
        assert "5 requests to claude-haiku-5-5 (0 more" in said and "may follow" not in said
        assert asked(server, *words) == 2
        said = capsys.readouterr().err
        assert "5 requests to claude-haiku-5-5 (5 more" in said and "; 5 further requests may follow" in said
        assert "give --yes" in said and len(server.asked) == calls
        assert asked(server, *words, "--yes") == 0
        calls = len(server.asked)
        assert asked(server, *words) == 0  # nothing is left to ask, so nobody need say yes
        assert len(server.asked) == calls


def test_a_rehearsal_has_a_cache_of_its_own(asked, monkeypatch, in_tmp):
    with Server(tell) as server:
        assert asked(server, 1, "--out", "told.jsonl", "--yes") == 0
        port = server.url.rpartition(":")[2]
    assert [path.name for path in (in_tmp / "cache/answers").iterdir()] == [f"claude-haiku-5-5@127.0.0.1-{port}.jsonl"]
    assert written("told.jsonl")[0]["model"] == f"claude-haiku-5-5 at 127.0.0.1:{port}"
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    assert large_model.LargeModel().settings().cache == in_tmp / "cache/answers/claude-haiku-5-5.jsonl"


def test_a_story_told_before_does_not_count(asked, capsys):
    with Server(lambda *_: {"story": 'The dog ran. "Yes," it said.'}) as server:
        assert asked(server, 3, "--out", "told.jsonl", "--words", "dog,run", "--features", "none", "--yes") == 3
        assert "1 stories written to told.jsonl, 2 missing" in capsys.readouterr().out
        assert len(written("told.jsonl")) == 1


def test_refusals_are_counted_and_the_exit_code_says_so(asked, capsys):
    with Server(tell, faults={"refusal": 0.3}) as server:
        assert asked(server, 30, "--out", "told.jsonl", "--yes") == 3
        said = capsys.readouterr()
        refused = sum(fault == "refusal" for _, fault in server.asked)
        assert 0 < refused < 30
        assert f"{refused} without an answer: refusal" in said.err
        assert f"{30 - refused} stories written to told.jsonl, {refused} missing" in said.out


def test_the_limit_holds_for_all_rounds_together(asked, capsys):
    with Server(lambda *_: {"story": "Tom was sad."}) as server:
        limit = 0.001
        assert asked(server, 200, "--out", "told.jsonl", "--yes", "--limit-usd", limit, "--tries", 50) == 3
        usd = float(re.search(r"cost \$([\d.e-]+)", capsys.readouterr().err)[1])
        assert 0 < usd <= limit


def test_the_cost_is_said_when_the_key_is_refused(asked, capsys):
    """In the second round, after stories that were paid and rejected."""
    replies = []

    def sad(*_):
        replies.append(1)
        if len(replies) == 3:
            server.key = "sk-another"
        return {"story": "Tom was sad."}

    with Server(sad) as server:
        assert asked(server, 3, "--out", "told.jsonl", "--yes") == 2
    said = capsys.readouterr().err
    assert "refuses the key" in said
    assert re.search(r"the asking broke off; the answers cost \$0\.0\d*[1-9]", said)


@pytest.mark.parametrize("twice", [False, True])
def test_ctrl_c_keeps_what_is_paid_and_tells_its_cost(asked, monkeypatch, capsys, twice):
    words = (9, "--out", "told.jsonl", "--yes", "--concurrency", 3, "--cache", "answers.jsonl")
    with Server(tell, faults={"slow": 1.0}, slow=60) as server:
        with monkeypatch.context() as patch:
            stop_under_way(server, patch, 3, twice=twice)
            assert asked(server, *words) == 130
        said = capsys.readouterr().err.splitlines()[-3:]
        assert "stopping: waiting for the 3 answers under way" in said[0] and len(server.asked) == 3
        answered = 0 if twice else 3
        assert Path("answers.jsonl").read_bytes().count(b"\n") == 1 + answered
        cost = r"\$0.00, and at most \$0\.0\d+ for answers lost on the way" if twice else r"\$0\.0\d*[1-9]"
        assert re.search(f"the asking broke off; the answers cost {cost}$", said[1])
        kept = "; what was received is kept in answers.jsonl, and the same command goes on from there"
        assert said[2] == "tslens: interrupted" + kept * (not twice)
        assert not Path("told.jsonl").exists()
        server.released.set()
        assert asked(server, *words) == 0
        assert len(server.asked) == 3 + 9 - answered


def test_the_cost_is_told_where_ctrl_c_comes_after_the_answers(asked, monkeypatch, capsys):
    """While the stories are read."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Wish, "fault", stop)
    with Server(tell) as server:
        assert asked(server, 2, "--out", "told.jsonl", "--yes") == 130
    assert re.search(r"the asking broke off; the answers cost \$0\.0\d*[1-9]\n", capsys.readouterr().err)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 2), ("no\n", 2)])
def test_nothing_is_spent_without_a_yes(asked, monkeypatch, capsys, answer, code):
    with Server(tell) as server:
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        assert asked(server, 3, "--out", "told.jsonl") == code
        assert len(server.asked) == (3 if code == 0 else 0)
        assert "3 requests to claude-haiku-5-5 (0 more are answered by the cache)" in capsys.readouterr().err
        monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
        assert asked(server, 3, "--out", "told.jsonl", "--seed", 9) == 2  # nobody is there
        assert "give --yes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((0, "--out", "a.jsonl"), "give 1 or more"),
        ((1, "--out", "a.txt"), "stories are written to .jsonl"),
        ((1, "--out", "a.jsonl", "--words", " , "), "--words names no word"),
        ((1, "--out", "a.jsonl", "--words", "a", "--vocabulary", "b"), "give one of them"),
        ((1, "--out", "a.jsonl", "--features", "rhyme"), "no feature is called 'rhyme'"),
        ((1, "--out", "a.jsonl", "--large-model", "../key"), "no id of a large model"),
        ((1, "--out", "a.jsonl", "--large-model", "gpt"), "no price for the model 'gpt'"),
        ((1, "--out", "a.jsonl", "--limit-usd", 0), "a limit of 0.0 US dollars"),
    ],
)
def test_bad_input_gets_one_line(asked, capsys, words, said):
    with Server(tell) as server:
        assert asked(server, *words, "--yes") == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
        assert server.asked == []


def test_a_killed_run_goes_on(asked, capsys, tmp_path):
    words = ["stories", "ask", "60", "--out", "told.jsonl", "--yes", "--cache", "answers.jsonl", "--concurrency", "2"]
    cache = tmp_path / "answers.jsonl"
    with Server(tell, faults={"slow": 1.0}) as server:
        environment = os.environ | {"ANTHROPIC_BASE_URL": server.url, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [sys.executable, "-m", "tslens", *words], cwd=tmp_path, env=environment, stderr=subprocess.PIPE
        )
        while not (cache.exists() and cache.read_bytes().count(b"\n") > 10):
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not Path("told.jsonl").exists()
        kept, calls = cache.read_bytes().count(b"\n") - 1, len(server.asked)
        assert asked(server, *words[2:]) == 0
        assert len(written("told.jsonl")) == 60
        assert len(server.asked) - calls == 60 - kept
        assert Server.key not in cache.read_text() + capsys.readouterr().err
