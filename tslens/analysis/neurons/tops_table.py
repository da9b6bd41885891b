"""The table of the top tokens of every neuron."""

from csv import writer
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tslens.analysis.neurons.result import ProfilesResult


def write(answer: "ProfilesResult", path: Path) -> None:
    """Write a row per neuron and rank: the token, five tokens either side, and the hash of the story."""
    layers, width, _ = answer.top_tokens.shape
    side = answer.top_contexts.shape[-1] // 2
    text = [*answer.pieces, ""]  # so that -1 is nothing
    values, places = answer.top_values.tolist(), answer.top_pos.tolist()
    stories = answer.story_hashes[answer.top_story].tolist()
    with path.open("w", encoding="utf-8", newline="") as file:
        table = writer(file, lineterminator="\n")
        table.writerow("layer neuron rank value story position before token after".split())
        for i, j in product(range(layers), range(width)):
            for k, around in enumerate(answer.top_contexts[i, j].tolist()):
                if around[side] < 0:
                    break  # fewer tokens than ranks
                seen = [text[token] for token in around]
                before, after = "".join(seen[:side]), "".join(seen[side + 1 :])
                place = (f"{stories[i][j][k] % 2**64:016x}", places[i][j][k])
                at = answer.layer_of(i), j, k + 1, f"{values[i][j][k]:.6g}"
                table.writerow((*at, *place, before, seen[side], after))
