"""The instruct suite: scores beside their nulls, by what was asked for together in training."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.evaluation.instruct.test_instruct_grades import FALL
from tests.llm.server import Server
from tslens import cli
from tslens.cli import instructions, large_model
from tslens.evaluation.grading import ControlsResult, GraderAgreementResult
from tslens.evaluation.grading.controls import CONTROLS
from tslens.evaluation.instruct import InstructGradesResult, InstructResult, instruct, running
from tslens.evaluation.instruct.seen import GROUPS, groups, pairs_of
from tslens.models import load
from tslens.report.answers import kept_instruct
from tslens.stories import split_of, stories
from tslens.stories.combinations import is_held_out
from tslens.stories.instruct import parse
from tslens.train import recipe as recipes
from tslens.train import session

SMALL = {
    "data.vocabulary": "400",
    "data.source": "told.txt",
    "model.shape": "16x1x2",
    "model.n_ctx": "700",
    "objective.held_out": "0.2",
    "optimizer.method": "adamw",
    "train.micro_batch": "4",
    "train.batch": "4",
    "train.steps": "3",
    "train.validation_stories": "30",
    "train.precision": "float32",
}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(stories("made:instruct", limit=200))


@pytest.fixture
def trained(in_tmp: Path, texts: list[str]) -> str:
    """A small run of the recipe of Instruct-OOD."""
    (in_tmp / "told.txt").write_text("\n<|endoftext|>\n".join(texts), encoding="utf-8")
    session.train(recipes.load("instruct-ood-128x8", SMALL), "small")
    return "small"


def test_held_out_and_seen_combinations_are_told_apart_and_scored(trained: str, in_tmp: Path, texts, capsys) -> None:
    model = load(trained)
    asked = [parse(text) for text in texts]
    found = [GROUPS[i] for i in groups(model, asked)]
    used = [one for one in asked if split_of(one.story) == "train" and not is_held_out(one, 0.2)]
    train = {pair for one in used for pair in pairs_of(one)}
    for one, name in zip(asked, found, strict=True):
        if name == "held out":
            assert is_held_out(one, 0.2)
        elif name != "training unknown":
            assert not is_held_out(one, 0.2) and (pairs_of(one) <= train) == (name == "seen together")
        else:
            assert not pairs_of(one)
    assert set(found) == set(GROUPS)

    command = ["eval", "instruct", "--model", trained, "--limit", "30", "--samples", "1", "--limit-tokens", "12"]
    assert cli.main([*command, "--json", "--out", "found"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["what"] for row in rows} >= {"score", "beyond other instructions", "beyond no instruction"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    again = InstructResult.load(in_tmp / "found")
    true = [row for row in rows if row["what"] == "bits per byte"]
    assert {row["group"] for row in true} >= {"all", "held out"} and {row["measure"] for row in true} == {"true story"}
    nats = -again.story_log_probability[0].nansum() / again.story_bytes[~again.story_log_probability[0].isnan()].sum()
    assert true[0]["value"] == pytest.approx(float(nats) / np.log(2)) and 0.5 < true[0]["value"] < 16
    assert again.score.shape == (1, len(again.instructions), len(again.measures))
    assert len(again.stories[0]) == len(again.instructions) and (in_tmp / "found" / "instruct.svg").is_file()


def follows(model: str, prompts: list[str]) -> list[str]:
    """A writer that does as it is told, if its name says so; the other always writes the same."""
    return [parse(prompt + "x").format() if model == "does" else "The sun was hot." for prompt in prompts]


def test_a_model_that_does_as_told_gains_and_one_that_does_not_gains_nothing(
    trained: str, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    does, ignores = load(trained), load(trained)
    monkeypatch.setattr(running.models, "name_of", lambda model: "does" if model is does else "ignores")
    monkeypatch.setattr(
        running, "continuations", lambda model, asked, **_: follows(running.models.name_of(model), asked)
    )
    found = instruct([ignores, does], texts[:60], samples=1)
    assert found.models == ["ignores", "does"]
    for measure in ("words", "sentence", "summary"):
        assert found.score_of("does", measure).estimate == pytest.approx(1.0)
        assert found.gain("does", measure).low > 0.3
        assert found.gain("does", measure, null="free").low > 0.3
        assert found.gain("ignores", measure).estimate == pytest.approx(0.0, abs=1e-12)
        assert found.difference("does", "ignores", measure).low > 0.3
    held = found.lost("does", "words")
    gains = (found.score - found.other)[1, :, 0].double().numpy()
    of = [gains[(found.group == GROUPS.index(name)).numpy() & ~np.isnan(gains)] for name in GROUPS]
    assert held.estimate == pytest.approx(of[2].mean() - of[0].mean()) and held.low < held.estimate < held.high
    assert str(found) and found.figure().axes


def test_each_story_without_an_instruction_stands_beside_one_instruction(trained, texts, monkeypatch) -> None:
    """So that what is beyond it is independent from instruction to instruction."""
    free = [f"A lone {name} slept." for name in ("cat", "dog", "cow", "hen")]
    head = running.models.story_head_of(load(trained))

    def write(model, asked, **_):
        return free if asked[0] == head else ["The sun was hot."] * len(asked)

    monkeypatch.setattr(running, "continuations", write)
    read, seen = running.scores, []
    monkeypatch.setattr(running, "scores", lambda asked, story: seen.append((asked, story.text)) or read(asked, story))
    found = instruct([load(trained)], texts[: len(free)], samples=1)
    beside = [story for _, story in seen if story in free]
    assert beside == free and len(found.instructions) == len(free)


def test_what_cannot_be_scored_is_left_out_and_counted(trained: str, texts: list[str]) -> None:
    untold = "Features: Conflict\nStory: \n\nTom ran."
    long = f"Summary: {'He ran. ' * 400}\nStory: \n\nTom ran."
    told = [text for text in texts[:10] if running.told([parse(text)])[0]]
    found = instruct([load(trained)], [*told, untold, long], samples=1, max_new_tokens=4)
    assert len(found.instructions) == len(told) and found.left_out == 2
    assert torch.isnan(found.score[0, :, 0]).any()
    for some, message in (([untold, long], "0 of 2 instructions can be scored"), (["Tom ran."], "None of the first 1")):
        with pytest.raises(ValueError, match=message):
            instruct([load(trained)], some)


def test_a_model_that_kept_no_training_instructions_has_one_group(texts: list[str]) -> None:
    assert set(groups(load("stories2M"), [parse(text) for text in texts[:5]])) == {GROUPS.index("training unknown")}
    assert cli.main(["eval", "instruct"]) == 2


ASK = ("eval", "instruct", "--model", "small", "--stories", "told.txt", "--limit", "40", "--samples", "1")
ASK += ("--limit-tokens", "12", "--grader", "large", "--cache", "answers.jsonl")


def test_graders_score_instructed_texts_beside_the_rules(trained: str, texts, monkeypatch, capsys) -> None:
    """A judge behind a server, which knows the controls, and the model's own likelihood: by what was seen together."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", Server.key)
    monkeypatch.setattr(large_model, "PACE", {"first_wait": 0.001, "longest_wait": 0.004, "poll": 0.001})
    read = list(stories("told.txt", limit=40))
    made = instructions._graders(["large"], None, read, large_model.LargeModel(), 0, "float32")[1]
    kinds = {(control.text.prompt, control.text.completion): control.kind for control in made}
    assert {control.text.prompt for control in made} <= {parse(text).head for text in read}
    seen = []

    def judge(system: str, text: str, schema: dict) -> dict:
        code = r"<beginning (\w{16})>\n(.*)\n</beginning \1>\n\n<continuation \1>\n(.*)\n</continuation \1>"
        _, head, found = re.fullmatch(code, text, re.DOTALL).groups()
        seen.append(head)
        fall = FALL.get(kinds.get((head, found), ""), {})
        known = (head, found) in kinds
        axes = ("instructions", "grammar", "consistency", "plot")
        return {"comment": ""} | {axis: 9 - fall.get(axis, 0) if known else 2 for axis in axes}

    with Server(judge) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert cli.main([*ASK]) == 2 and "--yes" in capsys.readouterr().err and not seen
        assert cli.main([*ASK, "--yes", "--grader", "small", "--out", "graded"]) == 0
        said, calls = capsys.readouterr(), len(server.asked)
        assert cli.main([*ASK, "--yes", "--json"]) == 0 and len(server.asked) == calls
    names = [one["result"] for one in json.loads(capsys.readouterr().out)]
    assert names == ["InstructResult", "InstructGradesResult", "ControlsResult", "GraderAgreementResult"]
    assert "Expected $" in said.err and "the answers cost $" in said.err and said.out.count("rank correlation") > 0
    twice = GraderAgreementResult.load(Path("graded/rehearsal")).to_frame().query("second == 'itself, again'")
    assert set(twice["texts"] + twice["empty"]) == {20} and twice["first"].str.startswith("rehearsal (").all()
    rules = InstructResult.load(Path("graded"))
    found = InstructGradesResult.load(Path("graded/rehearsal/1"))
    assert found.grader.startswith("rehearsal (") and set(found.trust.values()) == {"trusted"}
    assert ControlsResult.load(Path("graded/rehearsal/1")).trust == found.trust
    assert found.instructions == rules.instructions and torch.equal(found.group, rules.group)
    assert set(found.score.unique().tolist()) <= {1, 2} and set(found.instructions) <= set(seen)  # 1: an empty text
    np.testing.assert_array_equal(found.rule, rules.score)
    assert {"seen together", "held out"} <= set(found.summary().query("what == 'score'")["group"])
    own = InstructGradesResult.load(Path("graded") / "2")
    assert own.grader == "likelihood of small" and own.trust["consistency"] == "untrustworthy (too few controls)"
    kept, grades = kept_instruct(load("small"))  # for the page, without the rehearsal
    assert kept.stories == rules.stories and [one.grader for one in grades] == ["likelihood of small"]
    assert own.axes[2] == "consistency" and own.score[0, :, 2].isnan().all()  # of empty texts too
    assert not own.score[0, :, :2].isnan().any()


def test_controls_may_come_from_other_stories_behind_instructions(trained: str) -> None:
    others = list(stories("made:instruct", limit=500))[200:]
    Path("others.txt").write_text("\n<|endoftext|>\n".join(others), encoding="utf-8")
    read, large = list(stories("told.txt", limit=40)), large_model.LargeModel()
    _, made = instructions._graders(["small"], "others.txt", read, large, 0, "float32")
    heads = {control.text.prompt for control in made}
    assert len(made) >= 4 * CONTROLS and heads <= {parse(text).head for text in others}


def test_a_grader_that_cannot_grade_is_refused_before_anything_is_written(trained: str, monkeypatch, capsys) -> None:
    Path("ann.csv").write_text("prompt,completion,charm\nA,b,3\n", encoding="utf-8")
    monkeypatch.setattr(running, "continuations", lambda *_, **__: pytest.fail("a text was written"))
    assert cli.main([*ASK, "--yes", "--grader", "ann.csv"]) == 2
    assert "ann.csv has no score by the rubric 'instructions'" in capsys.readouterr().err
