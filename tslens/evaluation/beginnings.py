"""Beginnings of stories, and what models make of them, side by side."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from jaxtyping import Int
from torch import Tensor, tensor

from tslens.errors import InputError
from tslens.evaluation.writing import continuations
from tslens.result import Result, read_on

if TYPE_CHECKING:
    import pandas as pd

    from tslens.models import LanguageModel

NEW_TOKENS = 200
"""The most that a model writes after a beginning."""
OURS = "our own"


@dataclass(frozen=True)
class Beginning:
    """The beginning of a story, cut in the middle of a sentence; for a real story also what follows."""

    text: str
    ending: str = ""


def ours() -> list[Beginning]:
    """The beginnings that come with tslens, written for it."""
    file = resources.files("tslens.suites").joinpath("beginnings.toml")
    return [Beginning(text) for text in tomllib.loads(file.read_text(encoding="utf-8"))["beginnings"]]


def cut(stories: Iterable[str], share: float, n: int = 50) -> list[Beginning]:
    """The first `n` stories, each cut after this share of its words; the beginning ends in a word, within a sentence if
    the story has one there. InputError for a share that is not between 0 and 1, and for fewer stories than `n`.

    Stories of fewer than 20 words are left out.
    """
    if not 0 < share < 1:
        raise InputError(f"stories are cut at a share between 0 and 1, such as 0.5 or 0.4; got {share:g}.")
    long = (story for story in stories if len(story.split()) >= 20)
    found = [_cut(story, share) for story in islice(long, n)]
    if len(found) < n:
        raise InputError(f"there are only {len(found)} stories of 20 words or more to cut, not {n}; ask for fewer.")
    return found


def _cut(story: str, share: float) -> Beginning:
    """The story cut at the first word from this share on that does not end a sentence."""
    ends = [i for i in range(1, len(story)) if story[i].isspace() and not story[i - 1].isspace()]
    place = min(round(share * (len(ends) + 1)), len(ends)) - 1
    inside = (end for end in ends[max(place, 0) :] if story[end - 1] not in ".!?\"'”’")
    end = next(inside, ends[max(place, 0)])
    return Beginning(story[:end], story[end:])


@dataclass(frozen=True, eq=False)
class BeginningsResult(Result):
    """What models wrote after the same beginnings, at temperature 1, one text of each."""

    frame_axes: ClassVar[tuple[str, ...]] = ("model", "beginning")
    axis_names: ClassVar[Mapping[str, str]] = {"model": "models", "beginning": "beginnings"}

    models: list[str]
    beginnings: list[str]
    endings: list[str]
    """How the real stories go on; empty where a beginning is nobody's."""
    continuations: list[list[str]]
    """The continuation by each model, without the beginning."""
    words: Int[Tensor, "model beginning"]
    """Words of each continuation."""
    seed: int

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per model and beginning, with the text; with `field`, the long table of that field."""
        frame = super().to_frame(field)
        return frame if field else frame.assign(text=[text for own in self.continuations for text in own])

    def summary(self) -> "pd.DataFrame":
        """The length of the texts by model, with a 95% interval over beginnings, and how many are empty."""
        import pandas as pd

        from tslens import stats

        rows = []
        for model, words in zip(self.models, self.words.double().numpy(), strict=True):
            length = stats.mean_interval(words)
            rows.append((model, len(words), length.estimate, length.low, length.high, int((words == 0).sum())))
        return pd.DataFrame(rows, columns=["model", "texts", "words", "low", "high", "empty"])

    def headline(self) -> str:
        """The words that each model writes after a beginning."""
        found = zip(*(self.summary()[name] for name in ("model", "words", "low", "high")), strict=True)
        each = ", ".join(f"{model} {words:.0f} ({low:.0f} to {high:.0f})" for model, words, low, high in found)
        return f"Words written after a beginning, on average of {len(self.beginnings)}: {each}."

    def text(self) -> str:
        """All texts for reading: each beginning, then the continuation by each model and the story's own ending."""
        return "\n\n".join(
            "\n".join([f"{i}. {beginning} …", *(f"   [{name}] …{' '.join(said.split())}" for name, said in texts)])
            for i, (beginning, texts) in enumerate(self._side_by_side(), 1)
        )

    def html(self) -> str:
        """The same as one page, with a column for each model; all text is escaped."""
        names = [name for name, _ in next(iter(self._side_by_side()))[1]]
        head = "".join(f"<th>{escape(name)}</th>" for name in ["beginning", *names])
        rows = [
            "<tr>" + "".join(f"<td>{escape(said)}</td>" for said in [beginning + " …", *(said for _, said in texts)])
            for beginning, texts in self._side_by_side()
        ]
        style = (
            "body{font:15px/1.45 sans-serif;margin:1em}td{vertical-align:top;padding:.5em;border-top:1px solid #ccc}"
        )
        style += "td:not(:first-child){white-space:pre-line}th{text-align:left;padding:.5em}"
        table = f"<table><thead><tr>{head}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"
        title = "Continuations side by side"
        return f'<!doctype html>\n<meta charset="utf-8"><title>{title}</title><style>{style}</style>\n{table}\n'

    def _side_by_side(self) -> Iterable[tuple[str, list[tuple[str, str]]]]:
        """Each beginning with the texts that follow it and their authors."""
        real = [("the story itself", self.endings)] if any(self.endings) else []
        columns = [*zip(self.models, self.continuations, strict=True), *real]
        for i, beginning in enumerate(self.beginnings):
            yield beginning, [(name, texts[i]) for name, texts in columns]

    def write_tables(self, folder: Path) -> None:
        (folder / "side_by_side.html").write_text(self.html(), encoding="utf-8")
        (folder / "side_by_side.txt").write_text(self.text() + "\n", encoding="utf-8")

    def __str__(self) -> str:
        return "\n\n".join([self.headline(), self.text(), self._table(40)])


def continued(
    models: Mapping[str, "LanguageModel"],
    beginnings: Sequence[Beginning],
    *,
    seed: int = 0,
    max_new_tokens: int = NEW_TOKENS,
    precision: str = "float32",
    source: object = None,
) -> BeginningsResult:
    """Every model continues every beginning once at temperature 1; `source` is where real stories come from.

    InputError for a beginning that fills a model's context.
    """
    texts = [b.text for b in beginnings]
    if len(texts) < 2:
        raise InputError(f"{len(texts)} beginnings are too few to compare models on; give 2 or more.")
    written = [
        continuations(model, texts, limit_tokens=max_new_tokens, seed=seed, precision=precision)
        for model in models.values()
    ]
    words = tensor([[len(text.split()) for text in own] for own in written])
    result = BeginningsResult(list(models), texts, [b.ending for b in beginnings], written, words, seed)
    return read_on(result, source) if source is not None else result
