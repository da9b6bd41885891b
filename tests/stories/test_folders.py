"""Parquet files and dataset cards that would take all memory are refused before they are read."""

import io
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pyarrow
import pyarrow.parquet
import pytest

from tslens.errors import InputError
from tslens.stories import pages
from tslens.stories.pages import MOST_ROWS, refuse_repeats, rows_at_once
from tslens.stories.sources import find_source

Refused = Callable[[str], AbstractContextManager[None]]
MIB = 2**20
READ = """
import sys
import datasets, pyarrow.parquet
from tslens.bench.scan_memory import largest_resident
from tslens.errors import InputError
from tslens.stories.sources import find_source

before = largest_resident()
try:
    list(find_source(sys.argv[1]))
except InputError as error:
    print(error)
print(largest_resident() - before)
"""


def read_apart(place: Path) -> tuple[str, int]:
    """What is said of a source in a process of its own, and how many bytes its memory grew by."""
    command = [sys.executable, "-c", READ, str(place)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    said, grown = done.stdout.splitlines()
    return said, int(grown)


@pytest.fixture(scope="module")
def one_long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file with a story of 300 MiB."""
    path = tmp_path_factory.mktemp("one") / "train.parquet"
    with pyarrow.parquet.ParquetWriter(path, pyarrow.schema({"text": pyarrow.string()}), compression="zstd") as file:
        for story in ("Tom ran.", "x" * 300 * MIB):
            file.write_table(pyarrow.table({"text": [story]}))
    assert path.stat().st_size < 100_000
    return path


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file with a story of 20 MiB once in a dictionary, and in 100 rows."""
    path = tmp_path_factory.mktemp("repeated") / "train.parquet"
    rows = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 100), pyarrow.array(["x" * 20 * MIB]))
    pyarrow.parquet.write_table(pyarrow.table({"text": rows}), path, compression="zstd", store_schema=False)
    return path


@pytest.mark.parametrize("name", ["train.parquet", ""])
def test_a_page_too_large_to_read_is_refused(one_long: Path, name: str) -> None:
    said, grown = read_apart(one_long.parent / name)
    place = f"{one_long}, rows 2 to 2: 'text' has a page of 314,572,804 bytes, and at most 128 MiB are read"
    assert said.startswith(place), said
    assert grown < 100 * MIB


def test_a_story_too_long_is_not_read_for_all_rows_at_once(repeated: Path) -> None:
    said, grown = read_apart(repeated)
    assert said == f"{repeated}, row 1: 'text' has a text of over 16 MiB; give a story a row"
    assert grown < 600 * MIB


def test_a_folder_whose_rows_repeat_a_long_story_is_refused(repeated: Path) -> None:
    said, grown = read_apart(repeated.parent)
    place = f"{repeated}, rows 1 to 100: 'text' repeats its texts to at least 2,097,152,000 bytes, over 1,024 MiB and"
    assert said.startswith(place), said
    assert grown < 300 * MIB


def test_repeated_texts_are_counted_within_lists_and_structs(tmp_path: Path) -> None:
    told = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 99 + [1, None]), pyarrow.array(["x" * 12 * MIB, "é"])
    )
    listed = pyarrow.ListArray.from_arrays(pyarrow.array([0, 50, 101], pyarrow.int32()), told)
    for name, column in {"l.list.element": listed, "s.t": pyarrow.StructArray.from_arrays([told], ["t"])}.items():
        path = tmp_path / f"{name}.parquet"
        pyarrow.parquet.write_table(pyarrow.table({name[0]: column}), path, store_schema=False)
        with pytest.raises(InputError, match=f"'{name}' repeats its texts to at least {99 * 12 * MIB + 2:,} bytes"):
            refuse_repeats(path, pyarrow.parquet.read_metadata(path))


def test_a_text_that_prefixes_repeat_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_GROUP", 200 * MIB)
    path = tmp_path / "train.parquet"
    encoding = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY", "compression": "zstd"}
    pyarrow.parquet.write_table(pyarrow.table({"text": ["x" * MIB] * 500}), path, store_schema=False, **encoding)
    assert path.stat().st_size < 5_000
    with pytest.raises(InputError, match=r"rows 1 to 500: 'text' repeats its texts to at least 266,\d{3},\d{3} bytes"):
        refuse_repeats(path, pyarrow.parquet.read_metadata(path))  # 127 rows at once, and no more than twice


@pytest.mark.parametrize("dictionary", [False, True])
def test_only_texts_of_which_the_file_holds_little_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dictionary: bool
) -> None:
    """A large group of honest stories is read; one of texts that a compressor reduces to nothing is not."""
    monkeypatch.setattr(pages, "MOST_GROUP", 10 * MIB)
    draw, made = random.Random(0), {"use_dictionary": dictionary, "compression": "zstd", "store_schema": False}
    stories = ["".join(draw.choices("abcdefgh ", k=1000)) for _ in range(12_000)]
    for name, texts in {"honest": stories, "empty": ["x" * 999_000 + str(i) for i in range(12)]}.items():
        pyarrow.parquet.write_table(pyarrow.table({"text": texts}), tmp_path / f"{name}.parquet", **made)
    refuse_repeats(tmp_path / "honest.parquet", pyarrow.parquet.read_metadata(tmp_path / "honest.parquet"))
    with pytest.raises(InputError, match="repeats its texts to at least 11,988"):
        refuse_repeats(tmp_path / "empty.parquet", pyarrow.parquet.read_metadata(tmp_path / "empty.parquet"))


def test_a_dictionary_is_not_read_for_all_rows_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of a file of 400 KB took 20 bytes: 1.3 GiB."""
    monkeypatch.setattr(pages, "MOST_GROUP", MIB // 2)
    path, read = tmp_path / "train.parquet", list[int]()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["x"] * 2**20}), path, store_schema=False)
    written_out = pages._written_out
    monkeypatch.setattr(pages, "_written_out", lambda array: read.append(len(array)) or written_out(array))
    with pytest.raises(InputError, match="repeats its texts to at least"):
        refuse_repeats(path, pyarrow.parquet.read_metadata(path))
    assert max(read) <= 2**18


def test_what_the_end_of_a_file_says_of_its_texts_is_not_trusted(repeated: Path) -> None:
    """Its size, and that there is a dictionary; pyarrow reads one that stands first all the same."""
    true = pyarrow.parquet.read_metadata(repeated).row_group(0).column(0)
    said = {name: getattr(true, name) for name in ("physical_type", "path_in_schema", "num_values")}
    said |= {
        "total_uncompressed_size": 1,
        "has_dictionary_page": False,
        "data_page_offset": true.dictionary_page_offset,
    }
    group = SimpleNamespace(num_rows=100, num_columns=1, column=lambda _: SimpleNamespace(**said))
    with pytest.raises(InputError, match="repeats its texts to at least 2,097,152,000 bytes"):
        refuse_repeats(repeated, SimpleNamespace(num_row_groups=1, row_group=lambda _: group))


def test_parts_of_a_file_that_are_the_same_bytes_are_refused(repeated: Path) -> None:
    """Else a small file takes minutes: a thousand columns could be one."""
    whole = pyarrow.parquet.read_metadata(repeated)
    group = SimpleNamespace(num_rows=100, num_columns=1000, column=lambda _: whole.row_group(0).column(0))
    with pytest.raises(InputError, match="train.parquet is not a whole parquet file .its columns overlap.; fetch it"):
        rows_at_once(repeated, SimpleNamespace(num_row_groups=1, row_group=lambda _: group))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_of_different_stories_only_those_of_the_dictionary_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """A dictionary ends at a mebibyte; the pages after it hold their texts as they are."""
    path = tmp_path / "train.parquet"
    texts = [f"{i} {'x' * 1_000}" for i in range(20_000)]
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), path, data_page_version=version)
    read: list[int] = []
    written_out = pages._written_out
    monkeypatch.setattr(pages, "_written_out", lambda array: read.append(len(array)) or written_out(array))
    refuse_repeats(path, pyarrow.parquet.read_metadata(path))
    assert 1_000 < sum(read) < 3_000


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (b"\x15\x00\x00", {(1,): 0}),
        (b"\x15\x06\x7c\x15\x02\x35\x10\x00\x00", {(1,): 3, (8, 1): 1, (8, 4): 8}),
        (b"\x15\x00\x05\x02\x04\x00", None),  # the type once more
        (b"\x15\x00\x05\x82\x80\x08\x04\x00", None),  # and as field 65,537, of which 16 bits are 1
        (b"\x15\x80\x80\x80\x80\x20\x00", None),  # 2^32, of which 32 bits are 0
        (b"\x15\x01\x00", None),  # -1
        (b"\x16\x02\x00", {}),  # of 64 bits, which is no type
        (b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", None),  # a text of 2^64 bytes
    ],
)
def test_a_header_of_which_readers_may_see_another_is_none(
    header: bytes, found: dict[tuple[int, ...], int] | None
) -> None:
    if found is None:
        with pytest.raises(LookupError):
            pages._header(io.BytesIO(header))
    else:
        assert pages._header(io.BytesIO(header)) == found


def test_short_texts_that_repeat_are_read(tmp_path: Path) -> None:
    """Two mebibytes of dictionary times 1,000 rows could be more than is allowed, and are not."""
    texts = [f"{i} {'x' * 2_000}" for i in range(1_000)]
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "train.parquet")
    assert list(find_source(str(tmp_path))) == texts


def test_rows_at_once_follow_from_the_largest_page(tmp_path: Path) -> None:
    path = tmp_path / "its.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["x" * MIB, "Tom ran."], "n": [1, 2]}), path, use_dictionary=[])
    read = pyarrow.parquet.read_metadata(path)
    assert rows_at_once(path, read, "n") == MOST_ROWS
    assert rows_at_once(path, read, "text") == rows_at_once(path, read) == 127  # of a mebibyte and twelve bytes more


PARTS = [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefgh")]
BOMB = "a: &a {x: 1}\n" + "".join(PARTS)
HEAD = "---\nconfigs:\n- config_name: default\n"


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (HEAD + BOMB + "---\n", r"README\.md: the parts of its head that \* stands for, .* longer than 512 KiB"),
        (HEAD + BOMB.replace("[", "{<<: [").replace("]", "]}") + "---\n", r"README\.md: the parts of its head that \*"),
        (f"{HEAD}a: &a [*a]\n---\n", r"README\.md: the parts of its head that \* stands for"),
        (f"{HEAD}a: {'x' * 512 * 2**10}\n---\n", r"README\.md: its head in YAML has over 512 KiB"),
        ("---" + "\n" * 300_000, r"README\.md: its head in YAML has .* 1,000 empty lines"),
    ],
)
def test_a_card_that_grows_or_has_no_end_is_refused(tmp_path: Path, refused: Refused, card: str, said: str) -> None:
    (tmp_path / "train.txt").write_text("Tom ran.\n")
    (tmp_path / "README.md").write_text(card)
    with refused(said):
        list(find_source(str(tmp_path)))


@pytest.mark.parametrize(
    "card", ["# Tales *of* Tom & Anna\n" + "x" * 600_000, "---\nlanguage: en  # *all* & more\n---\n" + "\n" * 2000, ""]
)
def test_other_cards_are_read(tmp_path: Path, card: str) -> None:
    (tmp_path / "train.txt").write_text("Tom ran.\n")
    (tmp_path / "README.md").write_text(card)
    assert list(find_source(str(tmp_path))) == ["Tom ran."]


def test_a_card_that_names_the_same_files_twice_is_read(tmp_path: Path) -> None:
    """As the hub's own writer does."""
    files = [{"split": "train", "path": "*.txt"}]
    named = [{"config_name": name, "data_files": files, "default": name == "one"} for name in ("one", "two")]
    head = huggingface_hub.DatasetCardData(configs=named).to_yaml()
    assert "&id001" in head and "*id001" in head
    (tmp_path / "train.txt").write_text("Tom ran.\n")
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\n")
    assert list(find_source(str(tmp_path))) == ["Tom ran."]
