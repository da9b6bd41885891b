"""What a planted model knows of each token of a tokenizer, found in stories: its class, its gender, its marks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tslens import pos
from tslens.analysis.heads.kinds_words import CLASSES, OPENING, OTHER, words_of, words_of_made
from tslens.errors import InputError
from tslens.pos.types import tag_of_words, words
from tslens.stories.generator import MadeStory
from tslens.tokenizer import Tokenizer

SIZE = 4096
"""Tokens of a tokenizer that is trained on the stories alone: then nearly every word of theirs is one token."""
NAMES = 15
"""Names that get a code of their own, at most."""

MARKS = {"comma": {","}, "stop": {".", "!", "?", '."', '!"', '?"'}}
"""Tokens that are a comma, and tokens that end a sentence."""
PRONOUNS = {"he": {"he", "him", "his", "himself"}, "she": {"she", "her", "hers", "herself"}}
GENDERS = {"he": "masculine", "she": "feminine"}
SURE = 0.9
"""Share of the pronouns that stand for a name or noun that are of one gender, at least, for it to have this gender."""
OF_SET = ("NOUN", "VERB", "ADJ", "ADV", "ADP")
"""Classes of the words of a set."""
QUOTES = frozenset('"“”„«»')

FLAG_OF_CLASS = {name: {"NOUN": "noun", "ADJ": "adjective"}.get(name, name) for name in CLASSES}
"""The flag of each class of words."""
FLAGS = (
    *("noun", "adjective", "comma", "stop", "bos"),
    *(flag for flag in FLAG_OF_CLASS.values() if flag not in ("noun", "adjective")),
    *("opening", "closing", *PRONOUNS, *GENDERS.values(), "set"),
)
"""Flags of tokens: classes of words, marks, opening and closing quotation marks, pronouns of a gender, the names and
nouns that these stand for, and a few words that nothing else has in common."""


@dataclass(frozen=True)
class Vocabulary:
    """What a planted model knows of each token of a tokenizer, found in stories."""

    tokenizer: Tokenizer
    flags: dict[str, Bool[Tensor, " token"]]
    """Tokens with each of `FLAGS`."""
    rarity: Float[Tensor, " token"]
    """How rare each token is in these stories, from 0, the most frequent, to 1, those that are not there: the logarithm
    of its frequency."""
    names: Int[Tensor, " name"]
    """The most frequent proper names, at most `NAMES`."""
    word: int
    """The most frequent word."""
    told: dict[str, float]
    """How well their tokens tell nouns and adjectives in these stories: the share of them that are these tokens, or of
    these tokens that are such words, whichever is smaller."""

    @classmethod
    def of_words(cls, texts: Sequence[str], generated: Sequence[MadeStory] = ()) -> "Vocabulary":
        """The vocabulary of a tokenizer that is made for these stories: what is a noun is then a whole word."""
        tokenizer = Tokenizer.train([*texts, *(story.text for story in generated)], SIZE)
        return cls.of(tokenizer, texts, generated)

    @classmethod
    def of(cls, tokenizer: Tokenizer, texts: Sequence[str], generated: Sequence[MadeStory] = ()) -> "Vocabulary":
        """The classes of tokens by the tag that their word has most often in these stories; the gender of names by the
        pronouns that stand for them in generated ones.

        Raises:
            InputError: the stories hold no noun or no adjective.
        """
        pieces = tokenizer.pieces(range(tokenizer.size))
        word, plain = words(pieces), torch.tensor([piece.strip(" ").isalpha() for piece in pieces])
        tokens, classes, opens = _marked(tokenizer, texts)
        often = torch.bincount(tokens, minlength=tokenizer.size)
        most = torch.from_numpy(tag_of_words(word[tokens].numpy(), classes, int(word.max()) + 1))[word]
        flags = {flag: most == CLASSES.index(name) for name, flag in FLAG_OF_CLASS.items()}
        for flag in ("noun", "adjective"):
            flags[flag] &= plain
            if not (flags[flag] & (often > 0)).any():
                raise InputError(
                    f"The {len(texts)} stories hold no noun or no adjective: give stories with words in them."
                )
        flags |= {name: torch.tensor([p.strip(" ") in signs for p in pieces]) for name, signs in MARKS.items()}
        quote = torch.tensor([bool(QUOTES & set(piece)) for piece in pieces])
        opening = 2 * torch.bincount(tokens[opens], minlength=tokenizer.size) > often
        flags |= {"opening": quote & opening, "closing": quote & ~opening} | _genders(tokenizer, generated, pieces)
        flags["set"] = _few(word, often * plain, [flags[FLAG_OF_CLASS[name]] for name in OF_SET])
        flags["bos"] = torch.arange(tokenizer.size) == tokenizer.bos
        of_names = often * (flags["PROPN"] & plain)
        names = of_names.argsort(descending=True, stable=True)[:NAMES]
        told = {"nouns": "NOUN", "adjectives": "ADJ"}
        return cls(
            tokenizer,
            {name: flags[name] for name in FLAGS},
            1 - often.float().log1p() / often.max().float().log1p(),
            names[of_names[names] > 0],
            int((often * plain).argmax()),
            {
                name: _told(flags[FLAG_OF_CLASS[tag]][tokens].numpy(), classes == CLASSES.index(tag))
                for name, tag in told.items()
            },
        )


def _few(word: Tensor, often: Tensor, classes: list[Tensor]) -> Bool[Tensor, " token"]:
    """All tokens of one word of each of these classes, which are about as frequent: as the third most frequent word of
    the class that has the fewest."""
    size = int(word.max()) + 1
    of_word = torch.zeros(size, len(classes)).index_add_(0, word, (often[:, None] * torch.stack(classes, 1)).float())
    level = of_word.topk(3, dim=0).values[2].amin()
    return torch.isin(word, (of_word - level).abs().argmin(0))


def _told(flagged: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    return float((flagged & true).sum() / max(flagged.sum(), true.sum(), 1))


def _marked(
    tokenizer: Tokenizer, texts: Sequence[str]
) -> tuple[Int[Tensor, " token"], NDArray[np.int64], Bool[Tensor, " token"]]:
    """The tokens of all stories, the class of the first word that each covers, and whether this opens a quotation."""
    tokens, classes, opens = list[int](), list[NDArray[np.int64]](), list[NDArray[np.bool_]]()
    for text, row, tagged in zip(texts, tokenizer.encode(texts, bos=False), pos.tag_stories(texts), strict=True):
        marked = words_of(text, tagged)
        under = pos.words_under(marked.spans, tokenizer.offsets(text, bos=False))  # -1, the last, is no word
        opening = np.zeros(len(marked.spans) + 1, dtype=bool)
        opening[[key for relation, _, key in marked.pairs if relation == OPENING]] = True
        tokens += row
        classes.append(np.array([*marked.classes, OTHER])[under])
        opens.append(opening[under])
    return torch.tensor(tokens), np.concatenate(classes), torch.from_numpy(np.concatenate(opens))


def _genders(
    tokenizer: Tokenizer, generated: Sequence[MadeStory], pieces: Sequence[str]
) -> dict[str, Bool[Tensor, " token"]]:
    """Pronouns of each gender, and the tokens of names and nouns that pronouns of this gender stand for."""
    said = [piece.strip(" ").casefold() for piece in pieces]
    flags = {gender: torch.tensor([word in forms for word in said]) for gender, forms in PRONOUNS.items()}
    times = {gender: torch.zeros(tokenizer.size) for gender in PRONOUNS}
    for story in generated:
        marked, row = words_of_made(story), tokenizer.encode([story.text], bos=False)[0]
        under = pos.words_under(marked.spans, tokenizer.offsets(story.text, bos=False))
        token_of = dict(zip(reversed(under.tolist()), reversed(row), strict=True))  # of several tokens the first
        for _, query, key in marked.pairs:
            for gender in PRONOUNS:
                if query in token_of and key in token_of and flags[gender][token_of[query]]:
                    times[gender][token_of[key]] += 1
    both = times["he"] + times["she"]
    return flags | {name: (times[gender] > 0) & (times[gender] >= SURE * both) for gender, name in GENDERS.items()}
