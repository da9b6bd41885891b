"""The n-gram index answers as a plain search through all stories does."""

import json
import math
import random
import tracemalloc
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from tslens import files, ngrams
from tslens.ngrams import building, layout
from tslens.ngrams.hashes import NAME, write_hashes
from tslens.ngrams.words import sentences_of, words

WILD = [
    "",
    " ",
    "ü",
    "İstanbul’s “naïve” café…",
    "a\u2028b\x1cc",
    "x" * 300,
    "don't 'stop'!",
    "\ud800 lone",
    "🙂🙂 🙂",
    "...",
]


def small_texts(n: int, seed: int = 0) -> list[str]:
    """Texts of few words, so that spans repeat within and between them, some empty, some equal."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(["the", "cat", "Ran", ".", "é", "it's"], k=rng.randrange(0, 60))) for _ in range(n)]


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(7)
    long = " ".join(rng.choices(["a", "b"], k=200))
    return [*small_texts(80), *WILD, long, "the " + long, long]


@pytest.fixture(scope="module")
def built(texts, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "PART", 97)  # many parts, and runs of equal words longer than one
        patch.setattr(building, "BATCH", 7)
        return ngrams.build(texts, tmp_path_factory.mktemp("ngrams") / "index", source="tales")


def spans_of(texts, longest):
    """Every span of at most `longest` words of every text, with its count."""
    return Counter(
        tuple(found[i : i + n])
        for found in map(words, texts)
        for n in range(1, longest + 1)
        for i in range(len(found) - n + 1)
    )


def test_words_keep_all_but_case_and_white_space():
    assert words("Don’t “run”, O'Neil!\n7x") == ["don't", '"', "run", '"', ",", "o'neil", "!", "7x"]
    for text in WILD:
        assert "".join(words(text)) == "".join(text.lower().translate(str.maketrans("’“”", '\'""')).split())
        assert [word for sentence in sentences_of(text) for word in sentence] == words(text)


def test_counts_equal_a_plain_count(built, texts):
    counted = spans_of(texts, 12)
    for ngram in random.Random(0).sample(sorted(counted), 600):
        assert built.count(ngram) == counted[ngram]
    assert {word: counted[(word,)] for word in built.vocabulary} == built.vocabulary
    assert sum(built.vocabulary.values()) == sum(len(words(text)) for text in texts)
    absent = [n for n in spans_of(small_texts(20, seed=5), 6) if n not in counted]
    assert absent
    assert not any(built.count(ngram) for ngram in absent)
    assert built.count("") == built.count("xylophone") == built.count("cat xylophone") == 0


def test_n_grams_longer_than_the_sorted_depth(built, texts):
    long = words(texts[-1])
    assert built.count(long) == 3
    assert built.count(long[:150]) == 3
    assert built.count(["the", *long]) == 1
    assert built.count([*long, "xylophone"]) == built.count([*long, "xylophone", *words(texts[0])[:2]]) == 0
    assert built.count([*long, "a"]) == built.count(long * 50) == 0
    assert built.new_share(texts[-1], 200) == 0
    assert math.isnan(built.new_share(texts[-1], 201))
    assert math.isnan(built.new_share(texts[-1], 10**9))
    assert built.longest_copy(f"xylophone b {texts[-1]} xylophone").words in (200, 201)


def test_places_are_sorted_by_the_words_that_follow(built):
    rows = built.tokens[built.places.astype(int)[:, None] + np.arange(layout.DEPTH)]
    assert all(tuple(a) <= tuple(b) for a, b in pairwise(rows))
    assert sorted(built.places.tolist()) == np.flatnonzero(built.tokens).tolist()


def test_copied_spans_equal_a_plain_search(built, texts):
    counted = spans_of(texts, 220)
    asked = [
        *small_texts(25, seed=3),
        *WILD,
        f"xylophone {texts[3]} xylophone {texts[5]}",
        texts[-1] + " the " + texts[-2],
    ]
    for text in asked:
        found = words(text)
        expected = []
        for i in range(len(found)):
            n = 0
            while i + n < len(found) and tuple(found[i : i + n + 1]) in counted:
                n += 1
            expected.append(n)
        assert built.copied(text).tolist() == expected
        copy = built.longest_copy(text)
        assert copy.words == max(expected, default=0)
        if copy.words:
            assert copy.span.split() == found[copy.start : copy.start + copy.words]
            assert f" {copy.span} " in f" {' '.join(words(built.story(copy.story)))} "
        for n in (1, 2, 3, 10):
            new = [tuple(found[i : i + n]) not in counted for i in range(len(found) - n + 1)]
            assert built.new_share(text, n) == pytest.approx(np.mean(new) if new else np.nan, nan_ok=True)


def test_stories_are_kept_as_they_were(built, texts):
    assert [built.story(i) for i in range(built.n_stories)] == texts


def test_the_index_does_not_depend_on_how_it_was_divided(texts, built, tmp_path):
    whole = ngrams.build(iter(texts), tmp_path / "whole", source="tales")
    for file in sorted({path.name for path in whole.folder.iterdir()} - {NAME}):
        assert (whole.folder / file).read_bytes() == (built.folder / file).read_bytes(), file
    assert whole.n_bytes == sum(path.stat().st_size for path in whole.folder.iterdir())


def test_what_is_refused(tmp_path, refused):
    with refused("no stories in tales to index"):
        ngrams.build([], tmp_path / "none", source="tales")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with refused("no n-gram index. Give another folder"):
        ngrams.build(["a cat"], tmp_path / "mine")
    with pytest.raises(FileNotFoundError, match="holds no n-gram index"):
        ngrams.open_index(tmp_path / "mine")
    kept = ngrams.build(["a cat", ""], tmp_path / "index")
    with refused("at least 1 word; got n=0"):
        kept.new_share("a cat", 0)
    path = kept.folder / layout.RECORD
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"version": 0}))
    with refused("is an n-gram index of version 0; this tslens reads 2"):
        ngrams.open_index(kept.folder)
    changes = ({}, {"dtype": "x"}, {"words": "3"}, {"more": 1})
    for altered in ({k: v for k, v in (record | more).items() if k != "dtype" or more} for more in changes):
        path.write_text(json.dumps(altered))
        with refused("was altered"):
            ngrams.open_index(kept.folder)
    path.write_text(json.dumps(record))
    write_hashes(kept.folder)
    vocabulary = (kept.folder / layout.VOCABULARY).read_text()
    for text in (
        "[]",
        '{"words": ["a"], "counts": []}',
        '{"words": ["a"], "counts": ["1"]}',
        '{"words": 1, "counts": 2}',
    ):
        (kept.folder / layout.VOCABULARY).write_text(text)
        write_hashes(kept.folder)
        with refused("vocabulary.json was altered"):
            ngrams.open_index(kept.folder)
    (kept.folder / layout.VOCABULARY).write_text(vocabulary)
    (kept.folder / layout.PLACES).write_bytes(b"1234567")
    write_hashes(kept.folder)
    with refused("altered or cut off"):
        ngrams.open_index(kept.folder)
    assert ngrams.build(["another"], kept.folder).n_stories == 1  # an index is replaced


def test_stories_without_words(tmp_path):
    empty = ngrams.build(["", "  "], tmp_path / "index")
    assert (empty.count("a"), empty.longest_copy("a cat").words) == (0, 0)
    assert empty.new_shares("a cat", (1, 2, 3)).tolist()[:2] == [1, 1]


def test_a_failure_leaves_the_old_index(tmp_path):
    ngrams.build(["a cat"], tmp_path / "index")

    def broken():
        yield "a dog"
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="broke"):
        ngrams.build(broken(), tmp_path / "index")
    assert ngrams.open_index(tmp_path / "index").story(0) == "a cat"
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_memory_does_not_grow_with_the_stories(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "PART", 8_000)
    monkeypatch.setattr(building, "BATCH", 20)
    monkeypatch.setattr(building, "SAMPLE", 4)  # of each part; of usual parts 256 are few
    monkeypatch.setattr(files, "PIECE", 1 << 14)

    def peak(n: int) -> int:
        rng = random.Random(3)
        vocabulary = [f"w{number}" for number in range(300)]
        stories = (" ".join(rng.choices(vocabulary, k=40)) for _ in range(n))
        tracemalloc.start()
        ngrams.build(stories, tmp_path / f"{n}")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(100)  # imports and caches
    assert peak(4_000) < 2 * peak(400)  # with parts of any size ten times
