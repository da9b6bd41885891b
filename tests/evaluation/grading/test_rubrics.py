import json
import re

import pytest
from pydantic import ValidationError

from tslens.errors import InputError
from tslens.evaluation.damages import HITS
from tslens.evaluation.grading import rubric, rubrics
from tslens.evaluation.suites import suites

RUBRIC = 'task = "Grade."\n\n[[axis]]\nname = "plot"\nquestion = "?"\n\n[[axis]]\nname = "style"\nquestion = "?"\n'


@pytest.fixture
def written(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_the_rubrics_that_come_with_tslens():
    assert rubrics() == ["instructions", "story", "verdict"] and not set(rubrics()) & set(suites())
    names = {axis.name for name in rubrics() for axis in rubric(name).axes}
    assert names == {"grammar", "creativity", "consistency", "plot", "age group", "instructions", "verdict"}
    hit = {damage for axis in rubric("story").axes for damage in axis.hit_by}
    assert hit == set(HITS) - {"salad"}


def test_an_answer_is_an_enumeration_and_never_a_range():
    schema = rubric("story").answer.model_json_schema()
    assert list(schema["properties"]) == ["comment", "grammar", "creativity", "consistency", "plot", "age_group"]
    assert schema["properties"]["plot"]["enum"] == list(range(1, 11))
    assert "minimum" not in json.dumps(schema) and schema["required"] == list(schema["properties"])
    good = {"comment": "", "grammar": 10, "creativity": 1, "consistency": 3, "plot": 4, "age_group": "6-7"}
    assert rubric("story").answer.model_validate(good).plot == 4
    for wrong in ({"plot": 11}, {"plot": 0}, {"age_group": "7"}, {"more": 1}):
        with pytest.raises(ValidationError):
            rubric("story").answer.model_validate(good | wrong)


@pytest.mark.parametrize(
    ("said", "score"), [("3", 3), ("3.0", 3), (3, 3), ("11", None), ("0", None), ("2.5", None), ("", None), ("x", None)]
)
def test_a_score_out_of_ten(said, score):
    assert rubric("story").axes[0].score(said) == score


def test_a_score_in_words_is_its_place():
    (verdict,) = rubric("verdict").axes
    assert [verdict.score(said) for said in ("fail", "partial", "success", "4")] == [1, 2, 3, None]


def test_instructions_say_what_is_asked():
    said = rubric("verdict").instructions
    assert "fail < partial < success" in said and "fail: wrong, or about something else, or so" in said
    assert (
        said.index("fail: ") < said.index("partial: a part") < said.index("success: right") < said.index("Example 1.")
    )
    story = rubric("story")
    assert "grammar (1 to 10)" in story.instructions and "Scores: grammar 4, creativity 2" in story.instructions
    assert [answer for answer, _ in story.axes[0].levels] == ["1", "3", "5", "7", "9", "10"]


@pytest.mark.parametrize(("name", "least"), [("story", 1024), ("instructions", 1024), ("verdict", 512)])
def test_rubrics_are_long_enough_for_the_cache_of_the_api(name, least):
    """It caches a prefix from 512 or 1,024 tokens on, by the model; a token is a word or a mark, or a part of one."""
    assert len(re.findall(r"\w+|[^\w\s]", rubric(name).instructions)) > least


EXAMPLE = '\n[[example]]\nbeginning = "a"\ncontinuation = "b"\nscores = { plot = 3, style = 4 }\n'


def test_levels_between_and_examples_are_told(written):
    levels = 'question = "?"\nbetween = { "7" = "seven", "3" = "three" }\nlowest = "one"'
    found = rubric(written(RUBRIC.replace('question = "?"', levels, 1) + EXAMPLE))
    assert found.axes[0].levels == (("1", "one"), ("3", "three"), ("7", "seven"))
    assert "plot (1 to 10): ? 1: one. 3: three. 7: seven." in found.instructions
    assert found.instructions.endswith("Example 1. Beginning: a\nContinuation: b\nScores: plot 3, style 4")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('"?"\n\n[[axis]]', '"?"\nbetween = { "10" = "x" }\n\n[[axis]]'),
            "line 6, 'between': '10' is no answer between",
        ),
        (('"?"\n\n[[axis]]', '"?"\nbetween = { "2.5" = "x" }\n\n[[axis]]'), "line 6, 'between': '2.5' is no answer"),
        (("plot = 3, ", ""), "line 14, 'scores': give one of its answers for every axis"),
        (("plot = 3", "plot = 11"), "line 14, 'scores'"),
        (("plot = 3", "plot = 3, more = 3"), "line 14, 'scores'"),
        (("scores =", "score ="), "line 14: no key 'score'. Did you mean 'scores'"),
        (('continuation = "b"\n', ""), "line 11: 'continuation' is missing from this example"),
    ],
)
def test_a_fault_in_levels_or_examples(written, change, message):
    with pytest.raises(InputError) as raised:
        rubric(written((RUBRIC + EXAMPLE).replace(*change)))
    assert message in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("name = \"style\"", "nmae = \"style\""), "line 8: no key 'nmae'. Did you mean 'name'"),
        (("name = \"style\"\n", ""), "line 7: 'name' is missing from this axis"),
        (("task = \"Grade.\"", "tsk = \"Grade.\""), "line 1: no key 'tsk'"),
        (("name = \"style\"", "name = \"plot\""), "line 8: 'plot' is taken"),
        *(
            (("name = \"style\"", f"name = \"{name}\""), f"line 8: '{name}' is taken")
            for name in ("comment", "model dump", "model config", "prompt", "completion", "number")
        ),
        (("name = \"style\"", "name = 3"), "line 8, 'name': Input should be a valid string; got 3"),
        (("name = \"style\"", "name = \"style\"\nhit_by = [\"fire\"]"), "line 9, 'hit_by'"),
        (("name = \"style\"", "name = \"style\"\nhit_by = [\"salad\"]"), "line 9, 'hit_by'"),
        (("name = \"style\"", "name = \"style\"\nvalues = [\"one\"]"), "line 9, 'values'"),
        (("task =", "task"), "is not TOML"),
    ],
)  # fmt: skip
def test_a_fault_in_a_rubric_is_one_line_with_its_place(written, change, message):
    assert len(rubric(written(RUBRIC)).axes) == 2
    with pytest.raises(InputError) as raised:
        rubric(written(RUBRIC.replace(*change)))
    assert message in str(raised.value) and "mine.toml" in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "message"), [("storey", "Did you mean 'story'"), ("no.toml", "no rubric file"), ("../x", "no rubric")]
)
def test_no_rubric_of_that_name(name, message):
    with pytest.raises(InputError, match=message):
        rubric(name)


def test_a_rubric_that_is_no_text(tmp_path):
    (tmp_path / "mine.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        rubric(str(tmp_path / "mine.toml"))
