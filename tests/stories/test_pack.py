"""Stories come back from disk as they went in, whatever kills the packing, and wrong packs do not open."""

import errno
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

import tslens.stories.pack as packing
from tslens.errors import InputError
from tslens.stories.pack import pack
from tslens.stories.packed import Packed
from tslens.tokenizer import Tokenizer

TALES = [f"Tom met {n} cats. “Hi,” he said to cat {n * n}." for n in range(300)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TALES, 300)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_story_comes_back(tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BATCH", 7)
    packed = pack(TALES, tokenizer, tmp_path, source="tales")
    expected = tokenizer.encode(TALES)
    assert [packed.story(n).tolist() for n in range(len(packed))] == expected
    assert packed.tokens.tolist() == list(chain.from_iterable(expected))
    assert packed.tokens.dtype == np.uint16
    assert (packed.tokens[packed.starts] == tokenizer.bos).all()
    assert packed.n_stories == 300
    assert packed.n_tokens == sum(map(len, expected))
    assert packed.n_bytes == sum(len(tale.encode()) for tale in TALES)
    record = json.loads((tmp_path / "pack.json").read_text())
    assert record["longest"] == max(map(len, expected))
    assert (record["source"], record["tokenizer"], record["finished"]) == ("tales", tokenizer.hash, True)
    assert sorted(files(tmp_path)) == ["pack.json", "starts.bin", "tokens.bin"]
    with pytest.raises(IndexError, match="story 300 is not among the 300"):
        packed.story(300)


def test_an_empty_story_is_its_bos_alone(tokenizer: Tokenizer, tmp_path: Path) -> None:
    packed = pack(["", "Tom.", ""], tokenizer, tmp_path, source="tales")
    assert [packed.story(n).tolist() for n in range(3)] == tokenizer.encode(["", "Tom.", ""])


def test_large_vocabularies_take_four_bytes(tmp_path: Path) -> None:
    names = {"<s>": 0, "[UNK]": 1} | {f"w{n}": n for n in range(2, 70_000)}
    backend = Backend(models.WordLevel(names, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    packed = pack(["w69999 w2"], Tokenizer(backend, "<s>"), tmp_path, source="tales")
    assert packed.tokens.dtype == np.uint32
    assert packed.tokens.tolist() == [0, 69999, 2]


KILLED = """
import sys, time
import tslens.stories.pack as packing
from tslens.tokenizer import Tokenizer
packing.BATCH, packing.NOTE_EVERY = 10, 0.0
def slowly():
    for line in open(sys.argv[1], encoding="utf-8"):
        time.sleep(0.002)
        yield line.rstrip("\\n")
packing.pack(slowly(), Tokenizer.load(sys.argv[2]), sys.argv[3], source="tales")
"""


def test_a_killed_packing_goes_on_to_the_same_bytes(
    tokenizer: Tokenizer, tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    (tmp_path / "tales.txt").write_text("".join(f"{tale}\n" for tale in TALES), encoding="utf-8")
    folder, counts = tmp_path / "killed", []
    for enough in (60, 150, 240):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, tmp_path / "tales.txt", tmp_path / "tokenizer.json", folder], cwd=checkout
        )
        deadline = time.monotonic() + 60
        while stories_noted(folder) < enough and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        counts.append(stories_noted(folder))
        with pytest.raises(ValueError, match=r"was not finished \(\d+ stories packed\); pack again to resume"):
            Packed.open(folder, tokenizer)
    assert counts == sorted(set(counts)) and counts[-1] < 300  # each went on from the one before
    encoded = count_encoded(monkeypatch)
    pack(TALES, tokenizer, folder, source="tales")
    assert sum(encoded) == 300 - counts[-1]
    pack(TALES, tokenizer, tmp_path / "whole", source="tales")
    assert files(folder) == files(tmp_path / "whole")


def stories_noted(folder: Path) -> int:
    path = folder / "pack.json"
    return json.loads(path.read_text())["stories"] if path.is_file() else 0


def count_encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many stories each call of the tokenizer was given, from now on."""
    counts, encodings = [], Tokenizer.encodings

    def counted(self: Tokenizer, texts: list[str]) -> list:
        counts.append(len(texts))
        return encodings(self, texts)

    monkeypatch.setattr(Tokenizer, "encodings", counted)
    return counts


def interrupted(after: int) -> Iterator[str]:
    yield from TALES[:after]
    raise KeyboardInterrupt


def test_what_a_kill_left_behind_the_last_note_is_cut_off(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "BATCH", 10)
    monkeypatch.setattr(packing, "NOTE_EVERY", 0.0)
    with pytest.raises(KeyboardInterrupt):
        pack(interrupted(100), tokenizer, tmp_path / "stopped", source="tales")
    assert 50 < stories_noted(tmp_path / "stopped") <= 100
    for name in ("tokens.bin", "starts.bin"):
        with (tmp_path / "stopped" / name).open("ab") as file:
            file.write(b"half a batch")
    pack(TALES, tokenizer, tmp_path / "stopped", source="tales")
    pack(TALES, tokenizer, tmp_path / "whole", source="tales")
    assert files(tmp_path / "stopped") == files(tmp_path / "whole")


def test_a_finished_packing_is_only_checked(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(TALES, tokenizer, tmp_path, source="tales")
    before, encoded = files(tmp_path), count_encoded(monkeypatch)
    pack(TALES, tokenizer, tmp_path, source="tales")
    assert files(tmp_path) == before
    assert encoded == []


def test_other_stories_are_not_appended(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pack(TALES[:50], tokenizer, tmp_path, source="tales")
    for others in (TALES[1:], TALES[:20]):
        with pytest.raises(ValueError, match="holds 50 stories that are not the first of others"):
            pack(others, tokenizer, tmp_path, source="others")
    assert pack(TALES, tokenizer, tmp_path, source="tales").n_stories == 300  # more of the same are
    anew = pack(TALES[1:], tokenizer, tmp_path, source="others", resume=False)
    assert anew.n_stories == 299


def test_the_wrong_tokenizer_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pack(TALES, tokenizer, tmp_path, source="tales")
    other = Tokenizer.train(TALES, 280)
    with pytest.raises(
        ValueError, match=f"another tokenizer .hash {tokenizer.hash[:12]}, and this one is {other.hash[:12]}"
    ):
        Packed.open(tmp_path, other)
    with pytest.raises(ValueError, match="packed with another tokenizer"):
        pack(TALES, other, tmp_path, source="tales")


def test_damaged_packs_are_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no packed stories"):
        Packed.open(tmp_path, tokenizer)
    pack(TALES, tokenizer, tmp_path, source="tales")
    whole = files(tmp_path)
    for name in ("tokens.bin", "starts.bin"):
        (tmp_path / name).write_bytes(whole[name][:-2])
        with pytest.raises(ValueError, match=rf"{name} has .* bytes and should have .*. Restore it, or remove"):
            Packed.open(tmp_path, tokenizer)
        (tmp_path / name).write_bytes(whole[name])
    record = tmp_path / "pack.json"
    record.write_text(json.dumps(json.loads(whole["pack.json"]) | {"version": 2}))
    with pytest.raises(ValueError, match="is of version 2, and this tslens reads version 1"):
        Packed.open(tmp_path, tokenizer)
    other = [json.loads(whole["pack.json"]) | change for change in ({"stories": "x"}, {"dtype": "foo"}, {"more": 1})]
    for text in ("{", "[]", '{"version": 1}', *map(json.dumps, other)):
        record.write_text(text)
        with pytest.raises(ValueError, match="is not (JSON|the record of packed stories)"):
            Packed.open(tmp_path, tokenizer)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_a_pack_that_is_not_replaced_after_all_stays_whole(
    error: type[BaseException], tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "BATCH", 10)
    pack(TALES, tokenizer, tmp_path, source="tales")
    before = files(tmp_path)

    def stopped() -> Iterator[str]:
        yield from TALES[50:200]
        raise error

    with pytest.raises(error):
        pack(stopped(), tokenizer, tmp_path, source="others", resume=False)
    assert files(tmp_path) == before
    assert pack(TALES[:9], tokenizer, tmp_path, source="few", resume=False).n_stories == 9
    assert sorted(files(tmp_path)) == sorted(before)


def test_a_fault_leaves_nothing_and_an_interruption_what_can_be_resumed(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "BATCH", 10)
    monkeypatch.setattr(packing, "NOTE_EVERY", 0.0)

    def broken() -> Iterator[str]:
        yield from TALES[:200]
        raise InputError("a bad byte")

    with pytest.raises(InputError, match="a bad byte"):
        pack(broken(), tokenizer, tmp_path / "a/b", source="tales", keep_tokenizer=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        pack(interrupted(100), tokenizer, tmp_path / "a/b", source="tales", keep_tokenizer=True)
    noted = stories_noted(tmp_path / "a/b")
    assert noted > 50
    with pytest.raises(ValueError, match="a bad byte"):  # what an earlier command left is not this one's to remove
        pack(broken(), tokenizer, tmp_path / "a/b", source="tales", keep_tokenizer=True)
    assert stories_noted(tmp_path / "a/b") > noted
    assert pack(TALES, tokenizer, tmp_path / "a/b", source="tales").n_stories == 300


def test_no_stories_make_no_pack(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are no stories in tales to pack"):
        pack([], tokenizer, tmp_path / "packed", source="tales")
    assert not (tmp_path / "packed").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_leaves_nothing_that_opens(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "tokens.bin").symlink_to("/dev/full")
    with pytest.raises(OSError, match="the disk is full, and the stories are not all packed") as caught:
        pack(TALES, tokenizer, tmp_path, source="tales")
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(ValueError, match="was not finished"):
        Packed.open(tmp_path, tokenizer)
    (tmp_path / "tokens.bin").unlink()  # room is made
    assert pack(TALES, tokenizer, tmp_path, source="tales").n_stories == 300


def test_progress_is_shown_on_stderr(tokenizer: Tokenizer, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pack(TALES, tokenizer, tmp_path, source="tales")
    out, err = capfd.readouterr()
    assert out == ""
    assert "300 stories" in err and "stories/s" in err and "MB/s" in err


@pytest.mark.parametrize("name", ["tokens.bin", "starts.bin"])
def test_a_pack_that_was_altered_in_place_is_told_from_a_whole_one(
    tokenizer: Tokenizer, tmp_path: Path, name: str
) -> None:
    pack(TALES, tokenizer, tmp_path, source="tales")
    whole = (tmp_path / name).read_bytes()
    assert Packed.open(tmp_path, tokenizer, check=True).n_stories == 300
    (tmp_path / name).write_bytes(whole[::-1])
    Packed.open(tmp_path, tokenizer)  # the same size
    said = rf"{name} was altered since it was packed: its hash is not the one in pack\.json. Restore it, or remove "
    with pytest.raises(ValueError, match=said):
        Packed.open(tmp_path, tokenizer, check=True)
    with pytest.raises(ValueError, match=said):  # and not packed on, with a new hash
        pack(TALES, tokenizer, tmp_path, source="tales")
    (tmp_path / name).write_bytes(whole)
    more = pack([*TALES, "Tom."], tokenizer, tmp_path, source="tales")
    assert Packed.open(tmp_path, tokenizer, check=True).n_stories == more.n_stories == 301


def test_a_pack_without_hashes_is_opened_as_it_is(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pack(TALES, tokenizer, tmp_path, source="tales")
    record = json.loads((tmp_path / "pack.json").read_text())
    older = {key: value for key, value in record.items() if not key.endswith("_hash")}
    (tmp_path / "pack.json").write_text(json.dumps(older))
    assert Packed.open(tmp_path, tokenizer, check=True).n_stories == 300


RACE = """
import sys, time
from pathlib import Path
import tslens.stories.pack as packing
from tslens import progress
from tslens.tokenizer import Tokenizer
tales, tokenizer, folder, barrier, me, resume = sys.argv[1:]
packing.BATCH, packing.NOTE_EVERY = 10, 0.0
chosen = Tokenizer.load(tokenizer)
lines = open(tales, encoding="utf-8").read().splitlines()
def slowly():
    for line in lines:
        time.sleep(0.0005)
        yield line
Path(barrier, me).touch()
for _ in range(60_000):
    if len(list(Path(barrier).iterdir())) == 2:
        break
    time.sleep(0.001)
try:
    with progress.off():
        packing.pack(slowly(), chosen, folder, source=me, resume=resume == "yes", keep_tokenizer=True)
except ValueError as error:
    sys.exit(str(error))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("resume", ["yes", "no"])
def test_two_packers_of_one_folder_never_mix(tokenizer: Tokenizer, tmp_path: Path, checkout: Path, resume: str) -> None:
    """From a barrier, each with stories of its own: the folder ends as one of them packs it alone."""
    tokenizer.save(tmp_path / "tokenizer.json")
    alone, said = {}, []
    for me, tales in (("0", TALES), ("1", TALES[::-1])):
        (tmp_path / f"{me}.txt").write_text("".join(f"{tale}\n" for tale in tales), encoding="utf-8")
        pack(tales, tokenizer, tmp_path / me, source=me, keep_tokenizer=True)
        alone[me] = files(tmp_path / me)
    for trial in range(3):
        folder, barrier = tmp_path / f"raced{trial}", tmp_path / f"barrier{trial}"
        barrier.mkdir()
        racers = [
            subprocess.Popen(
                [
                    *(sys.executable, "-c", RACE, tmp_path / f"{me}.txt", tmp_path / "tokenizer.json"),
                    *(folder, barrier, me, resume),
                ],
                cwd=checkout,
                stderr=subprocess.PIPE,
                text=True,
            )
            for me in alone
        ]
        said = [racer.communicate(timeout=120)[1] for racer in racers]
        won = [me for me, racer in zip(alone, racers, strict=True) if racer.returncode == 0]
        assert files(folder) in [alone[me] for me in won], said
        for line in filter(None, said):
            assert line.count("\n") == 1, line
            assert "is being written by process" in line or "are not the first of" in line
        assert len(won) == 1 or resume == "no"  # one after the other, the second replaces the first
        Packed.open(folder, tokenizer, check=True)


def test_a_folder_that_is_being_packed_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:

        def while_another_packs() -> Iterator[str]:
            yield from TALES[:200]
            again = pool.submit(pack, TALES, tokenizer, tmp_path / "a", source="again")
            with pytest.raises(InputError, match=r"pack\.json is being written by process \d+ .*Wait for it or"):
                again.result()
            yield from TALES[200:]

        packed = pack(while_another_packs(), tokenizer, tmp_path / "a", source="tales")
    assert packed.n_stories == 300 and sorted(files(tmp_path / "a")) == ["pack.json", "starts.bin", "tokens.bin"]


@pytest.mark.parametrize("name", ["tokens.bin", "starts.bin"])
def test_what_another_program_writes_among_the_tokens_is_never_vouched_for(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """One that takes no lock, and leaves the files as long as they should be."""
    synced = packing.sync

    def meddled(*opened: IO[Any]) -> None:
        synced(*opened)
        with (tmp_path / name).open("r+b") as file:
            file.write(b"\7")

    monkeypatch.setattr(packing, "sync", meddled)
    with pytest.raises(InputError, match=r"does not hold the 300 stories and [\d,]+ tokens that were packed"):
        pack(TALES, tokenizer, tmp_path, source="tales")
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError, match="holds no packed stories"):
        Packed.open(tmp_path, tokenizer)
