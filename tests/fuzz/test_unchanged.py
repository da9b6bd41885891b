"""What hostile cases are made of is valid: unchanged, every command does its work."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.given import SURFACES
from tests.fuzz.running import Runner, fault
from tests.fuzz.test_hostile_files import copied
from tests.fuzz.test_hostile_options import BASES, STOP, in_folder, prepared

UNASKED = {"stories ask", "eval label"}
"""Commands whose work a large model or a person does: they wait for one until they are stopped."""
FAILS = {"audit"}
"""A command that says by exit code 1 that a model does not pass, as an untrained one does not."""
REFUSED = {"bench"}
"""A command of ten minutes, given what it refuses."""
LONGEST = 120.0


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """A process that runs cases, however long they take."""
    made = Runner(tmp_path_factory.mktemp("runner"), LONGEST)
    yield made
    made.close()


def ended(runner: Runner, place: Path, command: list[str]) -> str:
    """How a case ended if not as it shall; else empty."""
    line = " ".join(command)
    asks, words = line.startswith(tuple(UNASKED)), max((w for w in BASES if line.startswith(w)), key=len, default="")
    case = in_folder(place, words, command, STOP if asks else 0.0)
    report = runner.run(case)
    fails = command[0] in FAILS and report.code == 1
    judged = dataclasses.replace(report, code=0) if fails else report
    wrong = fault(judged, place, stop=case.stop, longest=LONGEST)
    if not wrong and judged.code in ((0, 130) if asks else (0,)):  # 0 if all is done already
        return ""
    return f"{case}: {report.code}, {wrong}: {report.err[-1_000:]}"


@pytest.mark.thorough
@pytest.mark.parametrize("words", sorted(BASES.keys() - REFUSED))
def test_commands_do_their_work(words: str, valid: Path, tmp_path: Path, patient: Runner) -> None:
    assert not ended(patient, prepared(valid, tmp_path / "here"), [*words.split(), *BASES[words].split()])


@pytest.mark.thorough
@pytest.mark.parametrize("name", SURFACES)
def test_files_are_read(name: str, valid: Path, tmp_path: Path, patient: Runner) -> None:
    wrong = []
    for number, command in enumerate(SURFACES[name].commands):
        place = tmp_path / str(number)
        place.mkdir()
        wrong.append(ended(patient, copied(SURFACES[name], valid, place), list(command)))
    assert not any(wrong), "\n\n".join(filter(None, wrong))
