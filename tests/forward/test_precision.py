"""`auto` takes bfloat16 only where the model's own products are faster in it, by a clock that the tests move."""

import time

import pytest
import torch

from tslens import forward
from tslens.forward import precision
from tslens.models import CompressorSpec, Spec, build

CPU = torch.device("cpu")
SPEC = Spec(16, 2, 2, d_vocab=30, n_ctx=12)


class Clock:
    """A clock that only the measured work moves."""

    def __init__(self, **seconds: float) -> None:
        self.now, self.seconds, self.order = 0.0, seconds, []

    def work(self, rows: int, dtype: torch.dtype) -> None:
        self.order.append((rows, str(dtype).removeprefix("torch.")))
        self.now += self.seconds[self.order[-1][1]] * rows


@pytest.mark.parametrize(
    ("bfloat16", "dtype"),
    [(2e-6, torch.float32), (1e-6, torch.float32), (1e-6 / 1.05, torch.float32), (0.5e-6, torch.bfloat16)],
)
def test_bfloat16_is_taken_where_it_is_a_tenth_faster(
    monkeypatch: pytest.MonkeyPatch, bfloat16: float, dtype: torch.dtype
) -> None:
    clock = Clock(float32=1e-6, bfloat16=bfloat16)
    monkeypatch.setattr(time, "perf_counter", lambda: clock.now)
    found = precision.speedup(clock.work, CPU)
    assert found == pytest.approx(1e-6 / bfloat16) and precision.worthwhile(found) is dtype
    assert [name for _, name in clock.order] == ["float32", "bfloat16"] * (2 + 1 + precision.REPEATS)  # in turns
    assert {rows for rows, _ in clock.order[4:]} == {precision.MOST}  # the time allows for more


def test_a_slow_machine_measures_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(float32=1e-4, bfloat16=1e-4)
    monkeypatch.setattr(time, "perf_counter", lambda: clock.now)
    precision.speedup(clock.work, CPU)
    assert {rows for rows, _ in clock.order[4:]} == {int(precision.BUDGET / precision.REPEATS / 2e-4)}


def test_one_slow_turn_does_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(float32=1.0, bfloat16=2.0)

    def work(rows: int, dtype: torch.dtype) -> None:
        clock.work(1, dtype)
        clock.now += 100.0 * (len(clock.order) == 7)  # the machine was busy with something else

    monkeypatch.setattr(time, "perf_counter", lambda: clock.now)
    assert precision.speedup(work, CPU) == 0.5


@pytest.mark.parametrize(
    "shape",
    [
        SPEC,
        Spec(24, 1, 6, d_vocab=50, n_ctx=16, style="llama", n_key_value_heads=2),
        CompressorSpec(16, 1, 2, 1, n_heads=2, d_vocab=30, n_ctx=12),
    ],
    ids=lambda shape: shape.style,
)
def test_the_products_of_every_style_are_measured(monkeypatch: pytest.MonkeyPatch, shape: Spec) -> None:
    """Once: the second time the answer is remembered."""
    ran = []

    def speedup(work: precision.Work, device: torch.device) -> float:
        for dtype in precision.PRECISIONS.values():
            work(8, dtype)
        ran.append(device)
        return 1.2

    monkeypatch.setattr(precision, "speedup", speedup)
    monkeypatch.setattr(precision, "has_bf16", lambda device: True)
    precision._measured.cache_clear()
    try:
        assert [forward.dtype_for("auto", shape, CPU) for _ in range(2)] == [torch.bfloat16] * 2
        assert ran == [CPU]
        with torch.inference_mode():  # as a scan asks
            precision._measured.cache_clear()
            assert forward.bf16_speedup(shape, CPU) == 1.2
    finally:
        precision._measured.cache_clear()


def test_a_named_precision_is_never_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "bf16_speedup", lambda *given: pytest.fail("measured"))
    model = build(SPEC)
    assert forward.resolve_dtype("float32", model) is torch.float32
    assert forward.resolve_dtype("bfloat16", model) is torch.bfloat16
    with pytest.raises(ValueError, match="precision is 'half'; it must be auto, float32 or bfloat16"):
        forward.resolve_dtype("half", model)


def test_without_kernels_for_bfloat16_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bf16", lambda device: False)
    monkeypatch.setattr(precision, "speedup", lambda *given: pytest.fail("measured"))
    precision._measured.cache_clear()
    assert forward.resolve_dtype("auto", build(SPEC)) is torch.float32
    precision._measured.cache_clear()
