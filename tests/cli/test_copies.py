"""`tslens eval copies`: what is printed and written, which training stories it reads, and what bad input gets."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from tslens import cli, files, load, runs
from tslens.evaluation.copies import CopiesResult, cut_stories
from tslens.models import Spec, build, weights
from tslens.report.answers import kept_copies
from tslens.stories import stories
from tslens.stories.pack import pack
from tslens.tokenizer import Tokenizer
from tslens.train import validation_stories


@pytest.fixture
def tiny(in_tmp: Path, made_stories: list[str], made_words: Tokenizer) -> Path:
    """A run `tiny` with an untrained model that packed 16 training stories and keeps 4 validation stories."""
    spec = Spec(8, 1, 2, d_vocab=made_words.size, n_ctx=512)
    run = in_tmp / "runs" / "tiny"
    record = {"spec": spec.to_dict(), "tokenizer": made_words.hash, "data": {"source": "made"}}
    runs.write(run, record, weights(build(spec)))
    made_words.save(run / runs.TOKENIZER)
    pack(made_stories[:16], made_words, run / "data", source="made (train)")
    validation_stories.write(run / "data" / "validation.jsonl", made_stories[16:20])
    return in_tmp


def test_endings_are_written_compared_and_kept(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["eval", "copies", "--model", "tiny", "--tokens", "8", "--cut", "0.4", "--out", "found"]
    assert cli.main(asked) == 0
    printed = capsys.readouterr().out
    assert "ROUGE-2 precision to the nearest training story" in printed
    assert sorted(path.name for path in (tiny / "found").iterdir()) == [
        *("CopiesResult", "copies.csv", "copies.html", "copies.svg")
    ]
    saved = CopiesResult.load(tiny / "found")
    assert (saved.train, saved.n_train, len(saved.texts)) == ("made (train)", 16, 16)
    assert saved.twins == ["permuted twin 0", "fresh twin 0"] and "fresh twin 0" in printed
    assert len(pd.read_csv(tiny / "found" / "copies.csv")) == 16
    assert saved.who.tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert saved.corpus.endswith("4 endings, written at temperature 1, seed 0, of at most 8 tokens.")
    assert kept_copies(load("tiny")).texts == saved.texts  # for its page
    assert len(list((files.cache() / "ngrams").iterdir())) >= 2


def test_stories_of_training_are_no_baseline(
    tiny: Path, made_stories: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever way they are named: their true endings are copies by construction."""
    (tiny / "seen.txt").write_text("\n<|endoftext|>\n".join(made_stories[:8]))
    run = tiny / "runs" / "tiny"
    config, tensors = runs.read(run)
    config = {k: v for k, v in config.items() if "sha256" not in k} | {"data": {"source": "seen.txt"}}
    runs.write(run, config, tensors)
    asked = ["eval", "copies", "--model", "tiny", "--stories", "seen.txt", "--tokens", "4", "--cut", "0.4"]
    assert cli.main([*asked, "--twins", "0", "--out", "found"]) == 0
    saved = CopiesResult.load(tiny / "found")
    assert saved.corpus.startswith("8 stories: seen.txt") and "it was trained on stories of seen.txt" in saved.corpus
    assert (saved.who == 1).sum() == 4  # the true endings of the four validation stories that the run keeps


def test_several_models_have_an_answer_each(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(tiny / "runs" / "tiny", tiny / "runs" / "other")
    asked = ["eval", "copies", "--model", "tiny", "--model", "other", "--tokens", "4", "--cut", "0.4", "--twins", "0"]
    assert cli.main([*asked, "--out", "found"]) == 0
    files = [f"copies-{number}.{kind}" for number in (1, 2) for kind in ("csv", "html", "svg")]
    assert {path.name for path in (tiny / "found").iterdir()} == {"1", "2", *files}
    assert [CopiesResult.load(tiny / "found" / number).model for number in ("1", "2")] == ["tiny", "other"]
    capsys.readouterr()
    (tiny / "written.jsonl").write_text('{"prompt": "A cat", "completion": " ran."}\n' * 2)
    assert cli.main([*asked, "--texts", "written.jsonl"]) == 2
    assert capsys.readouterr().err == "tslens: one model is said to have written --texts; give --model once.\n"


def test_completions_of_a_file_are_read(
    tiny: Path, made_stories: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    cuts = cut_stories([*made_stories[:2], *made_stories[20:22]], (0.5,))
    rows = [{"prompt": cut.prompt, "completion": cut.ending, "ending": cut.ending} for cut in cuts]
    (tiny / "written.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli.main(["eval", "copies", "--model", "tiny", "--texts", "written.jsonl", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    table = pd.DataFrame(record["table"])
    written = table[table.who == "written"]
    assert written.kind.tolist()[:2] == ["exact", "exact"]
    assert written.nearest.tolist()[:2] == [1, 1]
    assert (written["ROUGE-2 F"] == 1).all()
    assert (table.who == "true endings").sum() == 8
    assert record["corpus"] == "4 completions of written.jsonl."
    assert kept_copies(load("tiny")) is None  # anybody may have written them


def test_a_model_without_training_stories_needs_their_source(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"prompt": f"A {name}", "completion": " ran home."} for name in ("cat", "dog")]
    (in_tmp / "written.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ["eval", "copies", "--model", "stories2M", "--texts", "written.jsonl"]
    assert cli.main(asked) == 2
    assert capsys.readouterr().err == "tslens: stories2M kept no training stories. Name their source with --train.\n"
    (in_tmp / "train.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in stories("made", limit=5)))
    assert cli.main([*asked, "--train", "train.jsonl"]) == 0
    told = capsys.readouterr()
    assert "no baseline: the model keeps no validation stories" in told.err
    assert "distinct-2" in told.out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--cut", "1.5"], "share between 0 and 1"),
        (["--span", "1"], "--span. Must be >= 2"),
        (["--texts", "none.jsonl"], "there is no file none.jsonl"),
        (["--train", "none.txt"], "none.txt"),
    ],
)
def test_bad_input_gets_one_line(tiny: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str) -> None:
    assert cli.main(["eval", "copies", "--model", "tiny", *more]) == 2
    error = capsys.readouterr().err
    assert said in error.splitlines()[-1]
    assert "Traceback" not in error
