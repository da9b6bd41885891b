"""Writes README's tree (`python docs/tree.py`): every module of tslens, with the first sentence of its docstring."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- tree: python docs/tree.py -->\n```text\n", "```\n<!-- end of tree -->"
OTHERS = {"assets": "The page's script and style.", "bundled": "The model that comes along."}


def clause(file: Path) -> str:
    """The first sentence of a module's docstring."""
    text = " ".join((ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    found = re.match(r".+?[.?!:](?=\s|$)", text)
    return (found[0] if found else text).rstrip(":")


def lines(folder: Path, depth: int = 0) -> list[str]:
    """The folder, its modules, and the folders in it, each with its clause."""
    indent, own = "  " * depth, folder / "__init__.py"
    what = clause(own) if own.is_file() else OTHERS[folder.name]
    found = [f"{indent}{folder.name + '/':<{22 - 2 * depth}}{what}"]
    if own.is_file():
        for file in sorted(folder.glob("*.py")):
            if file.name != own.name:
                found.append(f"{indent}  {file.name:<{20 - 2 * depth}}{clause(file)}")
        for inner in sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"):
            found += lines(inner, depth + 1)
    return found


def tree() -> str:
    """What stands between the marks in README."""
    return "\n".join(lines(ROOT / "tslens")) + "\n"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    readme.write_text(before + BEGIN + tree() + END + rest.partition(END)[2], encoding="utf-8")
