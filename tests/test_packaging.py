"""The wheel carries everything, installs nothing generic, and importing it is cheap."""

import importlib
import importlib.resources
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tslens import __version__, cli

WHEEL_MEGABYTES = 12  # the bundled model may take 8, the page's scripts about 3


@pytest.fixture(scope="module")
def project(checkout: Path) -> dict:
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of what is in the checkout so that the build leaves no trace in it."""
    import shutil

    source = tmp_path_factory.mktemp("source")
    for name in ("tslens", "training", "eval"):
        shutil.copytree(checkout / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in checkout.glob("*"):
        if path.is_file() and path.suffix in {".toml", ".md", ".txt", ""}:
            shutil.copy(path, source)
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def tree(folder: Path, *patterns: str) -> set[str]:
    """Files under a folder, relative to it, without caches."""
    found = (path for pattern in patterns for path in folder.rglob(pattern) if path.is_file())
    return {path.relative_to(folder).as_posix() for path in found if "__pycache__" not in path.parts}


def test_the_wheel_has_one_package(names: list[str]) -> None:
    assert {name.split("/")[0] for name in names} == {"tslens", f"tslens-{__version__}.dist-info"}


def test_every_module_is_in_the_wheel(names: list[str], checkout: Path) -> None:
    assert {f"tslens/{name}" for name in tree(checkout / "tslens", "*.py", "py.typed")} <= set(names)


@pytest.mark.parametrize(
    ("package", "folder", "pattern"),
    [
        ("tslens/recipes", "training", "*.toml"),
        ("tslens/suites", "eval", "*.toml"),
        ("tslens/bundled", "tslens/bundled", "*"),
        ("tslens/assets", "tslens/assets", "*"),
    ],
)
def test_data_is_in_the_wheel(names: list[str], checkout: Path, package: str, folder: str, pattern: str) -> None:
    expected = {f"{package}/{name}" for name in tree(checkout / folder, pattern)}
    assert expected, f"{folder} is empty"
    assert expected <= set(names)


def test_tests_and_studies_stay_at_home(names: list[str]) -> None:
    assert not [name for name in names if re.search(r"(^|/)(tests|analyses|figures|notebooks|runs)/", name)]


def test_size_of_the_wheel(wheel: Path) -> None:
    assert wheel.stat().st_size < WHEEL_MEGABYTES * 1_000_000


def test_the_wheel_finds_its_data_in_an_empty_folder(wheel: Path, checkout: Path, tmp_path: Path) -> None:
    """Unpacked outside the checkout, and first on the path, the wheel answers with its own files."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]\n"
        f"sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import importlib.resources as r, pathlib, tslens\n"
        "print(tslens.__file__)\n"
        "folders = [pathlib.Path(str(r.files(p))) for p in ('tslens.recipes', 'tslens.suites')]\n"
        "[print(f.relative_to(folder).as_posix()) for folder in folders for f in folder.rglob('*.toml')]"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    where, *found = done.stdout.split()
    assert Path(where).is_relative_to(tmp_path)
    assert tree(checkout / "training", "*.toml") | tree(checkout / "eval", "*.toml") <= set(found)


TINY = {
    "model.shape": "16x1x2",
    "model.n_ctx": 48,
    "data.limit": 150,
    "data.vocabulary": 300,
    "train.steps": 6,
    "train.batch": 2,
    "train.validation_stories": 4,
    "train.validate_every": 3,
    "train.checkpoint_every": 6,
}


def test_the_demo_of_the_wheel_runs_in_an_empty_folder(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From stories to the page, as `tslens demo` does it, by a smaller recipe and with the wheel's own files alone; and
    the three commands that it tells of."""
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]\n"
        f"sys.path.insert(0, {str(site)!r})\n"
        "import tslens; assert tslens.__file__.startswith(sys.path[0])\n"
        "from tslens.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    tiny = [part for key, value in TINY.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-c", code, "demo", "--limit", "12", *tiny]
    environment = os.environ | {"TSLENS_OFFLINE": "1"}
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    form = r"Making .+\n\nA story that the model wrote \(temperature 0\.6, [\w ]+\):\n\n(.+)\n\n"
    form += r"What was found:\n\n(.+)\n\n(The whole evidence.+)"
    story, found, rest = re.fullmatch(form, done.stdout, re.DOTALL).groups()
    assert story.strip() and len(re.findall(r"^  - \S", found, re.MULTILINE)) >= 4
    assert "in one page that needs no network: runs/demo/report.html  (" in rest
    page = (home / "runs/demo/report.html").read_text(encoding="utf-8")
    assert "Loss over training" in page and all(f'id="{part}"' in page for part in ("heads", "neurons", "lens"))
    monkeypatch.chdir(home)
    commands = re.findall(r"^  tslens (.+)$", rest.partition("Try next:")[2], re.MULTILINE)
    assert len(commands) == 3 and [cli.main(shlex.split(command)) for command in commands] == [0, 0, 0]
    assert "demo" in capsys.readouterr().out
    assert json.loads((home / "runs/demo/config.json").read_text())["step"] == TINY["train.steps"]
    assert [path.name for path in home.iterdir()] == ["runs"]


def test_the_checkout_finds_its_data(checkout: Path) -> None:
    for package, folder in {"tslens.recipes": "training", "tslens.suites": "eval"}.items():
        installed = Path(str(importlib.resources.files(package)))
        assert tree(checkout / folder, "*.toml") == tree(installed, "*.toml")


def test_packages_are_those_of_the_tree(project: dict, checkout: Path) -> None:
    packages = {path.parent for path in (checkout / "tslens").rglob("__init__.py")}
    in_tree = {path.relative_to(checkout).as_posix().replace("/", ".") for path in packages}
    assert set(project["tool"]["setuptools"]["packages"]) == in_tree | {"tslens.recipes", "tslens.suites"}


def test_data_folders_hold_no_code(checkout: Path) -> None:
    for folder in ("training", "eval"):
        assert tree(checkout / folder, "*.py") == {"__init__.py"}
        marker = (checkout / folder / "__init__.py").read_text(encoding="utf-8")
        assert re.fullmatch(r'""".*"""\n', marker)


def test_constraints_pin_every_dependency(project: dict, checkout: Path) -> None:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = (checkout / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {r.name: r for r in map(Requirement, (line for line in lines if line and not line.startswith("#")))}
    pinned = {canonicalize_name(name): requirement for name, requirement in pins.items()}
    assert str(pinned["torch"].specifier) == "==2.13.0"
    extras = project["project"]["optional-dependencies"]
    for text in [*project["project"]["dependencies"], *(text for extra in extras.values() for text in extra)]:
        requirement = Requirement(text)
        if requirement.name == "tslens":
            continue
        pin = pinned[canonicalize_name(requirement.name)]
        (version,) = pin.specifier
        assert version.operator == "==" and "+" not in version.version and pin.url is None
        assert requirement.specifier.contains(version.version), f"{pin} is outside {requirement}"


HEAVY = set("transformers transformer_lens matplotlib torch numpy scipy sklearn pandas pydantic datasets".split())


def test_importing_tslens_is_cheap() -> None:
    code = "import sys, tslens; print(*sorted(m for m in sys.modules if '.' not in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not (HEAVY | {"cyclopts"}) & set(done.stdout.split())


def test_help_imports_nothing_heavy() -> None:
    """How long it takes is a benchmark, `tslens bench help`; what would make it long is here."""
    code = "import sys; from tslens.cli import main; main(['--help']); print(*(m for m in sys.modules if '.' not in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "cyclopts" in loaded
    assert not HEAVY & loaded


def test_every_module_imports_under_the_shape_checks(checkout: Path) -> None:
    """beartype refuses some annotations at import: `Self` outside a decorated class, a protocol not checkable."""
    for path in sorted((checkout / "tslens").rglob("*.py")):
        name = ".".join(path.relative_to(checkout).with_suffix("").parts).removesuffix(".__init__")
        if not name.endswith("__main__"):
            importlib.import_module(name)


def test_the_shape_checks_are_on() -> None:
    """Every test runs with jaxtyping and beartype over tslens: a wrong argument is refused at the call."""
    from beartype.roar import BeartypeCallHintParamViolation
    from jaxtyping import TypeCheckError

    from tslens import stats

    with pytest.raises((TypeCheckError, BeartypeCallHintParamViolation)):
        stats.wilson(3, 10, level="high")  # type: ignore[arg-type]
