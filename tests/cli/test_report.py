import json
from importlib import import_module
from pathlib import Path

import pytest

from tslens import models, runs
from tslens.cli import main
from tslens.stories import stories
from tslens.tokenizer import Tokenizer


@pytest.fixture
def run(in_tmp: Path) -> Path:
    """`runs/tiny`: an untrained model with a record of a training, as a run keeps it."""
    tokenizer = Tokenizer.train(stories("made", limit=20), 300)
    spec = models.Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=32)
    folder = runs.run_folder("tiny")
    folder.mkdir(parents=True)
    tokenizer.save(folder / runs.TOKENIZER)
    config = {"spec": spec.to_dict(), "tokenizer": tokenizer.hash, "data": {"source": "made"}, "tokens": 320, "step": 2}
    runs.write(folder, config, models.weights(models.build(spec, seed=0, tokenizer=tokenizer)))
    lines = [f'{{"step": {i}, "tokens": {i * 160}, "train_loss": {6 - i}, "validation_loss": {6 - i}}}' for i in (1, 2)]
    (folder / runs.METRICS).write_text("\n".join(lines) + "\n")
    return folder


def test_a_run_gets_its_page(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--limit", "12", "--shown", "2", "--text", "Tom said <script>alert(1)</script>."]
    assert main(["report", "--model", "tiny", *given]) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert '"label":"Loss over training"' in page
    assert '<section id="live"' in page and "Its weights are here whole." in page  # by default, since it is small
    assert "320 tokens, 2 steps" in page and "not what it was trained on" not in page
    out = capsys.readouterr().out
    assert "bits per byte" in out
    assert "runs/tiny/report.html" in out


def test_findings_as_json_and_foreign_stories(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tales.txt").write_text("\n<|endoftext|>\n".join(stories("made", limit=6)), encoding="utf-8")
    given = ["--stories", "tales.txt", "--shown", "1", "--out", "page.html", "--json", "--no-live"]
    assert main(["report", "--model", "tiny", *given]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["page"] == "page.html" and said["model"] == "tiny" and len(said["findings"]) == 6
    sentence = "By its record it was trained on made, not on tales.txt by that name."
    assert said["findings"][0]["evidence"].endswith(sentence)
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count(sentence) == 2  # the lede and the finding
    assert '<section id="live"' not in page and "It was left out (--no-live)." in page


def test_a_run_at_a_step_keeps_what_it_read_and_not_how_it_ended(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, weights = runs.read(run)
    runs.write(run / "snapshots" / "step-000001", config | {"step": 1}, weights)
    given = ["--limit", "4", "--shown", "1", "--out", "page.html"]
    assert main(["report", "--model", "tiny@1", *given]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<dt>source</dt><dd>made</dd>" in page and "not what it was trained on" not in page
    assert "carries no record of its training" in page and "trained for" not in page


def test_what_cannot_be_written_fails_before_the_work(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert main(["report", "--model", "tiny", "--out", "file/page.html"]) == 2
    assert main(["report", "--model", "tiny", "--out", str(run)]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert "file/page.html" in errors[0]
    assert "is a folder" in errors[1]


def test_a_model_that_no_page_holds_is_refused_before_the_work(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tslens.report.live.MOST", 1000)
    assert main(["report", "--model", "tiny", "--live"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "tiny cannot run in a page: its 11," in line and line.endswith("Leave out --live.")
    assert not (run / "report.html").exists()


def test_an_unknown_model_and_no_stories_are_said(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--model", "tinny"]) == 2
    assert "'tiny'" in capsys.readouterr().err
    assert main(["report", "--model", "tiny", "--stories", "nowhere.txt"]) == 2
    assert main(["report", "--model", "tiny", "--shown", "0"]) == 2
    capsys.readouterr()
    assert main(["report", "--model", "tiny", "--shown", "41"]) == 2
    assert capsys.readouterr().err.strip().endswith("give 40 or less.")
    assert main(["report", "--model", "tiny", *["--text", "A cat."] * 41]) == 2
    assert not (run / "report.html").exists()


@pytest.mark.thorough
def test_a_model_of_others(shared: Path, in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("tslens.report.compute"), "PROMPTS", ("Tom had",))
    file = shared / "data" / "models" / "stories260K.bin"
    tokenizer = file.with_name("tok512.bin")
    given = ["--stories", "made", "--limit", "3", "--shown", "1", "--out", "page.html"]
    assert main(["report", "--model", f"llama2c:{file},{tokenizer}", *given]) == 0
    assert "stories260K" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_page_of_the_bundled_model_with_all_that_was_kept_has_ten_megabytes_at_most(in_tmp: Path) -> None:
    """Circuits, features, suites, pairs, the card and copies as they were kept with it, and the model itself."""
    assert main(["report", "--model", "stories2M", "--out", "r.html"]) == 0
    page = Path("r.html").read_text(encoding="utf-8")
    links = page.partition("<nav")[2].partition("</nav>")[0]
    parts = ("live", "circuits", "features", "suites", "pairs", "card", "copies", "stories")
    assert all(f'href="#{part}"' in links and f'id="{part}"' in page for part in parts)
    assert 'class="clearest"' in page
    assert 6_000_000 < Path("r.html").stat().st_size <= 10_000_000
