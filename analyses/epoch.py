"""After one epoch of 14,167 real stories, 451 steps, a 256x8 model (2.38 nats per token, 2.32 to 2.44) exceeds all of
its 19 untrained twins in these (100 stories): 701 of its 8,192 neurons prefer a part of speech (620 to 784; twins 0),
41 of them have one that predicts where they fire on other stories and words (28 to 57; 16 adjectives, 9 names, 8 nouns;
twins 0), 17 of its 32 heads choose a kind of key (11 to 23; twins 0, turned heads 0 to 6; relations were not yet held
against keys as many words away) and 15 write a word class (10 to 21; twins 0, turned heads 0 to 2), 10 heads matter
however they are ablated (5 to 16 on 32 stories; twins 0), 863 of 1,000 positions are settled after block 6 (854 to 872;
twins 372 to 740), and 185 neurons prefer one word (154 to 219; twins 55 to 118), which in stories2M says nothing. Of
1,344 scores of composition 694 are above random rotations (twins 0). Only 3 heads have a role, all positional (1 to 8;
twins 0); swapped words confirm 1 of these and 20 of 21 `content-dependent` heads, and contradict none. No query or key
tells parts of speech better than the token alone, and the model copies no repeated random tokens. (Accuracies of
its tasks in the summary have intervals over pairs, which were the rule then; over templates they are wider.)

Of the 48 heads of a 512x12 model (2.26 nats) 2 have a role, both positional (0.6 to 6.7; twins 0; 50 stories), in the
first layer, and these cost most: 0.26 and 0.15 nats per token by the mean (32 stories; no twin was ablated). Swapped
words confirm both, and 44 of its 45 `content-dependent` heads, and contradict none (20 stories). Of its 24,576 neurons
1,394 prefer a part of speech (1,192 to 1,597; twins 0), 30 of them have one that predicts on other stories and words
(18 to 45; 13 adjectives, 8 nouns; twins 0), and 363 prefer one word (291 to 437; twins 140 to 243; p = 0.05). Both were
trained on two cores, with a checkpoint every 50 steps; 512x12 in float32, which `auto` chose beside other work, and
from step 129 on in bfloat16, set by hand: another run ends elsewhere.

What do the heads of larger models do after one whole epoch of real stories? Each shape is trained by its own recipe,
which chooses batch and steps by the stories there are; then it is read on its validation stories. Of `--whole` shapes
all questions of `tslens analyze all` are asked, of `--labels` shapes those about heads and labels of neurons.
`python analyses/epoch.py --stories FILE,FILE` trains what is missing in `runs/` (about an hour on two cores), asks and
draws this again; stopped, it resumes. (Here 512x12 was read with `--whole --labels 512x12 --limit 200 --checked 50`.)
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tslens import load, model_stories
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
SHOWN += ("ablation on stories", "tested labels")

parser = argparse.ArgumentParser(description="Train models for one epoch, ask, draw figures/epoch.")
parser.add_argument("--stories", required=True, help="what they are trained on")
parser.add_argument("--whole", nargs="*", default=["256x8"], help="shapes of which everything is asked")
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
    else:
        found = of_labels(model, corpus)
    for name in SHOWN:
        if name in found:
            print(shape, name, found[name], sep="\n")
            save(found[name].figure(), FIGURES / f"{shape}-{name.replace(' ', '-')}.svg", found[name].summary())
