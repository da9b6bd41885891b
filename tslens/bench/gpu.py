"""How fast does the 512x12 model train on one NVIDIA GPU, beside a plain GPT, transformers and HookedTransformer?

`python -m tslens.bench.gpu --out gpu.json`, in the repository: needs PyTorch, tokenizers, safetensors, jaxtyping, rich,
numpy, pydantic. Where transformer-lens or transformers is missing, its rows are left out and that is said; ours then
runs on the same parameters with no TransformerLens around them. A turn is a few whole steps: loss, gradients, fused
AdamW. All sides take turns. Before eight minutes it writes what it has and stops, whatever is under way.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tslens.bench.measure import Work, faster
from tslens.bench.peers import PEERS, SMOKE, Loss, Peer, Setting, ours
from tslens.bench.size import random_tokens
from tslens.train import optimizer as optimizers

SHARE, RATIO = 0.45, 1.1  # of the matrix peak, and of a compiled plain GPT's speed, that ours compiled is to reach
OURS, PLAIN = "tslens compiled", "plain GPT compiled"


class Bench:
    """One run: what is at hand, what was measured, what was left out and why."""

    def __init__(self, setting: Setting, say: Callable[[str], None]) -> None:
        self.setting, self.say, self.began = setting, say, time.perf_counter()
        self.left_out: dict[str, str] = {}
        self.works: dict[str, Work] = {}
        self.memory: dict[str, dict[int, int | None]] = {}
        self.peaks: list[float] = []
        self.turns: list[list[float]] = []

    @property
    def late(self) -> bool:
        return time.perf_counter() - self.began > self.setting.seconds

    def run(self) -> dict[str, Any]:
        """Everything as JSON can hold it."""
        self.peak()
        for peer in PEERS:
            if peer.needs and not find_spec(peer.needs):
                self.left_out[peer.name] = f"{peer.needs} is not installed"
            elif self.late:
                self.left_out[peer.name] = "no time was left"
            else:
                self.say(peer.name)
                self.begin(peer)
        self.peak()
        self.take_turns()
        self.peak()
        return self.found() | {"muon_step_seconds": self.muon(), "seconds": time.perf_counter() - self.began}

    def found(self) -> dict[str, Any]:
        """What is known so far."""
        return self.facts() | (self.results(np.array(self.turns)) if self.turns else {"turns": 0})

    def begin(self, peer: Peer) -> None:
        """Build it, let it compile and warm up, and read its peak memory at every batch size."""
        setting = self.setting
        before = self.allocated()
        try:
            model, loss = peer.build(setting)
            step = self.step(model, loss)
            sizes = (setting.batch,) if peer.compiled else setting.batches
            for batch in sizes:
                self.memory.setdefault(peer.name, {})[batch] = self.peak_memory(step, batch, before)
            step(self.rows(setting.batch))
        except Exception as error:  # a peer that cannot run here is a finding, not the end of the others
            self.left_out[peer.name] = (
                f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
            )
            return

        def work() -> None:
            for _ in range(setting.steps):
                step(self.rows(setting.batch))
            self.wait()

        self.works[peer.name] = work

    def step(self, model: nn.Module, loss: Loss) -> Callable[[Tensor], None]:
        """A whole step; every side moves by the fused AdamW."""
        model.to(self.setting.device)
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, fused=True)

        def step(rows: Tensor) -> None:
            loss(rows).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return step

    def rows(self, batch: int) -> Tensor:
        return random_tokens(batch, self.setting.context + 1, self.setting.vocabulary).to(self.setting.device)

    def peak_memory(self, step: Callable[[Tensor], None], batch: int, before: int) -> int | None:
        """Bytes allocated at the highest point of a step, model and optimizer counted; None where they do not fit."""
        if self.setting.device == "cpu":
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
        """Keep the seconds of each side's turns."""
        for number in range(self.setting.turns):
            if self.late and number >= 2:
                break
            self.say(f"turn {number + 1} of {self.setting.turns}")
            self.turns.append([self.seconds(work) for work in self.works.values()])

    def peak(self) -> None:
        """FLOP/s of a large bf16 product, ten in a row after two."""
        n = self.setting.square
        a, b = (torch.randn(n, n, device=self.setting.device, dtype=torch.bfloat16) for _ in range(2))

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
        if self.setting.device == "cuda":
            torch.cuda.synchronize()

    def allocated(self) -> int:
        return torch.cuda.memory_allocated() if self.setting.device == "cuda" else 0

    def facts(self) -> dict[str, Any]:
        s = self.setting
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
        """Speeds, ratios and whether the goals are met, from seconds `[turn, side]`."""
        s, names = self.setting, list(self.works)[: turns.shape[1]]
        tokens, flops = s.steps * s.batch * s.context, s.spec.flops_per_token(training=True)
        chosen = {peer.name: peer for peer in PEERS}
        rows: list[dict[str, Any]] = []
        for i, name in enumerate(names):
            speed = tokens / float(np.median(turns[:, i]))
            rows.append(
                {
                    "name": name,
                    "precision": chosen[name].precision,
                    "compiled": chosen[name].compiled,
                    "tokens_per_second": speed,
                    "share_of_peak": speed * flops / float(np.median(self.peaks)),
                    "peak_bytes_by_batch": dict(self.memory[name]),
                }
            )
        ratios = {}
        for one, other in (
            (OURS, PLAIN),
            ("tslens", "plain GPT"),
            ("tslens", "LanguageModel"),
        ):
            if one in names and other in names:
                found = faster(turns[:, names.index(one)], turns[:, names.index(other)], units=tokens, unit="tokens")
                ratios[f"{one} / {other}"] = {"ratio": found.value, "low": found.low, "high": found.high}
        return {
            "turns": len(turns),
            "steps_of_a_turn": s.steps,
            "rows": rows,
            "ratios": ratios,
            "goals": [
                _goal("share of the matrix peak", SHARE, {row["name"]: row["share_of_peak"] for row in rows}.get(OURS)),
                _goal(f"{OURS} / {PLAIN}", RATIO, ratios.get(f"{OURS} / {PLAIN}", {}).get("ratio")),
            ],
        }

    def muon(self) -> float | None:
        """Seconds of one step of Muon instead of AdamW, which a recipe may choose."""
        with suppress(Exception):
            model, loss = ours(self.setting)
            model.to(self.setting.device)
            optimizer = optimizers.make(model, optimizers.OptimizerSettings(method="muon", lr=1e-4))
            loss(self.rows(2)).backward()
            optimizer.step()
            return float(np.median([self.seconds(optimizer.step) for _ in range(5)]))
        return None


def _goal(what: str, least: float, measured: float | None) -> dict[str, Any]:
    return {"what": what, "at_least": least, "measured": measured, "met": measured is not None and measured >= least}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write or print the JSON; 2 where there is no NVIDIA GPU."""
    parser = argparse.ArgumentParser(prog="python -m tslens.bench.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, help="the JSON file; printed where not given")
    parser.add_argument(
        "--cpu-smoke", action="store_true", help="the same code on the CPU, tiny: no number means anything"
    )
    asked = parser.parse_args(arguments)
    if not asked.cpu_smoke and not (torch.cuda.is_available() and torch.version.cuda):
        print(
            "tslens: no NVIDIA GPU is at hand (torch.cuda.is_available() is False): nothing was measured.",
            file=sys.stderr,
        )
        return 2
    began, writing, setting = time.perf_counter(), Lock(), SMOKE if asked.cpu_smoke else Setting()
    bench = Bench(
        setting, lambda what: print(f"{time.perf_counter() - began:5.0f} s  {what}", file=sys.stderr, flush=True)
    )

    def write(found: dict[str, Any]) -> None:
        text = json.dumps(found, indent=1)
        if asked.out is None:
            print(text, flush=True)
        else:
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            asked.out.write_text(text + "\n", encoding="utf-8")

    def give_up() -> None:
        with writing:
            try:
                write(bench.found() | {"cut_after_seconds": setting.deadline})
            finally:
                os._exit(0)  # what is under way may be deep in a compiler

    timer = Timer(setting.deadline, give_up)
    timer.daemon = True
    timer.start()
    found = bench.run()
    with writing:
        timer.cancel()
        write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
