"""Stories behind instructions that they keep, made from the stories themselves."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tslens.pos import tag_texts
from tslens.stories import stories
from tslens.stories.instruct import FEATURES, SENTENCE, WORDS, Instruction
from tslens.stories.sentences import sentences

ASKED_FOR = ("NOUN", "VERB", "ADJ")
TAGGED = 200  # stories at a time


def instructed(source: str, folder: Path) -> Path:
    """The file of a source's stories, each behind three of its words (a noun, a verb, an adjective), one of its
    sentences and whether it has dialogue, in any subset and order; made in `folder` when first asked for."""
    file = folder / "instructed.jsonl"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        every, rng = list(stories(source)), Random(0)
        made = (text for i in range(0, len(every), TAGGED) for text in _instructed(every[i : i + TAGGED], rng))
        part = file.with_suffix(".part")
        part.write_text("".join(json.dumps({"text": text}) + "\n" for text in made), encoding="utf-8")
        part.replace(file)
    return file.resolve()


def _instructed(texts: list[str], rng: Random) -> Iterator[str]:
    for text, words in zip(texts, tag_texts(texts), strict=True):
        plain = {tag: sorted({text[a:b] for a, b, t in words if t == tag and text[a:b].islower()}) for tag in ASKED_FOR}
        blocks = [(SENTENCE, rng.choice(sentences(text)))]
        if all(plain.values()):
            blocks.append((WORDS, ", ".join(rng.choice(plain[tag]) for tag in ASKED_FOR)))
        if '"' in text:
            blocks.append((FEATURES, "Dialogue"))
        yield Instruction(tuple(rng.sample(blocks, rng.randint(1, len(blocks)))), text).format()
