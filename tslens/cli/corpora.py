"""The command that audits a corpus of stories."""

from pathlib import Path

from tslens.cli.delivery import delivery
from tslens.cli.options import Json


def audit(
    source: str,
    *,
    against: str | None = None,
    limit: int = 20_000,
    out: Path | None = None,
    json_: Json = False,
) -> None:
    """Measure a corpus: near-duplicates, vocabulary, length, features, parts of speech, encoding faults, overlap.

    Parameters
    ----------
    source
        A file (.txt, .jsonl, .csv, .parquet), a dataset folder, a Hugging Face id or `made`; read as it is, uncleaned.
    against
        A reference corpus, named in the same way: every measure beside its own, and the stories taken from it.
    limit
        Largest number of stories of each corpus; a story takes about 1 kB of memory.
    out
        A folder for the figures (SVG), the measures of every story (CSV) and the whole answer.
    """
    from tslens.evaluation import corpora
    from tslens.stories import stories

    texts = stories(source, limit=limit, clean=False)
    others = None if against is None else stories(against, limit=limit, clean=False)
    with delivery(out, json_) as deliver:
        answer = corpora.audit(texts, others, name=source, reference=against or "", limit=limit)
        deliver(answer, figures=[("shares", answer.figure()), ("lengths", answer.lengths())] if out else None)
