"""A tokenizer.json that makes a text too long is refused before it is used; those of real models are not."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tslens.errors import InputError
from tslens.growth import MOST_STEPS, MOST_TIMES, _times_of_all, refuse_growth, times
from tslens.tokenizer import Tokenizer

LETTERS = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
META = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def replace(found: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: found}, "content": content}


def sequence(*steps: dict[str, Any], name: str = "normalizers") -> dict[str, Any]:
    return {"type": "Sequence", name: list(steps)}


def charsmap(*texts: str) -> dict[str, Any]:
    """SentencePiece's map: the size of its trie, the trie, and the texts that it leads to."""
    data = (8).to_bytes(4, "little") + bytes(8) + b"".join(text.encode() + b"\0" for text in texts)
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


DOUBLED = sequence(*[replace("a", "aa")] * 40)
SAID = {
    "text": r"^its\.json can make a text \S+ times as long before .* pre_tokenizer make it at most 10,000 times",
    "token": r"^its\.json can make \S+ bytes of text of one token; give .* at most 10,000\.$",
    "steps": r"^its\.json has a normalizer of 1,00\d steps; give one of at most 1,000",
}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"normalizer": DOUBLED}, "text"),
        ({"normalizer": replace(" ", "x" * 900_000)}, "text"),
        ({"normalizer": {"normalizers": [{"pattern": {"String": "a"}, "content": "aa"}] * 40}}, "text"),
        ({"normalizer": sequence(*[replace("(?=.)", "b", "Regex")] * 40)}, "text"),
        ({"normalizer": {"type": "Prepend", "prepend": "x" * MOST_TIMES}}, "text"),
        ({"normalizer": charsmap("b", "x" * (MOST_TIMES + 1))}, "text"),
        ({"pre_tokenizer": sequence(*[LETTERS] * 40, name="pretokenizers")}, "text"),
        ({"normalizer": replace(" ", "x" * 200), "pre_tokenizer": META | {"replacement": "x" * 50}}, "text"),
        ({"model": {"continuing_subword_prefix": "x" * MOST_TIMES}}, "text"),
        ({"normalizer": sequence(*[{"type": "StripAccents"}] * MOST_STEPS)}, "steps"),
        ({"decoder": sequence(*[replace("e", "e" * 50)] * 8, name="decoders"), "model": {"vocab": {"e": 0}}}, "token"),
        ({"decoder": sequence(*[{"suffix": ""}] * 40), "added_tokens": [{"content": "e"}]}, "token"),
        ({"model": {"vocab": [["x" * (MOST_TIMES + 1), -1.0]]}}, "token"),
    ],
)
def test_what_a_file_may_make_of_a_text_is_bounded(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=SAID[said]):
        refuse_growth(fields, "its.json")


UNDERSCORE = sequence({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁"))
SALAM = charsmap("x", "صلى الله عليه وسلم")  # the longest that NFKC makes of one character
SLOWEST = [replace("``", '"'), {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, SALAM]
REAL = {
    "Llama 2": {"normalizer": UNDERSCORE, "decoder": sequence(replace("▁", " "), {"type": "ByteFallback"})},
    "ALBERT": {"normalizer": sequence(*SLOWEST, replace(" {2,}", " ", "Regex")), "pre_tokenizer": META},
    "T5": {"normalizer": sequence(SALAM, replace(" {2,}", "▁", "Regex")), "pre_tokenizer": META, "decoder": META},
    "CLIP": {"normalizer": sequence({"type": "NFC"}, replace(r"\s+", " ", "Regex"), {"type": "Lowercase"})},
    "GPT-NeoX": {"normalizer": {"type": "NFC"}, "pre_tokenizer": LETTERS, "decoder": LETTERS},
    "quotes and spaces by hand": {
        "normalizer": sequence(
            {"type": "NFKC"},
            *(replace(*step, "Regex") for step in [("[“”„«»]", '"'), ("[‘’‚`´]", "'"), ("[–—―]", "-"), ("…", "...")]),
            *(
                replace(*step, "Regex")
                for step in [(r"\s+", " "), (r"^\s+|\s+$", ""), (r"\.{4,}", "..."), ("!{2,}", "!")]
            ),
            *(replace(*step) for step in [("&", " and "), ("%", " percent"), ("\t", "    "), ("@", " at ")]),
        ),
        "pre_tokenizer": LETTERS,
    },
    "letters of Persian": {
        "normalizer": sequence(
            *({"type": name} for name in ("NFKC", "Lowercase")),
            *(
                replace(*step, "Regex")
                for step in [("[إأٱآ]", "ا"), ("[يى]", "ی"), ("ك", "ک"), ("ة", "ه"), ("[ؤ]", "و")]
            ),
        ),
        "pre_tokenizer": LETTERS,
    },
    "BERT": {"normalizer": {"type": "BertNormalizer"}, "model": {"continuing_subword_prefix": "##"}},
}


@pytest.mark.parametrize("name", REAL)
def test_the_steps_of_real_models_are_within_the_bound(name: str) -> None:
    fields = REAL[name]
    model = {"vocab": {"x" * 1000: 0}} | fields.get("model", {})
    refuse_growth(fields | {"model": model}, "its.json")


def test_the_growth_of_a_step_counts_bytes() -> None:
    assert times(replace(" ", "▁")) == 3 and times(replace("▁", " ")) == 1
    assert times(replace("ab", "abc")) == 1.5 and times(replace("", "ab")) == 3
    assert times({"type": "Prepend", "prepend": "▁"}) == 4
    assert times(SALAM) == 33
    for pattern in (r"\s+", "[^a-z]", r"\.{4,}", "ab+c$", r"[\]x]|!"):
        assert times(replace(pattern, "xyz", "Regex")) == 3, pattern
    for pattern in ("x*", "(?=.)", "x?", "", "a|", r"\b", "x{0,3}", "x{,3}", "^", "(ab)", "[", r"a+?", r"\Z"):
        assert times(replace(pattern, "xyz", "Regex")) == 4, pattern


@pytest.mark.parametrize(
    ("steps", "most"),
    [
        ([replace("a", "bcd"), replace("e", "fg")], 3),  # no letter is replaced twice
        ([replace("a", "bb"), replace("b", "aa")], 4),
        ([replace("a", "bb"), {"type": "NFKC"}, replace("c", "dd")], 44),
        ([replace("a", "b" * 120), *[replace("b", "b" * 120)] * 2], 120**3),
        ([replace("a", "b" * 120), replace("c", "d" * 120), replace("d", "e" * 120)], 120**2),
    ],
)
def test_replacements_in_a_row_multiply_where_one_replaces_what_another_wrote(steps: list[Any], most: int) -> None:
    assert _times_of_all(steps) == most


LOAD = """
import sys
from tslens.bench.scan_memory import largest_resident
from tslens.errors import InputError
from tslens.tokenizer import Tokenizer
before = largest_resident()
for name in sys.argv[1:]:
    try:
        Tokenizer.load(name)
    except InputError as error:
        print(error)
print(largest_resident() - before)
"""


def test_a_tokenizer_that_takes_all_memory_is_refused_at_once(tmp_path: Path) -> None:
    """In a process of its own, which the second aborts where it is used."""
    Tokenizer.train(["a b c d"], size=260).save(tmp_path / "its.json")
    whole = json.loads((tmp_path / "its.json").read_text())
    bad = ({"normalizer": DOUBLED}, {"normalizer": replace(" ", "x" * 900_000)})
    for number, parts in enumerate(bad):
        (tmp_path / f"{number}.json").write_text(json.dumps(whole | parts))
    command = [sys.executable, "-c", LOAD, "0.json", "1.json"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=30)
    first, second, grown = done.stdout.splitlines()
    assert first.startswith("0.json can make a text") and second.startswith("1.json can make a text")
    assert int(grown) < 50e6


def test_a_file_that_only_the_library_would_read_is_refused(tmp_path: Path) -> None:
    """Nested deeper than what is checked, so that its growth would be unknown."""
    deep: dict[str, Any] = DOUBLED
    for _ in range(50):
        deep = sequence(deep)
    Tokenizer.train(["a b c d"], size=260).save(tmp_path / "its.json")
    whole = json.loads((tmp_path / "its.json").read_text())
    (tmp_path / "its.json").write_text(json.dumps(whole | {"normalizer": deep}))
    with pytest.raises(InputError, match=r"its\.json is not a Hugging Face tokenizer\.json \(it has lists.* 100 deep"):
        Tokenizer.load(tmp_path / "its.json")
