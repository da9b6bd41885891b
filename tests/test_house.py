"""The house stays small: no circle of imports, no two classes of one name, nothing longer than a reader takes in."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "tslens"
LINES, FUNCTION_LINES = 250, 50
DATA = {"stories/generator/lexicon.py"}
"""Modules that are data: a list of words is as long as it is."""


def modules(package: Path) -> dict[str, Path]:
    """Every module by its dotted name, a package by its own."""
    return {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(package.rglob("*.py"))
    }


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from (other, *runtime_nodes(other))
        else:
            yield node
            yield from runtime_nodes(node)


def imported(path: Path, name: str, known: set[str]) -> set[str]:
    """The modules imported at run time, in functions too; `from a import b` is `a.b` if that exists."""
    found = set()
    for node in runtime_nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & known
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                folder = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
                base = ".".join([*folder[: len(folder) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                found |= {f"{base}.{alias.name}"} & known or {base} & known
    return found - {name}


def circle(package: Path) -> list[str]:
    """One circle of imports, as the names along it; empty where there is none."""
    known = modules(package)
    graph = {name: imported(path, name, set(known)) for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_of_imports():
    assert not (found := circle(PACKAGE)), " -> ".join(found)


@pytest.mark.parametrize(
    ("a", "b", "there"),
    [
        ("import tslens.b", "import tslens.a", True),
        ("from tslens import b", "def f():\n    from tslens.a import x", True),
        ("from . import b", "from .a import x", True),
        ("import tslens.b", "if TYPE_CHECKING:\n    import tslens.a", False),
        ("import tslens.b", "import json", False),
    ],
)
def test_a_planted_circle_is_found(tmp_path, a, b, there):
    package = tmp_path / "tslens"
    package.mkdir()
    for name, text in {"__init__": "", "a": a, "b": b}.items():
        (package / f"{name}.py").write_text(text + "\n", encoding="utf-8")
    assert bool(circle(package)) is there


def test_no_two_classes_of_one_name():
    places = defaultdict(list)
    scripts = {f"analyses.{path.stem}": path for path in (PACKAGE.parent / "analyses").glob("*.py")}
    for name, path in (modules(PACKAGE) | scripts).items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
    assert not {name: found for name, found in places.items() if len(found) > 1}


def python_functions(text: str) -> Iterator[tuple[str, int]]:
    """Every function of a module with its number of lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def script_functions(text: str) -> Iterator[tuple[str, int]]:
    """Every function of a script with its number of lines, by counting braces.

    A function starts on a line with `function` or with `=>` before an open brace, and ends where its braces are closed.
    Quoted text and comments of a whole line are left out. Not understood: a brace in a regular expression or in a
    comment after code, an unbalanced one in a template literal, and methods of a class, which count as part of the
    function around them.
    """
    lines = [
        "" if line.lstrip().startswith("//") else re.sub(r'"(?:[^"\\]|\\.)*"', '""', line) for line in text.splitlines()
    ]
    for at, line in enumerate(lines):
        if re.search(r"\bfunction\b|=>\s*\{", line):
            named = re.search(r"function (\w+)|(\w+) = ", line)
            depths = accumulate(other.count("{") - other.count("}") for other in lines[at:])
            opened = accumulate("{" in other for other in lines[at:])
            end = next(n for n, (seen, depth) in enumerate(zip(opened, depths, strict=True), 1) if seen and depth <= 0)
            yield named[1] or named[2] if named else f"line {at + 1}", end


def too_long(places: dict[str, Path]) -> Iterator[str]:
    """Modules and functions, of Python and of the page's scripts, that are longer than they may be."""
    for name, path in places.items():
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > LINES and str(path.relative_to(PACKAGE)) not in DATA:
            yield f"{name}: {text.count(chr(10))} lines"
        functions = script_functions if path.suffix == ".js" else python_functions
        yield from (f"{name}, {of}: {lines} lines" for of, lines in functions(text) if lines > FUNCTION_LINES)


def test_modules_and_functions_are_short():
    scripts = {path.name: path for path in sorted((PACKAGE / "assets").glob("*.js"))}
    assert scripts
    assert not (long := list(too_long(modules(PACKAGE) | scripts))), "\n".join(long)


def test_a_scripts_functions_are_counted():
    text = """// function comment() {
function outer({ a, b }) {
  const inner = (x) => {
    return x;
  };
  return el("p", { text: "}" }, inner(a));
}

const short = (x) => x;
async function last() { return `${short(1)}`; }
"""
    assert list(script_functions(text)) == [("outer", 6), ("inner", 3), ("last", 1)]


@pytest.mark.parametrize(("lines", "found"), [(FUNCTION_LINES, []), (FUNCTION_LINES + 1, [("f", FUNCTION_LINES + 1)])])
def test_a_long_function_of_a_script_is_found(lines, found):
    text = "function f() {\n" + "  go();\n" * (lines - 2) + "}\n"
    assert [(of, n) for of, n in script_functions(text) if n > FUNCTION_LINES] == found


def test_doors_and_commands_have_full_signatures():
    loose = [
        f"{name}.{node.name}"
        for name, path in modules(PACKAGE).items()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.args.kwarg
    ]
    assert not loose
