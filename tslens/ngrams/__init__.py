"""An n-gram index of a corpus on disk, and the word 5-gram model of its counts."""

from tslens.ngrams.building import build, kept
from tslens.ngrams.index import Index, open_index
from tslens.ngrams.keeping import kept_five_gram
from tslens.ngrams.kneser_ney import KneserNey, five_gram
from tslens.ngrams.words import words

__all__ = ["Index", "KneserNey", "build", "five_gram", "kept", "kept_five_gram", "open_index", "words"]
