"""The commands that make, check and pack stories, as they are typed."""

import json
from pathlib import Path

import pytest
from cyclopts import App

from tslens import cli
from tslens.cli import making
from tslens.cli import stories as commands
from tslens.stories import stories
from tslens.stories.instruct import parse
from tslens.stories.packed import Packed
from tslens.tokenizer import Tokenizer

TALES = [f"Tom met {n} cats. They ran and ran." for n in range(80)]


def run(*words: object) -> None:
    """The command line ``tslens stories ...``."""
    app = App(result_action="return_value")
    for command in (making.make, commands.check, commands.pack):
        app.command(command)
    app([str(word) for word in words], exit_on_error=False, print_error=False)


@pytest.fixture
def tales(tmp_path: Path) -> Path:
    path = tmp_path / "tales.jsonl"
    path.write_text("".join(json.dumps({"text": tale}) + "\n" for tale in [*TALES, TALES[0], "", "Tom ran and"]))
    return path


def test_check_prints_a_table_or_json(tales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("check", tales)
    said, head, row = capsys.readouterr().out.splitlines()
    assert said == "80 of 83 stories are kept, 0 of them repaired."
    assert head.split() == ["source", "read", "kept", "repaired", "empty", "truncated", "duplicate"]
    assert row.split()[1:] == ["83", "80", "0", "1", "1", "1"]
    other = tales.with_name("märchen.txt")
    other.write_text(f"{TALES[5]}<|endoftext|>Anna ran.")
    run("check", f"{tales},{other}", "--json")
    printed = capsys.readouterr().out
    assert "märchen.txt" in printed  # as people write it, in this command as in all others
    found = json.loads(printed)
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


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("broken", [b"", b"Tom ran.<|endoftext|>Anna ran.<|endoftext|>X\xff"])
@pytest.mark.parametrize("resume", [True, False])
def test_what_cannot_be_packed_leaves_everything_as_it_was(
    broken: bytes, resume: bool, tales: Path, tmp_path: Path
) -> None:
    """With a tokenizer given, so that the source is read by the packing first."""
    for size in (270, 280):
        Tokenizer.train(TALES, size).save(tmp_path / f"{size}.json")
    (tmp_path / "broken.txt").write_bytes(broken)
    given = ["--out", tmp_path / "a/packed", *([] if resume else ["--no-resume"])]
    before = files(tmp_path)
    with pytest.raises(ValueError, match="is empty|is not UTF-8"):
        run("pack", tmp_path / "broken.txt", *given, "--tokenizer", tmp_path / "270.json")
    assert files(tmp_path) == before and not (tmp_path / "a").exists()
    run("pack", tales, *given, "--tokenizer", tmp_path / "270.json")
    before = files(tmp_path)
    with pytest.raises(ValueError, match="is empty|is not UTF-8|another tokenizer"):
        run("pack", tmp_path / "broken.txt", *given, "--tokenizer", tmp_path / "280.json")
    assert files(tmp_path) == before
    assert [path.name for path in (tmp_path / "a/packed").iterdir() if path.is_dir()] == []


def test_a_tokenizer_of_another_purpose_is_not_overwritten(tales: Path, tmp_path: Path) -> None:
    out = tmp_path / "packed"
    out.mkdir()
    Tokenizer.train(TALES, 270).save(out / "tokenizer.json")
    Tokenizer.train(TALES, 280).save(tmp_path / "other.json")
    before = files(out)
    with pytest.raises(ValueError, match=r"tokenizer\.json is another tokenizer; name another folder, or pack without"):
        run("pack", tales, "--out", out, "--tokenizer", tmp_path / "other.json")
    assert files(out) == before
    run("pack", tales, "--out", out)
    assert Packed.open(out, Tokenizer.load(out / "tokenizer.json")).n_stories == 80
    (out / "notes.md").write_text("mine")
    run("pack", tales, "--out", out, "--tokenizer", tmp_path / "other.json", "--no-resume")
    assert Packed.open(out, Tokenizer.load(tmp_path / "other.json")).n_stories == 80
    assert sorted(files(out)) == ["notes.md", "pack.json", "starts.bin", "tokenizer.json", "tokens.bin"]


def test_pack_cuts_the_vocabulary_of_gpt2_and_a_recipe_takes_it(
    tales: Path, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.test_tokenizer import MERGES, write_gpt2
    from tslens.train import recipe as recipes
    from tslens.train.session import prepare

    files = ",".join(map(str, write_gpt2(in_tmp, [*MERGES, ("a", "n"), ("r", "an")])))
    out = in_tmp / "packed"
    run("pack", tales, "--out", out, "--gpt2", files, "--keep", 259)
    cut = Tokenizer.load(out / "tokenizer.json")
    assert cut.size == 259  # "ran" stands twice in each tale, and is made of "an"
    assert cut.pieces(cut.encode(["They ran"], bos=False)[0]) == ["T", "h", "e", "y", " ", "ran"]
    assert cut.decode(Packed.open(out, cut).story(3)) == TALES[3]
    run("pack", tales, "--out", out, "--gpt2", files, "--keep", 259)  # again: the same cut, nothing to do
    run("pack", tales, "--out", in_tmp / "whole", "--gpt2", files)
    assert Tokenizer.load(in_tmp / "whole/tokenizer.json").size == 257 + len(MERGES) + 2
    small = {"data.limit": "60", "model.n_ctx": "16", "train.batch": "4", "train.steps": "1"}
    tokenizer = {"data.source": str(tales), "data.tokenizer": str(out / "tokenizer.json")}
    made = prepare(recipes.load("16x1x2", small | tokenizer), "cut")
    assert (made.tokenizer.hash, made.tokenizer.size) == (cut.hash, 259)


def test_pack_refuses_tokenizers_that_contradict_each_other(tales: Path, tmp_path: Path) -> None:
    given = ["pack", tales, "--out", tmp_path / "packed"]
    with pytest.raises(ValueError, match="--keep 300 cuts the vocabulary that --gpt2 names"):
        run(*given, "--keep", 300)
    with pytest.raises(ValueError, match="--vocab and --gpt2 each choose the tokenizer; give one"):
        run(*given, "--vocab", 300, "--gpt2", "a,b")
    with pytest.raises(ValueError, match=r"takes two files, VOCAB\.json,MERGES\.txt, and was given 'a'"):
        run(*given, "--gpt2", "a")
    assert not (tmp_path / "packed").exists()


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
    run("make", 5, "--seed", 2, "--json")
    assert capsys.readouterr().out == (tmp_path / "made.jsonl").read_text(encoding="utf-8")


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
    with pytest.raises(ValueError, match="0 stories were asked for"):
        run("make", 0)
    assert list(tmp_path.iterdir()) == []


def test_make_meets_a_request_or_refuses_it_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "made.jsonl"
    run("make", 3, "--words", "dog, run,happy", "--features", "dialogue", "--out", out)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(records) == 3
    for record in records:
        assert record["words"] == ["dog", "run", "happy"] and "Dialogue" in record["features"]
        assert '"' in record["text"] and "dog" in record["text"].lower()
    run("make", 1, "--words", "dog", "--instruct")
    assert "dog" in capsys.readouterr().out
    assert cli.main(["stories", "make", "1", "--words", "doog"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("tslens: the generator does not know the word 'doog'. Did you mean 'dog'")
    assert len(said.splitlines()) == 1


@pytest.mark.filterwarnings("default")
def test_a_text_without_separators_is_told_of_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tales.txt"
    path.write_text("Tom ran.\n\nAnna ran.\n")
    assert cli.main(["stories", "check", str(path)]) == 0
    said = capsys.readouterr().err
    assert f"tslens: warning: {path} has no <|endoftext|> and is read as one story; put it between stories" in said
    assert "UserWarning" not in said and "sources.py" not in said
