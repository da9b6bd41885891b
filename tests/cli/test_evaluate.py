"""`tslens eval`: what is printed, what is written, and what bad input gets."""

import csv
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from tslens import cli, load, runs
from tslens.cli import evaluate
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import suite
from tslens.models import Spec, build, weights
from tslens.report import answers
from tslens.tokenizer import Tokenizer


@pytest.fixture
def tiny(in_tmp: Path) -> Path:
    """The folder with a small model, `runs/tiny`."""
    tokenizer = Tokenizer.train([p.text for p in suite("facts").prompts], size=300)
    spec = Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=128)
    run = in_tmp / "runs" / "tiny"
    runs.write(run, {"spec": spec.to_dict(), "tokenizer": tokenizer.hash}, weights(build(spec)))
    tokenizer.save(run / runs.TOKENIZER)
    return in_tmp


def test_scores_are_printed_and_written(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["eval", "facts", "--model", "tiny", "--out", "found"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"\nRight of 64 hand-written prompts: tiny [\d.]+ \([\d.]+, [\d.]+ to [\d.]+; untrain", printed)
    assert "prompts right, by byte" in printed and "Worst prompts" in printed and "written to found" in printed
    names = sorted(p.name for p in (tiny / "found").iterdir())
    assert names == ["facts", "suite-facts-match.svg", "suite-facts.csv", "suite-facts.svg"]
    saved = SuiteResult.load(tiny / "found" / "facts")
    assert saved.suite == "facts"
    assert len(pd.read_csv(tiny / "found" / "suite-facts.csv")) == len(suite("facts").prompts)


def test_several_models_are_compared(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = ["--model", "tiny", "--model", "runs/tiny"]
    assert cli.main(["eval", "facts", *models, "--completions", "1", "--out", "found"]) == 0
    printed = capsys.readouterr().out
    assert "undecided" in printed and "runs/tiny" in printed and "success, by match" in printed
    assert "✓" in (tiny / "found" / "suite-facts.svg").read_text(encoding="utf-8")
    table = (tiny / "found" / "facts" / "SuiteResult" / "table.html").read_text(encoding="utf-8")
    assert table.count("<tr>") == 2 * 65


def test_all_suites_in_one_table(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "PAIRS", 4)
    (tiny / "tales.txt").write_text("The dog was big. The dogs were big.\n<|endoftext|>\nA cat ran. The cat was big.")
    asked = ["eval", "all", "--model", "tiny", "--completions", "0", "--n-gram", "tales.txt"]
    assert cli.main([*asked, "--out", "found"]) == 0
    printed = capsys.readouterr().out
    rows = [line.split()[:3] for line in printed.splitlines() if line.split()[1:2] == ["tiny"]]
    assert "grammar, " in printed and "order, " in printed
    assert {(part, prompts) for part, _, prompts in rows} == {
        (part, prompts) for part in ("context", "facts", "reasoning") for prompts in ("hand-written", "templated")
    }
    assert SuiteResult.load(tiny / "found" / "context").models == ["tiny"]
    assert cli.main([*asked, "--stories", "tales.txt", "--json"]) == 0
    *records, card = json.loads(capsys.readouterr().out)
    assert [record["suite"] for record in records] == ["context", "facts", "reasoning"]
    assert (
        card["n_grams"] == ["5-gram of tales.txt (other data)"]
        and "bits per byte of 2 stories: tales.txt" in card["corpus"]
    )
    assert {row["bits_per_byte"] is None for row in card["rows"] if row["model"] in card["n_grams"]} == {True}
    assert all(row["bits_per_byte"] > 1 for row in card["rows"] if row["model"] not in card["n_grams"])
    assert card["result"] == "CardResult" and len(card["table"] if "table" in card else card["rows"]) >= 5
    model = load("tiny")
    assert [answer.suite for answer in answers.kept_suites(model)] == ["context", "facts", "reasoning"]
    assert len(answers.kept_card(model).rows) >= 5
    assert cli.main(["eval", "card", "--model", "tiny", "--limit", "0", "--pairs", "6", "--n-gram", "none"]) == 0
    longer = answers.kept_card(model)
    assert cli.main(asked) == 0
    assert answers.kept_card(model).low.tolist() == longer.low.tolist()  # the card of few pairs did not replace it
    capsys.readouterr()
    monkeypatch.setattr(evaluate, "TEXTS", 3)
    monkeypatch.setattr(evaluate, "MADE", 70)
    assert cli.main([*asked, "--reference", "made", "--json"]) == 0
    *_, card = json.loads(capsys.readouterr().out)
    of_texts = [row for row in card["rows"] if row["model"] == "tiny" and row["row"] == "creativity, texts"]
    assert len(of_texts) == 1 and of_texts[0]["low"] <= of_texts[0]["value"] <= of_texts[0]["high"]


def test_a_card_has_what_untrained_twins_score_too(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = ["--reference", "made", "--reference-limit", "70", "--limit", "3", "--pairs", "2", "--n-gram", "none"]
    assert cli.main(["eval", "card", "--model", "tiny", *usual]) == 0
    found = answers.kept_card(load("tiny"))
    assert found.models == ["tiny", "permuted twin 0 of tiny", "fresh twin 0 of tiny"]
    assert found.twins == found.models[1:]
    assert not found.value.isnan().any() and {row.split(", ")[1] for row in found.rows} == {"pairs", "texts"}
    assert found.corpus == (
        "42 minimal pairs of 20 phenomena; 3 texts of each model, temperature 1, seeds from 0 on, up to the context, "
        "beside 70 reference stories."
    )
    assert found.corpus in capsys.readouterr().out
    assert cli.main(["eval", "card", "--model", "tiny", *usual, "--twins", "0"]) == 0
    assert answers.kept_card(load("tiny")).twins == []
    assert cli.main(["eval", "card", "--model", "tiny", "--twins", "-1"]) == 2


def test_labels_are_kept_for_the_page_and_stay_there(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["eval", "facts", "--model", "tiny"]
    assert cli.main([*asked, "--completions", "1"]) == 0
    (matched,) = answers.kept_suites(load("tiny"))
    rows = [("prompt", "completion", "verdict")]
    both = zip(matched.prompts, (texts[0] for texts in matched.completions[0]), strict=False)
    rows += [(prompt, text, 3) for prompt, text in both if text.strip()]
    with (tiny / "anna.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert cli.main([*asked, "--completions", "1", "--grader", "anna.csv", "--out", "found"]) == 0
    assert (tiny / "found" / "suite-facts-anna.svg").is_file()
    assert cli.main([*asked, "--completions", "0"]) == 0
    (kept,) = answers.kept_suites(load("tiny"))
    assert list(kept.labels) == ["match", "anna"] and kept.completions == matched.completions
    said = [bool(texts[0].strip()) for texts in matched.completions[0]]  # an empty text that she left out fails
    assert kept.labelled(2, 0, "anna").estimate == pytest.approx(sum(said) / len(said)) and sum(said) > 0


def test_answers_are_kept_where_their_grading_is_refused(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    asked = ["eval", "facts", "--model", "tiny", "--completions", "1", "--grader", "claude-haiku-4-5", "--yes"]
    assert cli.main(asked) == 2
    assert "there is no key" in capsys.readouterr().err
    (kept,) = answers.kept_suites(load("tiny"))
    assert list(kept.labels) == ["match"] and kept.completions


def test_beginnings_side_by_side(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--model", "tiny", "--max-new-tokens", "4"]
    assert cli.main(["eval", "beginnings", *options, "--out", "found"]) == 0
    printed = capsys.readouterr().out
    assert "1. One morning a small goat" in printed and "[tiny] …" in printed
    assert (tiny / "found" / "beginnings" / "BeginningsResult" / "side_by_side.html").is_file()
    cut = ["--stories", "made", "--share", "0.05", "--n", "3"]
    assert cli.main(["eval", "beginnings", *options, *cut, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert len(record["beginnings"]) == 3 and all(record["endings"]) and "made" in record["corpus"]


def test_json_is_one_document(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["eval", "facts", "--model", "tiny", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["result"] == "SuiteResult" and record["rows"][0]["score"] == "prompts right"
    assert {"text", "margin", "best_accepted", "right"} <= record["table"][0].keys()


def test_a_suite_of_one_s_own(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = '[[pair]]\nabout = "{0}"\nprompts = [{{text="{0}", accepted=["x"]}}, {{text="no {0}", accepted=["y"]}}]\n'
    (tiny / "mine.toml").write_text('question = "?"\n' + pair.format("cats") + pair.format("dogs"))
    assert cli.main(["eval", "mine.toml", "--model", "tiny", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["suite"] == "mine"


TEMPLATES = """
question = "Who says what?"
[[template]]
about = "first"
pairs = 2
prompts = [ { text = "The {a} said", accepted = ["{b}"] }, { text = "The {a2} said", accepted = ["{b2}"] } ]
fill."a b" = [["cat", "meow"], ["dog", "woof"], ["cow", "moo"], ["hen", "cluck"]]
[[template]]
about = "second"
pairs = 2
prompts = [ { text = "A {a} says", accepted = ["{b}"] }, { text = "A {a2} says", accepted = ["{b2}"] } ]
fill."a b" = [["cat", "meow"], ["dog", "woof"], ["cow", "moo"], ["hen", "cluck"]]
"""


@pytest.mark.parametrize("before", ["", "pair = []"])
def test_a_suite_of_templates_alone_has_shares_and_no_table(
    tiny: Path, capsys: pytest.CaptureFixture[str], before: str
) -> None:
    Path("mine.toml").write_text(before + TEMPLATES, encoding="utf-8")
    models = ["--model", "tiny", "--model", "runs/tiny"]
    assert cli.main(["eval", "./mine.toml", *models, "--out", "found"]) == 0
    assert "templated" in (printed := capsys.readouterr().out) and "hand-written" not in printed
    axes = SuiteResult.load(tiny / "found" / "mine").figure().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["tiny", "runs/tiny"]
    assert axes.get_legend_handles_labels()[1] == ["mine: 8 templated prompts"]
    table = (tiny / "found" / "mine" / "SuiteResult" / "table.html").read_text(encoding="utf-8")
    assert "no prompt written by hand" in table and "<table" not in table
    assert cli.main(["eval", "./mine.toml", "--model", "tiny", "--grader", "tiny"]) == 2
    assert "mine has no prompt written by hand" in capsys.readouterr().err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["eval", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["context", "facts", "reasoning"]
    assert cli.main(["eval", "--list", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)[1]
    assert facts == {"suite": "facts", "prompts": 64, "templated": 672, "question": suite("facts").question}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fatcs", "--model", "tiny"], "no suite is called 'fatcs'. Did you mean 'facts'?"),
        (["al", "--model", "tiny"], "no suite is called 'al'. Did you mean 'all'?"),
        (["facts", "--model", "tinny"], "no model is called 'tinny'. Did you mean 'tiny'?"),
        (["facts"], "give --model"),
        (["--model", "tiny"], "give a suite: one of context, facts, reasoning"),
        (["absent.toml", "--model", "tiny"], "there is no suite file absent.toml"),
        (["card.toml", "--model", "tiny"], "there is no suite file card.toml"),
        (["facts", "--model", "tiny", "--model", "tiny"], "--model tiny is given twice"),
        (["facts", "--model", "tiny", "--completions", "-1"], "--completions is -1"),
        (["all"], "give --model"),
        (["beginnings"], "give --model"),
        (["beginnings", "--model", "tiny", "--n", "1"], "--n is 1"),
        (["beginnings", "--model", "tiny", "--stories", "made", "--share", "1.5"], "between 0 and 1"),
        (["facts", "--model", "tiny", "--precision", "half"], "precision is 'half'"),
    ],
)
def test_bad_input_gets_one_line_and_leaves_nothing(
    arguments: list[str], complaint: str, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["eval", *arguments, "--out", "found"]) == 2
    message = capsys.readouterr().err
    assert complaint in message and message.count("\n") == 1
    assert not (tiny / "found").exists()
