"""Hostile files in the place of valid ones: every loader does its work, or refuses the file in one clear line."""

import shutil
import zlib
from pathlib import Path

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.given import SURFACES, Surface
from tests.fuzz.hostile import KINDS, change, vouch
from tests.fuzz.running import DRAWN, Case, Runner, check, report_all
from tests.fuzz.test_hostile_options import BASES, MORE, cases_of

SEED = 1
"""What sets the seeds of `make stress` apart."""
STOP = 2.0  # seconds after which a command that may take long is stopped


def copied(surface: Surface, valid: Path, folder: Path) -> Path:
    """A folder with the valid things that a surface needs, and what is no plain file."""
    for name in surface.copied:
        if (valid / name).is_dir():
            shutil.copytree(valid / name, folder / name)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(valid / name, folder / name)
    return folder


def run(surface: Surface, cases: int, first: int, valid: Path, folder: Path, runner: Runner) -> None:
    """Run so many cases of a surface, drawn by a seed."""
    files = sorted({str(p.relative_to(valid)) for one in surface.changed for p in valid.glob(one) if p.is_file()})
    cases_drawn: list[tuple[str, str, int, tuple[str, ...], bool]] = []

    @seed(first)
    @settings(DRAWN, max_examples=cases)
    @given(
        st.sampled_from(files),
        st.sampled_from(KINDS),
        st.integers(0, 2**32),
        st.sampled_from(surface.commands),
        st.booleans(),
    )
    def each(file: str, kind: str, number: int, command: tuple[str, ...], vouched: bool) -> None:
        cases_drawn.append((file, kind, number, command, vouched))

    each()
    assert len(cases_drawn) == cases, "fewer cases than asked for"
    wrong = []
    for at, (file, kind, number, command, vouched) in enumerate(cases_drawn):
        place = folder / str(at)
        place.mkdir()
        change(copied(surface, valid, place) / file, kind, number)
        if vouched:
            vouch(place / file)
        names = (place / file).read_text("utf-8", "replace") if surface.names and (place / file).is_file() else ""
        case = Case(place, command, STOP if surface.may_stop else 0.0, {"TSLENS_CACHE": str(place / "cache")}, names)
        wrong.append(check(runner, case, f"{file} changed by {kind!r}, {number}, vouched: {vouched}"))
    report_all(wrong)


def test_there_are_a_thousand_cases() -> None:
    assert sum(surface.cases for surface in SURFACES.values()) + sum(cases_of(words) for words in BASES) >= 1_000


@pytest.mark.thorough
@pytest.mark.parametrize("name", SURFACES)
def test_hostile_files(name: str, valid: Path, tmp_path: Path, runner: Runner) -> None:
    surface = SURFACES[name]
    run(surface, surface.cases, zlib.crc32(name.encode()), valid, tmp_path, runner)


@pytest.mark.stress
@pytest.mark.parametrize("name", SURFACES)
def test_many_hostile_files(name: str, valid: Path, tmp_path: Path, runner: Runner) -> None:
    surface = SURFACES[name]
    run(surface, MORE * surface.cases, SEED + zlib.crc32(name.encode()), valid, tmp_path, runner)
