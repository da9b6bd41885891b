"""The base forms of a word, by HanTa's lexicon and rules: ran is run, mice is mouse, happier is happy."""

from functools import lru_cache

from tslens.pos.trigrams import trigrams

LIKELY = 10.0
"""How many times less likely than the likeliest a tag may be, as a natural logarithm, to count."""


@lru_cache(maxsize=100_000)
def lemmas(word: str) -> frozenset[str]:
    """What a word may be a form of, in lower case, itself included: of saw, saw and see."""
    word = word.lower()
    tagger = trigrams().tagger
    tags = [tag for tag, _ in tagger.tag_word(word, cutoff=LIKELY)]
    return frozenset({word, *(tagger.analyze(word, pos=tag, taglevel=1)[0].lower() for tag in tags)})
