"""The likeliest BNC tags of many sentences at once, by HanTa's trigram model (Wartena 2019, KONVENS).

The probabilities are HanTa's own, from the English weights that it ships; the search is Viterbi's (1967) in arrays.
"""

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tslens.pos.words import Unit

_OPEN = ("NN", "NP", "AJ", "AV", "VV", "IT")


class Trigrams:
    """HanTa's probabilities as arrays, and the best tags of many sentences at once."""

    CANDIDATES = 6  # tags a word may have; HanTa itself follows 5 states a word
    LETTERS = 25  # of a longer word the end is looked at: HanTa's time grows with the cube of the length
    UNITS = 40_000  # searched together, so that memory is bounded however long a sentence is

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
        self._one_at_a_time = Lock()  # a thread that meets a new word changes the tables

    def tags(self, sentences: Sequence[Sequence[Unit]]) -> list[list[str]]:
        """The BNC tag of every unit (Viterbi 1967 over pairs of tags)."""
        order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
        found: list[list[str]] = [[] for _ in sentences]
        while order and sentences[order[0]]:
            together = max(1, self.UNITS // len(sentences[order[0]]))
            chosen, order = order[:together], order[together:]
            chosen = [i for i in chosen if sentences[i]]
            with self._one_at_a_time:
                tags_of_chosen = self._search([sentences[i] for i in chosen])
            for i, tags in zip(chosen, tags_of_chosen, strict=True):
                found[i] = tags
        return found

    def _emissions(self, sentences: Sequence[Sequence[Unit]]) -> NDArray[np.int64]:
        """The row of the tables for each unit, `[sentence, place]`; a new word is looked up once and kept."""
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
                likely = self.tagger._tag_word(
                    text[-self.LETTERS :], cutoff=5, casesensitive=not first, conditional=True
                )
                known = [(self.index[code], p) for code, p in likely if code in self.index]
                if text.lower() not in self.tagger.cache and text.isalpha():  # a word never seen is of an open class
                    known = [(tag, p) for tag, p in known if self.names[tag][:2] in _OPEN]
                known = known[: self.CANDIDATES]
                for c, (tag, p) in enumerate(known or [(self.names.index(t), 0.0) for t in ("NN1", "NP0", "UNC")]):
                    ids[k, c], logp[k, c] = tag, p
            self.candidates = np.concatenate([self.candidates, ids])
            self.logp = np.concatenate([self.logp, logp])
        return rows

    def _search(self, sentences: Sequence[Sequence[Unit]]) -> list[list[str]]:
        """The best tags of sentences sorted from the longest to the shortest."""
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
        """The tags along the best path of each sentence, followed backwards."""
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
def trigrams() -> Trigrams:
    """The model, loaded once, on first use."""
    return Trigrams()
