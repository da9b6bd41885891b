import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tslens.report.embed import (
    NONE16,
    STEPS,
    Words,
    flatten,
    pack,
    pack_floats,
    script_json,
    script_text,
    triangles,
    unpack,
)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_packed_integers_come_back(dtype: type) -> None:
    array = np.array([0, 1, 200, np.iinfo(dtype).max], dtype)
    assert unpack(pack(array)).tolist() == array.tolist()


def test_only_unsigned_integers_are_packed() -> None:
    with pytest.raises(ValueError, match="int64"):
        pack(np.array([1, 2]))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
@settings(deadline=None, max_examples=30)
def test_packed_floats_are_off_by_at_most_half_a_step(values: list[float]) -> None:
    array = np.array(values)
    step = (array.max() - array.min()) / STEPS
    assert np.abs(unpack(pack_floats(array)) - array).max() <= step / 2 + 1e-9


def test_what_is_no_number_stays_none() -> None:
    back = unpack(pack_floats(torch.tensor([1.0, float("nan"), 3.0, float("inf")])))
    assert np.isnan(back).tolist() == [False, True, False, True]
    assert back[[0, 2]].tolist() == [1.0, 3.0]


def test_a_row_of_nothing_but_nan_is_packed() -> None:
    assert np.isnan(unpack(pack_floats(torch.full((3,), float("nan"))))).all()


def test_triangles_by_hand() -> None:
    pattern = torch.tensor([[[[1.0, 0.0], [0.25, 0.75]]]])
    assert triangles(pattern).tolist() == [255, 128, 221]  # 255 sqrt(p), the upper half left out


def test_attention_is_off_by_at_most_what_is_said() -> None:
    pattern = torch.zeros(1, 2, 40, 40)
    pattern[0, 0] = torch.linspace(0, 1, 1600).view(40, 40)
    pattern[0, 1] = torch.linspace(0.005, 0.015, 1600).view(40, 40)
    rows, columns = np.tril_indices(40)
    back = (triangles(pattern).reshape(2, -1) / 255.0) ** 2
    error = np.abs(back - pattern[0][:, rows, columns].numpy()).max(axis=1)
    assert error[0] <= 0.004
    assert error[1] <= 0.0005


def test_words_are_kept_once_in_order_of_appearance() -> None:
    words = Words(["<s>", " a", " b"])
    assert words.of([" b", " x", " b"]).tolist() == [0, 1, 0]
    assert words.of_ids(np.array([[1, 2], [-1, 0]])).tolist() == [[3, 0], [NONE16, 2]]
    assert words.texts == [" b", " x", "<s>", " a"]


def test_flatten_by_hand() -> None:
    # Two windows overlap in story 0, one is at the beginning of story 1, one has nothing in its middle.
    windows = np.array([[10, 11, 12], [11, 12, 13], [-1, 20, 21], [-1, -1, -1]])
    text, places = flatten(windows, np.array([0, 0, 1, 0]), np.array([1, 2, 0, 0]))
    assert text.tolist() == [10, 11, 12, 13, -1, 20, 21]
    assert places.tolist() == [1, 2, 5, -1]


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_every_window_can_be_read_back_from_the_flat_text(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corpus = rng.integers(0, 50, (4, 30))
    story, pos = rng.integers(0, 4, 25), rng.integers(0, 30, 25)
    at = pos[:, None] + np.arange(-3, 4)
    windows = np.where((at >= 0) & (at < 30), corpus[story[:, None], at.clip(0, 29)], -1)
    text, places = flatten(windows, story, pos)
    for window, place in zip(windows, places, strict=True):
        found = []
        for step in (-1, 1):
            i, side = place + step, []
            while 0 <= i < len(text) and text[i] != -1 and len(side) < 3:
                side.append(int(text[i]))
                i += step
            found.append(side)
        middle = 3
        assert text[place] == window[middle]
        assert found[0] == [int(t) for t in window[:middle][::-1] if t != -1]
        assert found[1] == [int(t) for t in window[middle + 1 :] if t != -1]


def test_flatten_of_nothing() -> None:
    text, places = flatten(np.full((2, 3), -1), np.zeros(2, int), np.zeros(2, int))
    assert text.tolist() == []
    assert places.tolist() == [-1, -1]


def test_json_in_a_script_element_holds_no_markup_and_comes_back() -> None:
    value = {"text": "</script><!-- <script>\u2028 é"}
    text = script_json(value)
    assert "<" not in text
    assert json.loads(text) == value
    with pytest.raises(ValueError, match="Out of range float"):
        script_json({"x": float("nan")})


def test_javascript_cannot_end_its_element() -> None:
    assert script_text('a="<script></script>"; b="<!--"') == 'a="<script><\\/script>"; b="<\\!--"'
