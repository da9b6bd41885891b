"""Small story models know little that an untrained one does not: of 64 facts asked in pairs stories2M has 0.62 right
(0.50 to 0.74), a 256x8 model after one epoch 0.61 (0.48 to 0.72), stories260K 0.52 (0.39 to 0.64) and permuted weights
0.52 (0.39 to 0.64), where not reading gives 0.50; of 672 templated ones 0.57 (0.53 to 0.61), 0.59 (0.55 to 0.63), 0.54
(0.51 to 0.58) and 0.50 (0.46 to 0.54). Of context and reasoning none has more right than chance. On 19 phenomena of
minimal pairs, in which counts of words and length tell nothing, they are right in 0.68 (0.67 to 0.69), 0.66 (0.65 to
0.67) and 0.64 (0.63 to 0.65), permuted weights in 0.49 (0.48 to 0.50): word order, articles, agreement and verb forms
they know, who has what and agreement across a phrase they do not. What they write is less usual than real stories in
consistency (stories2M -0.3 standard deviations, -0.4 to -0.2; 256x8 -0.5, -0.6 to -0.3; stories260K -0.5, -0.6 to -0.5)
and in plot (-0.3, -0.5 to -0.1; -0.5, -0.8 to -0.3; -2.3, -2.6 to -2.0: its stories are not ended); in grammar
stories2M and 256x8 are (-0.6, -0.8 to -0.4; -0.4, -0.6 to -0.2), stories260K is not (0.1, 0.0 to 0.2). In varied and
new words 256x8 and stories260K exceed them (0.3, 0.1 to 0.5; 0.3, 0.2 to 0.5). Permuted weights write no sentences:
they are at the end of the scale in grammar and creativity, but -0.1 in consistency (-0.1 to 0.0), since what gave no
occasion for a measure counted as usual then; now it is missing. (200 pairs of a phenomenon, 100 stories of each model;
the 256x8 model has 64 heads and 451 steps.)

How well do small story models answer, which of two texts do they prefer, how usual is what they write, what do they
copy and do they keep instructions? 128x4 models (plain, contrastive, compressor, instructed in one, two and four
layers) are trained for one epoch in `runs/studies`. The findings above were made before these models, pairs of others,
copies and instructions were asked, with 200 pairs of a phenomenon where 500 are asked now.
`python analyses/evaluation.py --stories FILE --model stories260K=llama2c:stories260K.bin --model 256x8=256x8x8 --pairs
FILE.jsonl` asks all of it.
"""

from pathlib import Path

from _instructed import instructed
from _models import study
from _runs import Plan, StudyRuns, planned

from tslens import load
from tslens.corpus import SELF, model_stories
from tslens.dynamics.points import points
from tslens.evaluation import copies as measure
from tslens.evaluation.card import card, controls, reference, score_texts
from tslens.evaluation.coloured import coloured_figure
from tslens.evaluation.instruct import instruct
from tslens.evaluation.loss import loss
from tslens.evaluation.pairs import own_pairs, read_pairs, score
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suites import suite, suites
from tslens.files import cache
from tslens.models.twins import Twin
from tslens.ngrams import kept_five_gram
from tslens.plots import save
from tslens.stories import stories

PAIRS = 500  # of each of our phenomena
OTHERS, FEWEST = 400, 100  # of each paradigm of --pairs, which has at least so many
WRITTEN = 100  # stories, endings and instructions
COMPLETIONS = 10
OVER_TRAINING = {"pairs": 200, "texts": 40}  # of each snapshot

asked = study("evaluation", pairs=None, out=Path("runs/studies"))
source, folder = asked.options.stories, asked.folder
orders = str(instructed(source, asked.options.out))


def plan(name: str, shape: str, objective: str = "next token") -> Plan:
    changes = {} if objective == "next token" else {"objective.name": objective}
    return planned(shape, 0, seed=0, what=name.partition(" ")[0], changes=changes)


PLAIN = {"128x4": plan("plain", "128x4")}
PLAIN |= {name: plan(name, "128x4", name) for name in ("contrastive", "compressor")}
TOLD = {f"instruct {layers}": plan("instruct", f"128x{layers}", "instruct") for layers in (1, 2, 4)}
PUBLISHED, OOD = tuple(TOLD), "instruct, held out"
HELD_OUT = {"objective.name": "instruct", "objective.filter": "held-out combinations"}
TOLD[OOD] = planned("128x4", 0, seed=0, what="instruct-ood", changes=HELD_OUT)
models = dict(asked.models)
for stories_of, plans in ((source, PLAIN), (orders, TOLD)):
    runs = StudyRuns(stories_of, asked.options.out)
    runs.train(dict(plans.values()))
    models |= {name: load(str(runs.folder / made[0])) for name, made in plans.items()}
models["untrained"] = Twin("permuted", 0).of(models["stories2M"])

for name in suites():
    answered = evaluate(models, suite(name), written=COMPLETIONS)
    save(answered.figure(), folder / f"{name}.svg", answered.summary())
    save(coloured_figure(answered, "match"), folder / f"{name}-match.svg", answered.by_label())
    print(answered)

train = stories(source, split="train")
n_grams = {f"5-gram of {train.name}": kept_five_gram(train, cache() / "ngrams", source=train.name)}
preferred = score(models, own_pairs(PAIRS), n_grams=n_grams)
save(preferred.figure(), folder / "pairs.svg", preferred.summary())
preferred.by_paradigm().to_csv(folder / "pairs-phenomena.csv", index=False)
print(preferred)
if asked.options.pairs is not None:
    others = score(models, read_pairs(asked.options.pairs, limit=OTHERS, least=FEWEST), n_grams=n_grams)
    save(others.figure(), folder / "pairs-of-others.svg", others.summary())
    others.by_paradigm().to_csv(folder / "pairs-of-others-paradigms.csv", index=False)
    print(others)

usual = reference(asked.training, asked.training.name)
written = {name: score_texts(model_stories(m, SELF, limit=WRITTEN).texts, usual, name) for name, m in models.items()}
losses = {name: loss(model, asked.stories) for name, model in models.items()}  # on the same stories for all
found = card(models, preferred, written, twins=["untrained"], losses=losses)
save(found.drawn("texts"), folder / "card.svg", found.summary())
found.ranks().to_csv(folder / "card-ranks.csv", index=False)
print(found)
for texts in written.values():
    print(texts)
damages = controls(list(asked.stories)[:WRITTEN], usual)
save(damages.figure(), folder / "damages.svg", damages.summary())
print(damages)

snapshots = {f"128x4@{p.step}": p.load() for p in points(asked.options.out / PLAIN["128x4"][0])}
learning = score(snapshots, own_pairs(OVER_TRAINING["pairs"]))
wrote = {name: model_stories(m, SELF, limit=OVER_TRAINING["texts"]).texts for name, m in snapshots.items()}
grown = card(snapshots, learning, {name: score_texts(texts, usual, name) for name, texts in wrote.items()})
for kind in ("pairs", "texts"):
    save(grown.drawn(kind), folder / f"training-{kind}.svg", grown.summary())
print(grown)

held_out = list(stories(source, split="validation", limit=WRITTEN))
known = measure.corpora(train, cache() / "ngrams", source=train.name)
for name, model in models.items():
    cuts = measure.cutting.that_fit(model, measure.cut_stories(held_out))
    endings = measure.write_endings(model, cuts, tokens=256, temperature=1.0, seed=0)
    copied = measure.copies(cuts, endings, known, held_out=cuts, model=name)
    save(copied.figure(), folder / f"copies-{name}.svg", copied.summary())
    print(copied)

told = list(stories(orders, split="validation", limit=WRITTEN))
kept = instruct([models[name] for name in (*PUBLISHED, "128x4")], told)
save(kept.figure(), folder / "instruct.svg", kept.summary())
print(kept)
combined = instruct([models[OOD], models["instruct 4"]], told)  # grouped by what the first was trained on
save(combined.figure(), folder / "instruct-held-out.svg", combined.summary())
print(combined)
