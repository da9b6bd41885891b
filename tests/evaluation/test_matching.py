"""Labels of completions: the first word that is an ending decides, whole and by its base form."""

import pytest

from tslens import models
from tslens.evaluation.matching import completions, label
from tslens.evaluation.suites import Prompt
from tslens.generate import Sampling, generate
from tslens.models import Spec

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
    ],
)
def test_the_first_ending_decides(prompt, text, expected):
    assert label(text, prompt) == expected


def test_completions_leave_the_prompt_out_and_follow_the_seed(tokenizer, loud):
    model = loud(models.build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer))
    prompts = [Prompt(text, ("mat",), ("cat",), "it") for text in ("the cat sat on", "the cat and the mat")]
    made = completions(model, prompts, 40, seed=1)  # more rows than are continued at a time
    assert [len(row) for row in made] == [40, 40] and made == completions(model, prompts, 40, seed=1)
    assert made != completions(model, prompts, 40, seed=2) and len(set(made[0])) > 5
    texts, sampling = [prompt.text for prompt in prompts], Sampling(seed=100_003)
    whole = generate(model, texts, n=32, max_new_tokens=40, sampling=sampling)[:32]
    assert [texts[0] + completion for completion in made[0][:32]] == whole
