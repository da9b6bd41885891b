import json
from dataclasses import replace

import numpy as np
import pytest

from tslens.errors import InputError
from tslens.evaluation.copies.cutting import read_written
from tslens.evaluation.grading import GradedText, compare, grade, read_texts
from tslens.evaluation.grading.graders import Failure, Grade, TableGrader
from tslens.evaluation.grading.texts import joint

ROWS = [
    {"prompt": "A cat", "completion": ' ran, "far"\naway.', "model": "a", "sample": 0, "ending": None, "tokens": 3},
    {"prompt": "A dog", "completion": "", "model": "b", "sample": 1, "ending": " slept.", "expected": "it slept"},
]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_texts_of_jsonl_and_csv_are_the_same(tmp_path):
    import pandas as pd

    pd.DataFrame(ROWS).to_csv(tmp_path / "t.csv", index=False)
    found = read_texts(write_jsonl(tmp_path / "t.jsonl", ROWS))
    assert found == [
        GradedText("A cat", ' ran, "far"\naway.', "a"),
        GradedText("A dog", "", "b", " slept.", "it slept"),
    ]
    assert read_texts(tmp_path / "t.csv") == found
    assert [text.is_empty for text in found] == [False, True]


def test_the_file_of_eval_write_keeps_its_true_endings(tmp_path):
    row = {"model": "a", "prompt": "Tom", "completion": " ran.", "true_ending": " slept.", "sample": 0}
    (tmp_path / "c.jsonl").write_text(json.dumps(row) + "\n")
    assert read_texts(tmp_path / "c.jsonl") == [GradedText("Tom", " ran.", "a", " slept.")]
    cuts, written = read_written(tmp_path / "c.jsonl")
    assert cuts[0].ending == " slept." and written == [" ran."]


def test_other_names_of_columns(tmp_path):
    path = write_jsonl(tmp_path / "t.jsonl", [{"beginning": "A", "continuation": "b"}])
    assert read_texts(path) == [GradedText("A", "b")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"prompt": "a"}', "line 1 has no column 'completion'; it has prompt"),
        ('{"prompt": "a", "completion": 3}', "line 1: 'completion' is int, not text"),
        (r'{"prompt": "a", "completion": "\ud83d"}', "line 1 has half a surrogate pair"),
        ('{"prompt": "a", "completion": null}', "nothing in the column 'completion'"),
        ("", "holds no text"),
        ("[", "line 1 is not JSON"),
    ],
)
def test_a_file_without_texts_is_refused(tmp_path, content, message):
    (tmp_path / "t.jsonl").write_text(content)
    with pytest.raises(InputError, match=message):
        read_texts(tmp_path / "t.jsonl")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="no file"):
        read_texts(tmp_path / "t.jsonl")
    (tmp_path / "t.txt").write_text("x")
    with pytest.raises(InputError, match=r"no .jsonl or .csv"):
        read_texts(tmp_path / "t.txt")


def test_scores_of_a_table(tmp_path, story):
    (tmp_path / "ann.csv").write_text(
        "prompt,completion,plot,age_group,judge\nA,b,7,6-7,x\nA,b,5,,x\nA,c,,,x\n", encoding="utf-8"
    )
    table = TableGrader(tmp_path / "ann.csv")
    first, none, unknown = table.grade([GradedText("A ", " b"), GradedText("A", "c"), GradedText("A", "d")], story)
    assert table.name == "ann" and first.scores == {"plot": 7, "age group": 3}
    assert none == unknown == Failure("no score in ann.csv")
    assert table.grade([GradedText("A", "b")], story, 1)[0].scores == {"plot": 5}
    assert table.grade([GradedText("A", "b")], story, 2) == [Grade({})]


def test_a_table_s_own_scores_of_empty_texts_count_and_axes_without_a_column_have_none(tmp_path, story):
    """A text that the table lacks has the lowest score, on the axes of which it has a column."""
    (tmp_path / "ann.csv").write_text("prompt,completion,grammar\nA cat,,4\nA dog, ran.,8\nA cow,,\n")
    texts = [GradedText("A cat", "", "a"), GradedText("A dog", " ran.", "a"), GradedText("A hen", " ", "a")]
    found = grade([*texts, GradedText("A cow", "", "a")], TableGrader(tmp_path / "ann.csv"), story, [])
    grammar, *others = found.of_texts(texts).T
    assert grammar.tolist() == [4, 8, 1] and np.isnan(others).all() and len(found.failures) == 1
    by_others = replace(found, models=["a", "b", "a", "b"], trust=dict.fromkeys(found.axes, "no control"))
    assert compare(by_others).verdicts[1:] == ["none: no prompt has scores of both"] * 4


def test_a_table_with_an_impossible_score(tmp_path, story):
    (tmp_path / "t.csv").write_text("prompt,completion,plot\nA,b,7\nA,c,11\n")
    with pytest.raises(InputError, match="line 3: plot is '11'; it may be 1 to 10"):
        TableGrader(tmp_path / "t.csv").grade([GradedText("A", "c")], story)


def test_a_table_by_another_rubric(tmp_path, story):
    (tmp_path / "t.csv").write_text("prompt,completion,style\nA,b,7\n")
    with pytest.raises(InputError, match="no score by the rubric 'story'; give a column of grammar"):
        TableGrader(tmp_path / "t.csv").grade([GradedText("A", "b")], story)


MARKS = (", who ran.", ". It ran.", "!", "'s dog ran.", "’ll go.", " ran.", "\nran.", "", "…")
WORDS = ("ran.", "3 dogs.", '"Hi," he said.', "“Hi.”", "'tis so.", "'Stop!' he said.", "(so)", "ça")


def test_a_mark_follows_a_beginning_at_once_and_a_word_after_a_space():
    assert [joint(one) for one in MARKS] == [""] * len(MARKS)
    assert [joint(one) for one in WORDS] == [" "] * len(WORDS)
