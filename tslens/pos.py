"""Which part of speech is each word, and which word does each token belong to?

The tagger is HanTa's trigram model (Wartena 2019, KONVENS), which ships its English weights; its search is done here for
many sentences at once, and its BNC tags become the universal ones (de Marneffe et al. 2021, doi:10.1162/coli_a_00402).
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tslens.stats import Interval, bootstrap

TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT"),
    *("SCONJ", "SYM", "VERB", "X"),
)
NO_WORD = "X"  # of BOS, a line break, and whatever is under no word

Tagged = tuple[int, int, str]
"""A word: its first character, the one after its last, its universal tag."""

_LETTERS = r"[^\W\d_]+"
_WORD = re.compile(
    rf"(?P<word>{_LETTERS}(?:['’-]{_LETTERS})*)|(?P<number>\d+(?:[.,:]\d+)*(?:st|nd|rd|th)?)"
    r"|(?P<mark>\.{2,}|[^\w\s]|_)"
)
_CLITIC = re.compile(r"(can(?=not$)|.+?(?=n['’]t$|['’](?:s|m|re|ve|ll|d)$))(not|n['’]t|['’]\w+)$", re.IGNORECASE)
_IS = frozenset(
    "it he she that this there what who where how here everything".split()
)  # before 's, which is no genitive
_QUOTES = '"“”„«»'
_CLOSING = _QUOTES + "'’)"
_SYMBOLS = "$€£¥%+=<>^|~#@&*/\\©®°"


@runtime_checkable
class _Story(Protocol):
    """A story that knows the tags of its words, as the generator's do."""

    @property
    def text(self) -> str: ...
    @property
    def tags(self) -> Sequence[Tagged]: ...


def tag_words(text: str) -> list[Tagged]:
    """The words and marks of a text with their universal tags, in order.

    A contraction is one word with the tag of its first part (didn't AUX, I'm PRON), a possessive 's belongs to its
    noun. As in Universal Dependencies for English: my and her are PRON, copulas AUX, `to` before a verb and `not`
    PART, there in "there was" PRON.
    """
    return tag_texts([text])[0]


def tag_tokens(text: str, offsets: Sequence[tuple[int, int]]) -> tuple[list[str], list[bool]]:
    """For each token (its characters in `text`): the tag of its word, and whether it starts that word.

    A token with white space before its word belongs to the word; one that covers several words, to the first. What
    covers no word, such as BOS at (0, 0), has the tag X and starts none.
    """
    return align(text, tag_words(text), offsets)


def align(text: str, words: Sequence[Tagged], offsets: Sequence[tuple[int, int]]) -> tuple[list[str], list[bool]]:
    """As `tag_tokens`, for words that are tagged already."""
    at = np.full(len(text), -1, dtype=np.int64)
    for i, (start, end, _) in enumerate(words):
        at[start:end] = i
    tags, starts = [], []
    for start, end in offsets:
        under = at[start:end]
        word = int(under[under >= 0][0]) if (under >= 0).any() else -1
        tags.append(words[word][2] if word >= 0 else NO_WORD)
        starts.append(word >= 0 and words[word][0] >= start)
    return tags, starts


def accuracy(stories: Iterable[_Story], level: float = 0.95) -> Interval:
    """The share of words (no punctuation) that get their true tag, with a bootstrap interval over stories.

    A word that is split otherwise than in the truth counts as wrong. ValueError for fewer than two stories.
    """
    counts = []
    for story in stories:
        found = {(start, end): tag for start, end, tag in tag_words(story.text)}
        truth = [word for word in story.tags if word[2] != "PUNCT"]
        counts.append((sum(found.get((start, end)) == tag for start, end, tag in truth), len(truth)))

    def share(rows: NDArray[Any], axis: int = 0) -> Any:
        right, words = rows.sum(axis)
        return right / words

    return bootstrap(np.array(counts), share, level=level)


# Words and sentences


class _Unit(NamedTuple):
    """What the model tags: a word, the stem of a contraction, its clitic, or a mark."""

    text: str
    word: int
    """Which word of the text it is part of, -1 for a clitic: that has no tag of its own."""
    first: bool
    """A capital here says nothing, for a sentence or a quotation begins."""


def _split(text: str) -> tuple[list[tuple[int, int]], list[list[_Unit]]]:
    """The words' spans, and the sentences as the model reads them."""
    spans: list[tuple[int, int]] = []
    sentence: list[_Unit] = []
    sentences = [sentence]
    ended, opens, quoted, end = False, True, False, 0
    for match in _WORD.finditer(text):
        piece, mark = match[0], match.lastgroup == "mark"
        gap, end = text[end : match.start()], match.end()
        if sentence and (ended or "\n\n" in gap):
            closes = mark and not gap and piece in _CLOSING
            goes_on = piece[0].islower() and sentence[-1].text == '"'  # "Stop!" said Tom
            if "\n\n" in gap or not (closes or goes_on):
                sentence = []
                sentences.append(sentence)
                opens, quoted = True, quoted and "\n\n" not in gap
        if mark:
            quote = piece in _QUOTES
            sentence.append(_Unit('"' if quote else piece, len(spans), True))
            ended = piece[0] in ".!?" or (ended and piece in _CLOSING)
            quoted ^= quote
            opens = opens or (quote and quoted)
        else:
            clitic = _CLITIC.match(piece) if "'" in piece or "’" in piece or piece.endswith("not") else None
            sentence.append(_Unit(clitic[1] if clitic else piece, len(spans), opens))
            if clitic:
                sentence.append(_Unit(_clitic(clitic[1].lower(), clitic[2].lower().replace("’", "'")), -1, True))
            ended = opens = False
        spans.append(match.span())
    return spans, sentences


def _clitic(stem: str, clitic: str) -> str:
    """A clitic as the model knows it best; 's is short for several words."""
    if clitic == "'s":
        return "us" if stem == "let" else "is" if stem in _IS else clitic
    return clitic


# The model


_OPEN = ("NN", "NP", "AJ", "AV", "VV", "IT")


class _Model:
    """HanTa's probabilities as arrays, and the best tags of many sentences at once."""

    CANDIDATES = 6  # tags a word may have; HanTa itself follows 5 states a word
    SENTENCES = 2048  # searched together

    def __init__(self) -> None:
        from HanTa.HanoverTagger import EMPTY, END, START, HanoverTagger

        self.tagger = HanoverTagger("morphmodel_en.pgz")
        codes = [EMPTY, START, END, *self.tagger.LP_wtag]
        self.index = {code: i for i, code in enumerate(codes)}
        self.names = [self.tagger.int2tag.get(code, "") for code in codes]
        n = len(codes)
        self.transition = np.full((n, n, n), -np.inf, dtype=np.float32)
        for (a, b), following in self.tagger.LP_trans_word.items():
            for c, logp in following.items():
                self.transition[self.index[a], self.index[b], self.index[c]] = logp
        self.rows: dict[tuple[str, bool], int] = {}
        self.candidates = np.zeros((0, self.CANDIDATES), dtype=np.int64)
        self.logp = np.zeros((0, self.CANDIDATES), dtype=np.float32)

    def tags(self, sentences: Sequence[Sequence[_Unit]]) -> list[list[str]]:
        """The BNC tag of every unit (Viterbi 1967 over pairs of tags)."""
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        found: list[list[str]] = [[] for _ in sentences]
        for start in range(0, len(order), self.SENTENCES):
            chosen = order[start : start + self.SENTENCES][::-1]
            for i, tags in zip(chosen, self._search([sentences[i] for i in chosen]), strict=True):
                found[i] = tags
        return found

    def _emissions(self, sentences: Sequence[Sequence[_Unit]]) -> NDArray[np.int64]:
        """Which row of the tables each unit reads, `[sentence, place]`; new words are looked up once and kept."""
        rows = np.zeros((len(sentences), max(map(len, sentences))), dtype=np.int64)
        fresh: list[tuple[str, bool]] = []
        for i, sentence in enumerate(sentences):
            for j, unit in enumerate(sentence):
                key = (unit.text, unit.first)
                row = self.rows.get(key)
                if row is None:
                    row = self.rows[key] = len(self.rows)
                    fresh.append(key)
                rows[i, j] = row
        if fresh:
            ids = np.zeros((len(fresh), self.CANDIDATES), dtype=np.int64)
            logp = np.full((len(fresh), self.CANDIDATES), -np.inf, dtype=np.float32)
            for k, (text, first) in enumerate(fresh):
                likely = self.tagger._tag_word(text, cutoff=5, casesensitive=not first, conditional=True)
                known = [(self.index[code], p) for code, p in likely if code in self.index]
                if text.lower() not in self.tagger.cache and text.isalpha():  # a word never seen is of an open class
                    known = [(tag, p) for tag, p in known if self.names[tag][:2] in _OPEN]
                known = known[: self.CANDIDATES]
                for c, (tag, p) in enumerate(known or [(self.names.index(t), 0.0) for t in ("NN1", "NP0", "UNC")]):
                    ids[k, c], logp[k, c] = tag, p
            self.candidates = np.concatenate([self.candidates, ids])
            self.logp = np.concatenate([self.logp, logp])
        return rows

    def _search(self, sentences: Sequence[Sequence[_Unit]]) -> list[list[str]]:
        """Sentences from the longest to the shortest."""
        rows = self._emissions(sentences)
        lengths = np.array([len(s) for s in sentences])
        ids, logp = self.candidates[rows], self.logp[rows]
        n, width, some = ids.shape
        score = np.full((n, some, some), -np.inf, dtype=np.float32)  # of the best path ending in a pair of tags
        score[:, 0] = self.transition[0, 1][ids[:, 0]] + logp[:, 0]
        before = np.ones((n, some), dtype=np.int64)  # START
        back = np.zeros((width, n, some, some), dtype=np.int8)
        for j in range(1, width):
            m = int((lengths > j).sum())
            pairs = before[:m, :, None, None], ids[:m, j - 1, None, :, None], ids[:m, j, None, None, :]
            paths = score[:m, :, :, None] + self.transition[pairs]
            back[j, :m] = paths.argmax(1)
            score[:m] = paths.max(1) + logp[:m, j, None, :]
            before = ids[:, j - 1]
        last = lengths - 1
        every = np.arange(n)
        ends = np.where(last > 0, last - 1, 0)
        left = np.where((last > 0)[:, None], ids[every, ends], 1)
        score += self.transition[left[:, :, None], ids[every, last][:, None, :], 2]
        return self._trace(score, back, ids, lengths)

    def _trace(self, score: Any, back: Any, ids: Any, lengths: Any) -> list[list[str]]:
        """Back along the best path of each sentence."""
        n, some, _ = score.shape
        best = score.reshape(n, -1).argmax(1)
        left, right = best // some, best % some
        places = np.zeros(ids.shape[:2], dtype=np.int64)
        every = np.arange(n)
        for j in range(ids.shape[1] - 1, -1, -1):
            live = lengths > j
            places[live, j] = ids[every, j, right][live]
            earlier = back[j, every, left, right]
            left, right = np.where(live, earlier, left), np.where(live, left, right)
        return [[self.names[t] for t in row[:k]] for row, k in zip(places.tolist(), lengths.tolist(), strict=True)]


@cache
def _model() -> _Model:
    return _Model()


# From BNC tags to universal ones

_UNIVERSAL = {
    **dict.fromkeys(("AJ0", "AJC", "AJS", "ORD"), "ADJ"),
    **dict.fromkeys(("AV0", "AVQ"), "ADV"),
    **dict.fromkeys(("PRP", "PRF", "AVP", "IN"), "ADP"),
    **dict.fromkeys(("AT0", "DT0", "DTQ"), "DET"),
    **dict.fromkeys(("CJS", "CJT"), "SCONJ"),
    **dict.fromkeys(("DPS", "EX0", "PNI", "PNP", "PNQ", "PNX"), "PRON"),
    **dict.fromkeys(("TO0", "XX0", "POS"), "PART"),
    **dict.fromkeys(("PUN", "PUQ", "PUL", "PUR"), "PUNCT"),
    "CJC": "CCONJ",
    "CRD": "NUM",
    "ITJ": "INTJ",
    "NP0": "PROPN",
    "VM0": "AUX",
    "UNC": "X",
    "ZZ0": "X",
    "!!!": "X",
}


def _coarse(bnc: str) -> str:
    """The universal tag without regard to the words around."""
    if bnc[:2] == "NN":
        return "NOUN"
    if bnc[:2] in ("VB", "VH", "VD"):
        return "AUX"
    return "VERB" if bnc[:2] == "VV" else _UNIVERSAL[bnc]


def tag_texts(texts: Sequence[str]) -> list[list[Tagged]]:
    """`tag_words` of many texts, searched together, which is faster."""
    parts = [_split(text) for text in texts]
    sentences = [s for _, some in parts for s in some if s]
    tags = iter(_model().tags(sentences))
    result = []
    for spans, some in parts:
        names = _names(some)
        words: list[Tagged] = []
        for sentence in some:
            if not sentence:
                continue
            universal = _universal(sentence, next(tags), names)
            words += [(*spans[u.word], t) for u, t in zip(sentence, universal, strict=True) if u.word >= 0]
        result.append(words)
    return result


# A BNC tag is finer than a universal one in places and coarser in others; these words decide the others.
_AT_ONCE = {  # by word and BNC tag, where no neighbour is needed
    ("away", "AVP"): "ADV",
    ("lots", "PNI"): "NOUN",
    ("lot", "PNI"): "NOUN",
    ("both", "DT0"): "DET",
    ("back", "AVP"): "ADV",
    ("none", "PNI"): "PRON",
    ("let", "VVB"): "VERB",
}
_QUANTITIES = frozenset(
    "much many more most few fewer fewest little less least several such same own other enough".split()
)
_TIME = frozenset("before after until till since".split())
_PLACE = frozenset("around inside outside behind near above below past".split())
_SUBJECTS = frozenset("i he she we they it you there this that these those everyone everybody nobody someone".split())
_TELLING = frozenset("tell told tells show showed shows teach taught teaches remind reminded promise promised".split())
_NOMINAL = ("NN", "NP", "AJ", "CR", "OR")
_PARTICIPLE = ("VVN", "VVD", "VBN", "VHN", "VDN", "VHD", "VDD")
_INFINITIVE = ("VVI", "VBI", "VHI", "VDI", "VVB")


def _names(sentences: Iterable[Sequence[_Unit]]) -> frozenset[str]:
    """The words that have a capital where nothing but a name asks for one."""
    return frozenset(u.text for s in sentences for u in s if not u.first and u.text[0].isupper() and u.text != "I")


def _universal(sentence: Sequence[_Unit], bnc: Sequence[str], names: frozenset[str]) -> list[str]:
    """The universal tags of a sentence from its BNC tags and its words; `names` are those of the whole text."""
    words = [unit.text.lower() for unit in sentence]
    return [_settle(i, unit, words, bnc, names) for i, unit in enumerate(sentence)]


def _settle(i: int, unit: _Unit, words: list[str], bnc: Sequence[str], names: frozenset[str]) -> str:
    low, tag = words[i], bnc[i]
    if not low[0].isalpha():
        return _of_mark(low)
    if unit.text in names and tag[:2] in ("NN", "NP", "VV", "AJ", "AV", "UN", "ZZ", "!!"):
        return "PROPN"
    if (low, tag) in _AT_ONCE:
        return _AT_ONCE[low, tag]
    rule = _RULES.get(low) or _RULES.get(tag)
    settled = rule(i, words, bnc) if rule else None
    return settled or _coarse(tag)


def _of_mark(text: str) -> str:
    if text[0].isdigit():
        return "NUM" if text[-1].isdigit() else "ADJ"
    return "SYM" if text in _SYMBOLS else "PUNCT"


def _at(items: Sequence[str], i: int) -> str:
    return items[i] if 0 <= i < len(items) else ""


def _is_mark(word: str) -> bool:
    return not word or not (word[0].isalnum() or (word[0] == "'" and len(word) > 1))


def _before_noun(i: int, words: Sequence[str], bnc: Sequence[str]) -> bool:
    """Whether what follows is the rest of a noun phrase."""
    following = _at(bnc, i + 1)
    if _at(words, i + 1) in ("one", "ones", "other", "same", "own"):
        return True
    return following[:2] in _NOMINAL or (following == "AV0" and _at(bnc, i + 2)[:2] == "AJ")


def _before_clause(i: int, words: Sequence[str], bnc: Sequence[str]) -> bool:
    """Whether a subject and its verb follow, before the next mark."""
    for j in range(i + 1, min(i + 8, len(words))):
        if _is_mark(words[j]) or words[j] in ("and", "or"):
            return False
        if bnc[j] in ("VVD", "VVZ", "VM0", "VBD", "VBZ", "VHD", "VHZ", "VDD", "VDZ", "VBB", "VHB", "VDB"):
            return j > i + 1
        if bnc[j] == "VVB" and bnc[j - 1] in ("PNP", "NN2"):
            return True
    return False


def _do(i: int, words: list[str], bnc: Sequence[str]) -> str:
    """do is AUX before `not`, before its subject in a question, and before its verb."""
    if bnc[i] in ("VDG", "VDN"):
        return "VERB"
    for j in range(i + 1, min(i + 7, len(words))):
        if bnc[j] == "XX0" or words[j] in ("n't", "n’t"):
            return "AUX"
        if bnc[j] in _INFINITIVE:
            return "AUX" if bnc[j - 1] != "TO0" else "VERB"
        asks = i == 0 or _is_mark(_at(words, i - 1)) or _at(bnc, i - 1) in ("AVQ", "DTQ", "PNQ", "CJC")
        if not (bnc[j] == "AV0" or (asks and bnc[j][:2] in ("PN", "NP", "NN", "AT", "DP", "DT", "AJ", "EX"))):
            return "VERB"
    return "VERB"


def _have(i: int, words: list[str], bnc: Sequence[str]) -> str:
    """have is AUX before a participle, with adverbs, `not` or the subject of a question between."""
    for j in range(i + 1, min(i + 5, len(words))):
        if bnc[j] in _PARTICIPLE:
            return "AUX"
        if bnc[j] not in ("AV0", "XX0") and not (j == i + 1 and bnc[j] == "PNP" and words[j] in _SUBJECTS):
            return "VERB"
    return "VERB"


def _that(i: int, words: list[str], bnc: Sequence[str]) -> str:
    if bnc[i] == "DT0" or (bnc[i] == "CJT" and not _before_clause(i, words, bnc)):
        return "DET" if _before_noun(i, words, bnc) else "PRON"
    after_noun = _at(bnc, i - 1)[:2] in ("NN", "NP")
    if bnc[i] == "CJT" and (not after_noun or not _TELLING.isdisjoint(words[max(0, i - 5) : i])):
        return "SCONJ"
    return "SCONJ" if bnc[i] in ("CJT", "CJS") and _at(words, i - 1) in ("fact", "idea", "hope", "way") else "PRON"


def _demonstrative(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "DET" if _before_noun(i, words, bnc) else "PRON"


def _determiner(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    """Of the BNC's DT0, some are adjectives or adverbs by the universal rules and some stand alone."""
    if words[i] in _QUANTITIES:
        if _at(bnc, i + 1)[:2] in ("AJ", "AV") and words[i] in ("much", "more", "most", "less", "least", "little"):
            return "ADV"
        alone = not _before_noun(i, words, bnc) and words[i] in ("much", "more", "most", "less", "least")
        return "ADV" if alone and _at(bnc, i - 1)[:2] in ("VV", "AV", "PN", "AJ") else "ADJ"
    if words[i] in ("any", "some", "each", "another", "either", "neither"):
        return "DET" if _before_noun(i, words, bnc) else "PRON"
    return None


def _what(i: int, words: list[str], bnc: Sequence[str]) -> str:
    following = _at(bnc, i + 1)
    return "DET" if following[:2] in _NOMINAL or (following == "AT0" and _at(words, i + 1) in ("a", "an")) else "PRON"


def _no(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "INTJ" if _is_mark(_at(words, i + 1)) else "DET"


def _so(i: int, words: list[str], bnc: Sequence[str]) -> str:
    following = _at(bnc, i + 1)
    if following[:2] in ("AJ", "AV") or _at(words, i + 1) in ("much", "many", "little"):
        return "ADV"
    return "SCONJ" if _before_clause(i, words, bnc) or _at(words, i + 1) == "that" else "ADV"


def _time(i: int, words: list[str], bnc: Sequence[str]) -> str:
    if _is_mark(_at(words, i + 1)):
        return "ADV"
    return "SCONJ" if _before_clause(i, words, bnc) else "ADP"


def _as(i: int, words: list[str], bnc: Sequence[str]) -> str:
    if "as" in words[i + 2 : i + 5] and _at(bnc, i + 1)[:2] in ("AJ", "AV", "DT"):
        return "ADV"
    return "SCONJ" if _before_clause(i, words, bnc) else "ADP"


def _like(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "VERB" if bnc[i][:2] == "VV" else "ADP"


def _when(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "ADV" if words[-1] == "?" and _at(bnc, i + 1)[:2] in ("VD", "VB", "VM", "VH") else "SCONJ"


def _place(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    if bnc[i] not in ("AVP", "PRP", "AV0"):
        return None
    alone = _is_mark(_at(words, i + 1)) or _at(bnc, i + 1)[:2] in ("CJ", "PR", "TO", "AV")
    return "ADV" if alone else "ADP"


def _well(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    return "INTJ" if (i == 0 or _is_mark(words[i - 1])) and _is_mark(_at(words, i + 1)) else None


def _please(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "VERB" if _at(bnc, i - 1) in ("TO0", "VM0") else "INTJ"


def _one(i: int, words: list[str], bnc: Sequence[str]) -> str:
    if _at(words, i - 1) == "no":
        return "PRON"
    anyone = bnc[i] == "PNI" and _at(bnc, i - 1) == "CJS" and _at(bnc, i + 1)[:2] in ("VV", "VB", "VM", "VH")
    return "PRON" if anyone else "NUM"


def _once(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "SCONJ" if _at(words, i + 1) != "upon" and _before_clause(i, words, bnc) else "ADV"


def _adjective(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    """`in the dark`: nothing follows that the adjective could belong to."""
    return "NOUN" if _at(bnc, i - 1) == "AT0" and _is_mark(_at(words, i + 1)) else None


def _all(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "PRON" if _is_mark(_at(words, i + 1)) and _at(bnc, i - 1)[:2] in ("PR", "CJ") else "DET"


def _order(i: int, words: list[str], bnc: Sequence[str]) -> str:
    """`the first day` but `at first`."""
    alone = not _before_noun(i, words, bnc) and _at(bnc, i - 1) not in ("AT0", "DPS") and _at(bnc, i - 1)[:2] != "VB"
    return "ADV" if alone and words[i] in ("first", "last", "next", "second") else "ADJ"


def _home(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "NOUN" if _at(bnc, i - 1) in ("AT0", "DPS", "PRP", "AJ0", "DT0", "POS", "NP0", "PRF") else "ADV"


def _grade(i: int, words: list[str], bnc: Sequence[str]) -> str | None:
    """An adverb's form before a noun is the adjective."""
    return "ADJ" if bnc[i] == "AV0" and _at(bnc, i + 1)[:2] == "NN" else None


def _to(i: int, words: list[str], bnc: Sequence[str]) -> str:
    return "PART" if bnc[i] == "TO0" else "ADP"


_RULES = {
    **dict.fromkeys(("VDB", "VDD", "VDG", "VDI", "VDN", "VDZ"), _do),
    **dict.fromkeys(("VHB", "VHD", "VHG", "VHI", "VHN", "VHZ"), _have),
    **dict.fromkeys(("this", "these", "those"), _demonstrative),
    **dict.fromkeys(("what", "which", "whatever"), _what),
    **dict.fromkeys(_TIME, _time),
    **dict.fromkeys(("best", "better", "fast", "hard", "high", "low", "early", "late", "close"), _grade),
    **dict.fromkeys(("other", "same", "own"), lambda i, w, b: "ADJ"),
    **dict.fromkeys(_PLACE, _place),
    "AJ0": _adjective,
    "all": _all,
    "home": _home,
    "ORD": _order,
    "that": _that,
    "DT0": _determiner,
    "no": _no,
    "so": _so,
    "as": _as,
    "like": _like,
    "when": _when,
    "to": _to,
    "well": _well,
    "please": _please,
    "one": _one,
    "once": _once,
    "while": lambda i, w, b: None if b[i] == "NN1" else "SCONJ",
    "than": lambda i, w, b: "SCONJ" if _before_clause(i, w, b) else "ADP",
    "whose": lambda i, w, b: "PRON",
}
