"""Arrays and text embedded in an HTML page: compact, with stated rounding, markup escaped.

Arrays are deflated and written in base64; the page inflates them with the browser's own `DecompressionStream`. The low
bytes of all numbers come first, then the higher ones: those hardly differ, and deflate to little.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8
from numpy.typing import NDArray
from torch import Tensor

from tslens.errors import InputError

NONE16, NONE32 = 0xFFFF, 0xFFFFFFFF
"""Missing values in arrays of 16-bit tokens and of 32-bit places."""
STEPS = 4095
"""Number of quantisation steps between the smallest and largest value."""

Packed = dict[str, Any]


def pack(array: NDArray[Any]) -> Packed:
    """An array of unsigned integers as JSON: its type, and its bytes deflated, in base64."""
    if array.dtype.name not in ("uint8", "uint16", "uint32"):
        raise ValueError(f"Only unsigned integers of 8, 16 or 32 bits are packed; got {array.dtype}.")
    raw = array.astype(array.dtype.newbyteorder("<")).ravel().view(np.uint8).reshape(-1, array.itemsize)
    return {"type": array.dtype.name, "data": base64.b64encode(zlib.compress(raw.T.tobytes(), 6)).decode("ascii")}


def pack_text(text: str) -> Packed:
    """A long text as JSON: its UTF-8 bytes deflated, in base64."""
    return {"type": "text", "data": base64.b64encode(zlib.compress(text.encode(), 6)).decode("ascii")}


def unpack(packed: Packed) -> NDArray[Any]:
    """The flat array that the page's script decodes from `pack` or `pack_floats`."""
    kind = np.dtype(packed["type"]).newbyteorder("<")
    raw = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), np.uint8)
    raw = np.ascontiguousarray(raw.reshape(kind.itemsize, -1).T).ravel().view(kind)
    if "scale" not in packed:
        return raw
    return np.where(raw == NONE16, np.nan, packed["low"] + raw * packed["scale"])


def pack_floats(values: Tensor | NDArray[Any], low: float | None = None, high: float | None = None) -> Packed:
    """Numbers in 4,095 even steps between `low` and `high`, by default their minimum and maximum; NaN and infinities
    become NaN."""
    array = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(array)
    if low is None or high is None:
        low, high = (float(array[finite].min()), float(array[finite].max())) if finite.any() else (0.0, 0.0)
    scale = (high - low) / STEPS or 1.0
    steps = np.where(finite, np.rint((np.where(finite, array, low) - low) / scale), NONE16).astype(np.uint16)
    return {**pack(steps), "low": low, "scale": scale}


def as_numpy(values: Tensor) -> NDArray[Any]:
    """A tensor's values as an array on the CPU."""
    return np.asarray(values.detach().cpu().numpy())


def triangles(pattern: Float[Tensor, "layer head query key"]) -> UInt8[np.ndarray, " weight"]:
    """The causal half of every head's attention, row after row, as 8-bit numbers.

    A weight p is stored as round(255 sqrt(p)): the error is at most 0.004 anywhere and 0.0004 near p = 0.01, where
    even steps of 1/255 would lose attention spread over many tokens.
    """
    rows, columns = np.tril_indices(pattern.shape[-1])
    half = pattern.detach().cpu().numpy()[..., rows, columns]
    return np.asarray(np.rint(255 * np.sqrt(half.clip(0, 1))).astype(np.uint8).ravel())


class Words:
    """The page's own vocabulary: every token text on it, once, in order of appearance."""

    def __init__(self, pieces: Sequence[str]) -> None:
        """`pieces` is the model's vocabulary as displayed text, by token id."""
        self.texts: list[str] = []
        self._pieces = pieces
        self._places: dict[str, int] = {}

    def copy(self) -> "Words":
        """The same words so far, to go on with."""
        other = Words(self._pieces)
        other.texts, other._places = list(self.texts), dict(self._places)
        return other

    def of(self, texts: Iterable[str]) -> NDArray[np.uint16]:
        """Indices of token texts in the page's vocabulary."""
        return np.array([self._place(text) for text in texts], dtype=np.uint16)

    def of_ids(self, ids: Int[Tensor, "*shape"] | NDArray[Any]) -> NDArray[np.uint16]:
        """Indices of token ids in the page's vocabulary; -1 becomes `NONE16`."""
        array = np.asarray(ids)
        distinct, inverse = np.unique(array, return_inverse=True)
        places = np.array([NONE16 if i < 0 else self._place(self._pieces[i]) for i in distinct.tolist()], np.uint16)
        return np.asarray(places[inverse].reshape(array.shape))

    def _place(self, text: str) -> int:
        place = self._places.setdefault(text, len(self.texts))
        if place == len(self.texts):
            if place >= NONE16:
                raise InputError("A page holds at most 65,535 different tokens. Report on fewer stories or neurons.")
            self.texts.append(text)
        return place


def flatten(
    windows: Int[np.ndarray, "context window"], story: Int[np.ndarray, " context"], pos: Int[np.ndarray, " context"]
) -> tuple[Int[np.ndarray, " token"], Int[np.ndarray, " context"]]:
    """Overlapping windows of the same stories as one text in which every token is kept once.

    Returns the token ids, with -1 wherever the text is interrupted, and the index of each window's middle token. A
    window without a middle token gets -1.
    """
    reach = windows.shape[1] // 2
    far = 1 << 32  # no story is that long
    keys = story.astype(np.int64)[:, None] * far + pos.astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
    real = (windows >= 0) & (windows[:, reach : reach + 1] >= 0)
    kept, first = np.unique(keys[real], return_index=True)
    if not kept.size:
        return np.empty(0, np.int64), np.full(len(windows), -1, np.int64)
    gaps = np.concatenate([[0], np.cumsum(np.diff(kept) != 1)])
    text = np.full(kept.size + gaps[-1], -1, np.int64)
    text[np.arange(kept.size) + gaps] = windows[real][first]
    middle = np.searchsorted(kept, keys[:, reach]).clip(max=kept.size - 1)
    return text, np.where(windows[:, reach] >= 0, middle + gaps[middle], -1)


def script_json(value: Any) -> str:
    """JSON for a `<script type="application/json">`, without `<`, which could end or begin an element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def script_text(source: str) -> str:
    """JavaScript for an inline `<script>`: an end tag inside its strings cannot end the element."""
    return source.replace("</script", "<\\/script").replace("<!--", "<\\!--")
