"""The audit of a corpus of stories, alone or against a reference corpus."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt32

from tslens import progress
from tslens.errors import InputError
from tslens.evaluation import rouge
from tslens.evaluation.corpora import minhash
from tslens.evaluation.corpora.measures import CONTENT, MEASURES, measure, parts_of_speech
from tslens.evaluation.corpora.result import CorpusAuditResult
from tslens.stories.identity import Occurrences
from tslens.stories.instruct import parse

SAMPLE = 1000
"""Stories, evenly spread over the corpus, whose parts of speech and nearest neighbours are measured."""
CHUNK = 1000
COMMONEST = 50  # words that the reference lacks which are listed


@dataclass
class _Reading:
    """What one pass over a corpus keeps: `minhash.BYTES` and 60 bytes a story, its vocabulary, and a sample."""

    values: Float[np.ndarray, "story measure"]
    signatures: UInt32[np.ndarray, "story hash"]
    again: Bool[np.ndarray, " story"]
    vocabulary: Counter[str]
    sample: list[str]


def audit(
    texts: Iterable[str],
    against: Iterable[str] | None = None,
    *,
    name: str = "stories",
    reference: str = "reference",
    limit: int | None = None,
) -> CorpusAuditResult:
    """The audit of texts as they stand in their source (read with ``clean=False``), once, in bounded memory: about
    1 kB a story, and the vocabulary. `limit` bounds the number of stories of each corpus.

    Near-duplicates are found by MinHash (`minhash`); nearest neighbours by ROUGE-2 among a sample of `SAMPLE` stories.
    InputError for fewer than three stories.
    """
    one = _read(texts, f"reading {name}", limit)
    two = None if against is None else _read(against, f"reading {reference}", limit)
    readings = [reading for reading in (one, two) if reading is not None]
    with progress.stage("looking for duplicates"):
        near = [minhash.near(reading.signatures) for reading in readings]
        taken = None if two is None else minhash.near(one.signatures, two.signatures)
    with progress.stage("measuring a sample"):
        parts = [parts_of_speech(reading.sample) for reading in readings]
        nearest = [rouge.nearest([parse(text).story for text in reading.sample]) for reading in readings]
        other = np.zeros(0) if two is None else _nearest(one.sample, two.sample)
    return CorpusAuditResult(
        corpora=[name, reference][: len(readings)],
        measures=list(MEASURES),
        parts=list(CONTENT),
        story_corpus=_owners(len(reading.again) for reading in readings),
        sample_corpus=_owners(len(reading.sample) for reading in readings),
        value=torch.tensor(np.concatenate([reading.values for reading in readings]), dtype=torch.float32),
        repeated=torch.tensor(np.concatenate([reading.again for reading in readings])),
        near=torch.tensor(np.concatenate([found for found, _ in near])),
        twin=torch.tensor(np.concatenate([which for _, which in near])),
        taken=torch.tensor(np.zeros(0, dtype=bool) if taken is None else taken[0]),
        source=torch.tensor(np.zeros(0, dtype=np.int64) if taken is None else taken[1]),
        part=torch.tensor(np.concatenate(parts), dtype=torch.float32),
        nearest=torch.tensor(np.concatenate(nearest), dtype=torch.float32),
        nearest_reference=torch.tensor(other, dtype=torch.float32),
        vocabulary=[len(reading.vocabulary) for reading in readings],
        words=[reading.vocabulary.total() for reading in readings],
        unknown_words=[] if two is None else _unknown(one.vocabulary, two.vocabulary),
    )


def _nearest(sample: list[str], others: list[str]) -> Float[np.ndarray, " story"]:
    return rouge.nearest([parse(text).story for text in sample], [parse(text).story for text in others])


def _read(texts: Iterable[str], what: str, limit: int | None) -> _Reading:
    values, signatures, again = [], [], []
    vocabulary: Counter[str] = Counter()
    sample: list[str] = []
    seen, step = Occurrences(), 1
    stream = progress.track(islice(texts, limit), what, limit)
    number = 0
    while chunk := list(islice(stream, CHUNK)):
        values.append(np.array([measure(text) for text in chunk], dtype=np.float32))
        signatures.append(np.stack([minhash.signature(parse(text).story) for text in chunk]))
        for text in chunk:
            found = rouge.words(parse(text).story)
            vocabulary.update(found)
            again.append(seen.identify(" ".join(found))[1] > 0)
            if number % step == 0:
                sample.append(text)
                if len(sample) > 2 * SAMPLE:  # every second one is kept, and from now on half as many are taken
                    sample, step = sample[::2], step * 2
            number += 1
    if number < 3:
        raise InputError(f"{what}: {number} stories; an audit needs at least 3.")
    chosen = [sample[i] for i in np.linspace(0, len(sample) - 1, min(SAMPLE, len(sample))).astype(int)]
    return _Reading(
        np.concatenate(values),
        np.concatenate(signatures),
        np.array(again),
        vocabulary,
        chosen,
    )


def _owners(sizes: Iterable[int]) -> torch.Tensor:
    """The corpus of each row."""
    return torch.cat([torch.full((size,), i) for i, size in enumerate(sizes)])


def _unknown(one: Counter[str], two: Counter[str]) -> list[str]:
    """The commonest words that the reference does not have."""
    return [word for word, _ in one.most_common() if word not in two][:COMMONEST]
