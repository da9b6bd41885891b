"""Small story models know few facts that permuted weights do not (of 64 stories2M has 0.62 right, 0.50 to 0.74, its
twin 0.52, 0.39 to 0.64), prefer sound sentences more than consistent stories (128x4 0.70, 0.70 to 0.71, and 0.61, 0.60
to 0.63), copy no story (0 to 0.04 of their endings), and hardly use the words of an instruction (0.06 more than of
others, 0.04 to 0.08; a model that never saw one 0.03, 0.02 to 0.05).

Of 64 facts asked in pairs stories2M has 0.62 right (0.50 to 0.74), a 128x4 model after one epoch 0.53 (0.41 to 0.65)
and permuted weights 0.52 (0.39 to 0.64), where not reading gives 0.50; of 672 templated ones 0.57 (0.53 to 0.61), 0.53
(0.49 to 0.57) and 0.50 (0.46 to 0.54). Shares of prompts say less than nats do, in which the right ending gains 0.87
(0.37 to 1.38), 0.59 (0.34 to 0.84) and -0.09 (-0.49 to 0.31) over the wrong one, mean of the 64. Of context and
reasoning none has surely more right than permuted weights. Of 40 shares (ten models, hand-written and templated) 2 have
an interval without one half, as many as are expected by chance: 128x4 has 0.60 of the templated prompts of context
(0.52 to 0.67), two layers behind instructions 0.43 of those of reasoning (0.36 to 0.50).

What is written after the prompts is called fail, partial or success by the log-probabilities of stories2M and
stories260K: by how probable its first sentence makes the right ending beside the wrong one, compared with 40 sentences
of other stories. Both tell the right ending from the wrong one in every suite (stories2M by 1.64 of two steps, 1.38 to
1.90, of facts, and by 0.76, 0.49 to 1.03, of reasoning), permuted weights in none (of facts 0.04, -0.13 to 0.21), and
of seven such twins of stories2M the highest tells them by 0.04. With matching of words they agree little, but more than
not at all (stories2M's quadratic kappa of facts is 0.19, 0.11 to 0.26; permuted weights' 0.02, -0.02 to 0.07), and so
they do with each other (0.10, 0.03 to 0.17). Of further sentences of other stories stories2M calls 0.03 a success on
facts (0.02 to 0.06) and 0.04 on context (0.02 to 0.07), of its own texts 0.08 (0.03 to 0.18) and 0.14 (0.07 to 0.25),
which is surely more on context alone; behind another prompt than they were written for the same texts get 0.03 (0.01 to
0.11) and 0.03 (0.01 to 0.11); those of 128x4 get 0.05 (0.02 to 0.13) and 0.12 (0.06 to 0.23) there, and 0.06 (0.02 to
0.15) and 0.10 (0.05 to 0.20) behind their own. The gibberish that permuted weights write it calls a success in 0.24
(0.15 to 0.36), behind another prompt in 0.20 (0.12 to 0.32), and a fail in 0.23 (0.14 to 0.35), so it can judge only
what is language.

What models write after our beginnings and after real stories is graded on ten steps by the same log-probabilities, with
the true endings of the latter as one more writer. Such a grader prefers its own texts: after half a story stories2M
puts its own grammar 2.96 above stories260K's (2.11 to 3.81), stories260K its own 4.26 above stories2M's (3.13 to 5.39);
so none decides about texts that it wrote. Of others' it finds true endings better than 128x4's, stories2M in grammar by
2.98 (1.57 to 4.39) and in consistency by 2.61 (1.24 to 3.98), stories260K by 2.73 (1.39 to 4.07) and 2.24 (0.48 to
4.00), while in grammar most of what models write has the lowest score, as gibberish has (128x4 beside permuted weights
by stories2M 0.10, -0.14 to 0.34, with 0.90 of the prompts at one end), which decides nothing. Seven untrained twins of
either read the same controls, and none tells those of an axis half as far: the highest of stories2M's finds 0.32 for
errors, where it finds 2.52 (1.78 to 3.26), and 0.84 for another's ending, where it finds 4.44 (3.35 to 5.53). A cut in
mid-sentence one of them tells as well (4.29 beside 3.83, 2.43 to 5.23), from the last token alone, but not a story that
stops after a sentence (0.75 beside 3.79, 2.40 to 5.18). In consistency stories260K does not tell what 128x4 writes
after our beginnings from gibberish (0.09, -0.56 to 0.73).

On 19 phenomena of minimal pairs, in which counts of words and length tell nothing, stories2M is right in 0.69 (0.68 to
0.69), stories260K in 0.64 (0.64 to 0.65), 128x4 in 0.65 (0.64 to 0.66), a word 5-gram of the training stories in 0.62
(0.61 to 0.62), permuted weights in 0.49 (0.49 to 0.50); on 38 paradigms of others (BLiMP's, in story words) in 0.55
(0.53 to 0.56), 0.57 (0.56 to 0.58), 0.50 (0.49 to 0.51), 0.52 (0.51 to 0.54) and 0.50 (0.49 to 0.51): of these
paradigms; over paradigms all intervals include one half, so that these pairs do not rank the models.

While 128x4 trains, pairs of grammar are above the whole interval of the untrained model (0.49, 0.47 to 0.50) from step
16 of 1,570 on (0.52, 0.51 to 0.52), of consistency (0.50, 0.49 to 0.52) from step 128 on (0.54, 0.52 to 0.55), of plot
and of entities (who has what, where things are) at none of 12 steps, of 200 and 400 pairs (grammar has 2,200,
consistency 1,000), which leave them undecided: grammar comes before consistency, and ends higher (0.70, 0.68 to 0.71,
beside 0.60, 0.58 to 0.62); plot ends where permuted weights are (0.53, 0.51 to 0.55, and 0.52, 0.50 to 0.53, of 500
pairs). Three seeds agree (grammar 0.70, 0.68 to 0.72, consistency 0.61, 0.59 to 0.64, plot 0.52, 0.50 to 0.54, over
seeds). What it writes is usual in none of them in the end: grammar is -1.1 standard deviations from real stories (-1.8
to -0.4), consistency -0.6 (-0.8 to -0.4), plot -0.5 (-0.9 to -0.0). Nine models, seven of them 128 wide and trained on
the same stories, are ranked by pairs of consistency much as by their loss (rank correlation 0.88, 0.42 to 0.98), and by
pairs of plot (0.84, 0.27 to 0.97), though not by pairs of entities (0.04, -0.64 to 0.69).

None of the 192 to 200 endings of any model is an exact copy, of 25 words and marks or of 8 where that is the whole
text, or a template copy (0 to 0.04 at either cut), and the nearest of 14,167 training stories has 0.20 of the word
pairs of what stories2M writes (0.18 to 0.21; cut at 40%) and 0.20 of those of the true endings (0.19 to 0.21), 0.01 of
what permuted weights write. The true endings cost stories2M 0.91 bits per byte (0.87 to 0.94) and 128x4 1.05 (1.01 to
1.09). No damage of real stories escapes the card's own axis (AUROC of shuffled sentences by consistency 0.96, 0.91 to
0.98, of a cut end by plot 1.00, 0.93 to 1.00, of a story that stops after a sentence by plot 0.89, 0.85 to 0.92, of
errors by grammar 0.92, 0.88 to 0.95, of another's ending by consistency 0.88, 0.83 to 0.92), but a cut end raises
grammar (0.44, 0.40 to 0.47), and so does a story that stops (0.45, 0.41 to 0.48), which raises creativity too (0.39,
0.33 to 0.45), as another's ending does (0.39, 0.32 to 0.47). A salad of their words loses on all four axes (AUROC 0.95
to 1.00).

Models trained behind instructions write 0.26 of the words asked for (four layers; 0.24 to 0.29), 0.06 more than for
other instructions (0.04 to 0.08), and so they do with one layer (0.07, 0.06 to 0.09); a model that never saw an
instruction writes 0.03 more (0.02 to 0.05), which is 0.04 less than one layer's (0.00 to 0.08). Over three seeds it is
0.05 for four layers (0.04 to 0.07) and 0.03 for models that never saw one (0.00 to 0.06). Of combinations held out of
training the model that was kept from them writes 0.01 more (-0.05 to 0.07), the one that was not 0.06 (-0.02 to 0.12);
over three seeds 0.05 (-0.05 to 0.14) and 0.04 (0.02 to 0.07). A sentence that is asked for is not written (0.00, 0.00
to 0.01). The held-out model's log-probabilities, which tell true stories from those of other instructions (by 4.76 of
ten steps, 3.33 to 6.19), score four layers 4.66 (4.46 to 4.86), one layer 4.24 (4.06 to 4.43; 0.42 less, 0.04 to 0.80),
and a model that never saw an instruction 4.39 (4.19 to 4.60), between them. So these scores are no evidence that
instructions are kept: of four layers' stories they do not rise with the share of words either (rank correlation 0.00,
-0.10 to 0.11). Real stories have no summary and no moral to ask for; a 128x4 model of generated ones, which have them,
keeps nothing that it is asked for: 0.01 more of the words than of others' (-0.01 to 0.02), 0.00 more of a summary's
word pairs (-0.01 to 0.01), -0.01 more morals (-0.03 to 0.01). Behind its instruction a true story costs the four layers
0.87 bits per byte (0.85 to 0.89) and the model that never saw one 0.91 (0.89 to 0.93).

A 512x12 model after one epoch (`one-epoch/`, beside 256x8) has 0.62 of the 64 facts (0.50 to 0.74; 1.02 nats, 0.63 to
1.41) and 0.61 of the templated ones (0.57 to 0.65), 0.11 more than permuted weights (0.04 to 0.18, corrected for 20
comparisons), as 256x8 (0.09, 0.03 to 0.15) and stories2M do (0.07, 0.01 to 0.13); of context and reasoning it has no
more than these. It is right in 0.68 of our pairs (0.68 to 0.69), as stories2M is, and 256x8 in 0.66 (0.66 to 0.67); in
0.59 of others' (0.58 to 0.60; over paradigms 0.52 to 0.66), 256x8 in 0.57 (0.56 to 0.58; 0.50 to 0.65). What it writes
is -0.4 standard deviations from real stories in grammar (-0.6 to -0.2), -0.5 in consistency (-0.6 to -0.4) and -0.6 in
plot (-0.8 to -0.3); those texts had 300 tokens at most, which cuts most of stories260K's off: its plot is -2.3 then,
and -0.6 (-0.9 to -0.4) of texts up to the context. The nearest of all 14,167 training stories has 0.19 of the word
pairs of what it writes after 40% of a story (0.18 to 0.20) and 0.20 of those of the true endings (0.19 to 0.21); of
stories2M's texts 0.20 (0.18 to 0.21), 256x8's 0.18 (0.17 to 0.19), stories260K's 0.22 (0.20 to 0.23), which are shorter
(94 words and marks, the true endings 111; by F they are further away, 0.12 beside 0.14); no text of the four is a copy
of 25 words or more (0 to 0.04). The true endings cost it 0.95 bits per byte (0.91 to 0.98), stories2M 0.91 (0.87 to
0.94), 256x8 1.01 (0.97 to 1.04) and stories260K 1.11 (1.07 to 1.15). After our 52 beginnings 0.70 of its texts end
within 200 of its tokens (0.64 to 0.75) and 0.53 of stories2M's within 200 of their shorter ones (0.48 to 0.58); by beam
search 0.36 of its runs of four words repeat (0.24 to 0.50), at temperature 1 0.001 (0.000 to 0.010).

How well do small story models answer, which of two texts do they prefer, how usual is what they write, what do they
copy and do they keep instructions? 128x4 models (plain, contrastive, compressor, instructed in one, two and four
layers, with combinations held out; one behind the instructions of generated stories) are trained for one epoch in
`runs/studies`; one seed of each, three of the plain one, of the four layers behind instructions and of the one with
held-out combinations (`seeds.csv`): where no three seeds are named, a difference between two models may be the seed's.
An untrained grader reads one text of each prompt. The 5-gram, stories2M (3.1 epochs) and the models of one epoch read
the same 14,167 training stories, by their hash; what stories260K read is not known, so that the 5-gram is other data
beside it: the validation stories that losses and endings come from may be among it. The contrastive model and the one
with held-out combinations read a part of them. Models that are trained behind instructions are asked prompts, pairs and
endings without one, as the others are; what they write begins after an instruction that asks for nothing. Real stories
are cut in two tables of 50 prompts, the first that leave half of every model's context. The tables of 512x12 and 256x8,
whose weights are gone, were made when texts of the card had 300 tokens at most and intervals that left out the error of
its scale, and shorter texts that are copied whole were no copies. `python analyses/evaluation.py --stories FILE --model
stories260K=llama2c:stories260K.bin --pairs FILE.jsonl` asks all of it, of further models by `--model NAME=RUN`; with
`--only FOLDER` it trains none, asks the given models beside stories2M what needs no other, and writes that into the
folder.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from _graded import graded
from _instructed import instructed
from _models import study
from _runs import Plan, StudyRuns, planned
from _seeds import over_seeds_of
from _verdicts import judged

from tslens import load
from tslens.corpus import SELF, model_stories
from tslens.dynamics.points import points
from tslens.evaluation import copies as measure
from tslens.evaluation.card import card, controls, reference, score_texts
from tslens.evaluation.coloured import coloured_figure
from tslens.evaluation.grading import controlled, rubric
from tslens.evaluation.grading.controls import CONTROLS, true_endings, true_stories
from tslens.evaluation.grading.controls import controls as control_texts
from tslens.evaluation.grading.likelihood import LikelihoodGrader
from tslens.evaluation.instruct import graded as instruct_graded
from tslens.evaluation.instruct import instruct
from tslens.evaluation.loss import loss
from tslens.evaluation.pairs import five_gram_of, own_pairs, read_pairs, score
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suites import suite, suites
from tslens.evaluation.writing import STORE, WritingSettings, prompts_of, write
from tslens.files import cache
from tslens.generate import with_room
from tslens.models.twins import Twin
from tslens.ngrams import kept_five_gram
from tslens.plots import save
from tslens.report import answers
from tslens.stories import stories

if TYPE_CHECKING:
    from tslens.models import LanguageModel

PAIRS, OTHERS, FEWEST = 500, 400, 100  # of each of our phenomena, and of each paradigm of --pairs of at least so many
WRITTEN = 100  # stories and endings
CUT = 50  # real stories that are cut
INSTRUCTIONS = 500
COMPLETIONS = 10
JUDGES = ("stories2M", "stories260K", "untrained")  # whose log-probabilities say fail, partial or success
OVER_TRAINING = {"pairs": 200, "texts": 40}  # of each snapshot

asked = study("evaluation", pairs=None, out=Path("runs/studies"), only=None)
source, folder = asked.options.stories, asked.options.only or asked.folder
train = stories(source, split="train")
usual = reference(asked.training, asked.training.name)


def plan(name: str, shape: str, objective: str = "next token", seed: int = 0) -> Plan:
    changes = {} if objective == "next token" else {"objective.name": objective}
    return planned(shape, 0, seed=seed, what=name.partition(" ")[0], changes=changes)


PLAIN = {"128x4": plan("plain", "128x4")}
PLAIN |= {name: plan(name, "128x4", name) for name in ("contrastive", "compressor")}
TOLD = {f"instruct {layers}": plan("instruct", f"128x{layers}", "instruct") for layers in (1, 2, 4)}
PUBLISHED, OOD = tuple(TOLD), "instruct held out"
ON_MADE = {"objective.name": "instruct", "data.limit": 14_000}
HELD_OUT = {"objective.name": "instruct", "objective.filter": "held-out combinations"}
TOLD[OOD] = planned("128x4", 0, seed=0, what="instruct-ood", changes=HELD_OUT)
SEEDS = 3
"""Of a plain model, one behind instructions, and one with combinations held out."""


def of_seed(seed: int) -> "tuple[dict[str, Plan], dict[str, Plan]]":
    """The runs of a seed: the plain one, and those that are told what to write."""
    plain = {"128x4": plan("plain", "128x4", seed=seed)}
    told = {"instruct 4": plan("instruct", "128x4", "instruct", seed=seed)}
    return plain, told | {OOD: planned("128x4", 0, seed=seed, what="instruct-ood", changes=HELD_OUT)}


def trained(
    orders: str, plain: "Mapping[str, Plan]" = PLAIN, told: "Mapping[str, Plan]" = TOLD
) -> "dict[str, LanguageModel]":
    """The models that this study trains where they are missing; those that are told what to write, on `orders`."""
    found: dict[str, LanguageModel] = {}
    for stories_of, plans in ((source, plain), (orders, told)):
        runs = StudyRuns(stories_of, asked.options.out)
        runs.train(dict(plans.values()))
        found |= {name: load(str(runs.folder / made[0])) for name, made in plans.items()}
    return found


def answer_and_prefer(models: "Mapping[str, LanguageModel]") -> None:
    """Prompts, pairs and the card."""
    for name in suites():
        answered = evaluate(models, suite(name), written=COMPLETIONS)
        judges = {who: models[who] for who in JUDGES if who in models}
        answered = judged(answered, suite(name), judges, true_endings(asked.stories, 2 * WRITTEN), folder)
        save(answered.figure(), folder / f"{name}.svg", answered.summary())
        answered.differences().to_csv(folder / f"{name}-differences.csv", index=False)
        matched = answered.by_label().query("by == 'match'")
        save(coloured_figure(answered, "match"), folder / f"{name}-match.svg", matched)
        for model in models.values():
            answers.keep_suite(model, suite(name), answered)
        print(answered)
    name = five_gram_of("the training stories", train, {n: m for n, m in models.items() if n not in untrained})
    n_grams = {name: kept_five_gram(train, cache() / "ngrams", source=train.name)}
    preferred = score(models, own_pairs(PAIRS), n_grams=n_grams)
    save(preferred.figure(), folder / "pairs.svg", preferred.summary())
    preferred.by_paradigm().to_csv(folder / "pairs-phenomena.csv", index=False)
    for model in models.values():
        answers.keep_pairs(model, preferred, is_own=True)
    print(preferred)
    if asked.options.pairs is not None:
        others = score(models, read_pairs(asked.options.pairs, limit=OTHERS, least=FEWEST), n_grams=n_grams)
        save(others.figure(), folder / "pairs-of-others.svg", others.summary())
        others.by_paradigm().to_csv(folder / "pairs-of-others-paradigms.csv", index=False)
        print(others)
    written = {
        name: score_texts(model_stories(m, SELF, limit=WRITTEN, tokens=None).texts, usual, name)
        for name, m in models.items()
    }
    losses = {name: loss(model, asked.stories) for name, model in models.items()}  # on the same stories for all
    found = card(models, preferred, written, twins=["untrained"], losses=losses)
    save(found.drawn("texts"), folder / "card.svg", found.summary())
    found.ranks().dropna(axis=1, how="all").to_csv(folder / "card-ranks.csv", index=False)
    for model in models.values():
        answers.keep_card(model, found)
    print(found, *written.values(), sep="\n")


def continued(models: "Mapping[str, LanguageModel]") -> None:
    """What is written after our beginnings and after real stories that are cut, measured; ours side by side to read."""
    held_out = ",".join(f"{name}@validation" for name in source.split(","))
    others = list(stories(source, split="validation"))[2 * CUT :]  # none of those that are cut
    true, judges = true_endings(others, CONTROLS + WRITTEN), {who: models[who] for who in JUDGES if who in models}
    begun = {"beginnings": prompts_of("beginnings")}
    begun |= {f"cut-at-{cut:.0%}".removesuffix("%"): prompts_of(held_out, cut=cut, limit=2 * CUT) for cut in (0.5, 0.4)}
    for name, prompts in begun.items():
        fit = [one for one in prompts if all(with_room(model, [one.prompt]) for model in models.values())]
        fit = fit if name == "beginnings" else fit[:CUT]  # the first that leave half of every context
        found = write(models.values(), fit, WritingSettings(), cache() / STORE)
        found = replace(found, models=list(models))
        save(found.figure(), folder / f"{name}.svg", found.summary())
        if name == "beginnings":  # ours: tables hold no stories of others
            found.side_by_side().to_csv(folder / f"{name}-side-by-side.csv", index=False)
        print(found)
        graded(name, found, judges, true, folder)


def copied(models: "Mapping[str, LanguageModel]") -> None:
    """What endings share with the true ones, with each other and with the training stories."""
    held_out = list(stories(source, split="validation", limit=WRITTEN))
    known = measure.corpora(train, cache() / "ngrams", source=train.name)
    for name, model in models.items():
        cuts = measure.cutting.that_fit(model, measure.cut_stories(held_out))
        endings = measure.write_endings(model, cuts, tokens=256, temperature=1.0, seed=0)
        under = [measure.endings_under(model, cuts, "float32")]
        found = measure.copies(cuts, endings, known, held_out=cuts, model=name, endings_under=under)
        answers.keep_copies(model, found)
        save(found.figure(), folder / f"copies-{name.replace(', ', '-').replace(' ', '-')}.svg", found.summary())
        print(found)


def damaged() -> None:
    """What damage to real stories costs on each axis of the card."""
    damages = controls(list(asked.stories)[:WRITTEN], usual)
    save(damages.figure(), folder / "damages.svg", damages.summary())
    print(damages)


def over_training() -> None:
    """The card over the snapshots of the plain 128x4 model."""
    snapshots = {f"128x4@{p.step}": p.load() for p in points(asked.options.out / PLAIN["128x4"][0])}
    learning = score(snapshots, own_pairs(OVER_TRAINING["pairs"]))
    wrote = {
        name: model_stories(m, SELF, limit=OVER_TRAINING["texts"], tokens=None).texts for name, m in snapshots.items()
    }
    grown = card(snapshots, learning, {name: score_texts(texts, usual, name) for name, texts in wrote.items()})
    for kind in ("pairs", "texts"):
        save(grown.drawn(kind), folder / f"training-{kind}.svg", grown.summary())
    print(grown)


def instructions(models: "Mapping[str, LanguageModel]", orders: str) -> None:
    """Whether instructions are kept, of combinations held out of training too."""
    read = list(stories(orders, split="validation", limit=2 * INSTRUCTIONS))
    told, others = read[:INSTRUCTIONS], true_stories(read[INSTRUCTIONS:], CONTROLS + WRITTEN)
    kept = replace(instruct([models[name] for name in (*PUBLISHED, "128x4")], told), models=[*PUBLISHED, "128x4"])
    save(kept.figure(), folder / "instruct.svg", kept.summary())
    print(kept)
    combined = instruct([models[OOD], models["instruct 4"]], told)  # grouped by what the first was trained on
    combined = replace(combined, models=[OOD, "instruct 4"])
    save(combined.figure(), folder / "instruct-held-out.svg", combined.summary())
    print(combined)
    judge = LikelihoodGrader(
        models[OOD], others[CONTROLS:], name=f"likelihood of {OOD}"
    )  # it wrote none of the stories
    graded, grades = instruct_graded(kept, judge, control_texts(others[:CONTROLS]))
    save(graded.figure(), folder / "instruct-grades.svg", graded.summary())
    control = controlled(grades, rubric(grades.rubric))
    save(control.figure(), folder / "instruct-grades-controls.svg", control.summary())
    print(graded, control)


def over_seeds(orders: str) -> None:
    """Whether pairs and instructions say the same of models of other seeds."""
    told = list(stories(orders, split="validation", limit=INSTRUCTIONS))
    found = over_seeds_of([trained(orders, *of_seed(seed)) for seed in range(SEEDS)], told, PAIRS)
    found.to_csv(folder / "seeds.csv", index=False, float_format="%.6g")
    print(found.to_string())


def made_instructions() -> None:
    """Whether a model trained on generated stories keeps what real ones lack: summaries and morals."""
    runs = StudyRuns("made:instruct", asked.options.out)
    name, what = planned("128x4", 0, seed=0, what="instruct-made", changes=ON_MADE)
    runs.train({name: what})
    told = list(stories("made:instruct", split="validation", limit=INSTRUCTIONS))
    kept = replace(instruct([load(str(runs.folder / name))], told), models=["instruct made"])
    save(kept.figure(), folder / "instruct-made.svg", kept.summary())
    print(kept)


untrained = {"untrained": Twin("permuted", 0).of(asked.models["stories2M"])}
if asked.options.only is not None:
    folder.mkdir(parents=True, exist_ok=True)
    answer_and_prefer(asked.models | untrained)
    continued(asked.models)
    copied(asked.models)
else:
    orders = str(instructed(source, asked.options.out))
    models = asked.models | trained(orders) | untrained
    answer_and_prefer(models)
    continued(models)
    copied(models)
    damaged()
    over_training()
    instructions(models, orders)
    over_seeds(orders)
    made_instructions()
