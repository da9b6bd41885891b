"""Speed and memory of training the 512x12 model on one NVIDIA GPU, against a plain GPT and other libraries.

`python -m tslens.bench.gpu --out gpu.json`, in the repository: needs PyTorch, tokenizers, safetensors, jaxtyping, rich,
numpy, pydantic, filelock. If transformer-lens or transformers is missing, its rows are left out with a note; ours then
runs on the same parameters without TransformerLens. Before eight minutes have passed it writes its results so far and
stops.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, Timer
from typing import Any

import torch

from tslens.bench.gpu_race import SMOKE, GPURace, RaceSize


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
            "tslens: no NVIDIA GPU found (torch.cuda.is_available() is False): nothing was measured.",
            file=sys.stderr,
        )
        return 2
    began, writing, size = time.perf_counter(), Lock(), SMOKE if asked.cpu_smoke else RaceSize()
    race = GPURace(
        size, lambda what: print(f"{time.perf_counter() - began:5.0f} s  {what}", file=sys.stderr, flush=True)
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
                write(race.found() | {"cut_after_seconds": size.deadline})
            finally:
                os._exit(0)  # what is under way may be deep in a compiler

    timer = Timer(size.deadline, give_up)
    timer.daemon = True
    timer.start()
    found = race.run()
    with writing:
        timer.cancel()
        write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
