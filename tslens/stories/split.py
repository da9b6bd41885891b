"""The split of a story, training or validation, by a hash of its words, so that duplicates are in the same split."""

import re
from hashlib import blake2b
from typing import Literal

from tslens.errors import InputError
from tslens.stories.clean import repair

Split = Literal["train", "validation"]
SPLITS: tuple[Split, ...] = ("train", "validation")

_NOT_A_WORD = re.compile(r"[\W_]+")


def split_of(text: str, validation: float = 0.05, salt: str = "") -> Split:
    """The split of a story: the same for texts that differ only in case, spaces, punctuation or mojibake.

    Args:
        text: the story.
        validation: the share of stories that is for validation, between 0 and 1. Larger shares contain smaller ones.
        salt: another salt gives another, independent split.

    Raises:
        InputError: a share outside 0 to 1.
    """
    if not 0 <= validation <= 1:
        raise InputError(f"validation={validation} is not a share; give one between 0 and 1")
    words = _NOT_A_WORD.sub(" ", repair(text).casefold()).strip()
    digest = blake2b(f"{salt}\n{words}".encode(), digest_size=8).digest()
    return "validation" if int.from_bytes(digest, "little") < validation * 2**64 else "train"
