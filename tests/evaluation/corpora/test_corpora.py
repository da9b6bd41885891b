"""The audit of a corpus: planted duplicates and faults are counted, and differences from a reference have intervals."""

import json
from pathlib import Path

import pytest

from tslens import cli
from tslens.evaluation.corpora import CorpusAuditResult, audit, auditing
from tslens.evaluation.corpora.measures import CONTENT, MEASURES, measure, parts_of_speech
from tslens.stories import stories


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(stories("made", limit=60))


def test_measures_of_a_story_by_hand() -> None:
    found = dict(zip(MEASURES, measure('Tom ran. "Stop!" said Mom.'), strict=True))
    assert found["words"] == 5 and found["dialogue"] == 1 and found["moral"] == 0 and found["distinct words"] == 1
    assert found["letters of a word"] == pytest.approx(17 / 5)
    assert not any(found[name] for name in MEASURES[6:])
    assert dict(zip(MEASURES, measure("Words: a, b\nStory: \n\nTom ran."), strict=True))["words"] == 2
    for text, fault in (
        ("He said â€œhi.â€\x9d", "mojibake"),
        ("A caf\ufffd.", "replaced characters"),
        ("A\x00dog.", "control characters"),
        ("Tom &amp; Ben ran.", "leftover markup"),
        ("The café.", "not ASCII"),
        ("Tom ran and", "cut short"),
    ):
        assert dict(zip(MEASURES, measure(text), strict=True))[fault] == 1
    assert parts_of_speech(["The big dog ran."])[0].tolist() == [
        {"NOUN": 0.25, "VERB": 0.25, "ADJ": 0.25}.get(part, 0.0) for part in CONTENT
    ]


def test_planted_copies_are_counted_in_the_corpus_and_against_a_reference(texts: list[str]) -> None:
    own = [*texts[:30], texts[0].upper(), texts[1].replace("the", "a")]
    found = audit(own, texts[20:], name="own", reference="others")
    assert found.columns()["repeated"].tolist() == [0.0] * 30 + [1.0, 0.0]
    assert [i for i, near in enumerate(found.columns()["near-duplicate"]) if near] == [0, 1, 30, 31]
    assert found.twin[:2].tolist() == [30, 31]
    assert [i for i, taken in enumerate(found.taken.tolist()) if taken] == list(range(20, 30))
    assert found.source[20:30].tolist() == list(range(10))
    assert found.columns()["nearest ROUGE-2 in the reference"][20:30].min() == 1.0
    table = found.summary().set_index("measure")
    assert (table["low"] <= table["mean"]).all() and (table["mean"] <= table["high"]).all()
    assert table.loc["words", "difference"] == pytest.approx(
        found.columns()["words"].mean() - found.columns(1)["words"].mean()
    )
    usual = table[["reference_low", "reference", "reference_high"]].dropna()
    alone = audit(texts[20:]).summary().set_index("measure")
    assert usual.to_numpy() == pytest.approx(alone.loc[usual.index, ["low", "mean", "high"]].to_numpy())
    assert len(usual) == len(alone)
    assert table.loc["mojibake", ["mean", "low"]].tolist() == [0, 0]
    assert table.loc["mojibake", "high"] == pytest.approx(1.96**2 / (32 + 1.96**2), abs=1e-4)  # none of 32: Wilson
    assert table.loc["mojibake", "difference_low"] < 0 < table.loc["mojibake", "difference_high"]
    assert found.figure().axes and found.lengths().axes and "distinct" in str(found)
    assert not any(audit(texts).columns()["near-duplicate"])


def test_a_sample_is_spread_over_a_long_stream(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "SAMPLE", 10)
    monkeypatch.setattr(auditing, "CHUNK", 7)
    found = auditing._read((f"Tom saw {n} cats. {texts[n % 60]}" for n in range(200)), "reading", None)
    numbers = [int(text.split()[2]) for text in found.sample]
    assert len(numbers) == 10 and numbers[0] < 20 and numbers[-1] > 160 and numbers == sorted(numbers)
    assert len(found.values) == 200
    with pytest.raises(ValueError, match="2 stories; an audit needs at least 3"):
        audit(texts[:2])


def test_the_command_reads_any_source_and_writes_figures(in_tmp: Path, texts: list[str], capsys) -> None:
    (in_tmp / "own.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[:20]))
    (in_tmp / "others.txt").write_text("\n<|endoftext|>\n".join(texts[10:40]))
    assert cli.main(["stories", "audit", "own.jsonl", "--against", "others.txt", "--out", "found", "--json"]) == 0
    rows = {row["measure"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["near-duplicate in the reference"]["mean"] == 0.5 and rows["NOUN"]["difference_low"] is not None
    saved = CorpusAuditResult.load(in_tmp / "found")
    assert saved.corpora == ["own.jsonl", "others.txt"] and saved.value.shape == (50, len(MEASURES))
    assert {path.suffix for path in (in_tmp / "found").iterdir()} >= {".svg", ".csv"}
    assert cli.main(["stories", "audit", "absent.txt"]) == 2
