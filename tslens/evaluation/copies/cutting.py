"""Stories cut in two: a prompt, and the ending that a model writes anew."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tslens import progress
from tslens.errors import InputError
from tslens.evaluation.lines import ending_log_probabilities
from tslens.evaluation.writing import continuations, cut_at
from tslens.models import spec_of, tokenizer_of
from tslens.parsing import rows

if TYPE_CHECKING:
    from tslens.models import LanguageModel

SHARES = (0.4, 0.5)


class Cut(NamedTuple):
    """A story cut in two."""

    prompt: str
    ending: str
    """Its true ending; empty where it is not known."""
    story: int
    """The number of the story among those that were cut; the unit of all intervals."""
    share: float
    """The share of its words in the prompt; NaN where the prompt is no beginning of a known story."""


def cut_stories(stories: Iterable[str], shares: Sequence[float] = SHARES) -> list[Cut]:
    """Every story cut after each share of its words (by white space); a story of one word is left out.

    InputError for a share outside 0 to 1.
    """
    if wrong := [share for share in shares if not 0 < share < 1]:
        raise InputError(f"a story is cut at a share between 0 and 1, such as 0.4; got {wrong[0]}.")
    found = []
    for number, story in enumerate(stories):
        cuts = [(share, cut_at(story, share)) for share in shares]
        found += [Cut(*cut, number, share) for share, cut in cuts if cut is not None]
    return found


def write_endings(
    model: "LanguageModel",
    cuts: Sequence[Cut],
    *,
    tokens: int = 256,
    temperature: float = 1.0,
    seed: int = 0,
    precision: str = "float32",
) -> list[str]:
    """What the model writes after each prompt, at most so many `tokens`, without the prompt; a text may be empty.

    The same seed gives the same texts. InputError for a prompt that fills the context.
    """
    prompts = [cut.prompt for cut in cuts]
    return continuations(model, prompts, limit_tokens=tokens, temperature=temperature, seed=seed, precision=precision)


def endings_under(model: "LanguageModel", cuts: Sequence[Cut], precision: str = "float32") -> list[float]:
    """The log-probability of each true ending given its prompt, in nats; NaN where no ending is known, or where the
    story is longer than the model's context."""
    return ending_log_probabilities(model, [(cut.prompt, cut.ending) for cut in cuts], precision=precision)


def that_fit(model: "LanguageModel", cuts: Sequence[Cut]) -> list[Cut]:
    """The cuts of those stories whose every prompt leaves room in the model's context; the others are said."""
    context = spec_of(model, compressors=True).n_ctx
    rows = tokenizer_of(model).encode([cut.prompt for cut in cuts])
    long = {cut.story for cut, row in zip(cuts, rows, strict=True) if len(row) >= context}
    if long:
        progress.note(f"left out: {len(long):,} stories whose prompt fills the context of {context} tokens")
    return [cut for cut in cuts if cut.story not in long]


def read_written(path: str | Path) -> tuple[list[Cut], list[str]]:
    """Completions from a file: JSONL, or CSV with a header, with `prompt`, `completion` and, if known, `ending`
    (or `true_ending`, as `eval write` calls it).

    Completions of one prompt count as one story. An empty completion is kept. InputError, with the line, for a file of
    another kind or a missing field.
    """
    cuts, written = [], []
    numbers: dict[str, int] = {}
    for where, row in rows(path, "completions"):
        given = {name: row.get(name) for name in ("prompt", "completion")}
        for name, value in given.items():
            if not isinstance(value, str):
                raise InputError(f"{where}: no text in the field {name!r}; each needs prompt and completion.")
        ending = row.get("ending") or row.get("true_ending")
        prompt, completion, ending = (str(text or "") for text in (*given.values(), ending))
        cuts.append(Cut(prompt, ending, numbers.setdefault(prompt, len(numbers)), float("nan")))
        written.append(completion)
    if not cuts:
        raise InputError(f"{path} holds no completions; give at least two.")
    return cuts, written
