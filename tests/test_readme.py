"""The README: its tree names every module, its commands exist, its pictures are there."""

import ast
import importlib
import re
import shlex

import pytest

from tslens.cli import COMMANDS, main
from tslens.stories import stories


def test_the_tree_names_every_module_with_its_own_clause(checkout, monkeypatch):
    monkeypatch.syspath_prepend(str(checkout / "docs"))
    written = importlib.import_module("tree").tree()
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert f"```text\n{written}```" in text, "run: python docs/tree.py"
    assert written.count(".py ") == sum(path.name != "__init__.py" for path in (checkout / "tslens").rglob("*.py"))
    assert all(line.rstrip().split("  ")[-1].strip() for line in written.splitlines())
    named = set(re.findall(r"`([a-z]+)/`", text))
    folders = {path.name for path in checkout.iterdir() if path.is_dir() and path.name[0] != "."}
    assert folders - named <= {"runs", "build", "dist", "tslens.egg-info", "__pycache__"}


def test_every_command_it_shows_exists(checkout):
    text = (checkout / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ tslens ([a-z]+)(?: ([a-z]+))?", text, re.MULTILINE)
    known = {command.words for command in COMMANDS}
    assert len(shown) > 8
    assert all(first in known or f"{first} {second}" in known for first, second in shown)


@pytest.mark.parametrize(("table", "least"), [("bench", 20), ("peers", 7)])
def test_its_tables_are_those_that_were_measured(checkout, table, least):
    lines = (checkout / "figures" / table / "table.md").read_text(encoding="utf-8").splitlines()
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert len(lines) > least and all(line in text for line in lines)


SMALLER = {
    "generate": ["--max-new-tokens", "8"],
    "loss": ["--limit", "3"],
    "analyze heads": ["--limit", "3"],
    "analyze neurons": ["--limit", "3"],
    "report": ["--limit", "3", "--shown", "1"],
    "train": [
        part
        for setting in (
            *("model.shape=16x1x2", "model.n_ctx=32", "data.vocabulary=300", "train.steps=2", "train.batch=2"),
            "train.validation_stories=2",
            "train.micro_batch=2",
        )
        for part in ("--set", setting)
    ],
    "bench": ["import", "--quick"],
}
"""What the longer commands are given besides, so that they end in seconds."""


def test_every_command_it_shows_runs(checkout, in_tmp, capsys):
    """As they stand there, in their order, in one folder; the bundled model, and a run by the name that one draws."""
    text = (checkout / "README.md").read_text(encoding="utf-8")
    shown = [shlex.split(line, comments=True) for line in re.findall(r"^\$ tslens (.+)$", text, re.MULTILINE)]
    assert len(shown) > 8
    (in_tmp / "my-stories.txt").write_text("\n<|endoftext|>\n".join(stories("made", limit=60)), encoding="utf-8")
    assert main(["train", "128x8", "--data", "my-stories.txt", *SMALLER["train"]]) == 0
    known = sorted((command.words for command in COMMANDS), key=len, reverse=True)
    for words in shown:
        command = next(name for name in known if words[: len(name.split())] == name.split())
        assert main([*words, *SMALLER.get(command, [])]) == 0, (words, capsys.readouterr().err)
        assert capsys.readouterr().out, words
    left = {path.name for path in in_tmp.iterdir()}
    assert {"my-stories.txt", "made.txt", "loss.svg", "stories2M-report.html", "runs"} <= left


def test_its_pictures_and_pages_are_there(checkout):
    text = (checkout / "README.md").read_text(encoding="utf-8")
    places = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(r'<img src="([^"]+)"', text)
    assert len(places) >= 8
    assert all((checkout / place).is_file() for place in places)


@pytest.mark.parametrize(("study", "figure"), [("heads", ""), ("neurons", ""), ("lens", "-by-depth")])
def test_both_models_are_shown_with_what_the_study_found(checkout, study, figure):
    text = " ".join((checkout / "README.md").read_text(encoding="utf-8").split())
    assert all(f'<img src="figures/{study}/{model}{figure}.svg"' in text for model in ("stories2M", "stories260K"))
    found = ast.get_docstring(ast.parse((checkout / "analyses" / f"{study}.py").read_text(encoding="utf-8")))
    first = re.split(r"(?<=\.)\s+(?=[A-Z])", found)[0]
    assert " ".join(first.split()) in text, first


def test_it_says_what_each_study_of_training_found_or_the_study_says_that_it_was_not_run(checkout):
    text = " ".join((checkout / "README.md").read_text(encoding="utf-8").split())
    for study in ("optimizers", "sweep", "dropout", "contrastive", "compressor", "instruct", "memory", "peers"):
        found = ast.get_docstring(ast.parse((checkout / "analyses" / f"{study}.py").read_text(encoding="utf-8")))
        first = " ".join(re.split(r"(?<=\.)\s+(?=[A-Z])", found)[0].split())
        drawn = (checkout / "figures" / study).is_dir()
        assert first in text if drawn else first.startswith("Not run yet"), first


def test_no_tracked_text_names_the_folder_it_was_made_in(checkout):
    found = []
    for folder in ("analyses", "docs", "eval", "figures", "notebooks", "tests", "training", "tslens"):
        for path in (checkout / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".ipynb", ".toml", ".json", ".csv", ".svg"):
                lines = path.read_text(encoding="utf-8").splitlines()
                found += [path.name for line in lines if re.search(r"(/home/|/root/|site-packages/)\w", line)]
    assert not found
