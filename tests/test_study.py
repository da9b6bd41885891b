"""A study asks all questions, says what its intervals are over, and continues where it was stopped."""

import importlib
import json
import multiprocessing
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from tslens import cli, lock, models, progress
from tslens.analysis import heads, lens
from tslens.analysis.circuits import AccuracyResult
from tslens.analysis.circuits.accuracy import DOES, RIGHT
from tslens.analysis.heads import AblationResult, RolesResult
from tslens.corpus import Corpus
from tslens.models import Spec, build
from tslens.result import Result
from tslens.study import Answer, EverythingResult, everything, parts
from tslens.study.findings import finding
from tslens.study.kept import RECORD
from tslens.study.parts import PARTS
from tslens.twins import TwinsResult, measured

SMALL = {"checked": 20, "twins": 1}
STUDY = importlib.import_module("tslens.study.everything")
QUICK = ("loss", "scan", "ablation on stories", "ablation on repeated tokens", "composition")
READ = 22


@pytest.fixture
def run(in_tmp: Path, made_words, made_stories, loud, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`runs/tiny`, a model trained on `seen.txt` by its record, and `stories.txt` to study it on."""
    monkeypatch.setenv("TSLENS_CACHE", str(in_tmp / "cache"))
    for name, texts in (("stories", made_stories[:READ]), ("seen", [f"Well. {story}" for story in made_stories])):
        (in_tmp / f"{name}.txt").write_text("\n<|endoftext|>\n".join(texts))
    model = loud(build(Spec(8, 2, 2, d_vocab=made_words.size, n_ctx=48), tokenizer=made_words))
    return models.save(model, in_tmp / "runs" / "tiny", {"data": {"source": "seen.txt"}})


@pytest.fixture
def corpus(made_stories: list[str]) -> Corpus:
    return Corpus(tuple(made_stories[:READ]), "made ones")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> tuple[parts.StudyPart, ...]:
    """Studies of a few parts, so that they end in seconds."""
    chosen = tuple(part for part in PARTS if part.name in QUICK)
    monkeypatch.setattr(STUDY, "PARTS", chosen)
    return chosen


def same(one: Sequence[Answer], other: Sequence[Answer]) -> None:
    """Every field of every answer, to the bit; but for the time that a part took."""
    assert [(a.name, a.which) for a in one] == [(b.name, b.which) for b in other]
    for a, b in zip(one, other, strict=True):
        assert type(a.result) is type(b.result)
        for field in fields(a.result):
            if field.name == "seconds":
                continue
            x, y = getattr(a.result, field.name), getattr(b.result, field.name)
            if isinstance(x, torch.Tensor):
                assert torch.equal(x.nan_to_num(-7), y.nan_to_num(-7)) if x.is_floating_point() else torch.equal(x, y)
            else:
                assert x == y, (a.name, field.name)


def study_folder(run: Path) -> Path:
    (folder,) = (place for place in (run / "study").iterdir() if not place.name.startswith("."))
    return folder


@pytest.mark.thorough
def test_a_study_that_was_stopped_continues_with_the_same_answers(
    run: Path, corpus: Corpus, quick, monkeypatch
) -> None:
    model = models.load("tiny")
    with monkeypatch.context() as patch:

        def stopped(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(parts.heads, "ablation", stopped)
        with pytest.raises(KeyboardInterrupt):
            everything(model, corpus, **SMALL)
    assert sorted(place.name for place in study_folder(run).iterdir()) == ["loss", "scan"]
    with monkeypatch.context() as patch:

        def again(*_: object, **__: object) -> None:
            raise AssertionError("what is kept is not asked again")

        patch.setattr(parts, "loss", again)
        patch.setattr(STUDY, "scan", again)
        continued = everything(model, corpus, **SMALL)
        patch.setattr(parts.heads, "ablation", again)
        same(everything(model, corpus, **SMALL), continued)
    shutil.rmtree(run / "study")
    same(everything(model, corpus, **SMALL), continued)
    assert models.load("tiny") is not None  # the run is still one


@pytest.mark.thorough
def test_the_command_prints_the_summary_and_writes_every_answer(
    run: Path, corpus: Corpus, in_tmp: Path, capsys
) -> None:
    """The summary comes first and says what each interval is over; what is kept answers a second command."""
    command = ["analyze", "all", "--model", "tiny", "--stories", "stories.txt", "--checked", "20", "--twins", "1"]
    assert cli.main([*command, "--out", "out"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(" ") and "agreement" in shown.out and "positional_fraction" not in shown.out
    assert "20  " in shown.out and "minutes in all" in shown.out
    assert "written to out" in shown.out and "Answers are kept in runs/tiny/study/" in "".join(shown.err.split("\n"))
    written = {place.name for place in (in_tmp / "out").iterdir()}
    assert {"everything.csv", "everything.svg", "roles.csv", "twins.svg", "RolesResult", "on-stories"} <= written

    summary = EverythingResult.load(in_tmp / "out")
    over = dict(zip(summary.answers, summary.stories.tolist(), strict=True))
    assert summary.answers[0] == "twins" and all(said for said in summary.findings)
    assert over["roles"] == over["loss"] == READ and over["ablation on stories"] == over["twins"] == 20
    assert over["ablation on repeated tokens"] == 0
    assert summary.figure() is not None and len(summary.to_frame()) == len(summary.answers)
    of_twins, ablated = TwinsResult.load(in_tmp / "out"), AblationResult.load(in_tmp / "out/on-stories")
    assert of_twins.stories == ablated.rows == 20
    mattering = TwinsResult.load(in_tmp / "out/of-ablation").said(["heads that matter"])
    assert ablated.beside_twins == f"On 20 stories of 64 tokens: {mattering}."
    said = dict(zip(summary.answers, summary.findings, strict=True))
    assert said["ablation on stories"].endswith(ablated.beside_twins)
    assert said["logit lens"].endswith(of_twins.said(["of 1,000 positions settled after block 0"]))
    assert ablated.corpus.startswith("20 stories of 22 stories: stories.txt") and "is over the 20." in ablated.corpus
    roles = RolesResult.load(in_tmp / "out")
    assert roles.corpus.startswith("22 stories: stories.txt")
    alone = heads.roles(models.load("tiny"), corpus)
    assert torch.equal(alone.role_code, roles.role_code)

    assert cli.main([*command, "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert records[0]["result"] == "EverythingResult" and {"RolesResult", "SwapsResult"} <= {
        record["result"] for record in records
    }
    assert cli.main([*command, "--engine", "spark"]) == 2
    assert "--engine is 'spark'; give local, ray, or ray:N" in capsys.readouterr().err


def test_a_question_without_an_answer_says_why_and_the_others_are_answered(
    run: Path, made_stories, monkeypatch
) -> None:
    """Six stories are too few for twins, and no roles are known without the scan."""
    chosen = [part for part in PARTS if part.name in ("loss", "twins", "ablation on stories")]
    monkeypatch.setattr(STUDY, "PARTS", chosen)
    answers = everything(models.load("tiny"), made_stories[:6], **SMALL)
    summary = answers[0].result
    said = dict(zip(summary.answers, summary.findings, strict=True))
    assert said["twins"].startswith("no answer: An interval of a count needs 20 different stories")
    assert said["ablation on stories"] == "no answer: It reads the answer 'roles', and there is none."
    assert [answer.name for answer in answers] == ["summary", "loss"]
    assert not (study_folder(run) / "twins").exists()


def test_other_stories_other_weights_and_other_settings_are_other_studies(run: Path, corpus: Corpus, loud) -> None:
    from tslens.study.kept import _key

    model = models.load("tiny")
    keys = {_key(model, corpus, [20, 1]), _key(model, corpus, [20, 2])}
    keys.add(_key(model, Corpus(corpus.texts[1:], "made ones"), [20, 1]))
    keys.add(_key(loud(models.load("tiny")), corpus, [20, 1]))
    assert len(keys) == 4 and _key(models.load("tiny"), Corpus(corpus.texts, "by another name"), [20, 1]) in keys


def test_a_damaged_part_is_asked_again(run: Path, corpus: Corpus, monkeypatch) -> None:
    monkeypatch.setattr(STUDY, "PARTS", [part for part in PARTS if part.name in ("loss", "scan")])
    first = everything(models.load("tiny"), corpus, **SMALL)
    place = study_folder(run) / "scan"
    (place / "roles/RolesResult/result.json").write_text("{")
    same(everything(models.load("tiny"), corpus, **SMALL), first)
    (place / RECORD).unlink()
    same(everything(models.load("tiny"), corpus, **SMALL), first)
    assert (place / RECORD).is_file()


def test_where_nothing_can_be_kept_it_is_still_answered(run: Path, corpus: Corpus, monkeypatch, capsys) -> None:
    monkeypatch.setattr(STUDY, "PARTS", [part for part in PARTS if part.name == "loss"])
    (run / "study").touch()
    assert [answer.name for answer in everything(models.load("tiny"), corpus, **SMALL)] == ["summary", "loss"]
    assert "a study that is stopped begins anew" in " ".join(capsys.readouterr().err.split())


def test_two_studies_of_the_same_do_not_write_at_once(run: Path, corpus: Corpus, monkeypatch, refused) -> None:
    monkeypatch.setattr(STUDY, "PARTS", [part for part in PARTS if part.name == "loss"])
    everything(models.load("tiny"), corpus, **SMALL)
    holding = "import sys, pathlib, tslens.lock as l\nwith l.held(pathlib.Path(sys.argv[1])): print(); input()"
    with subprocess.Popen(
        [sys.executable, "-c", holding, str(study_folder(run))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        assert lock.holder(study_folder(run))
        with refused("is being written by process"):
            everything(models.load("tiny"), corpus, **SMALL)
        other.communicate(b"\n")


def test_nothing_to_study_is_refused(run: Path, corpus: Corpus, refused) -> None:
    for stories, checked in ((corpus, 0), ([], 20)):
        with refused("asks nothing"):
            everything(models.load("tiny"), stories, checked=checked)


def test_the_bar_moves_over_the_whole_and_its_parts_costs_add_up(run: Path, corpus: Corpus, quick, monkeypatch) -> None:
    """Every bar below the whole moves it: what is done never falls, ends at 100, and moves within parts too."""
    seen: list[float] = []
    real = progress.Bar.update

    def watched(bar: progress.Bar, done: float, **more: object) -> None:
        real(bar, done, **more)
        if bar._total == 100.0 and bar._part is None:
            seen.append(done)

    monkeypatch.setattr(progress.Bar, "update", watched)
    everything(models.load("tiny"), corpus, **SMALL)
    assert seen == sorted(seen) and seen[-1] == pytest.approx(100)
    assert len({round(done, 3) for done in seen}) > 2 * len(quick)


@pytest.mark.thorough
def test_kinds_kernels_and_tested_labels_stand_beside_their_twins(run: Path, corpus: Corpus, monkeypatch) -> None:
    asked = ("scan", "twins", "kinds", "kernels", "tested labels")
    monkeypatch.setattr(STUDY, "PARTS", [part for part in PARTS if part.name in asked])
    monkeypatch.setattr(parts.heads, "MADE", 4)
    model = models.load("tiny")
    answers = everything(model, corpus, checked=20, twins=2)
    found, summary = {answer.name: answer.result for answer in answers}, answers[0].result
    said = dict(zip(summary.answers, summary.findings, strict=True))
    over = dict(zip(summary.answers, summary.stories.tolist(), strict=True))
    assert summary.answers[0] == parts.TWINS and {answer.which for answer in answers} == {""}
    assert over == {
        parts.TWINS: 20,
        "kinds": 20,
        "writes": 20,
        "kernels": READ,
        "tested labels": READ,
    } | dict.fromkeys(parts.SCANNED, READ)
    assert len(found["kinds"].of_twins) == 2 and found["kinds"].stories == 24 and found["kinds"].roles
    for name in ("kinds", "writes"):
        assert said[name].startswith(found[name].said()) and len(found[name].of_halves) == 14
    twins = found[parts.TWINS]
    assert {"offset kernels", "one-word neurons that predict"} <= set(twins.labels)
    for name in ("kernels", "tested labels"):
        assert found[name].beside_twins == f"On 20 stories: {twins.said(found[name].counts())}."
        assert said[name].endswith(found[name].beside_twins)
    alone = heads.kernels(found["roles"])
    assert alone.families == found["kernels"].families and alone.beside_twins == ""
    same(everything(model, corpus, checked=20, twins=2), answers)


@pytest.mark.thorough
def test_a_killed_study_continues_with_the_same_answers(run: Path, corpus: Corpus, monkeypatch) -> None:
    """SIGKILL at three different moments, each once a further part is kept."""
    chosen = [part for part in PARTS if part.name in (*QUICK, "twins", "tuned lens")]
    monkeypatch.setattr(STUDY, "PARTS", chosen)
    small = {"checked": 20, "twins": 2}
    kept: dict[Path, int] = {}
    for wanted in (1, 3, 4):
        process = multiprocessing.get_context("fork").Process(
            target=lambda: everything(models.load("tiny"), corpus, **small)
        )
        process.start()
        while process.is_alive() and len(list((run / "study").glob("*/[!.]*/part.json"))) < wanted:
            time.sleep(0.02)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        for record in (run / "study").glob("*/[!.]*/part.json"):
            kept.setdefault(record, record.stat().st_mtime_ns)
    assert 4 <= len(kept) < len(chosen)
    continued = everything(models.load("tiny"), corpus, **small)
    assert {record: record.stat().st_mtime_ns for record in kept} == kept  # none was written again
    shutil.rmtree(run / "study")
    shutil.rmtree(run / "twins")
    same(everything(models.load("tiny"), corpus, **small), continued)


def test_every_kind_of_answer_has_a_finding() -> None:
    kinds = {kind for part in PARTS for kind in part.answers.values()}
    plain = finding.dispatch(object)
    silent = [kind for kind in kinds if finding.dispatch(kind) is plain and kind.headline is Result.headline]
    assert not [kind.__name__ for kind in silent]
    names = [name for part in PARTS for name in part.answers]
    assert len(names) == len(set(names))


@pytest.mark.thorough
def test_measures_and_tasks_stand_beside_twins(run: Path, corpus: Corpus, monkeypatch) -> None:
    """Attribution and norms on the checked stories; accuracy on a task that the tokenizer can express."""
    monkeypatch.setattr(STUDY, "PARTS", [part for part in PARTS if part.name in ("scan", "twins of layers")])
    model = models.load("tiny")
    answers = everything(model, corpus, checked=20, twins=2)
    found, summary = {answer.name: answer.result for answer in answers}, answers[0].result
    said = dict(zip(summary.answers, summary.findings, strict=True))
    for name in ("attribution", "residuals"):
        beside = found[f"twins of {name}"]
        assert (
            beside.stories == 20
            and len(beside.twins) == 2
            and said[f"twins of {name}"] == beside.said().removesuffix(".")
        )
    few = Corpus(corpus.texts[:20], "made ones")
    alone = measured(model, few, lens.residuals(model, few), n=2)
    assert torch.equal(found["twins of residuals"].of_twins, alone.of_twins)
    without = everything(model, corpus, checked=20, twins=0)[0].result
    said = dict(zip(without.answers, without.findings, strict=True))
    assert said["twins of layers"] == "no answer: No twin was asked."
    assert said["roles"].endswith("(no untrained twin was asked)") and said["logit lens"].endswith(
        "(no untrained twin was asked)"
    )


def test_a_task_is_answered_beside_twins(run: Path, corpus: Corpus, monkeypatch) -> None:
    able = drawn_accuracy()
    beside = TwinsResult(
        *("tiny", 30, [RIGHT, DOES], ["a twin"], torch.tensor([48, 1]), torch.tensor([44.0, 1.0])),
        *(torch.tensor([52.0, 1.0]), torch.tensor([30, 0]), torch.tensor([30, 0]), torch.tensor([0.5, 0.5])),
        *(torch.tensor([False, False]), torch.tensor([[30, 0]])),
        unit="pairs",
    )
    asked = []
    monkeypatch.setattr(parts, "TASKS", {"owner": None})
    monkeypatch.setattr(parts.circuits, "accuracy", lambda *_: able)
    monkeypatch.setattr(parts, "on_task", lambda *given, n: asked.append((given[1], n)) or beside)
    work = parts.Work(models.load("tiny"), corpus, lambda _: [], 20, 1, {})
    found = parts._tasks(work)
    assert asked == [("owner", 1)] and found["twins of task owner"] is beside
    assert finding(found["task owner"], None).endswith(f"On 30 pairs: {beside.said([RIGHT, DOES])}.")
    (alone,) = parts._tasks(replace(work, twins=0)).values()
    assert asked == [("owner", 1)] and finding(alone, None).endswith("(no untrained twin was asked)")


def drawn_accuracy() -> AccuracyResult:
    """The accuracy of a model on 30 pairs of one template."""
    numbers = {"accuracy": 0.8, "low": 0.7, "high": 0.9, "margin": 1.0, "margin_low": 0.5, "margin_high": 1.5}
    by_template = {name: torch.tensor([0.8]) for name in ("right", "right_low", "right_high")}
    said = {"model": "tiny", "task": "owner", "question": "Whose?", "pairs": 30, "dropped": {}, "examples": ["a b|c"]}
    return AccuracyResult(**said, **numbers, **by_template, of_halves=[{RIGHT: 48, DOES: 1}])
