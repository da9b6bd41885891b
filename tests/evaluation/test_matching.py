"""Labels of completions: the first word that is an ending decides, whole and by its base form."""

import pytest

from tslens.evaluation.matching import label
from tslens.evaluation.suites import Prompt

BIRD = Prompt("The bird was ready to", ("fly", "flap its wings"), ("swim", "wave its fins"), "birds")
TRUE = Prompt("What she said was", ("true",), ("not true", "a lie"), "lies")


@pytest.mark.parametrize(
    ("prompt", "text", "expected"),
    [
        (BIRD, " fly away, but then it swam.", 2),
        (BIRD, " swim. It did not fly.", 0),
        (BIRD, ' sing. "I flew!" it said.', 2),  # an inflection
        (BIRD, " FLAP its wing.", 2),
        (BIRD, " catch butterflies and swimsuits.", 1),  # no whole word
        (BIRD, " flap.", 1),  # a part of an ending
        (BIRD, " sing a song.", 1),
        (BIRD, "", 0),
        (BIRD, " ... !!", 0),
        (TRUE, " not true.", 0),
        (TRUE, " true, not true.", 2),
        (TRUE, " so true", 2),
        (BIRD, " not fly.", 1),
        (BIRD, " sing, but it didn’t flap its wings.", 1),
        (BIRD, " not swim, but fly.", 2),
        (BIRD, " find no fly, a swim.", 0),
        (BIRD, " be never a fly.", 1),
    ],
)
def test_the_first_ending_decides(prompt, text, expected):
    assert label(text, prompt) == expected
