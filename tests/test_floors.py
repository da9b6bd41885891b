"""A module imports its own floor or lower, and the questions of analysis/ do not know one another."""

import ast
from pathlib import Path

import pytest

FLOORS = (
    {
        "backends",
        "byte_bpe",
        "draws",
        "errors",
        "fields",
        "files",
        "gradients",
        "growth",
        "interrupt",
        "lock",
        "memory",
        "nearest",
        "parsing",
        "paths",
        "progress",
        "result",
    }
    | {"tables", "threads", "stats", "plots", "pos"},
    {"models", "tokenizer", "stories", "runs", "ngrams", "llm"},
    {"forward", "generate", "batching", "scan", "halves", "copying"},
    {"analysis", "evaluation"},
    {"train", "report", "bench", "cluster", "demo", "corpus", "tuned", "twins", "dynamics", "study", "audit", "sae"},
    {"cli"},
)
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}
ROOT = {"__init__", "__main__"}  # the package itself stands on no floor: it exports lazily, and runs the command line


def modules(package: Path) -> dict[str, Path]:
    """Every module under `package`, by its dotted name inside it: `models`, `analysis.heads`, `stories.__init__`."""
    return {
        ".".join(path.relative_to(package).with_suffix("").parts): path
        for path in sorted(package.rglob("*.py"))
        if "__pycache__" not in path.parts
    }


def imports(source: str, module: str) -> set[str]:
    """The dotted names inside tslens that a module imports, at its top, inside functions, relative or by name.

    `from tslens.a import b` gives both `a` and `a.b`, since `b` may be a module.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                folder = ["tslens", *module.split(".")][: -node.level]
                base = ".".join([*folder, base] if base else folder)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        elif (
            isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and ast.unparse(node.func).endswith("import_module")
        ):
            names = [str(node.args[0].value)]
        else:
            continue
        found |= {name.removeprefix("tslens.") for name in names if name.startswith("tslens.")}
    return found


def faults(package: Path) -> list[str]:
    """One sentence for each module that stands on no floor or reaches above its own."""
    known = modules(package)
    found = []
    for module, path in known.items():
        top, *rest = module.split(".")
        if module in ROOT:
            continue
        if top not in FLOOR:
            found.append(f"{module} stands on no floor")
            continue
        for target in sorted(imports(path.read_text(encoding="utf-8"), module)):
            above, *inner = target.split(".")
            if FLOOR.get(above, -1) > FLOOR[top]:
                found.append(f"{module} (floor {FLOOR[top]}) imports {above} (floor {FLOOR[above]})")
            elif (
                top == above == "analysis"
                and inner
                and rest
                and inner[0] != rest[0]
                and f"analysis.{inner[0]}" in known
            ):
                found.append(f"{module} imports its neighbour {target}")
    return found


def test_every_module_keeps_to_its_floor(checkout: Path) -> None:
    package = checkout / "tslens"
    assert len(modules(package)) > 3  # the tree was found
    assert faults(package) == []


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("stats", "from tslens.models import load", "stats (floor 0) imports models (floor 1)"),
        ("stats", "def f():\n    import tslens.scan", "stats (floor 0) imports scan (floor 2)"),
        ("stats", "from . import models", "stats (floor 0) imports models (floor 1)"),
        ("stats", "from tslens import models", "stats (floor 0) imports models (floor 1)"),
        ("stats", "import_module('tslens.cli.demo')", "stats (floor 0) imports cli (floor 5)"),
        ("stories.grammar", "from ..forward import Forward", "stories.grammar (floor 1) imports forward (floor 2)"),
        ("analysis.heads", "from tslens.analysis.lens import x", "analysis.heads imports its neighbour analysis.lens"),
        ("analysis.heads", "from . import lens", "analysis.heads imports its neighbour analysis.lens"),
        ("attic", "", "attic stands on no floor"),
    ],
)
def test_a_fault_is_found(tmp_path: Path, module: str, source: str, fault: str) -> None:
    for name, text in {"analysis.lens": "x = 1", module: source}.items():
        path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert fault in faults(tmp_path)


def test_lower_floors_and_own_floor_are_open(tmp_path: Path) -> None:
    (tmp_path / "scan.py").write_text(
        "from tslens.result import Result\nfrom tslens import forward, models\nimport torch"
    )
    assert faults(tmp_path) == []


def test_one_file_names_the_classes_of_transformer_lens(checkout):
    """Its next major version costs one file."""
    found = {
        path.relative_to(checkout / "tslens").as_posix()
        for path in (checkout / "tslens").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "transformer_lens")
        or (isinstance(node, ast.Import) and any(n.name.split(".")[0] == "transformer_lens" for n in node.names))
    }
    assert found == {"models/hooked.py"}
