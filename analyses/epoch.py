"""A 256x8 and a 512x12 model that read 14,167 real stories once have neurons of parts of speech, heads that choose
kinds of keys and heads that write names, as none of 19 untrained twins has. Few of their heads have a role by position
(4 and 2), 40 of 737 and 34 of 1,471 neurons of a part of speech have one that predicts on other words, and of 64 and 48
heads at most 15 and 12 have a name that nothing misses, not even on the tokens of that name. Most neurons of a part of
speech come within 64 of 451 steps and are gone at the end.

After one epoch of 14,167 real stories, 451 steps, a 256x8 model of 64 heads (2.42 nats per token on 300 held-out
stories, 2.36 to 2.48) exceeds all of its 19 untrained twins in these (100 stories): 737 of its 8,192 neurons prefer a
part of speech (668 to 808; twins 0), 40 of them have one that predicts where they fire on other stories and words (27
to 56; 13 names, 12 adjectives and 6 nouns lead by themselves, the other 9 do not; twins 0), 30 heads choose a kind of
key (21 to 39; twins 0, turned heads 2 to 6), among them 5 that look from verbs to their subjects (5.7: 0.18, 0.15 to
0.22; threshold 0.006), and 17 write a word class (11 to 25; twins 0, turned heads 0 to 3; 12 of them names), 7 heads
matter however they are ablated (2 to 14 on 64 tokens of 32 stories; twins 0), 878 of 1,000 positions are settled after
block 6 (866 to 890; twins 366 to 703), and 192 neurons prefer one word (163 to 224; twins 41 to 96), which in stories2M
says nothing. Of 5,376 scores of composition 1,614 are above random rotations (twins 0). Only 4 heads have a role, all
positional and in the first layer (2 to 10; twins 0); swapped words confirm all of these and 42 of 43
`content-dependent` heads, and contradict none. These 4 matter on 100 stories, and so do 3.0, which looks to names and
writes them, most where names follow (0.72 nats, 0.64 to 0.81), and 4 without a name, all in the first layer; 12 are
missed only on the tokens that a label of theirs predicts, 5 of them where they write names (6.6: 0.06 nats, 0.02 to
0.11) and 3 after opening quotation marks (3.2: 0.05, 0.04 to 0.07); at most 15 have a name that nothing misses, among
them 4 of the 5 that look from verbs to subjects; 6 more cost nothing over all tokens, but may on those that a label
predicts, 4.1 surely before quotation marks (0.05, 0.01 to 0.09). It does the tasks of characters (0.94, 0.83 to 0.98
over templates), objects (0.96, 0.92 to 0.98) and pronouns (0.79, 0.71 to 0.84; no twin does), but not those of owners
(0.51, 0.42 to 0.59) and colours (0.61, 0.48 to 0.73). No query or key tells parts of speech better than the token
alone, and the model copies no repeated random tokens. An earlier training by the same recipe and seed gave nearly the
same: 733 neurons of a part of speech, 4 heads with a role, 7 that matter.

Neurons of a part of speech come early and go: 1 predicts on other stories and words after 8 steps, 326 after 16, 590
after 32, 647 after 64 (at most 106 of the 1,024 neurons of a layer, 86 to 129), 328 after 128, 81 after 256 and 40 in
the end; of nouns none, 36, 109, 84, 61, 7 and 6. No fresh twin has any. In the end half of them are in the first layer
(20, 12 to 31).

Of the 48 heads of a 512x12 model (2.27 nats on the same 300 stories, 2.21 to 2.32) 2 have a role, in the first layer
(0.6 to 6.7 on 50 stories, where both are positional; twins 0; so few stories have too narrow intervals, so that by the
rule no count of this model leads, however far it is above its twins'); on 200 stories 0.3 is at the previous token (not
asked of twins). They cost most, 0.30 and 0.14 nats per token by the mean and 0.60 and 0.27 by resampling, and 0.3 most
on the tokens that two tokens tell better than one (0.24, 0.13 to 0.34). 20 heads choose a kind of key (12 to 28; twins
0, turned heads 1 to 6) and 24 write a word class (16 to 32; twins 0, turned heads 0 to 1; 15 of them names). 3.0 looks
to the opening quotation mark (0.73, 0.63 to 0.82; threshold 0.016) and from verbs to their subjects (0.23, 0.15 to
0.34; 0.003), and costs 0.012 nats, most after such marks (0.04, 0.02 to 0.06); 2.1 writes names and costs 0.011, most
where they follow (0.38, 0.30 to 0.46). In all 6 heads matter however they are ablated (of 64 tokens of 32 stories 4,
1.1 to 9.6; twins 0), two of them, 0.0 and 0.1, without a name; 6 are missed only on the tokens that a label predicts, 5
of these where they write names; at most 12 have a name that nothing misses; 13 more cost nothing over all tokens, but
may on those that a label predicts, 4 of them surely (9.3 where names follow, 0.08, 0.01 to 0.14). Swapped words confirm
both roles and 40 of 44 `content-dependent` heads, and contradict none. Of its 24,576 neurons 1,471 prefer a part of
speech (1,343 to 1,601; twins 0), 34 of them have one that predicts on other stories and words (20 to 51; twins 0; 11
adjectives, 6 nouns, 6 names, 4 verbs and 7 others), and 344 prefer one word (268 to 422; twins 129 to 212). 765 of
1,000 positions are settled after block 7 (744 to 786; twins 167 to 406). It does the tasks of characters (0.98, 0.94 to
0.99 over templates), objects (0.97, 0.94 to 0.99) and pronouns (0.80, 0.71 to 0.87), hardly that of colours (0.68, 0.51
to 0.81), and not that of owners (0.50, 0.43 to 0.56; twins have at most 0.52 of each right). Of 3,168 scores of
composition 2,615 are above random rotations (twins 0). As in 256x8 no query or key tells parts of speech better than
the token alone, and the model copies no repeated random tokens. (50 stories, ablations of 128 tokens of each.) Both
were trained on two cores in float32, 512x12 in batches of 16 rows over 451 steps.

What do the heads of larger models do after one whole epoch of real stories? Each shape is trained by its own recipe,
which chooses batch and steps by the stories there are; then `tslens analyze all` is asked on its validation stories
(256x8 on 300, twins and interventions on 100 of them; 512x12 on 200 and 50).
`python analyses/epoch.py --stories FILE,FILE` trains what is missing in `runs/` (about an hour on two cores), asks and
draws this again; stopped, it resumes.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import pandas as pd

from tslens import dynamics, load, model_stories
from tslens.analysis import heads
from tslens.evaluation.loss import loss
from tslens.plots import save
from tslens.study import everything

FIGURES = Path(__file__).resolve().parents[1] / "figures" / "epoch"
READ = {"256x8x8": (300, 100), "512x12": (200, 50)}
"""The validation stories on which each shape is scanned, and those of twins and interventions among them."""
OF_LOSS = 300
SHOWN: tuple[str, ...] = ("summary", "roles", "kernels", "agreement", "twins", "twins of neurons", "kinds", "writes")
SHOWN += ("ablation on stories", "tested labels", "neurons by layer in training")

parser = argparse.ArgumentParser(description="Train models for one epoch, ask, draw figures/epoch.")
parser.add_argument("--stories", required=True, help="what they are trained on")
asked = parser.parse_args()
HELD_OUT = ",".join(f"{name}@validation" for name in asked.stories.split(","))


def train(shape: str) -> None:
    """See that `runs/SHAPE` is trained."""
    folder = Path("runs") / shape
    if not (folder / "config.json").is_file():
        how = ["--resume", shape] if (folder / "recipe.json").is_file() else [shape, "--data", asked.stories]
        subprocess.run([sys.executable, "-m", "tslens", "train", *how], check=True)


losses = []
for shape, (limit, checked) in READ.items():
    train(shape)
    model = load(shape)
    corpus = model_stories(model, HELD_OUT, limit=limit)  # more than a run keeps
    found = {answer.name: answer.result for answer in everything(model, corpus, checked=checked)}
    found["neurons by layer in training"] = dynamics.layers(shape, corpus, limit=checked)
    for name in SHOWN:
        if name in found:
            print(shape, name, found[name], sep="\n")
            save(found[name].figure(), FIGURES / f"{shape}-{name.replace(' ', '-')}.svg", found[name].summary())
    without = found["ablation on stories"]
    assert isinstance(without, heads.AblationResult)
    without.contrasts().to_csv(FIGURES / f"{shape}-ablation-on-labels.csv", index=False, float_format="%.6g")
    ending = loss(model, model_stories(model, HELD_OUT, limit=OF_LOSS))
    low, high = ending.interval()
    losses.append({"model": shape, "stories": OF_LOSS, "loss": ending.nats_per_token, "low": low, "high": high})
pd.DataFrame(losses).to_csv(FIGURES / "loss.csv", index=False, float_format="%.6g")
