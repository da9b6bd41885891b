"""234 neurons of stories2M prefer a part of speech (197 to 274 on 100 stories), and none of its 19 untrained twins;
none of stories260K does. Few of these labels predict where a neuron fires on other words (29 of 243), and fewer are
borne out by steering (7) or by ablation (5 of 162, 147 undecided). The counts grow with the stories and with the random
tokens that labels are held against.

On 300 stories 234 of the 3,072 neurons of stories2M prefer one part of speech (on 100 stories 197 to 274; untrained
twins 0), and none of the 860 of stories260K; the 38 and 45 that prefer one word are no more than twins have (23 to 70
and 26 to 176; `twins`). What lies above a neuron's 99.9% quantile decides, and not its top 20 tokens; of fewer than
20,000 tokens it is 20, of more than 64,000 it is 64, so that a neuron's list is a smaller share of more stories and its
counts grow: by an earlier rule 229, 228 and 242 on 100, 300 and 600 stories (the top 20 gave 237, 204 and 224; `tslens
analyze neurons --limit N`, and with `--top 20`), in a 256x8 model 737 on 100 and 743 on 300 (in another training of it
733 on 100 and 818 on 722). With the kind of stories they move too: 234 on 100 of V1, 274 on 100 of V2. And they are a
count, and no list: on 100 other stories 237 have a part of speech, and 126 neurons have the same one on both sets (18
by chance). And they grow with the random tokens that labels are held against, 1,000 here: of 200 stories of V2 against
1,000, 4,000 and 10,000 tokens 271, 414 and 482 neurons prefer a part of speech, 45, 82 and 90 a word, and 58, 94 and 99
labels predict (`tslens analyze neurons --sample N`): a word that is not one token in a hundred is named by no neuron
against 1,000 (the command tests such words by tokens of their own, and counts them nowhere). A part of speech rarely
says where a neuron fires: made on 157 stories, 29 of 243 labels predict it on 143 others and on other words (AUROC
above 0.7 with its whole interval, among words of like frequency too): 8 punctuation marks, 8 adjectives, 4 names, 2
nouns. By that interval alone 55 would, 9 nouns and 19 adjectives: rarity alone separates nouns with an AUROC of 0.74 to
0.78. Of words 40 of 43 labels predict. Measured as FADE does, against 19 other neurons of the layer and on generated
stories too, 26 of these 29 labels are surely clearer, 27 respond more and 28 are purer, but steering makes the words of
7 alone likelier, of one where it fires and of 6 where it is driven as far below 0 (of 40 words 35, 36, 39 and 9: 5 and
4; twins' neurons were not steered). Whether the model misses the neuron there is mostly undecided: without it the loss
is surely higher on the tokens of the label than on others for 5 of the 162 neurons of a part of speech with the highest
AUROC and 3 of 38 of a word, surely not for 10 and 0 of them, and 147 and 35 are undecided on 64 stories; it is surely
higher for none of as many unlabelled neurons of the same layers; ablated as twins are, for none and for 2 (0 to 9), as
untrained (no twin has a neuron of a part of speech; of a word 1 to 18, p = 0.95). The token alone explains 87% of a
neuron's variance in the first layer of stories2M (87 to 88; medians, beyond what shuffled tokens do; 100 stories), more
than in any twin (at most 80%), and 38, 33 and 30% in the later layers, less than in any (twins at least 46, 44 and
43%): context decides more there. In stories260K it is 77% and then 42 to 27%: in the second layer less than in any twin
(42, 40 to 43; twins at least 49), elsewhere as in twins.

By the activations on 20,000 tokens, drawn from all that were read, 20 of 21 classes select more neurons of stories2M
than of any of 19 untrained twins: the first quarter of a story 83 (67 to 103; twins 0 to 8), its last quarter 55 (42 to
72; twins 0), names 24 (15 to 36; twins 0); the inside of quotations does not surely (1, 0 to 6; twins 0). Sets of words
that predict on other stories are found for 314 neurons (272 to 358; twins 30 to 250; the audit finds them for 15% of
random neurons, which would be 465 of these, so that the count says little), words before that do, for other words than
the neuron's own too, for 9 (4 to 18; twins 0). Of stories260K 108 neurons have such sets (87 to 131), no more than its
twins (115 to 235), and 17 words before (10 to 27; twins 0 to 1; 100 stories, p = 0.05).

The published noun and adjective neurons are hardly there: on 100 stories 15 of the 768 neurons of layer 0 of stories2M
have a part of speech that predicts where they fire on other stories and words (6 to 26; 4 punctuation marks, 4
prepositions, 3 adjectives, 2 names, 1 noun, 1 adverb; twins 0, p = 0.05), and 1, 1 and 2 of the layers after it, none
of which leads (0 to 7; twins 0). Of stories260K none has.

What do the MLP neurons of small story models fire on?
`python analyses/neurons.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
from _models import study

from tslens.analysis import neurons
from tslens.plots import save
from tslens.scan import scan
from tslens.twins import MEASURES, STORIES, ablated_neurons, compare, layers, measured, read_ahead, side_by_side

if TYPE_CHECKING:
    from torch import Tensor

    from tslens.analysis.neurons import ProfilesResult
    from tslens.models import LanguageModel

PATTERNS, CLASSES = neurons.Patterns(), neurons.Selectivity()

asked = study("neurons")


def agreeing(model: "LanguageModel") -> pd.DataFrame:
    """How many neurons have a part of speech, or one word, on each of two disjoint sets of stories, on both, and the
    same on both."""
    texts = list(asked.stories)[: 2 * STORIES]
    first, second = (neurons.profiles(model, half) for half in (texts[:STORIES], texts[STORIES:]))
    found = []
    for kind, of in (("part of speech", neurons_of_a_tag), ("one word", neurons_of_a_word)):
        (a, x), (b, y) = of(first), of(second)
        both = a & b
        counts = {"first": a, "second": b, "both": both, "same": both & (x == y)}
        found.append({"kind": kind, "neurons": a.numel()} | {name: int(each.sum()) for name, each in counts.items()})
    return pd.DataFrame(found)


def neurons_of_a_tag(found: "ProfilesResult") -> "tuple[Tensor, Tensor]":
    """Which neurons have a part of speech, and which."""
    return found.label >= 0, found.label


def neurons_of_a_word(found: "ProfilesResult") -> "tuple[Tensor, Tensor]":
    """Which neurons have one word, and which."""
    return found.by_word, found.word


few = replace(asked.stories, limit=STORIES)
by_layer = side_by_side([layers(model, asked.stories) for model in asked.models.values()])
save(by_layer.figure(), asked.folder / "by-layer.svg", by_layer.summary())
print(by_layer)
for name, model in asked.models.items():
    again = agreeing(model)
    again.to_csv(asked.folder / f"{name}-again.csv", index=False)
    print(again.to_string(index=False))
    answer = neurons.profiles(model, asked.stories)
    save(answer.figure(), asked.folder / f"{name}.svg", answer.summary())
    print(name, answer.to_frame()["label"].value_counts().to_dict())
    tested = neurons.held_out(model, asked.stories)
    save(tested.figure(), asked.folder / f"{name}-held-out.svg", tested.summary())
    print(tested)
    compared = neurons.selectivity(model, asked.stories)
    save(compared.figure(), asked.folder / f"{name}-classes.svg", compared.summary())
    print(compared)
    found = neurons.patterns(model, asked.stories)
    save(found.figure(), asked.folder / f"{name}-patterns.svg", found.summary())
    print(found)
    read_ahead(model, few, counted=[[PATTERNS], [CLASSES]], measures=[MEASURES[neurons.SelectivityResult]])
    of_tokens = measured(model, few, scan(model, few, CLASSES))
    save(of_tokens.figure(), asked.folder / f"{name}-token-twins.svg", of_tokens.summary())
    print(of_tokens)
    for what, reducer in (("patterns", PATTERNS), ("classes", CLASSES)):
        beside = compare(model, few, [reducer])
        save(beside.figure(), asked.folder / f"{name}-{what}-twins.svg", beside.summary())
        print(beside)
    if answer.counts()["part-of-speech neurons"]:
        without = neurons.mean_ablation(model, asked.stories, answer, rows=64)
        save(without.figure(), asked.folder / f"{name}-ablation.svg", without.summary())
        print(without)
        judged = neurons.fade(model, asked.stories, tested)
        save(judged.figure(), asked.folder / f"{name}-fade.svg", judged.summary())
        print(judged)
        missed = ablated_neurons(model, asked.stories)
        save(missed.figure(), asked.folder / f"{name}-ablation-twins.svg", missed.summary())
        print(missed)
