"""Clock of generation: the seconds of every step of a batch."""

import time
from typing import TYPE_CHECKING

import torch

from tslens import forward
from tslens.generate.sampling import Sampling, sample_token
from tslens.generate.streaming import NEVER, Group, Pen, Row, step
from tslens.models import spec_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

FIRST = 0  # the token that every row begins with


@torch.inference_mode()
def step_seconds(
    model: "LanguageModel", rows: int, tokens: int, *, repeats: int = 1, precision: str = "float32"
) -> list[list[float]]:
    """The seconds of each step of each repeat, in which `rows` rows that begin with one token get `tokens` more each,
    sampled at temperature 1; no row ends before. The first step reads the prompts.

    Weights are packed before, as `generate` does once for all rows. A first repeat is not counted.
    """
    spec, dtype = spec_of(model, compressors=True), forward.resolve_dtype(precision, model)
    pen, device = Pen(model, spec, Sampling(), tokens, NEVER, dtype), next(model.parameters()).device
    begun = [Row(i, [FIRST], i) for i in range(rows)]
    like = Group.begun(pen, begun, None).writer
    found = []
    for _ in range(repeats):
        seconds, now = [], time.perf_counter()
        group = Group.begun(pen, begun, like)
        for t in range(tokens):
            if t:
                step([group])
            uniform = group.uniform[:, t]
            list(group.say(sample_token(group.scores, uniform, pen.sampling), NEVER))
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            seconds.append(-now + (now := time.perf_counter()))
        found.append(seconds)
    return found
