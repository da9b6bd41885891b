"""Hostile files, numbers and names: what valid ones become by one change.

A change is named by its kind and a seed, so that it can be made again: `changed(data, "model.safetensors", kind, seed)`.
"""

import contextlib
import json
import os
import re
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tslens import files, runs
from tslens.tokenizer import Tokenizer

LONG = 4_300  # digits of an integer that Python still converts; one more, and it refuses
DEEP = 20_000  # brackets within brackets, more than any parser recurses
NESTED = (90, 200, 700)  # as many as parsers accept: what copies, hashes or writes them may recurse deeper

NUMBERS = (
    *("nan", "inf", "-inf", "-1", "0", "1", "2", "3", "1.5", "-0.0", "1e308", "-1e308", "1e400", "1e-400", "0.999999"),
    *("99999999999", "2147483648", "9223372036854775808", "-9223372036854775809", "4294967296", "65536"),
    *(
        "9" * LONG,
        "9" * (LONG + 1),
        "0x10",
        "1_000",
        "١٢",
        " 3 ",
        "+3",
        "1e3",
        "",
        " ",
        "-",
        "--",
        "true",
        "null",
        "1/0",
    ),
)
"""Values of options that take numbers."""
NAMES = (
    *(
        "",
        " ",
        ".",
        "..",
        "../..",
        "../../x",
        "~",
        "-",
        "--",
        "-1",
        "missing",
        "missing/deeper",
        "a" * 256,
        "a/" * 2_500,
    ),
    *("null", "zero", "full", "/proc/none", "/dev/full/inside"),  # links: a device is not put at risk
    *("fifo", "broken", "circle", "folder", "socket", "file", "file/inside", "empty", "broken/inside", "denied"),
    *(
        "a\x1b[31mb",
        "new\nline",
        "tab\tx",
        "caf\u0065\u0301",
        "\u202egnp",
        "\u2028",
        "caf\udce9.txt",
        "runs/caf\udce9.txt",
        "😀",
        "x\x7f",
        "%s%n",
        "{0}",
        "$(id)",
    ),
    *(
        "hf:",
        "hf:..",
        "hf:folder",
        "hf:missing/missing",
        "hf:fifo",
        "llama2c:",
        "llama2c:fifo",
        "llama2c:zero",
        "llama2c:,",
    ),
    *("tiny", "tiny@", "tiny@-1", "small@2", "small@999999999999999999999", "small@2@2", "small@*", "half", "16x1x2"),
    *(
        "0x0",
        "99999999999x1",
        "1x99999999999",
        "1000000x900",
        "-1x2",
        "made",
        "made@",
        "made@none",
        "made:x",
        "self",
        "train",
    ),
    *(
        "validation",
        "tales.txt",
        "tales.txt@validation",
        "tales.txt@x",
        "tales.txt:story",
        "folder@x/y:z",
        "owner/name",
    ),
    *("https://127.0.0.1:9/x", "file:///etc/passwd", "float32", "bfloat16", "auto", "ray:0", "ray:-1", "local", "none"),
    *(
        "3.2",
        "0.0",
        "-1.0",
        "9.9",
        "blocks.0.hook_resid_post",
        "blocks.9.hook_z",
        "NOUN",
        "dog",
        "dog,cat",
        ",,,",
        "x" * 100_000,
    ),
    *(
        "tiny/config.json",
        "tiny/model.safetensors",
        "tales.jsonl",
        "suite.toml",
        "recipe.toml",
        "texts.jsonl",
        "runs",
        "runs/small",
    ),
)
"""Values of options that take names, places or words."""
NO_UTF8 = os.fsdecode(b"caf\xe9.txt")
SETTINGS = (
    "",
    "=",
    "x",
    "x=1",
    "train.steps",
    "train.steps=",
    "train.steps=2=3",
    "train=1",
    "objective={}",
    "a.b.c.d=1",
)
"""Values of `--set` that are no setting."""


def special_files(folder: Path) -> None:
    """Make in a folder what is no plain file: a pipe, a socket, links to devices, to nothing and to themselves; and a
    file, a folder and a run whose names are no UTF-8."""
    os.mkfifo(folder / "fifo")
    (folder / "broken").symlink_to("nothing-there")
    (folder / "circle").symlink_to("circle")
    for name in ("null", "zero", "full"):
        (folder / name).symlink_to(f"/dev/{name}")
    (folder / "folder").mkdir()
    (folder / "file").write_bytes(b"a file")
    (folder / "empty").touch()
    (folder / NO_UTF8).write_bytes(b"a file")
    for name in ("recipe.json", "config.json", "metrics.jsonl", "model.safetensors"):
        (folder / "runs" / NO_UTF8).mkdir(parents=True, exist_ok=True)
        (folder / "runs" / NO_UTF8 / name).write_text("{}")
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(folder)  # an address has 108 bytes at most
        try:
            one.bind("socket")
        finally:
            os.chdir(here)


def _scalar(rng: Random) -> Any:
    """A value that hardly any field expects."""
    return rng.choice(
        (
            *(
                None,
                True,
                False,
                0,
                1,
                -1,
                2,
                1.5,
                -0.0,
                1e308,
                float("nan"),
                float("inf"),
                -float("inf"),
                2**31,
                2**63,
                -(2**70),
            ),
            *(
                10**LONG - 1,
                4_000_000_000,
                99_999_999_999,
                10**9,
                "",
                " ",
                "x",
                "nan",
                "1",
                "../../x",
                "/etc/passwd",
                "\x00",
                "a\nb",
            ),
            *(
                "\ud800",
                "\u2028",
                "x" * 70_000,
                "\x1b[31m",
                "float64",
                "bfloat16",
                "I8",
                [],
                {},
                [[]],
                [None],
                {"": None},
                [1, "a", None],
            ),
            *(
                [[["global"], 10**9]],
                [1] * 1_000,
                {"x": {"y": {"z": 1}}},
                [float("nan")],
                ["a"],
                [[0, 0]],
                [2**40],
                {"text": 1},
            ),
        )
    )


def _places(tree: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value within a value, its own first; long lists by their ends."""
    found = [at]
    if isinstance(tree, dict):
        found += [place for key in tree for place in _places(tree[key], (*at, key))]
    elif isinstance(tree, list):
        ends = range(len(tree)) if len(tree) < 8 else (0, 1, len(tree) // 2, len(tree) - 1)
        found += [place for i in ends for place in _places(tree[i], (*at, i))]
    return found


def _with(tree: Any, place: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """The tree after `change(container, key)` of one place; the root is changed in a list of its own."""
    held = [tree]
    container: Any = held
    for key in (0, *place)[:-1]:
        container = container[key]
    change(container, (0, *place)[-1])
    return held[0] if held else None


def _drop(container: Any, key: Any) -> None:
    del container[key]


def changed_tree(tree: Any, rng: Random) -> Any:
    """The tree with one value replaced, taken away, doubled or put beside another."""
    tree = json.loads(json.dumps(tree))
    places = _places(tree)
    # Deep values outnumber shallow ones: every level has its turn.
    depth = rng.choice(sorted({len(place) for place in places}))
    place = rng.choice([one for one in places if len(one) == depth])
    kind = rng.choice(("put", "put", "put", "drop", "add", "grow", "scale"))
    if kind == "drop" and place:
        return _with(tree, place, _drop)
    if kind == "add":

        def add(container: Any, key: Any) -> None:
            value = container[key]
            if isinstance(value, dict):
                value[rng.choice(("x", "", "\ud800", "__class__", "auto_map"))] = _scalar(rng)
            elif isinstance(value, list):
                value.insert(rng.randrange(len(value) + 1), _scalar(rng))
            else:
                container[key] = [value, value]

        return _with(tree, place, add)
    if kind in ("grow", "scale"):

        def scale(container: Any, key: Any) -> None:
            value = container[key]
            if isinstance(value, bool) or not isinstance(value, int | float | str | list):
                container[key] = _scalar(rng)
            elif isinstance(value, str | list):
                container[key] = value * rng.choice((0, 2, 50))
            else:
                container[key] = rng.choice(
                    (value * 1_000_003, -value, value + 1, value - 1, value * 10**9, value / 3, str(value))
                )

        return _with(tree, place, scale)
    return _with(tree, place, lambda container, key: container.__setitem__(key, _scalar(rng)))


def _dumped(tree: Any, **how: Any) -> bytes:
    return json.dumps(tree, **how).encode("utf-8", "surrogatepass")


PADDED = {"direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<|endoftext|>"}
CUT = {"direction": "Right", "strategy": "LongestFirst", "stride": 0}
WELL_FORMED: dict[str, tuple[Any, ...]] = {
    "num_labels": (0, 3, -1, 10**9, "2"), "id2label": ({"0": "a"}, {"x": "a"}, []), "label2id": ({"a": 0}, None),
    "per_layer_config": ({}, {"0": {"num_attention_heads": 1}}, {"999999999": {"hidden_size": 8}}),
    "chunk_size_feed_forward": (10**9,), "problem_type": ("regression", "x"), "pruned_heads": ({"0": [0]},),
    "padding": (*(PADDED | {"strategy": {"Fixed": size}} for size in (0, 3, 10**9, 2**63)), PADDED | {"strategy": "BatchLongest"}),
    "truncation": (*(CUT | {"max_length": size} for size in (0, 1, 10**9)), CUT | {"max_length": 2, "stride": 9}),
}  # fmt: skip
"""Keys that formats know and that the valid files lack, with values of their kind: at the top of a document."""


def _json(data: bytes, rng: Random) -> bytes:
    try:
        tree = json.loads(data)
    except ValueError:
        return _bytes(data, rng)
    kind = rng.choice(
        ("tree",) * 8
        + ("known", "known", "twice", "deep", "nested", "digits", "large", "raw", "comment", "huge exponent")
    )
    if kind == "tree":
        return _dumped(changed_tree(tree, rng), ensure_ascii=rng.random() < 0.8)
    if kind == "known" and isinstance(tree, dict):
        name = rng.choice([*WELL_FORMED])
        return _dumped(tree | {name: rng.choice(WELL_FORMED[name])})
    text = data.decode("utf-8", "replace")
    if kind == "twice" and isinstance(tree, dict) and tree:
        key = rng.choice(list(tree))
        return f"{text.rstrip()[:-1]}, {json.dumps(key)}: {json.dumps(_scalar(rng))}}}".encode("utf-8", "surrogatepass")
    value = {
        "deep": "[" * DEEP + "]" * DEEP,
        "nested": '{"a":' * (levels := rng.choice(NESTED)) + "1" + "}" * levels,
        "digits": "9" * (LONG + 1),
        "large": "9" * rng.choice((308, 309, LONG)),
        "huge exponent": "1e999999999",
        "comment": "1 // one\n",
        "raw": rng.choice(
            ("'x'", "undefined", "01", "+1", ".5", "1.", "[1,]", "{1: 2}", '"\x01"', '"\\ud800"', "-Infinity")
        ),
    }.get(kind, "{" * 100)
    spots = list(re.finditer(r'-?\d+(\.\d+)?|"[^"]*"|true|false|null', text))
    if not spots:
        return value.encode()
    at = rng.choice(spots)
    return (text[: at.start()] + value + text[at.end() :]).encode()


def _jsonl(data: bytes, rng: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines or rng.random() < 0.25:
        return _bytes(data, rng)
    i = rng.randrange(len(lines))
    kind = rng.choice(("one", "one", "one", "all", "drop", "double", "blank", "array"))
    if kind == "one":
        lines[i] = _json(lines[i].rstrip(b"\n"), rng).replace(b"\n", b" ") + b"\n"
    elif kind == "all":
        seed = rng.random()
        lines = [_json(line.rstrip(b"\n"), Random(seed)).replace(b"\n", b" ") + b"\n" for line in lines]
    elif kind == "drop":
        del lines[i]
    elif kind == "double":
        lines.insert(rng.randrange(len(lines)), lines[i])
    elif kind == "blank":
        lines[i] = rng.choice((b"\n", b"null\n", b"[]\n", b"{}\n", b"1\n", b'"x"\n'))
    else:
        return b"[" + b",".join(line.strip() for line in lines) + b"]"
    return b"".join(lines)


TOML_VALUES = (
    *(
        "nan",
        "-inf",
        "inf",
        "1e308",
        "-1",
        "0",
        "1.5",
        "true",
        '""',
        '"x"',
        "[]",
        "{}",
        "[[]]",
        "[1, 'a']",
        "{a = {b = 1}}",
    ),
    *(
        "1979-05-27",
        "07:32:00",
        "99999999999",
        "9" * LONG,
        "9" * (LONG + 1),
        "0x10",
        '"\\u0000"',
        '"\\ud800"',
        "'''x\ny'''",
    ),
    *(
        "[" * 2_000 + "]" * 2_000,
        *("[" * levels + "]" * levels for levels in NESTED),
        "9" * 309,
        '["x"]',
        '[""]',
        "[[[1]]]",
        '"' + "x" * 70_000 + '"',
        "1e400",
        '"../../x"',
        "[nan]",
        "[{}]",
    ),
)


def _toml(data: bytes, rng: Random) -> bytes:
    lines = data.decode().split("\n")
    spots = [i for i, line in enumerate(lines) if re.search(r"\S+\s*=\s*\S", line)]
    kind = rng.choice(("value",) * 5 + ("within",) * 4 + ("drop", "double", "key", "table", "swap", "bytes"))
    if kind == "bytes" or not spots:
        return _bytes(data, rng)
    i = rng.choice(spots)
    if kind == "value":
        lines[i] = lines[i].partition("=")[0] + "= " + rng.choice(TOML_VALUES)
    elif kind == "within":  # one value of those of a line
        inner = list(re.finditer(r'"[^"]*"|(?<=[=\[, ])-?\d+(\.\d+)?', lines[i]))
        if inner:
            at = rng.choice(inner)
            lines[i] = lines[i][: at.start()] + rng.choice(TOML_VALUES) + lines[i][at.end() :]
    elif kind == "drop":
        del lines[rng.randrange(len(lines))]
    elif kind == "double":
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    elif kind == "key":
        lines[i] = rng.choice(("x", '""', "a.b.c", '"\\u2028"', "__class__")) + " = " + lines[i].partition("=")[2]
    elif kind == "table":
        lines.insert(
            rng.randrange(len(lines)), rng.choice(("[x]", "[[x]]", "[pair]", "[a.b.c]", "[model]", "[[model]]", "[]"))
        )
    else:
        j = rng.randrange(len(lines))
        lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _csv(data: bytes, rng: Random) -> bytes:
    lines = data.decode().split("\n")
    kind = rng.choice(("cell",) * 5 + ("short", "long", "quote", "header", "twice", "names", "bytes"))
    i = rng.randrange(len(lines) - 1) if len(lines) > 1 else 0
    cells = lines[i].split(",")
    if kind == "bytes":
        return _bytes(data, rng)
    if kind == "cell":
        cells[rng.randrange(len(cells))] = rng.choice(
            (*NUMBERS, '"', '""', '"a\nb"', "\x00", "\u2028", "=1+1", "x" * 70_000)
        )
    elif kind == "short":
        cells = cells[: rng.randrange(len(cells))]
    elif kind == "long":
        cells += ["more"] * rng.choice((1, 2, 1_000))
    elif kind == "quote":
        cells[-1] = '"' + cells[-1]
    elif kind == "header":
        lines[0] = rng.choice(
            ("", ",", ",,,", "a,a,a", lines[0].upper(), ";".join(lines[0].split(",")), lines[0] + "," + lines[0])
        )
    elif kind == "names":
        i, cells = 0, [f"x{n}" if rng.random() < 0.5 else name for n, name in enumerate(lines[0].split(","))]
    else:
        lines.insert(i, lines[i])
    if kind not in ("header", "twice"):
        lines[i] = ",".join(cells)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _tensors(data: bytes, rng: Random) -> bytes:
    """A safetensors file with its header or its values changed."""
    (length,) = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    names = [name for name in header if name != "__metadata__"]
    kind = rng.choice(
        ("dtype", "shape", "offsets", "drop", "rename", "extra", "tree", "length", "values", "values", "bytes")
    )
    one = rng.choice(names)
    if kind == "dtype":
        header[one]["dtype"] = rng.choice(
            ("F64", "F16", "BF16", "I64", "I8", "BOOL", "U8", "F8_E4M3", "C64", "x", "", 1, None)
        )
    elif kind == "shape":
        shape = header[one]["shape"]
        header[one]["shape"] = rng.choice(
            (
                [],
                [0],
                [-1],
                shape[::-1],
                [*shape, 1],
                [1, *shape],
                [2**40],
                [2**63, 2**63],
                ["a"],
                None,
                [1.5],
                shape[:-1],
            )
        )
    elif kind == "offsets":
        begin, end = header[one]["data_offsets"]
        header[one]["data_offsets"] = rng.choice(
            ([end, begin], [begin, end + 4], [0, 2**63], [begin], [-4, end], [begin, begin], "x", [2**70, 2**71])
        )
    elif kind == "drop":
        del header[one]
    elif kind == "rename":
        header[rng.choice(("", "x", "blocks.99.attn.W_Q", "embed.W_E.", "../x"))] = header.pop(one)
    elif kind == "extra":
        header["extra"] = header[one]
    elif kind == "tree":
        header = changed_tree(header, rng)
    elif kind == "length":
        return struct.pack("<Q", rng.choice((0, 1, length - 1, length + 1, 2**32, 2**63, 2**64 - 1))) + data[8:]
    elif kind == "values":
        begin, end = header[one]["data_offsets"]
        bad = struct.pack("<f", rng.choice((float("nan"), float("inf"), -float("inf"), 3e38, -3e38)))
        at = begin + 4 * rng.randrange(max(1, (end - begin) // 4))
        many = rng.choice((1, 1, (end - at) // 4))
        body = body[:at] + bad * many + body[at + 4 * many :]
    else:
        return _bytes(data, rng)
    text = _dumped(header)
    return struct.pack("<Q", len(text)) + text + body


def _bytes(data: bytes, rng: Random) -> bytes:
    """Bytes changed whatever they are."""
    kind = rng.choice(
        (
            "cut",
            "cut",
            "none",
            "flip",
            "flip",
            "slice",
            "double",
            "insert",
            "bom",
            "utf-16",
            "noise",
            "tail",
            "head",
            "lines",
            "zeros",
        )
    )
    at = rng.randrange(len(data) + 1)
    other = min(len(data), at + rng.choice((1, 2, 4, 8, 100)))
    if kind == "cut":
        return data[:at]
    if kind == "none":
        return b""
    if kind == "flip":
        flipped = bytearray(data)
        for _ in range(rng.choice((1, 1, 3, 30)) if data else 0):
            flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    if kind == "slice":
        return data[:at] + data[other:]
    if kind == "double":
        return data[:other] + data[at:]
    if kind == "insert":
        text = rng.choice(
            (
                b"\x00",
                b"\xff",
                b"\xe2\x80\xa8",
                b"\xc2\x85",
                b"\r",
                b"\xed\xa0\x80",
                b"\xf4\x90\x80\x80",
                b"\n",
                b"\x0c",
                b'"',
                b"<|endoftext|>",
            )
        )
        return data[:at] + text * rng.choice((1, 1, 3, 1_000)) + data[at:]
    if kind == "bom":
        return b"\xef\xbb\xbf" + data
    if kind == "utf-16":
        return data.decode("utf-8", "replace").encode("utf-16")
    if kind == "noise":
        return rng.randbytes(rng.choice((1, 7, 100, 5_000)))
    if kind == "tail":
        return data + rng.choice((b"\x00", b"x", b"\n\n\n", b"{}", data[:100], rng.randbytes(33)))
    if kind == "head":
        return rng.choice((b"\x00", b"x", b"\n", b"[", b"\x80\x04", b"PK\x03\x04", b"\x1f\x8b")) + data
    if kind == "lines":
        return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"", b"\n\n", b"\xe2\x80\xa8")))
    return b"\x00" * len(data)


def _numbers(data: bytes, rng: Random) -> bytes:
    """A file of raw numbers with some replaced."""
    if len(data) < 8 or rng.random() < 0.4:
        return _bytes(data, rng)
    value = rng.choice((0, -1, 1, 2**31 - 1, -(2**31), 65_535, 10**6, 0x7FC00000, 0x616B3432))
    at = rng.choice((0, 4, 8, 12, 16, 20, 24, 4 * rng.randrange(len(data) // 4)))
    at = min(at, (len(data) - 4) // 4 * 4)
    return data[:at] + struct.pack("<i", value) + data[at + 4 :]


def _parquet(data: bytes, rng: Random) -> bytes:
    """A Parquet file of other columns, or with its bytes changed."""
    if rng.random() < 0.5:
        return _bytes(data, rng)
    import io

    import pyarrow
    import pyarrow.parquet

    columns: dict[str, Any] = rng.choice(
        (
            {"text": [1, 2]}, {"text": [["a"], ["b"]]}, {"text": [{"a": 1}]}, {"text": [None, None]}, {"text": [b"\xff", b"x"]},
            {"other": ["a"]}, {"text": []}, {"text": [True]}, {"text": [1.5, float("nan")]}, {"text": ["", " "]}, {"story": ["a", None]},
        )
    )  # fmt: skip
    made = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), made)
    return made.getvalue()


CHANGES: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": _json, ".jsonl": _jsonl, ".toml": _toml, ".csv": _csv, ".safetensors": _tensors, ".bin": _numbers, ".parquet": _parquet
}  # fmt: skip
"""What a file is changed by beside `bytes`, by its extension."""
KINDS = ("own", "own", "own", "own", "own", "own", "bytes", "bytes", "kind")
"""How a file is changed: as a file of its own format, as bytes, or into what is no plain file."""


def change(path: Path, kind: str, seed: int) -> None:
    """Change one file by a kind of `KINDS` and a seed."""
    rng = Random(seed)
    if kind == "kind":
        path.unlink()
        what = rng.choice(("gone", "folder", "fifo", "broken", "circle", "zero", "null"))
        if what == "folder":
            path.mkdir()
        elif what == "fifo":
            os.mkfifo(path)
        elif what in ("broken", "circle", "zero", "null"):
            path.symlink_to(
                {"broken": "nothing-there", "circle": path.name, "zero": "/dev/zero", "null": "/dev/null"}[what]
            )
        return
    data = path.read_bytes()
    by = CHANGES.get(path.suffix, _bytes) if kind == "own" else _bytes
    try:
        made = by(data, rng)
    except (ValueError, KeyError, struct.error, IndexError):  # a file that is not what its name says
        made = _bytes(data, rng)
    path.write_bytes(made)


def vouch(path: Path) -> None:
    """Write into the record beside a changed file the hashes that it has now, so that its reader gets beyond them."""
    if not path.is_file() or path.is_symlink():
        return
    folder, config = path.parent, path.parent / "config.json"
    with contextlib.suppress(Exception):  # what cannot be read is left as it is
        if path.name in ("tokens.bin", "starts.bin"):
            record = json.loads((folder / "pack.json").read_bytes())
            hashes = {name: files.blake2b([folder / f"{name}.bin"])[0] for name in ("tokens", "starts")}
            (folder / "pack.json").write_text(json.dumps(record | {f"{name}_hash": h for name, h in hashes.items()}))
        elif config.is_file() and (path == config or path.suffix == ".safetensors" or path.name == "tokenizer.json"):
            record = json.loads(config.read_bytes())
            if isinstance(record, dict) and "config_sha256" in record:
                if path.name == "tokenizer.json":
                    record["tokenizer"] = Tokenizer.load(path).hash
                of = {"model.safetensors": "sha256", "optimizer.safetensors": "optimizer_sha256"}.get(path.name)
                record |= {of: files.sha256(path)} if of else {}
                config.write_text(json.dumps(runs._vouched(record)))
