"""The documents: what they take from code and measurements is up to date, and every command they show runs."""

import importlib.util
import json
import re
import shlex
import subprocess

import pytest
import torch

from tslens import models
from tslens.analysis import heads, lens, neurons
from tslens.bench import BENCHMARKS
from tslens.cli import main
from tslens.cli.commands import COMMANDS
from tslens.scan import scan
from tslens.stories import stories


@pytest.fixture(scope="module")
def written(checkout):
    spec = importlib.util.spec_from_file_location("write", checkout / "docs" / "write.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def compared():
    """What heads, neurons and lens of the bundled model do, on a few stories."""
    reducers = [heads.Roles(groups=4), neurons.Profiles(k=3, sample=40), lens.ByDepth(groups=4)]
    return scan(models.load("stories2M"), list(stories("made", limit=4)), reducers, context=40)


def test_what_is_taken_from_code_and_measurements_is_up_to_date(written, checkout):
    for page in written.PAGES:
        text = (checkout / page).read_text(encoding="utf-8")
        assert written.BLOCK.search(text), page
        assert written.filled(text) == text, f"{page}: run python docs/write.py"


def test_stored_benchmarks_are_those_that_the_code_measures(checkout):
    """Each once or more, some of them alone on a quiet machine, and no row of a benchmark that is no more."""
    files = [checkout / "figures/bench" / folder / "bench.json" for folder in ("", "copies", "completions")]
    rows = [row for file in files for row in json.loads(file.read_text(encoding="utf-8"))["rows"]]
    now = {(row.name, row.what, row.against, str(row.target or "")) for row in BENCHMARKS}
    assert {(row["name"], row["what"], row["against"], row["target"] or "") for row in rows} == now, "run tslens bench"


def test_stored_tables_are_those_that_the_code_writes(checkout, compared):
    """Their columns are today's: a figure that an older rule drew would have others."""
    tables = {"heads": compared[0].to_frame(), "neurons": compared[1].summary(), "lens": compared[2].to_frame()}
    for study, table in tables.items():
        suffix = "-by-depth" if study == "lens" else ""
        stored = (checkout / f"figures/{study}/stories2M{suffix}.csv").read_text(encoding="utf-8").splitlines()[0]
        assert stored.split(",") == list(table.columns), f"figures/{study}: run analyses/{study}.py"


def test_make_figures_runs_every_study(checkout):
    given = ["STORIES=a.txt,b.txt", "STORIES260K=c.bin", "PAIRS=d.jsonl"]
    found = subprocess.run(["make", "-n", "figures", *given], cwd=checkout, capture_output=True, text=True, check=True)
    lines = found.stdout.replace("\\\n", " ").splitlines()
    named = set(re.findall(r"\w+", " ".join(line for line in lines if "analyses/" in line)))
    assert {path.stem for path in (checkout / "analyses").glob("[!_]*.py")} <= named
    asked = [" ".join(shlex.split(line)) for line in lines if "analyses/evaluation.py" in line]
    options = ("--stories a.txt,b.txt", "--model stories260K=llama2c:c.bin", "--model 256x8=256x8x8", "--pairs d.jsonl")
    assert all(option in line for line in asked for option in options)
    assert ["--only figures/evaluation/one-epoch" in line and "--model 512x12=512x12" in line for line in asked] == [
        False,
        True,
    ]


def test_readme_is_short(checkout):
    assert len((checkout / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_its_pictures_and_pages_are_there(checkout):
    for page in ("README.md", *(str(p.relative_to(checkout)) for p in (checkout / "docs").glob("**/*.md"))):
        if "_build" in page:
            continue
        text = (checkout / page).read_text(encoding="utf-8")
        places = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text) + re.findall(r'<img src="([^"]+)"', text)
        assert all(((checkout / page).parent / place).exists() for place in places), page


SMALLER = {
    "generate": ["--max-new-tokens", "8"],
    "analyze heads": ["--limit", "3"],
    "analyze neurons": ["--limit", "3"],
    "analyze twins": ["--limit", "20", "--twins", "1"],
    "report": ["--limit", "3", "--shown", "1"],
    "train": [
        part
        for setting in (
            *("model.shape=16x1x2", "model.n_ctx=32", "data.vocabulary=300", "train.steps=2", "train.batch=2"),
            *("train.validation_stories=2", "train.micro_batch=2"),
        )
        for part in ("--set", setting)
    ],
}
"""What the longer commands are given besides, so that they end in seconds."""


@pytest.mark.thorough
@pytest.mark.parametrize("page", ["README.md", "docs/howto/my-stories.md"])
def test_every_command_it_shows_runs(page, checkout, in_tmp, capsys, monkeypatch):
    """As they stand there, in their order, in one folder with a file of stories."""
    monkeypatch.setattr("tslens.corpus.BLOCK", 20)  # stories that a model writes at a time
    text = (checkout / page).read_text(encoding="utf-8")
    lines = re.findall(r"^\$ (?:\.venv/bin/)?tslens (.+)$", text, re.MULTILINE)
    shown = [shlex.split(line, comments=True) for line in lines]
    assert len(shown) > 2
    (in_tmp / "my-stories.txt").write_text("\n<|endoftext|>\n".join(stories("made", limit=60)), encoding="utf-8")
    known = sorted((command.words for command in COMMANDS), key=len, reverse=True)
    for words in shown:
        command = next(name for name in known if words[: len(name.split())] == name.split())
        assert main([*words, *SMALLER.get(command, [])]) == 0, (words, capsys.readouterr().err)
        assert capsys.readouterr().out, words
    assert (in_tmp / "runs").is_dir()


@pytest.mark.thorough
def test_the_python_of_the_readme_runs(checkout, in_tmp, monkeypatch):
    monkeypatch.setattr("tslens.corpus.BLOCK", 3)
    (code,) = re.findall(r"```python\n(.*?)```", (checkout / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    exec(code.replace("limit=200", "limit=3"), names)
    assert names["roles"].to_frame().shape[0] == 16


def blocks_of(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_ten_tasks_take_five_lines_each(checkout):
    blocks = blocks_of(checkout / "docs/howto/ten-tasks.md")
    assert len(blocks) == 10
    assert max(sum(bool(line.strip()) for line in block.splitlines()) for block in blocks) <= 5


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:HookedTransformer is deprecated")
def test_ten_tasks_run(checkout, in_tmp, monkeypatch):
    """As they stand there, in their order, on fewer stories and beside a run that is called as the demo's is."""
    monkeypatch.setattr("tslens.corpus.BLOCK", 12)
    settings = ("model.n_ctx=64", "data.vocabulary=300", "data.limit=80", "train.steps=65", "train.batch=2")
    options = [part for setting in settings for part in ("--set", setting)]
    assert main(["train", "16x1x2", "--data", "made", "--name", "demo", *options]) == 0
    names: dict = {}
    for block in blocks_of(checkout / "docs/howto/ten-tasks.md"):
        exec(re.sub(r"limit=\d+", "limit=12", block), names)
    assert names["pattern"].tokens[0] == "<|endoftext|>" and names["story"].startswith("Once upon a time")
    assert names["without"].rows == 12 and names["profiles"].label.numel() == 3072
    whole = {i for i, piece in enumerate(names["profiles"].pieces) if piece.strip().casefold() == "ball"}
    places = zip(names["of_word"]["layer"], names["of_word"]["neuron"], strict=True)
    tops = [names["profiles"].top_tokens[place].tolist() for place in places]
    shares = [sum(i in whole for i in top) / sum(i >= 0 for i in top) for top in tops]
    assert len(shares) > 1 and shares == sorted(shares, reverse=True) and shares[-1] > 0  # "balloon" is none
    assert models.name_of(names["early"]) == "demo@64"
    assert torch.allclose(names["theirs"](names["text"]), names["logits"], atol=1e-4)


def test_no_tracked_text_names_the_folder_it_was_made_in(checkout):
    found = []
    for folder in ("analyses", "docs", "eval", "figures", "notebooks", "tests", "training", "tslens"):
        for path in (checkout / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".ipynb", ".toml", ".json", ".csv", ".svg") and "_build" not in path.parts:
                lines = path.read_text(encoding="utf-8").splitlines()
                found += [path.name for line in lines if re.search(r"(/home/|/root/|site-packages/)\w", line)]
    assert not found


def test_every_study_opens_with_what_it_found(checkout, written):
    studies = {path.stem for path in (checkout / "analyses").glob("[!_]*.py")}
    assert studies == {*written.OF_MODELS, *written.OF_TRAINING}
    for study in studies:
        finding = written.sentence(written.docstring(checkout / "analyses" / f"{study}.py"))
        assert len(finding.split()) > 5 and not finding.endswith("?"), f"analyses/{study}.py"


def test_text_in_a_figure_of_the_readme_can_be_read(checkout):
    for place, width in re.findall(r'<img src="([^"]+)" width="(\d+)"', (checkout / "README.md").read_text()):
        drawn = (checkout / place).read_text(encoding="utf-8")
        box = re.search(r'viewBox="0 0 ([\d.]+)', drawn)
        assert box, place
        smallest = min(float(size) for size in re.findall(r"font(?:-size)?: ?(?:\w+ )*([\d.]+)px", drawn))
        assert smallest * int(width) / float(box[1]) >= 5, place
