"""Log-probabilities of lines of tokens under a model, kept in the cache: each part is computed once and then read."""

import contextlib
import hashlib
import json
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from tslens import files, forward, progress
from tslens.errors import InputError
from tslens.evaluation.lines import log_probabilities
from tslens.models import LanguageModel, weights_key
from tslens.paths import MOST_KEPT, contents, refuse_special

FOLDER = "log-probabilities"
"""The folder in the cache; it has a folder for each model, and that a file for each part."""
VERSION = 1
"""Part of the key of what is kept: raise it when what computes it changes."""
MOST = 2_000
"""Lines of a part that one file holds: what a kill loses at most."""


def kept_log_probabilities(
    model: LanguageModel,
    lines: Sequence[Sequence[int]],
    starts: Sequence[int],
    parts: Sequence[Hashable],
    *,
    precision: str = "float32",
    batch_tokens: int = 1024,
    what: str = "lines",
) -> Float[Tensor, " line"]:
    """The same as `log_probabilities`. Lines of one of the `parts`, which are named line by line, are read together and
    kept as soon as they are read.

    What is kept answers for the same weights, tokens, starts, precision and batches, bit for bit. A file that is
    damaged is replaced. Where nothing can be kept, all is computed anew next time.
    """
    how = [VERSION, weights := weights_key(model), str(forward.resolve_dtype(precision, model)), batch_tokens]
    found = torch.zeros(len(lines), dtype=torch.float64)
    with progress.bar(what, len(lines)) as bar:
        for group in _groups(parts):
            asked = [lines[i] for i in group], [starts[i] for i in group]
            key = hashlib.blake2b(json.dumps([how, asked]).encode(), digest_size=16).hexdigest()
            place = files.cache() / FOLDER / weights / f"{key}.safetensors"
            with progress.part(bar, len(group)):
                if (values := _read(place, len(group))) is None:
                    values = log_probabilities(model, *asked, precision=precision, batch_tokens=batch_tokens, what=what)
                    _keep(place, values)
            found[group] = values
    return found


def _groups(parts: Sequence[Hashable]) -> Iterator[list[int]]:
    """The places of the lines of each part, `MOST` at a time."""
    places = defaultdict[Hashable, list[int]](list)
    for i, part in enumerate(parts):
        places[part].append(i)
    for of in places.values():
        yield from (of[i : i + MOST] for i in range(0, len(of), MOST))


def _read(place: Path, lines: int) -> Tensor | None:
    """What was kept for these lines; None where it is not there or damaged."""
    with contextlib.suppress(OSError, InputError, SafetensorError, KeyError, ValueError):
        refuse_special(place)
        found = load(contents(place, MOST_KEPT))
        values = found["values"]
        if (values.dtype, values.shape) == (torch.float64, (lines,)) and found["digest"].equal(_digest(place, values)):
            return values
    return None


def _keep(place: Path, values: Tensor) -> None:
    with contextlib.suppress(OSError, InputError), files.atomic(place, "wb") as file:
        file.write(save({"values": values, "digest": _digest(place, values)}))


def _digest(place: Path, values: Tensor) -> Tensor:
    """A hash of the values under the key that they are kept by: it tells what was altered and what was renamed."""
    digest = hashlib.blake2b(values.numpy().tobytes(), key=place.stem.encode(), digest_size=16)
    return torch.tensor(list(digest.digest()), dtype=torch.uint8)
