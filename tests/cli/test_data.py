"""The commands that make, check and pack stories, as they are typed."""

import json
from pathlib import Path

import pytest
from cyclopts import App

from tslens.cli import data
from tslens.stories import stories
from tslens.stories.instruct import parse
from tslens.stories.pack import Packed
from tslens.tokenizer import Tokenizer

TALES = [f"Tom met {n} cats. They ran and ran." for n in range(80)]


def run(*words: object) -> None:
    """The command line ``tslens stories ...``."""
    app = App(result_action="return_value")
    for command in (data.make, data.check, data.pack):
        app.command(command)
    app([str(word) for word in words], exit_on_error=False, print_error=False)


@pytest.fixture
def tales(tmp_path: Path) -> Path:
    path = tmp_path / "tales.jsonl"
    path.write_text("".join(json.dumps({"text": tale}) + "\n" for tale in [*TALES, TALES[0], "", "Tom ran and"]))
    return path


def test_check_prints_a_table_or_json(tales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("check", tales)
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["source", "read", "kept", "repaired", "empty", "truncated", "duplicate"]
    assert row.split()[1:] == ["83", "80", "0", "1", "1", "1"]
    other = tales.with_name("other.txt")
    other.write_text(f"{TALES[5]}<|endoftext|>Anna ran.")
    run("check", f"{tales},{other}", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found[str(other)] == {"read": 2, "kept": 1, "repaired": 0, "empty": 0, "truncated": 0, "duplicate": 1}


def test_pack_trains_a_tokenizer_and_resumes(tales: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "packed"
    run("pack", tales, "--out", out, "--vocab", 300)
    assert capsys.readouterr().out.startswith("80 stories, ")
    packed = Packed.open(out, Tokenizer.load(out / "tokenizer.json"))
    assert Tokenizer.load(out / "tokenizer.json").decode(packed.story(7)) == TALES[7]
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert sorted(before) == ["pack.json", "starts.bin", "tokenizer.json", "tokens.bin"]
    run("pack", tales, "--out", out, "--json")
    assert json.loads(capsys.readouterr().out)["stories"] == 80
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_pack_refuses_what_does_not_fit(tales: Path, tmp_path: Path) -> None:
    out = tmp_path / "packed"
    run("pack", tales, "--out", out, "--vocab", 300)
    with pytest.raises(ValueError, match="has 300 tokens, not 280; leave --vocab out, or give --no-resume"):
        run("pack", tales, "--out", out, "--vocab", 280)
    Tokenizer.train(TALES, 270).save(tmp_path / "other.json")
    with pytest.raises(ValueError, match="was packed with another tokenizer"):
        run("pack", tales, "--out", out, "--tokenizer", tmp_path / "other.json")
    run("pack", tales, "--out", out, "--tokenizer", tmp_path / "other.json", "--no-resume")
    assert Tokenizer.load(out / "tokenizer.json").size == 270
    with pytest.raises(ValueError, match="there is no split 'test'"):
        run("pack", tales, "--out", out, "--split", "test")


def test_nothing_is_written_for_a_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no"):
        run("pack", tmp_path / "absent.txt", "--out", tmp_path / "packed")
    (tmp_path / "none.txt").write_text("")
    with pytest.raises(ValueError, match="is empty"):
        run("pack", tmp_path / "none.txt", "--out", tmp_path / "packed")
    assert [path.name for path in tmp_path.iterdir()] == ["none.txt"]


def test_made_stories_are_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = list(stories("made", limit=5, seed=2))
    run("make", 5, "--out", tmp_path / "made.txt", "--seed", 2)
    assert list(stories(str(tmp_path / "made.txt"))) == made
    run("make", 5, "--out", tmp_path / "made.jsonl", "--seed", 2)
    assert list(stories(str(tmp_path / "made.jsonl"))) == made
    record = json.loads((tmp_path / "made.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert all(record["text"][start:end].strip() for start, end, _ in record["tags"])
    capsys.readouterr()
    run("make", 2, "--seed", 2)
    assert capsys.readouterr().out == "".join(f"{story}\n<|endoftext|>\n" for story in made[:2])


def test_made_instructions_are_read_back(tmp_path: Path) -> None:
    run("make", 12, "--out", tmp_path / "made.jsonl", "--instruct")
    rows = [json.loads(line) for line in (tmp_path / "made.jsonl").read_text(encoding="utf-8").splitlines()]
    read = [parse(row["text"]) for row in rows]
    assert [given.story for given in read] == [row["story"] for row in rows]
    assert all(given.blocks for given in read)
    assert len({tuple(kind for kind, _ in given.blocks) for given in read}) > 3


def test_make_refuses_other_kinds_of_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"stories are written to \.txt or \.jsonl"):
        run("make", 5, "--out", tmp_path / "made.docx")
    with pytest.raises(ValueError, match="0 stories is none"):
        run("make", 0)
    assert list(tmp_path.iterdir()) == []
