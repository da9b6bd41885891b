"""The commands that check and pack stories."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from tslens import progress
from tslens.cli.delivery import print_json
from tslens.cli.options import Json
from tslens.errors import InputError
from tslens.tables import as_text, filled

if TYPE_CHECKING:
    from tslens.stories import Stories
    from tslens.stories.packed import Packed
    from tslens.tokenizer import Tokenizer


def check(
    source: str,
    *,
    limit: int | None = None,
    json_: Json = False,
) -> None:
    """Read stories and show what cleaning repairs and drops.

    Parameters
    ----------
    source
        A file (.txt, .jsonl, .csv, .parquet), a dataset folder or a Hugging Face id; PLACE:COLUMN names a column,
        PLACE@SPLIT a dataset's own split (PLACE@CONFIG/SPLIT of one configuration). Several, joined by commas.
    limit
        Stop after so many stories kept.
    """
    import pandas as pd

    from tslens.stories import Cleaner, CleaningReport, names_in, stories

    parts = names_in(source)
    reports: dict[str, CleaningReport] = {}
    cleaner = Cleaner()
    for part in parts:
        before = cleaner.report
        for _ in progress.track(stories(part, limit=limit).counted(cleaner), f"reading {part}", limit):
            pass
        reports[part] = cleaner.report - before
    if json_:
        print_json({part: dataclasses.asdict(report) for part, report in reports.items()}, indent=2)
        return
    whole = cleaner.report
    if len(parts) > 1:
        reports["all"] = whole
    print(filled(f"{whole.kept:,} of {whole.read:,} stories are kept, {whole.repaired:,} of them repaired."))
    table = pd.DataFrame([{"source": part, **dataclasses.asdict(report)} for part, report in reports.items()])
    print(as_text(table))


def pack(
    source: str,
    *,
    out: Path,
    vocab: int | None = None,
    tokenizer: Path | None = None,
    gpt2: str | None = None,
    keep: int | None = None,
    split: str | None = None,
    limit: int | None = None,
    clean: bool = True,
    seed: int = 0,
    resume: bool = True,
    json_: Json = False,
) -> None:
    """Turn stories into tokens on disk, ready for training. A packing that was stopped is resumed.

    Parameters
    ----------
    source
        "made", a file (.txt, .jsonl, .csv, .parquet), a dataset folder or a Hugging Face id; several joined by commas.
    out
        The folder for tokens.bin, starts.bin, pack.json and tokenizer.json.
    vocab
        Size of the byte-level BPE trained on these stories (4,096 if not given); resuming uses the folder's own.
    tokenizer
        A tokenizer.json to use instead of training one.
    gpt2
        The vocabulary of GPT-2 and GPT-Neo instead: its two files, as VOCAB.json,MERGES.txt.
    keep
        Number of its tokens to keep, the commonest here (10000 for TinyStories); the file can be a data.tokenizer.
    split
        Only the stories of this split, train or validation, by a hash of the story.
    limit
        Largest number of stories.
    clean
        Repair and drop stories (see: tslens stories check).
    seed
        Random seed of "made".
    resume
        With --no-resume, start again, and replace the folder's pack once all is packed.
    """
    from tslens.stories import stories

    found = stories(source, split=split, limit=limit, clean=clean, seed=seed)
    chosen = _tokenizer(found, out, vocab=vocab, file=tokenizer, gpt2=gpt2, keep=keep, limit=limit, resume=resume)
    packed = _pack(found, chosen, out, resume)
    if json_:
        return print_json(dataclasses.asdict(packed.record), indent=2)
    print(filled(_counts(packed, chosen, out)))


def _pack(found: "Stories", tokenizer: "Tokenizer", out: Path, resume: bool) -> "Packed":
    """Pack the stories into `out`; on Ctrl-C, the message says what is left there."""
    from tslens.stories.pack import pack as pack_stories
    from tslens.stories.packed import RECORD

    replaces = not resume and (out / RECORD).exists()
    try:
        return pack_stories(found, tokenizer, out, source=found.name, resume=resume, keep_tokenizer=True)
    except KeyboardInterrupt:
        left = f"{out} is as it was" if replaces else f"the same command resumes the packing into {out}"
        raise KeyboardInterrupt(f"stopped; {left}") from None


def _counts(packed: "Packed", tokenizer: "Tokenizer", out: Path) -> str:
    """The size of the pack, in a sentence."""
    per_token = packed.n_bytes / max(packed.n_tokens - packed.n_stories, 1)
    return (
        f"{packed.n_stories:,} stories, {packed.n_tokens:,} tokens of a vocabulary of {tokenizer.size:,} "
        f"({per_token:.2f} bytes a token; the longest story has {packed.record.longest:,} tokens) in {out}"
    )


def _tokenizer(
    found: "Stories",
    out: Path,
    *,
    vocab: int | None,
    file: Path | None,
    gpt2: str | None,
    keep: int | None,
    limit: int | None,
    resume: bool,
) -> "Tokenizer":
    """The tokenizer that the options of `pack` choose: read, or trained on the stories."""
    from tslens.stories.packed import TOKENIZER
    from tslens.tokenizer import Tokenizer

    given = [name for name, value in (("--vocab", vocab), ("--tokenizer", file), ("--gpt2", gpt2)) if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} each choose the tokenizer; give one of them")
    if keep is not None and gpt2 is None:
        raise InputError(f"--keep {keep} cuts the vocabulary that --gpt2 names; give --gpt2 VOCAB.json,MERGES.txt")
    if file is not None:
        return Tokenizer.load(file)
    if gpt2 is not None:
        files = gpt2.split(",")
        if len(files) != 2:
            raise InputError(f"--gpt2 takes two files, VOCAB.json,MERGES.txt, and was given {gpt2!r}")
        texts = progress.track(found, "counting tokens", limit) if keep is not None else ()
        return Tokenizer.from_gpt2(*files, keep=keep, texts=texts)
    own = out / TOKENIZER
    if resume and own.is_file():
        chosen = Tokenizer.load(own)
        if vocab not in (None, chosen.size):
            raise InputError(f"{own} has {chosen.size:,} tokens, not {vocab:,}; leave --vocab out, or give --no-resume")
        return chosen
    return Tokenizer.train(progress.track(found, "training the tokenizer", limit), vocab or 4096)
