"""After one epoch of 14,167 real stories, 451 steps, a 256x8 model of 64 heads (2.42 nats per token on 300 held-out
stories, 2.36 to 2.48) exceeds all of its 19 untrained twins in these (100 stories): 737 of its 8,192 neurons prefer a
part of speech (668 to 808; twins 0), 40 of them have one that predicts where they fire on other stories and words (27
to 56; 13 names, 12 adjectives and 6 nouns lead by themselves; twins 0), 30 heads choose a kind of key (21 to 39; twins
0, turned heads 2 to 6), among them 5 that look from verbs to their subjects (5.7: 0.18, 0.15 to 0.22; threshold 0.006),
and 17 write a word class (11 to 25; twins 0, turned heads 0 to 3; 12 of them names), 7 heads matter however they are
ablated (2 to 14 on 64 tokens of 32 stories; twins 0), 878 of 1,000 positions are settled after block 6 (866 to 890;
twins 366 to 703), and 192 neurons prefer one word (163 to 224; twins 41 to 96), which in stories2M says nothing. Of
5,376 scores of composition 1,614 are above random rotations (twins 0). Only 4 heads have a role, all positional and in
the first layer (2 to 10; twins 0); swapped words confirm all of these and 42 of 43 `content-dependent` heads, and
contradict none. These 4 matter on 100 stories, and so do 3.0, which looks to names and writes them, most where names
follow (0.72 nats, 0.64 to 0.81), and 4 without a name, all in the first layer; 12 are missed only on the tokens that a
label of theirs predicts, 5 of them where they write names (6.6: 0.06 nats, 0.02 to 0.11) and 3 after opening quotation
marks (3.2: 0.05, 0.04 to 0.07); 21 have a name that nothing misses, among them all 5 that look from verbs to subjects.
It does the tasks of characters (0.94, 0.83 to 0.98 over templates), objects (0.96, 0.92 to 0.98) and pronouns (0.79,
0.71 to 0.84; no twin does), but not those of owners (0.51, 0.42 to 0.59) and colours (0.61, 0.48 to 0.73). No query or
key tells parts of speech better than the token alone, and the model copies no repeated random tokens. An earlier
training by the same recipe and seed gave nearly the same: 733 neurons of a part of speech, 4 heads with a role, 7 that
matter.

Neurons of a part of speech come early and go: 1 predicts on other stories and words after 8 steps, 326 after 16, 590
after 32, 647 after 64 (at most 106 of the 1,024 neurons of a layer, 86 to 129), 328 after 128, 81 after 256 and 40 in
the end; of nouns none, 36, 109, 84, 61, 7 and 6. No fresh twin has any. In the end half of them are in the first layer
(20, 12 to 31).

Of the 48 heads of a 512x12 model (2.27 nats on the same 300 stories, 2.21 to 2.32) 2 have a role, in the first layer
(0.6 to 6.7 on 50 stories; twins 0): 0.3 looks at the previous token, 0.2 is positional. They cost most, 0.30 and 0.14
nats per token by the mean and 0.60 and 0.27 by resampling, and 0.3 most on the tokens that two tokens tell better than
one (0.24, 0.13 to 0.34). 20 heads choose a kind of key (12 to 28; twins 0, turned heads 1 to 6) and 24 write a word
class (16 to 32; twins 0, turned heads 0 to 1; 15 of them names). 3.0 looks to the opening quotation mark (0.73, 0.63 to
0.82; threshold 0.016) and from verbs to their subjects (0.23, 0.15 to 0.34; 0.003), and costs 0.012 nats, most after
such marks (0.04, 0.02 to 0.06); 2.1 writes names and costs 0.011, most where they follow (0.38, 0.30 to 0.46). In all 6
heads matter however they are ablated (of 64 tokens of 32 stories 4, 1.1 to 9.6; twins 0), two of them, 0.0 and 0.1,
without a name; 6 are missed only on the tokens that a label predicts, 5 of these where they write names; 25 have a name
that nothing misses. Swapped words confirm both roles and 40 of 44 `content-dependent` heads, and contradict none. Of
its 24,576 neurons 1,471 prefer a part of speech (1,343 to 1,601; twins 0), 34 of them have one that predicts on other
stories and words (20 to 51; twins 0; 11 adjectives, 6 nouns and 4 verbs lead by themselves), and 344 prefer one word
(268 to 422; twins 129 to 212). 765 of 1,000 positions are settled after block 7 (744 to 786; twins 167 to 406). It does
the tasks of characters (0.98, 0.94 to 0.99 over templates), objects (0.97, 0.94 to 0.99) and pronouns (0.80, 0.71 to
0.87), hardly that of colours (0.68, 0.51 to 0.81), and not that of owners (0.50, 0.43 to 0.56; twins have at most 0.52
of each right). Of 3,168 scores of composition 2,615 are above random rotations (twins 0). As in 256x8 no query or key
tells parts of speech better than the token alone, and the model copies no repeated random tokens. (50 stories,
ablations of 128 tokens of each.) Both were trained on two cores in float32, 512x12 in batches of 16 rows over 451
steps.

What do the heads of larger models do after one whole epoch of real stories? Each shape is trained by its own recipe,
which chooses batch and steps by the stories there are; then it is read on its validation stories. Of `--whole` shapes
all questions of `tslens analyze all` are asked, of `--labels` shapes those about heads and labels of neurons. (Here
256x8 was read with `--limit 300`, 512x12 with `--whole 512x12 --labels --limit 200 --checked 50`, its loss with `tslens
loss --model 512x12 --limit 300`.)
`python analyses/epoch.py --stories FILE,FILE` trains what is missing in `runs/` (about an hour on two cores), asks and
draws this again; stopped, it resumes.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tslens import dynamics, load, model_stories
from tslens.analysis import heads, neurons
from tslens.corpus import Corpus
from tslens.plots import save
from tslens.result import Result
from tslens.study import everything
from tslens.twins import compare

if TYPE_CHECKING:
    from tslens.models import LanguageModel

FIGURES = Path(__file__).resolve().parents[1] / "figures" / "epoch"
SHOWN: tuple[str, ...] = ("summary", "roles", "kernels", "agreement", "twins", "twins of neurons", "kinds", "writes")
SHOWN += ("ablation on stories", "tested labels", "neurons by layer in training")

parser = argparse.ArgumentParser(description="Train models for one epoch, ask, draw figures/epoch.")
parser.add_argument("--stories", required=True, help="what they are trained on")
parser.add_argument("--whole", nargs="*", default=["256x8x8"], help="shapes of which everything is asked")
parser.add_argument("--labels", nargs="*", default=["512x12"], help="shapes of which heads and labels are asked")
parser.add_argument("--limit", type=int, default=1000, help="validation stories that are scanned")
parser.add_argument("--checked", type=int, default=100, help="of these, stories of twins and interventions")
parser.add_argument("--swapped", type=int, default=20, help="of these, stories swapped where not everything is asked")
asked = parser.parse_args()
HELD_OUT = ",".join(f"{name}@validation" for name in asked.stories.split(","))


def train(shape: str) -> None:
    """See that `runs/SHAPE` is trained."""
    folder = Path("runs") / shape
    if not (folder / "config.json").is_file():
        how = ["--resume", shape] if (folder / "recipe.json").is_file() else [shape, "--data", asked.stories]
        subprocess.run([sys.executable, "-m", "tslens", "train", *how], check=True)


def of_labels(model: "LanguageModel", corpus: Corpus) -> dict[str, Result]:
    """Roles, kernels and labels of neurons beside twins, swapped words, ablations of heads."""
    roles = heads.roles(model, corpus)
    beside = compare(model, corpus, [heads.Roles(), heads.Kernels()], limit=asked.checked)
    labels = compare(model, corpus, [neurons.Profiles(), neurons.HeldOut()], limit=asked.checked)
    swaps = heads.swaps(model, corpus, limit=asked.swapped)
    agreement = heads.agreement(roles, swaps)
    ablation = heads.ablation(model, corpus, roles=agreement.withhold(roles))
    return {
        "roles": roles,
        "kernels": beside.beside(heads.kernels(roles, swaps)),
        "twins": beside,
        "twins of neurons": labels,
        "tested labels": labels.beside(neurons.held_out(model, corpus)),
        "agreement": agreement,
        "ablation on stories": ablation,
    }


for shape in (*asked.whole, *asked.labels):
    train(shape)
    model = load(shape)
    corpus = model_stories(model, HELD_OUT, limit=asked.limit)  # more than a run keeps
    if shape in asked.whole:
        found = {answer.name: answer.result for answer in everything(model, corpus, checked=asked.checked)}
        found["neurons by layer in training"] = dynamics.layers(shape, corpus, limit=asked.checked)
    else:
        found = of_labels(model, corpus)
    for name in SHOWN:
        if name in found:
            print(shape, name, found[name], sep="\n")
            save(found[name].figure(), FIGURES / f"{shape}-{name.replace(' ', '-')}.svg", found[name].summary())
    without = found["ablation on stories"]
    assert isinstance(without, heads.AblationResult)
    without.contrasts().to_csv(FIGURES / f"{shape}-ablation-on-labels.csv", index=False, float_format="%.6g")
