"""Continuous batching: the same tokens at any width, rows that leave and rows that come, and memory that stays."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.generate.test_generate import GREEDY, SPECS, random_model
from tslens.generate import Sampling, generate_ids, stream, streaming
from tslens.generate.streaming import Group
from tslens.models import HookedSpec, spec_of
from tslens.models.hooked_spec import hooked_spec
from tslens.models.validation import remember

DRAWN = Sampling(1.2, seed=3)
PROMPTS = [[1], [1, 5, 9, 2, 7, 3], [1], [2, 2], [1, 4, 4], [3] * 9]


def collected(model: Any, rows: Any, **options: Any) -> list[list[int]]:
    made = dict(stream(model, rows, **options))
    return [made[i] for i in range(len(made))]


@pytest.mark.parametrize("spec", SPECS, ids=["gpt2", "windowed", "llama"])
@pytest.mark.parametrize("sampling", [GREEDY, DRAWN, Sampling(0.0, beams=2)], ids=["greedy", "drawn", "beams"])
def test_a_row_is_the_same_at_any_width(spec: Any, sampling: Sampling) -> None:
    model = random_model(spec)
    options = {"sampling": sampling, "stop": 4, "max_new_tokens": 12}
    alone = collected(model, PROMPTS, width=1, **options)
    for width in (2, 4):
        assert collected(model, iter(PROMPTS), width=width, **options) == alone
    assert len({len(row) for row in alone}) > 1 or sampling.temperature == 0  # rows leave at different steps
    assert generate_ids(model, PROMPTS, **options) == alone


def test_in_bf16_too() -> None:
    model = random_model(SPECS[0])
    alone = collected(model, PROMPTS, sampling=DRAWN, stop=4, width=1, precision="bfloat16")
    kept = collected(model, PROMPTS, sampling=DRAWN, stop=4, width=3, precision="bfloat16")
    assert sum(a == b for a, b in zip(alone, kept, strict=True)) >= 4  # rounding may turn a draw


def test_a_compressor_too(compressor: Any) -> None:
    prompts = [[1, 5, 9, 2], [1, 4, 4], [1], [1, 4, 4], [2, 2], [7] * 7]
    alone = collected(compressor, prompts, sampling=DRAWN, stop=-1, max_new_tokens=9, width=1)
    for width in (2, 4, 9):
        assert collected(compressor, prompts, sampling=DRAWN, stop=-1, max_new_tokens=9, width=width) == alone


def test_a_number_says_what_a_row_draws_wherever_it_stands() -> None:
    model = random_model(SPECS[0])
    made = collected(model, [[1]] * 6, sampling=DRAWN, stop=-1, width=4)
    turned = collected(model, [[1]] * 6, numbers=[5, 4, 3, 2, 1, 0], sampling=DRAWN, stop=-1, width=3)
    assert made == turned[::-1] and len({tuple(row) for row in made}) == 6


def test_rows_are_taken_only_when_there_is_room_and_given_as_soon_as_they_end() -> None:
    model, taken = random_model(SPECS[0]), []

    def endless() -> Iterator[list[int]]:
        while True:
            taken.append(1)
            yield [1 + len(taken) % 7]

    made = stream(model, endless(), sampling=DRAWN, stop=4, width=8)
    given = [next(made) for _ in range(40)]
    assert len({place for place, _ in given}) == 40 and 40 <= len(taken) <= 48


def test_no_more_rows_are_held_than_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    model, held, fed = random_model(SPECS[0]), [], []
    begun = Group.begun.__func__

    def watched(cls: Any, pen: Any, rows: Any, like: Any) -> Group:
        fed.append(len(rows))
        group: Group = begun(cls, pen, rows, like)
        held.append(group)
        return group

    monkeypatch.setattr(Group, "begun", classmethod(watched))
    at_a_time = []
    for _ in stream(model, [[1 + i % 7] for i in range(60)], sampling=DRAWN, stop=4, width=10):
        at_a_time.append(sum(len(group.writer.pad) for group in held))
        for keys in (group.writer.keys[0] for group in held):
            assert keys.untyped_storage().nbytes() <= 2 * keys.nbytes
    assert max(at_a_time) <= 10 and sum(fed) == 60
    assert len(fed) > 10 and max(fed[1:]) < 10  # rows came while others went on
    assert all(not len(group.place) for group in held)


def test_the_keys_and_values_of_a_batch_have_a_gigabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    model, widths = random_model(SPECS[0]), []

    def taken(pen: Any, asked: Any, width: int) -> Iterator[tuple[int, list[int]]]:
        widths.append(width)
        return iter(())

    monkeypatch.setattr(streaming, "_sample", taken)
    row = 24 * 2 * 2 * 32 * 4  # positions, keys and values, layers, width, bytes
    for memory, rows in ((1 << 30, streaming.WIDTH), (5 * row, 5), (row - 1, 1)):
        monkeypatch.setattr(streaming, "MEMORY", memory)
        assert list(stream(model, [[1]], stop=4)) == [] and widths[-1] == rows


def test_a_model_of_the_slow_path_too() -> None:
    slow = random_model(SPECS[0])
    fast = collected(slow, PROMPTS, sampling=DRAWN, stop=4, max_new_tokens=8)
    remember(slow, hooked_spec(slow, ["a test"]))
    assert isinstance(spec_of(slow), HookedSpec)
    assert collected(slow, PROMPTS, sampling=DRAWN, stop=4, max_new_tokens=8, width=3) == fast


@pytest.mark.parametrize(
    ("options", "message"),
    [({"width": 0}, "width is 0"), ({"max_new_tokens": 0}, "max_new_tokens is 0")],
)
def test_refusals(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stream(random_model(SPECS[0]), [[1]], stop=4, **options)
