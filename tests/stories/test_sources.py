"""Every kind of source gives the same stories, a little at a time, and bad ones say what to do."""

import csv
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from tslens.errors import InputError
from tslens.stories import Source, find_source, readers

TALES = ["Tom ran.\n\nHe fell.", 'Anna said, "Hi, 1, 2."', "“Boo!” – said the 🐲.", "The end."]


def write_txt(path: Path, tales: list[str]) -> None:
    path.write_text("".join(f"{tale}\n<|endoftext|>\n" for tale in tales), encoding="utf-8")


def write_jsonl(path: Path, tales: list[str]) -> None:
    path.write_text("".join(json.dumps({"id": n, "story": tale}) + "\n" for n, tale in enumerate(tales)))


def write_csv(path: Path, tales: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "text"), *enumerate(tales)])


def write_parquet(path: Path, tales: list[str]) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"id": range(len(tales)), "text": tales}), path)


WRITERS: dict[str, Callable[[Path, list[str]], None]] = {
    "txt": write_txt,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}


def write_hub_folder(folder: Path, tales: list[str], held_out: list[str]) -> None:
    """A dataset as the hub keeps it: a card with its configuration, and a parquet file for each split."""
    (folder / "data").mkdir(parents=True)
    write_parquet(folder / "data/train-00000-of-00001.parquet", tales)
    write_parquet(folder / "data/validation-00000-of-00001.parquet", held_out)
    (folder / "README.md").write_text(
        "---\nlanguage:\n- en\nconfigs:\n- config_name: default\n  data_files:\n"
        "  - split: train\n    path: data/train-*\n  - split: validation\n    path: data/validation-*\n---\n# Tales\n"
    )


@pytest.mark.parametrize("kind", WRITERS)
def test_each_kind_gives_the_stories_again_and_again(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"tales.{kind}"
    WRITERS[kind](path, TALES)
    source = find_source(str(path))
    assert [story.strip() for story in source] == TALES
    assert [story.strip() for story in source] == TALES
    assert source.n_bytes == path.stat().st_size


def test_separators_on_the_border_of_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_txt(tmp_path / "tales.txt", TALES)
    for chunk in range(1, 40):
        monkeypatch.setattr(readers, "_CHUNK", chunk)
        assert [story.strip() for story in Source(str(tmp_path / "tales.txt"))] == TALES


def test_a_byte_order_mark_and_a_missing_last_separator(tmp_path: Path) -> None:
    (tmp_path / "tales.txt").write_bytes(b"\xef\xbb\xbfTom ran.<|endoftext|>Anna ran.")
    assert list(Source(str(tmp_path / "tales.txt"))) == ["Tom ran.", "Anna ran."]


@pytest.mark.parametrize("kind", WRITERS)
def test_memory_does_not_grow_with_the_file(kind: str, tmp_path: Path) -> None:
    import pyarrow

    path = tmp_path / f"tales.{kind}"
    tales = [f"{n} " + f"Tom met cat {n * 7919}. " * 160 for n in range(16_000 if kind == "parquet" else 6000)]
    WRITERS[kind](path, tales)
    size = sum(map(len, tales))
    last, arrow = tales[-1], 0
    del tales
    held = pyarrow.total_allocated_bytes()
    tracemalloc.start()
    found = ""
    for n, found in enumerate(Source(str(path))):  # noqa: B007
        if n % 128 == 0:
            arrow = max(arrow, pyarrow.total_allocated_bytes() - held)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.strip() == last.strip()
    assert peak + arrow < size / 3  # 21 MB; of parquet 56 MB in one row group, where pages take about 10


def test_the_first_story_of_a_huge_file_comes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.write(b"Tom ran.<|endoftext|>")
        file.truncate(2 * 2**30)  # a hole of 2 GiB, which takes no room
    found = iter(Source(str(path)))
    assert next(found) == "Tom ran."
    with pytest.raises(ValueError, match=r"huge\.txt has no <\|endoftext\|> for 16 MiB from byte 21"):
        next(found)
    path.rename(tmp_path / "huge.jsonl")
    with pytest.raises(ValueError, match="a line of over 16 MiB at byte 0"):
        next(iter(Source(str(tmp_path / "huge.jsonl"))))


def test_a_split_of_nothing_is_refused() -> None:
    for spec in ("@validation", "@train:text", ":text"):
        with pytest.raises(ValueError, match="names no stories"):
            find_source(spec)


def test_missing_files_name_the_nearest(tmp_path: Path, in_tmp: Path) -> None:
    with pytest.raises(FileNotFoundError, match="give a file, a dataset folder or a hub id"):
        find_source("made-up")
    write_txt(tmp_path / "tinystories.txt", TALES)
    with pytest.raises(FileNotFoundError, match=r"tinystorys\.txt; the nearest there: tinystories\.txt"):
        find_source(str(tmp_path / "tinystorys.txt"))
    with pytest.raises(FileNotFoundError, match="nor a folder"):
        find_source(str(tmp_path / "absent/tales.txt"))
    with pytest.raises(FileNotFoundError, match=r"there is no made-up; the nearest there: tinystories\.txt"):
        find_source("made-up")
    with pytest.raises(ValueError, match="names a split of a file, and a file has none"):
        find_source(f"{tmp_path}/tinystories.txt@validation")


@pytest.mark.parametrize("kind", WRITERS)
def test_empty_files_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"none.{kind}"
    WRITERS[kind](path, [])
    with pytest.raises(ValueError, match="is empty; give a source that holds at least one story"):
        list(Source(str(path)))
    if kind != "parquet":
        path.write_bytes(b"")
        with pytest.raises(ValueError, match="is empty"):
            list(Source(str(path)))


@pytest.mark.parametrize("kind", ["txt", "jsonl", "csv"])
def test_bytes_that_are_not_utf8_are_named_by_their_offset(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"tales.{kind}"
    WRITERS[kind](path, [*TALES, "XX", "Anna ran."])
    raw = path.read_bytes()
    offset = raw.index(b"XX") + 1
    path.write_bytes(raw.replace(b"XX", b"X\xff"))
    with pytest.raises(ValueError, match=rf"is not UTF-8: byte 0xff at offset {offset}; convert it"):
        list(Source(str(path)))


def test_a_column_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    write_csv(tmp_path / "tales.csv", TALES)
    with pytest.raises(ValueError, match="has no column tale; it has id, text; name one as PATH:COLUMN"):
        list(find_source(f"{tmp_path}/tales.csv:tale"))
    write_parquet(tmp_path / "tales.parquet", TALES)
    with pytest.raises(ValueError, match="'id' is int, not text"):
        list(find_source(f"{tmp_path}/tales.parquet:id"))
    (tmp_path / "tales.jsonl").write_text('{"body": "Tom ran."}\n')
    with pytest.raises(ValueError, match="has no column text or story; it has body"):
        list(find_source(f"{tmp_path}/tales.jsonl"))
    assert list(find_source(f"{tmp_path}/tales.jsonl:body")) == ["Tom ran."]
    write_txt(tmp_path / "tales.txt", TALES)
    with pytest.raises(ValueError, match="is plain text and has no column 'text'"):
        list(find_source(f"{tmp_path}/tales.txt:text"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "Tom."}\n\n{"text": \n', "line 3 is not JSON"),
        ("a.jsonl", '{"text": ' + "7" * 5000 + "}", "line 1 is not JSON"),
        ("a.jsonl", "[" * 200_000, "line 1 is not JSON"),
        ("a.jsonl", '["Tom."]\n', "line 1 is list; give one object a line"),
        ("a.jsonl", '{"text": 5}\n', "line 1: 'text' is int, not text"),
        ("a.jsonl", '{"text": "\\ud83d"}\n', "half a surrogate pair"),
        ("a.csv", 'text\n"Tom ran.', "is not CSV"),
        ("a.parquet", "PAR1 and nothing else", "is not a whole parquet file"),
        ("a.docx", "Tom ran.", r"has the extension '\.docx'; stories are read from \.txt, \.jsonl, \.csv, \.parquet"),
    ],
)
def test_broken_files_are_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        list(find_source(str(tmp_path / name)))


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tales.parquet"
    write_parquet(path, TALES)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="is not a whole parquet file"):
        list(Source(str(path)))


def test_a_parquet_file_with_a_damaged_page_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tales.parquet"
    write_parquet(path, TALES)
    raw = bytearray(path.read_bytes())
    pages = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")  # behind the pages: what says where they are
    raw[4:pages] = b"\xff" * (pages - 4)
    path.write_bytes(raw)
    with pytest.raises(InputError, match="is not a whole parquet file"):
        list(Source(str(path)))


def test_a_folder_in_the_layout_of_the_hub(tmp_path: Path) -> None:
    write_hub_folder(tmp_path / "tales", TALES, ["Held out."])
    assert list(find_source(str(tmp_path / "tales"))) == TALES
    assert list(find_source(f"{tmp_path}/tales@validation:text")) == ["Held out."]
    with pytest.raises(ValueError, match="has no split 'test'; it has train, validation"):
        list(find_source(f"{tmp_path}/tales@test"))
    with pytest.raises(ValueError, match="no column body; it has id, text"):
        list(find_source(f"{tmp_path}/tales:body"))


def test_a_dataset_of_lines_is_joined_to_stories(tmp_path: Path) -> None:
    # TinyStoriesInstruct is kept as plain text, of which `datasets` makes a row a line.
    folder = tmp_path / "instruct"
    folder.mkdir()
    tales = ["Words: run, cat, big\nStory: \n\nTom ran.\nHe fell.", "Summary: Anna runs.\nStory: \n\nAnna ran."]
    (folder / "TinyTales-Instruct-train.txt").write_text("".join(f"{tale}\n<|endoftext|>\n" for tale in tales))
    (folder / "TinyTales-Instruct-valid.txt").write_text(f"{tales[1]}\n<|endoftext|>\n{tales[0]}")
    assert list(find_source(str(folder))) == tales
    assert list(find_source(f"{folder}@validation")) == tales[::-1]


@pytest.mark.parametrize("name", ["csv", "text", "json", "parquet", "pandas"])
def test_a_folder_called_like_a_builder_is_that_folder(name: str, in_tmp: Path) -> None:
    """`datasets` reads a bare "csv" as its packaged builder over the working folder, whose files are others."""
    write_csv(in_tmp / "other.csv", ["Not this."])
    write_txt(in_tmp / "other.txt", ["Nor this."])
    write_hub_folder(in_tmp / name, TALES, ["Held out."])
    assert list(find_source(name)) == TALES
    assert list(find_source(f"{name}@validation")) == ["Held out."]


def write_two_configs(folder: Path, default: str = "") -> None:
    for name, tales in {"old": TALES[:2], "new": TALES[2:]}.items():
        (folder / name).mkdir(parents=True)
        write_parquet(folder / name / "train.parquet", tales)
        write_parquet(folder / name / "held.parquet", [f"Held out of {name}."])
    configs = "".join(
        f"- config_name: {name}\n{default if name == 'new' else ''}  data_files:\n"
        f"  - split: train\n    path: {name}/train.parquet\n  - split: validation\n    path: {name}/held.parquet\n"
        for name in ("old", "new")
    )
    (folder / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")


def test_of_several_configurations_one_is_named(tmp_path: Path, refused: Callable) -> None:
    folder = tmp_path / "tales"
    write_two_configs(folder)
    assert list(find_source(f"{folder}@new/train")) == TALES[2:]
    assert list(find_source(f"{folder}@old/")) == TALES[:2]
    assert list(find_source(f"{folder}@old/validation:text")) == ["Held out of old."]
    with refused("tales has several configurations; it has old, new; name one as .*tales@CONFIG/SPLIT"):
        list(find_source(str(folder)))
    with refused("tales has no configuration 'odd'; it has old, new; name one as .*tales@CONFIG/SPLIT"):
        list(find_source(f"{folder}@odd/train"))
    with refused("no split 'test'; it has train, validation; name one as .*tales@old/SPLIT"):
        list(find_source(f"{folder}@old/test"))
    write_two_configs(tmp_path / "chosen", default="  default: true\n")
    assert list(find_source(str(tmp_path / "chosen"))) == TALES[2:]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.txt", b"Tom ran.\nX\xff\n", r"tales/train\.txt is not UTF-8: byte 0xff at offset 10; convert it"),
        ("train.txt", b"\xef\xbb\xbfTom\xffran.\n", r"byte 0xff at offset 6; convert it"),
        ("train.csv", b"text\nTom\nX\xff\n", r"tales/train\.csv is not UTF-8: byte 0xff at offset 10; convert it"),
        ("train.jsonl", b'{"text": "a"}\n{"text": \n', r"tales/train\.jsonl, line 2 is not JSON"),
        (
            "train.jsonl",
            b'{"text": "a"}\n' * 3 + b'{"text": "\xff"}',
            r"is not UTF-8: byte 0xff at offset 52; convert",
        ),
        ("train.csv", b"text\nTom\na,b,c\n", "the dataset folder .*tales cannot be read .*mend it, or give one of its"),
        ("train.parquet", b"PAR1 and nothing else", "the dataset folder .*tales cannot be read .*mend it"),
        ("README.md", b"---\nconfigs: [\n---\n", "the dataset folder .*tales cannot be read .*mend it"),
    ],
)
def test_a_broken_file_of_a_folder_is_named(
    name: str, content: bytes, message: str, tmp_path: Path, refused: Callable
) -> None:
    (tmp_path / "tales").mkdir()
    write_txt(tmp_path / "tales/README.txt" if name == "README.md" else tmp_path / "tales/about.md", ["Whole."])
    (tmp_path / "tales" / name).write_bytes(content)
    with refused(message):
        list(find_source(str(tmp_path / "tales")))


def test_a_text_without_separators_is_one_story_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "tales.txt"
    path.write_text("Tom ran.\n\nAnna ran.\n")
    with pytest.warns(UserWarning, match=r"tales\.txt has no <\|endoftext\|> and is read as one story; put it between"):
        assert list(Source(str(path))) == ["Tom ran.\n\nAnna ran.\n"]
    path.write_text("Tom ran.\n<|endoftext|>\n")  # with one behind it, it is one story, and no warning is due
    assert len(list(Source(str(path)))) == 1


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ValueError, match=r"the dataset folder .* cannot be read"):
        list(find_source(str(tmp_path / "nothing")))


def test_a_hub_id_without_the_network_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    source = find_source("roneneldan/TinyStories@validation")
    assert (source.place, source.part, source.n_bytes) == ("roneneldan/TinyStories", "validation", None)
    with pytest.raises(
        ValueError, match=r"the hub id roneneldan/TinyStories cannot be read .*give a file or a dataset"
    ):
        list(source)
    assert not caplog.records  # of the tries nothing is told
