"""Instructions before stories, as in TinyStories-Instruct (Eldan and Li 2023, 2305.07759): parsed and written.

A block is a line such as ``Words: meet, waffle, new``; blocks come in any subset and order, and ``Story:`` ends them.
In the published collection a story may also carry the summary of an earlier one: of two blocks of a kind, the last
belongs to the story.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from random import Random
from typing import TYPE_CHECKING

from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.stories.generator import MadeStory

WORDS, FEATURES, SENTENCE, SUMMARY = KINDS = ("Words", "Features", "Random sentence", "Summary")
LOOKED_AT = 1000  # texts among which `documents` must find an instruction
GAP = " \n\n"  # what stands between "Story:" and the story in the published collection

_BLOCK = re.compile(f"({'|'.join(KINDS)}): ")
_STORY = re.compile(r"Story:(\s*)")
_PUBLISHED_NAMES = {"Plot twist": "Twist"}


@dataclass(frozen=True)
class Instruction:
    """The blocks before a story, and the story, as they were written: ``parse(text).format() == text``."""

    blocks: tuple[tuple[str, str], ...]
    """(kind, the text after the colon and the space), in the order of the text"""
    story: str = ""
    """empty in a prompt"""
    gap: str | None = GAP
    """the text between ``Story:`` and the story; None if there is no ``Story:``"""

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the story must contain."""
        return _listed(self._last(WORDS))

    @property
    def features(self) -> tuple[str, ...]:
        """The features that it must show, such as ``Dialogue`` or ``BadEnding``."""
        return _listed(self._last(FEATURES))

    @property
    def sentence(self) -> str | None:
        """The sentence that it must contain."""
        return self._last(SENTENCE)

    @property
    def summary(self) -> str | None:
        """The plot that it must follow, in a sentence or more."""
        return self._last(SUMMARY)

    def _last(self, kind: str) -> str | None:
        return next((value for name, value in reversed(self.blocks) if name == kind), None)

    def format(self) -> str:
        """The text, as the collection writes it."""
        head = "".join(f"{kind}: {value}\n" for kind, value in self.blocks)
        return head + self.story if self.gap is None else f"{head}Story:{self.gap}{self.story}"

    @property
    def head(self) -> str:
        """The text before the story: the prompt for a model that was trained on such texts."""
        return Instruction(self.blocks, gap=self.gap).format()

    @property
    def asks_for_words_with_summary(self) -> bool:
        """Whether words and summary are both among the blocks, which Instruct-OOD excludes from training."""
        return {WORDS, SUMMARY} <= {kind for kind, _ in self.blocks}

    def prompt(self) -> "Instruction":
        """The same instruction without its story, as a prompt for a model."""
        return Instruction(self.blocks, gap=" ")

    @classmethod
    def from_made(cls, made: "MadeStory", kinds: Sequence[str] = KINDS) -> "Instruction":
        """A generated story after blocks of its own ground truth, of these kinds in this order.

        Raises:
            InputError: an unknown kind.
        """
        values = {
            WORDS: ", ".join(made.words),
            FEATURES: ", ".join(_PUBLISHED_NAMES.get(name, name) for name in made.features),
            SENTENCE: made.sentence,
            SUMMARY: made.summary,
        }
        unknown = [kind for kind in kinds if kind not in values]
        if unknown:
            raise InputError(f"there is no block {unknown[0]!r}; the kinds are {', '.join(KINDS)}")
        return cls(tuple((kind, values[kind]) for kind in kinds if values[kind]), made.text)


def made(n: int, seed: int = 0) -> Iterator[Instruction]:
    """The first `n` stories of the embedded generator behind blocks of their own truth, their kinds drawn for each."""
    from tslens.stories.generator import generate

    for number, story in enumerate(generate(n, seed)):
        yield Instruction.from_made(story, draw_kinds(Random(f"{seed}:{number}:instruct")))


def in_ood_split(text: str, split: str) -> bool:
    """Whether a text belongs to a split of Instruct-OOD (Eldan and Li 2023, 2305.07759).

    There, only validation instructions ask for words and a summary together: a model that follows both has combined
    what it learnt separately.
    """
    return parse(text).asks_for_words_with_summary == (split == "validation")


def draw_kinds(rng: Random) -> list[str]:
    """Some of the kinds, at least one, in any order."""
    return rng.sample(KINDS, rng.randint(1, len(KINDS)))


def parse(text: str) -> Instruction:
    """The blocks and the story of a text; a text that begins with no block is all story.

    A line that is no block belongs to the block above it.
    """
    blocks: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        if story := _STORY.match(text, place):
            return Instruction(tuple(blocks), text[story.end() :], story[1])
        block = _BLOCK.match(text, place)
        if block is None and not blocks:
            return Instruction((), text, None)
        end = text.find("\n", place)
        if end < 0:
            # No "Story:" follows, so this is no instruction, whatever its lines look like.
            return Instruction((), text, None)
        if block is None:
            kind, value = blocks[-1]
            blocks[-1] = (kind, f"{value}\n{text[place:end]}")
        else:
            blocks.append((block[1], text[block.end() : end]))
        place = end + 1
    return Instruction((), text, None)


def documents(texts: Iterable[str]) -> Iterator[Instruction]:
    """The texts as instructions and stories; those that lack either are left out.

    InputError if none of the first `LOOKED_AT` has both.
    """
    parsed = (parse(text) for text in texts)
    first = list(islice(parsed, LOOKED_AT))
    if not any(document.blocks and document.story for document in first):
        raise InputError(
            f"None of the first {len(first):,} stories comes behind instructions (Words:, Features:, Random sentence:, "
            "Summary:, then Story:). Give a source that has them, such as made:instruct."
        )
    yield from (document for document in chain(first, parsed) if document.blocks and document.story)


def _listed(value: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())
