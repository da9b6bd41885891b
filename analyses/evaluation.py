"""Small story models know little that an untrained one does not: of 64 facts asked in pairs stories2M has 0.62 right
(0.50 to 0.74), a 256x8 model after one epoch 0.61 (0.48 to 0.72), stories260K 0.52 (0.39 to 0.64) and permuted weights
0.52, where not reading gives 0.50; of 672 templated ones 0.57 (0.53 to 0.61), 0.59 (0.55 to 0.63), 0.54 (0.51 to 0.58)
and 0.50 (0.46 to 0.54). Of context and reasoning none has more right than chance. On 20 phenomena of minimal pairs, in
which counts of words and length tell nothing, they are right in 0.68 (0.67 to 0.69), 0.66 (0.65 to 0.67) and 0.64 (0.63
to 0.65), permuted weights in 0.49 (0.48 to 0.50): word order, articles, agreement and verb forms they know, who has
what and agreement across a phrase they do not. What they write is less usual than their training stories in grammar
(stories2M -0.6 standard deviations, -0.8 to -0.4; 256x8 -0.4, -0.6 to -0.2) and about as varied; the plots of
stories260K are not ended (-2.3, -2.6 to -2.0). (200 pairs of a phenomenon, 100 stories of each model; the 256x8 model
has 64 heads and 451 steps.)

How well do small story models answer, which of two texts do they prefer, and how usual is what they write?
`python analyses/evaluation.py --stories FILE --model stories260K=llama2c:stories260K.bin --model 256x8=256x8x8` makes
this again.
"""

from _models import study

from tslens.corpus import SELF, model_stories
from tslens.evaluation.card import card, reference, score_texts
from tslens.evaluation.pairs import own_pairs, score
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suites import suite, suites
from tslens.models.twins import Twin
from tslens.plots import save

PAIRS = 200  # of each phenomenon
WRITTEN = 100  # stories of each model
COMPLETIONS = 10

asked = study("evaluation")
models = dict(asked.models)
models["untrained"] = Twin("permuted", 0).of(models["stories2M"])
for name in suites():
    answered = evaluate(models, suite(name), written=COMPLETIONS)
    save(answered.figure(), asked.folder / f"{name}.svg", answered.summary())
    print(answered)
preferred = score(models, own_pairs(PAIRS))
save(preferred.figure(), asked.folder / "pairs.svg", preferred.summary())
print(preferred)
usual = reference(asked.training, asked.training.name)
written = {name: score_texts(model_stories(m, SELF, limit=WRITTEN).texts, usual, name) for name, m in models.items()}
found = card(models, preferred, written)
save(found.drawn("texts"), asked.folder / "card.svg", found.summary())
print(found)
for texts in written.values():
    print(texts)
