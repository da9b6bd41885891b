"""Training benchmark on one GPU: whole steps of every peer in turns, and the peak memory of each.

A turn is a few whole steps: loss, gradients, fused AdamW. All peers take turns.
"""

import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tslens.bench.measure import Work, faster
from tslens.bench.peers import GPT2, HOOKED, OURS, PEERS, PLAIN, Peer, PeerModel, TrainingSetup
from tslens.bench.size import random_tokens
from tslens.models import Spec
from tslens.train.optimizer import OptimizerSettings

COMPILED = " compiled"
PEAK_SHARE, SPEEDUP = 0.45, 1.1
"""Targets of our compiled model: share of the matrix peak, and of the compiled plain GPT's speed."""
COMPARED = ((OURS + COMPILED, PLAIN + COMPILED), (OURS, PLAIN), (OURS, HOOKED))


@dataclass(frozen=True)
class RaceSize:
    """Sizes, repeats and time limits."""

    device: str = "cuda"
    shape: str = "512x12"
    vocabulary: int = 4096
    context: int = 512
    batch: int = 64
    batches: tuple[int, ...] = (8, 32, 64, 128)
    """batch sizes at which the peak memory of peers that are not compiled is read"""
    turns: int = 8
    steps: int = 5
    """steps of a turn"""
    square: int = 8192
    """side of the matrices whose product is the peak"""
    seconds: float = 330.0
    """seconds after which nothing new is begun"""
    deadline: float = 465.0
    """seconds after which the results so far are written, even during a measurement"""
    backend: str = "inductor"

    @property
    def spec(self) -> Spec:
        return Spec.parse(self.shape, d_vocab=self.vocabulary, n_ctx=self.context)

    def setup(self, compiled: bool = False) -> TrainingSetup:
        """The training setup of a peer."""
        return TrainingSetup(self.spec, torch.bfloat16, self.device, self.backend if compiled else None)


SMOKE = RaceSize("cpu", "16x1x2", 64, 16, 4, (2, 4), 2, 1, 64, backend="aot_eager")
RUNNERS: tuple[tuple[str, Peer, bool], ...] = (
    *((name, peer, False) for name, peer in PEERS.items()),
    *((name + COMPILED, PEERS[name], True) for name in (OURS, PLAIN, GPT2)),
)
"""The contestants: name, peer, and whether it is compiled."""


class GPURace:
    """One run: the available peers, the measurements, and what was left out and why."""

    def __init__(self, size: RaceSize, say: Callable[[str], None]) -> None:
        self.size, self.say, self.began = size, say, time.perf_counter()
        self.left_out: dict[str, str] = {}
        self.works: dict[str, Work] = {}
        self.memory: dict[str, dict[int, int | None]] = {}
        self.peaks: list[float] = []
        self.turns: list[list[float]] = []

    @property
    def late(self) -> bool:
        return time.perf_counter() - self.began > self.size.seconds

    def run(self) -> dict[str, Any]:
        """All results as JSON-able data."""
        self.peak()
        for name, peer, compiled in RUNNERS:
            if peer.missing:
                self.left_out[name] = f"{peer.needs} is not installed"
            elif self.late:
                self.left_out[name] = "no time was left"
            else:
                self.say(name)
                self.begin(name, peer, compiled)
        self.peak()
        self.take_turns()
        self.peak()
        return self.found() | {"muon_step_seconds": self.muon(), "seconds": time.perf_counter() - self.began}

    def found(self) -> dict[str, Any]:
        """The results so far."""
        return self.facts() | (self.results(np.array(self.turns)) if self.turns else {"turns": 0})

    def begin(self, name: str, peer: Peer, compiled: bool) -> None:
        """Build a peer, compile and warm it up, and read its peak memory at every batch size."""
        size, before = self.size, self.allocated()
        try:
            made = peer.build(size.setup(compiled))
            step = partial(made.step, optimizer=made.optimizer(OptimizerSettings(method="adamw", lr=1e-4)))
            for batch in (size.batch,) if compiled else size.batches:
                self.memory.setdefault(name, {})[batch] = self.peak_memory(step, batch, before)
            step(self.rows(size.batch))
        except Exception as error:  # a peer that cannot run here is a finding, not the end of the others
            self.left_out[name] = f"{type(error).__name__}: {''.join(str(error).splitlines()[:1])[:200]}"
            return

        def work() -> None:
            for _ in range(size.steps):
                step(self.rows(size.batch))
            self.wait()

        self.works[name] = work

    def rows(self, batch: int) -> Tensor:
        return random_tokens(batch, self.size.context + 1, self.size.vocabulary).to(self.size.device)

    def peak_memory(self, step: Callable[[Tensor], None], batch: int, before: int) -> int | None:
        """Peak bytes allocated in a step, model and optimizer included; None if they do not fit."""
        if self.size.device == "cpu":
            step(self.rows(batch))
            return None
        try:
            step(self.rows(batch))
            torch.cuda.reset_peak_memory_stats()
            step(self.rows(batch))
            self.wait()
            return torch.cuda.max_memory_allocated() - before
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            return None

    def take_turns(self) -> None:
        """Record the seconds of each peer's turns."""
        for number in range(self.size.turns):
            if self.late and number >= 2:
                break
            self.say(f"turn {number + 1} of {self.size.turns}")
            self.turns.append([self.seconds(work) for work in self.works.values()])

    def peak(self) -> None:
        """FLOP/s of a large bf16 product, ten in a row after two warm-up products."""
        n = self.size.square
        a, b = (torch.randn(n, n, device=self.size.device, dtype=torch.bfloat16) for _ in range(2))

        def products(count: int) -> None:
            for _ in range(count):
                torch.mm(a, b)
            self.wait()

        products(2)
        self.peaks.append(10 * 2 * n**3 / self.seconds(lambda: products(10)))

    def seconds(self, work: Work) -> float:
        self.wait()
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    def wait(self) -> None:
        if self.size.device == "cuda":
            torch.cuda.synchronize()

    def allocated(self) -> int:
        return torch.cuda.memory_allocated() if self.size.device == "cuda" else 0

    def facts(self) -> dict[str, Any]:
        s = self.size
        cuda = s.device == "cuda"
        return {
            "device": torch.cuda.get_device_name() if cuda else f"CPU, {torch.get_num_threads()} threads",
            "torch": torch.__version__,
            "cuda": torch.version.cuda if cuda else None,
            "python": platform.python_version(),
            "shape": s.shape,
            "parameters": s.spec.n_parameters(),
            "vocabulary": s.vocabulary,
            "context": s.context,
            "batch": s.batch,
            "flops_per_token": s.spec.flops_per_token(training=True),  # the whole square of attention counted
            "matrix_peak_flops": float(np.median(self.peaks)) if self.peaks else None,
            "matrix_peaks_measured": self.peaks,
            "left_out": dict(self.left_out),
        }

    def results(self, turns: np.ndarray) -> dict[str, Any]:
        """Speeds, ratios and whether the targets are met, from seconds `[turn, peer]`."""
        s, spent = self.size, dict(zip(self.works, turns.T, strict=False))
        tokens, flops = s.steps * s.batch * s.context, s.spec.flops_per_token(training=True)
        runners = {name: (peer, compiled) for name, peer, compiled in RUNNERS}
        rows: list[dict[str, Any]] = []
        for name, seconds in spent.items():
            (peer, compiled), speed = runners[name], tokens / float(np.median(seconds))
            rows.append(
                {
                    "name": name,
                    "precision": "fp32" if peer.fp32 else "bf16",
                    "compiled": compiled,
                    "tokens_per_second": speed,
                    "share_of_peak": speed * flops / float(np.median(self.peaks)),
                    "peak_bytes_by_batch": dict(self.memory[name]),
                }
            )
        ratios = {}
        for one, other in COMPARED:
            if one in spent and other in spent:
                found = faster(spent[one], spent[other], units=tokens, unit="tokens")
                ratios[f"{one} / {other}"] = {"ratio": found.value, "low": found.low, "high": found.high}
        shares = {row["name"]: row["share_of_peak"] for row in rows}
        best = " / ".join(COMPARED[0])
        goals = [
            _goal("share of the matrix peak", PEAK_SHARE, shares.get(OURS + COMPILED)),
            _goal(best, SPEEDUP, ratios.get(best, {}).get("ratio")),
        ]
        return {"turns": len(turns), "steps_of_a_turn": s.steps, "rows": rows, "ratios": ratios, "goals": goals}

    def muon(self) -> float | None:
        """Seconds of one step of Muon, the alternative to AdamW in recipes."""
        if not hasattr(torch.optim, "Muon") or OURS in self.left_out:
            return None
        with suppress(torch.cuda.OutOfMemoryError):
            made: PeerModel = PEERS[OURS].build(self.size.setup())
            optimizer = made.optimizer(OptimizerSettings(method="muon", lr=1e-4))
            made.backward(self.rows(2))
            optimizer.step()
            return float(np.median([self.seconds(optimizer.step) for _ in range(5)]))
        return None


def _goal(what: str, least: float, measured: float | None) -> dict[str, Any]:
    return {"what": what, "at_least": least, "measured": measured, "met": measured is not None and measured >= least}
