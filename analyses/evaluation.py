"""FINDING

How well do small story models answer, which of two texts do they prefer, and how usual is what they write?
`python analyses/evaluation.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
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
