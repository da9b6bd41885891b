"""The table of memory: counted right, on a line where it is said to be, and a GPU's peak where there is one."""

import gc
import json
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tslens import cli
from tslens.bench import memory as module
from tslens.bench.memory import ENTRIES, OUT, Entry, Memory, memory, on_line
from tslens.bench.size import random_tokens
from tslens.forward.saved_bytes import saved_bytes
from tslens.models import Spec

TINY = {"widths": (16, 32), "batches": (2, 4, 16), "layers": 4, "context": 16}
SMALL = tuple(Entry(entry.name, 300 if "50k" in entry.name else 60, entry.make) for entry in ENTRIES)


@pytest.fixture(scope="module")
def table() -> Memory:
    return memory(**TINY, entries=SMALL, device=None)


def test_every_model_is_measured_and_larger_batches_are_on_its_line(table: Memory) -> None:
    assert table.saved.shape == (8, 2, 3) and (table.saved > 0).all()
    assert table.measured.tolist()[0][0] == [True, True, False]
    spec = Spec.parse("16x4", d_vocab=300, n_ctx=16)
    for i, entry in enumerate(SMALL):
        model, loss = entry.make(spec if entry.vocabulary == 300 else Spec.parse("16x4", d_vocab=60, n_ctx=16))
        rows = random_tokens(16, 17, entry.vocabulary)
        assert table.saved[i, 0, 2] == saved_bytes(model, lambda: loss(rows)), entry.name  # noqa: B023


def test_what_the_table_must_show(table: Memory) -> None:
    by_name = dict(zip(table.models, table.saved[:, 0, 1].tolist(), strict=True))
    assert by_name["tslens, 50k"] < by_name["HookedTransformer, 50k"]
    assert by_name["compressor matched, 50k"] < by_name["compressor as published, 50k"]
    parameters = dict(zip(table.models, table.parameters[:, 1].tolist(), strict=True))
    assert parameters["GPT2LMHeadModel, no dropout, 50k"] == parameters["tslens, 50k"]
    assert parameters["compressor as published, 50k"] > 1.5 * parameters["tslens, 50k"]


def test_a_line_worked_out_by_hand() -> None:
    assert on_line({2: 10, 3: 14, 4: 18}, 32) == 10 + 30 * 4
    assert on_line({2: 10, 3: 14, 4: 19}, 32) == OUT


def test_what_was_counted_is_free_again() -> None:
    """`exp` keeps its own output: were that kept as it is, it would hold itself."""
    layer, made = torch.nn.Linear(3, 5), []

    def loss() -> torch.Tensor:
        made.append(weakref.ref(y := layer(torch.ones(2, 3)).exp()))
        return y.sum()

    gc.disable()
    try:
        assert saved_bytes(layer, loss) == 4 * (2 * 3 + 2 * 5)
        assert made[0]() is None
    finally:
        gc.enable()


def test_summary_figure_and_folder(table: Memory, tmp_path: Path) -> None:
    frame = table.summary()
    assert list(frame.columns) == ["model", "width", "parameters", "saved 2", "saved 4", "saved 16"]
    assert len(frame) == 16 and len(table.to_frame()) == 48
    assert Memory.load(table.save(tmp_path)).saved.equal(table.saved)
    drawn = table.figure().axes[0].containers
    assert len(drawn) == len(table.widths)
    dots = [dot.lines[0].get_xdata()[0] for dot in drawn]  # type: ignore[attr-defined]
    assert dots == pytest.approx((table.saved[0, :, -1] / table.batches[-1] / 1e6).tolist())
    unknown = Memory(**{**vars(table), "saved": torch.full_like(table.saved, OUT)})
    assert unknown.summary()["saved 2"].isna().all()


class Accelerator(SimpleNamespace):
    """What the table asks of `torch.cuda`, with a memory that has room for so many rows."""

    OutOfMemoryError = MemoryError

    def __init__(self, room: int) -> None:
        super().__init__(room=room, resets=0, empty_cache=lambda: None)

    def get_device_name(self) -> str:
        return "a GPU"

    def reset_peak_memory_stats(self) -> None:
        self.resets += 1

    def max_memory_allocated(self) -> int:
        if self.resets > self.room:
            raise MemoryError
        return 1000 * self.resets


def test_the_peak_of_a_gpu_is_that_of_each_batch_until_it_is_full() -> None:
    found = memory((16,), (2, 4, 8), layers=4, context=16, entries=SMALL[4:5], device=Accelerator(room=2))
    assert found.peak.flatten().tolist() == [1000.0, 2000.0, float("inf")] and found.gpu == "a GPU"
    assert list(found.summary().columns[-3:]) == ["peak 2", "peak 4", "peak 8"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_peak_on_a_real_gpu() -> None:
    found = memory((16,), (2, 4), layers=4, context=16, entries=SMALL[4:5])
    assert (found.peak.flatten() > 0).all() and found.gpu


def test_the_command(in_tmp: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "memory", lambda widths: memory((16,), (2, 4, 8), **_few()))
    assert cli.main(["bench", "memory", "--quick", "--out", "out"]) == 0
    assert "compressor matched, 4k" in (out := capsys.readouterr().out) and "saved 8" in out
    assert Path("out/memory.svg").is_file() and Path("out/Memory/result.json").is_file()
    assert cli.main(["bench", "memory", "--quick", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2
    assert cli.main(["bench", "memory", "saved"]) == 2
    assert "memory has its own table and runs alone" in capsys.readouterr().err


def _few() -> dict[str, object]:
    return {"layers": 4, "context": 16, "entries": (SMALL[3], SMALL[7]), "device": None}
