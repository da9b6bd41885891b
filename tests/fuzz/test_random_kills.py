"""Commands killed at random, each run again: it ends in the very bytes of one never killed, or refuses in one line."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.given import SMALL
from tests.fuzz.killing import SIGNALS
from tests.fuzz.running import NO_NETWORK, ROOT, leftovers

COMMANDS = {
    "train": ["train", "16x1x2", "--name", "killed", "--data", "tales.txt", *SMALL],
    "pack": "stories pack tales.txt --out p --vocab 300".split(),
    "analyze": "analyze heads --model tiny --stories tales.txt --limit 24 --out o --twins 1".split(),
    "analyze kept": "analyze lens --model small --tuned --steps 5 --limit 20 --stories tales.txt --fit-limit 9 --out o".split(),
    "report": "report --model tiny --stories tales.txt --limit 24 --twins 1 --shown 1 --no-causes --out r.html".split(),
    "eval": "eval suite.toml --model tiny --completions 3 --out o".split(),
    "eval copies": "eval copies --model small --stories tales.txt --limit 12 --tokens 5 --twins 1 --out o".split(),
}
NEEDS = {
    name: ("tiny", "tales.txt", "suite.toml", *(["runs/small"] if "small" in words else []))
    for name, words in COMMANDS.items()
}
ANSWERS = {"train": ("runs/killed",), "pack": ("p",), "report": ("r.html",)}
"""What a command makes, but for the folder `o`."""
TIMES = re.compile(rb'"(tokens_per_second|waiting_share|\w*seconds)": [^,}\n]+(, )?')
"""What two runs never have alike: times, and whether a checkpoint was written since the last record."""
OWN = re.compile(rb'"config_sha256": "\w+"')
"""A hash of times too."""


def answer(place: Path, name: str) -> dict[str, bytes]:
    """The bytes of all that a command made, but for times, and of a run's checkpoints but for those before the newest:
    one that was stopped saves its own step, and keeps that as the one before."""
    tops = [place / one for one in ANSWERS.get(name, ("o",))]
    older = {step for top in tops for step in sorted(top.glob("checkpoints/step-*"))[:-1]}
    made = [
        path
        for top in tops
        for path in (top, *top.rglob("*"))
        if path.is_file() and not path.name.endswith(".tmp") and not older & {*path.parents}
    ]
    return {str(path.relative_to(place)): OWN.sub(b"", TIMES.sub(b"", path.read_bytes())) for path in made}


def rehearsed(valid: Path, home: Path, kills: int, seed: int) -> list[dict[str, Any]]:
    """The reports of `killing.py`."""
    plan = {"valid": str(valid), "kills": kills, "seed": seed, "commands": COMMANDS, "needs": NEEDS}
    (home / "plan.json").write_text(json.dumps(plan))
    environment = os.environ | dict.fromkeys(NO_NETWORK, "1") | {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    environment |= {"TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", str(Path(__file__).with_name("killing.py")), str(home / "plan.json"), str(home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def stopped(one: dict[str, Any]) -> str:
    """What is wrong with the end of a command that Ctrl-C or SIGTERM stopped, in words; empty if nothing is: it is
    silent but for one line, and has the exit code 130, or the signal's where it keeps nothing."""
    by, code = one["how"].get("by"), one["killed"]
    said = Path(one["said"].replace("-said", "-killed") + ".err").read_text()
    if by not in ("SIGINT", "SIGTERM") or code == 0:  # it had ended before
        return ""
    if code not in (130, *([-signal.SIGTERM] if by == "SIGTERM" else [])):
        return f"{by} ended it with {code}: {said[-2000:]}"
    lines = [line for line in said.splitlines() if line.startswith("tslens: ") and "warning" not in line]
    return f"{by} was not silent: {said[-2000:]}" if "Traceback" in said or len(lines) > 1 else ""


def fault(one: dict[str, Any], home: Path) -> str:
    """What is wrong after a kill, in words; empty if nothing is."""
    place, name = Path(one["place"]), one["name"]
    if wrong := stopped(one):
        return wrong
    said = Path(f"{one['said']}.err").read_text()
    lines = [line for line in said.splitlines() if line.startswith("tslens: ") and "warning" not in line]
    if "Traceback" in said or one["again"] not in (0, 2):
        return f"the same command again ended with {one['again']}: {said[-2000:]}"
    if one["again"] == 2 and (len(lines) != 1 or not lines[0].isprintable()):
        return f"refused, but not in one line: {said[-2000:]}"
    if one["again"] == 2 and one["resumed"] is None:
        return f"refused, and names nothing that goes on: {said[-500:]}"
    if one["again"] == 2 and name != "train":
        return f"refused: {said[-500:]}"
    if one["resumed"] not in (None, 0):
        then = Path(one["said"].replace("-said", "-then") + ".err").read_text()
        return f"what the refusal says did not work: {said[-500:]} {then[-1500:]}"
    never, mine = answer(home / name / "whole", name), answer(place, name)
    assert never, f"{name} made nothing"
    if differs := sorted(path for path in never.keys() | mine.keys() if never.get(path) != mine.get(path)):
        return f"other than of a command never killed: {', '.join(differs[:5])}"
    left = leftovers(place)
    return f"left behind: {', '.join(left)}" if left else ""


def check(valid: Path, home: Path, kills: int, seed: int, least: int) -> None:
    found = rehearsed(valid, home, kills, seed)
    assert len(found) == kills * len(COMMANDS)
    assert sum(one["killed"] != 0 for one in found) >= least  # the others ended before
    for by in SIGNALS if kills >= 2 * len(SIGNALS) else ():
        assert any(one["how"].get("by") == by and one["killed"] != 0 for one in found), by
    wrong = [(one["place"], one["how"], said) for one in found if (said := fault(one, home))]
    told = [f"{place}, killed {how}: {said}" for place, how, said in wrong[:5]]
    assert not wrong, "\n\n".join(told) + f"\n{len(wrong)} of {len(found)}"


@pytest.mark.thorough
def test_commands_killed_at_random_end_as_if_never_killed(valid: Path, tmp_path: Path) -> None:
    check(valid, tmp_path, 2, 0, 8)


@pytest.mark.stress
def test_commands_killed_two_hundred_times_end_as_if_never_killed(valid: Path, tmp_path: Path) -> None:
    check(valid, tmp_path, 36, 1, 200)  # of each of seven commands
