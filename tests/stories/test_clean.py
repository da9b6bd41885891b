"""Mojibake is undone and genuine text is not; what is dropped is counted."""

import json
from pathlib import Path

import pytest

from tslens.stories import Cleaner, CleaningReport, stories
from tslens.stories.clean import Seen, is_truncated, repair, tidy


def spoilt(text: str) -> str:
    """UTF-8 read as Windows-1252, and as Latin-1 where that has no character for a byte."""
    return "".join(bytes([byte]).decode("cp1252", errors="ignore") or chr(byte) for byte in text.encode())


@pytest.mark.parametrize(
    "meant",
    ["“Hi,” she said.", "It’s ‘fine’ – or so… — no", "naïve café, £5, ½", "a • b ™ €3", "a dragon 🐲 and 😀"],
)
def test_spoilt_text_is_mended(meant: str) -> None:
    assert spoilt(meant) != meant
    assert repair(spoilt(meant)) == meant


@pytest.mark.parametrize(
    ("broken", "meant"),
    [
        ("â€œBoo!â€ said Tom.", "“Boo!” said Tom."),  # the last byte of the closing quote is gone
        ("â€œBoo!â€\x9d", "“Boo!”"),  # or read as Latin-1
        ("â€œBoo!â€\ufffd", "“Boo!”"),  # or replaced
        ("â\x80\x9cBoo!â\x80\x9d", "“Boo!”"),  # all of it read as Latin-1
        (spoilt(spoilt("“It’s ‘here’ – café…")), "“It’s ‘here’ – café…"),  # twice over
    ],
)
def test_partly_lost_forms(broken: str, meant: str) -> None:
    assert repair(broken) == meant


@pytest.mark.parametrize(
    "text", ["“CAFÉ”", "my fiancé”— he", "plain ASCII", "Ångström’s pâté", "«Señor», dijo", "日本語 и русский", "É™"]
)
def test_genuine_text_is_left_alone(text: str) -> None:
    assert repair(text) == text


def test_spaces_and_newlines_are_unified() -> None:
    assert tidy("  a\u00a0b\u200b c \r\n\r\n\r\n\r\n d\te\ufeff \n") == "a b c\n\nd e"
    assert tidy("one  two \n three\n\n\n\nfour") == "one two\nthree\n\nfour"
    assert tidy("\u2028a\u2029b\x85c\x0bd\x0ce") == "a\nb\nc\nd\ne"
    assert tidy("“a”\x07 \u3000b") == "“a” b"
    tidied = "Tom ran.\n\nHe fell."
    assert tidy(tidied) == tidied


@pytest.mark.parametrize(
    "ending",
    [
        "He ran.",
        "He ran!",
        "Why?",
        "and so…",
        'said "bye."',
        "said 'bye.'",
        "“bye”",
        "«bye»",
        "(it was.)",
        "The End",
        "THE END\n",
    ],
)
def test_whole_stories_are_recognised(ending: str) -> None:
    assert not is_truncated(f"Once there was a dog. {ending}")


@pytest.mark.parametrize(
    "ending",
    ["He ran and", "he said,", "lesson:", "a friend", 'He said, "', "Abi’", "He said, “", "a weekend", "Tom -"],
)
def test_truncated_stories_are_recognised(ending: str) -> None:
    assert is_truncated(f"Once there was a dog. {ending}")


def test_counts_by_hand() -> None:
    cleaner = Cleaner()
    given = ["Tom ran.", "  Tom \u00a0ran. ", "â€œBoo!â€", "\n \n", "Tom ran and", "“Boo!”", "Anna ran."]
    assert list(cleaner(given)) == ["Tom ran.", "“Boo!”", "Anna ran."]
    assert cleaner.report == CleaningReport(read=7, kept=3, repaired=1, empty=1, truncated=1, duplicate=2)
    before = cleaner.report
    assert list(cleaner(["Anna ran.", "Ben ran."])) == ["Ben ran."]  # duplicates are found across sources
    assert cleaner.report - before == CleaningReport(read=2, kept=1, duplicate=1)


def test_what_was_seen_is_held_in_few_bytes() -> None:
    seen = Seen()
    assert all(seen.add(f"story {n}") for n in range(20_000))
    assert not any(seen.add(f"story {n}") for n in range(20_000))
    assert len(seen) == 20_000
    assert 10 <= seen.n_bytes / len(seen) <= 20


def test_cleaning_twice_changes_nothing(shared: Path) -> None:
    once = list(stories(str(shared / "data/stories/tinystories-v1.txt")))
    cleaner = Cleaner()
    assert list(cleaner(once)) == once
    assert cleaner.report == CleaningReport(read=len(once), kept=len(once))


def test_the_faults_of_the_real_files(shared: Path) -> None:
    counts = {}
    for path in sorted((shared / "data/stories").iterdir()):
        cleaner = Cleaner()
        kept = "".join(stories(str(path)).counted(cleaner))
        assert "â€" not in kept and "\u00a0" not in kept and "\r" not in kept
        report = cleaner.report
        counts[path.name] = (report.read, report.repaired, report.truncated, report.duplicate)
    assert counts == {
        "simplestories-dev.jsonl": (1420, 0, 0, 0),
        "tinystories-more.csv": (3643, 0, 4, 0),
        "tinystories-v1.txt": (3243, 135, 21, 0),
        "tinystories-v2.jsonl": (8055, 0, 26, 0),
    }


def test_made_stories_need_no_cleaning() -> None:
    cleaner = Cleaner()
    made = list(stories("made", limit=60, clean=False))
    assert list(cleaner(made)) == made
    assert json.dumps(made)  # plain text throughout
