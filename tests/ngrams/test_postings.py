"""Posting lists are those of a dictionary, however small the parts in which they are sorted."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tslens.errors import InputError
from tslens.ngrams import postings
from tslens.ngrams.postings import open_postings, write_postings

STORIES = st.lists(st.lists(st.integers(0, 2**53) | st.integers(0, 5), max_size=12), max_size=20)


@settings(max_examples=40, deadline=None)
@given(STORIES, st.integers(1, 30), st.integers(1, 6))
def test_lists_are_those_of_a_dictionary(tmp_path_factory, stories, part, at_once):
    folder = tmp_path_factory.mktemp("postings")

    def chunks():
        for start in range(0, len(stories), at_once):
            some = stories[start : start + at_once]
            yield (
                np.array([key for keys in some for key in keys], dtype=np.int64),
                np.array([start + i for i, keys in enumerate(some) for _ in keys], dtype=np.int64),
            )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "PART", part)
        write_postings(folder, "some", chunks, "keys")
    found = open_postings(folder, "some")
    counts = [Counter(keys) for keys in stories]
    for key in {key for keys in stories for key in keys} | {7, -1}:
        times = [count[key] for count in counts]
        wanted = [[i for i, n in enumerate(times) if n >= least] for least in range(1, max(times, default=0) + 1)]
        assert [one.tolist() for one in found.of(key, 99)] == wanted
        assert [one.tolist() for one in found.of(key, 2)] == wanted[:2]
        assert sorted(found.occurrences(key).tolist()) == sorted(i for one in wanted for i in one)


@pytest.mark.parametrize("part", ["keys", "ends", "stories"])
def test_a_file_that_was_cut_off_is_one_line(tmp_path, part):
    write_postings(tmp_path, "some", lambda: [(np.arange(9), np.arange(9))], "keys")
    path = tmp_path / f"some-{part}.bin"
    path.write_bytes(path.read_bytes()[:16])
    with pytest.raises(InputError, match=r"some-\w+.bin was altered or cut off. Remove .* and build"):
        open_postings(tmp_path, "some")
