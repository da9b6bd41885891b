"""The README: its tree names every module, its commands exist, its pictures are there."""

import re

from tslens.cli import COMMANDS


def test_the_tree_names_every_module(checkout):
    text = (checkout / "README.md").read_text(encoding="utf-8")
    tree = re.search(r"```text\ntslens/.*?```", text, re.DOTALL)
    assert tree
    words = set(re.findall(r"[A-Za-z0-9_]+", tree.group()))
    modules = {p.stem for p in (checkout / "tslens").rglob("*.py") if p.stem not in ("__init__", "__main__")}
    assert modules <= words, modules - words


def test_every_command_it_shows_exists(checkout):
    text = (checkout / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ tslens ([a-z]+)(?: ([a-z]+))?", text, re.MULTILINE)
    known = {command.words for command in COMMANDS}
    assert len(shown) > 8
    assert all(first in known or f"{first} {second}" in known for first, second in shown)


def test_its_pictures_and_pages_are_there(checkout):
    text = (checkout / "README.md").read_text(encoding="utf-8")
    places = re.findall(r"\]\(([^)#:]+)\)", text)
    assert len(places) >= 3
    assert all((checkout / place).is_file() for place in places)


def test_no_tracked_text_names_the_folder_it_was_made_in(checkout):
    found = []
    for folder in ("analyses", "docs", "eval", "figures", "notebooks", "tests", "training", "tslens"):
        for path in (checkout / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".ipynb", ".toml", ".json", ".csv", ".svg"):
                lines = path.read_text(encoding="utf-8").splitlines()
                found += [path.name for line in lines if re.search(r"(/home/|/root/|site-packages/)\w", line)]
    assert not found
