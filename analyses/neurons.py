"""On 300 stories 219 of the 3,072 neurons of stories2M prefer one part of speech (47 nouns, 43 verbs, 39 adjectives),
and 51 one word (untrained twins, read on 100, have none and as many), by their top tokens and on random tokens too; of
the 860 of stories260K one and 81. A part of speech rarely says where a neuron fires: made on 157 stories, 56 of 244
labels predict it on 143 others and on other words (AUROC above 0.7 with its whole interval); of words 54 of 57 do. Nor
does the model miss the neuron there: without it the loss is higher on the tokens of the label for 8 of 200 labelled
neurons, and for none of 200 unlabelled ones of the same layers. The token alone explains 35% of a neuron's variance in
the median (each different word once; tags permuted among words of like frequency; q <= 0.05).

By all their activations, 18 of 21 classes select more neurons of stories2M than of any of 19 untrained twins: the
first quarter of a story 83 (79 to 87; twins 0 to 8), its last quarter 55 (51 to 59; twins 0), names 24 (20 to 28;
twins 0); particles do not (11, 8 to 14; twins 2 to 22). Sets of words that predict on other stories are found for 325
neurons (290 to 360; twins 30 to 257), words before that do for 35 (31 to 39; twins 0 to 8). Of stories260K 116 neurons
have such sets (105 to 127), no more than its twins (116 to 237), and 63 words before (55 to 71; twins 0 to 13; 100
stories, p = 0.05).

The published noun and adjective neurons are in the first layer: on 100 stories 41 of the 768 neurons of layer 0 of
stories2M have a part of speech that predicts where they fire on other stories and words (35 to 47; 16 adjectives, 8
punctuation marks, 6 prepositions, 4 nouns; twins 0, p = 0.05), and 1, 2 and 4 of the layers after it, of which the last
lead (2 to 6; twins 0). Of stories260K one neuron has, in layer 1, of a pronoun (0 to 2).

What do the MLP neurons of small story models fire on?
`python analyses/neurons.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.analysis import neurons
from tslens.plots import save
from tslens.twins import compare, layers, side_by_side

asked = study("neurons")
by_layer = side_by_side([layers(model, asked.stories) for model in asked.models.values()])
save(by_layer.figure(), asked.folder / "by-layer.svg", by_layer.summary())
print(by_layer)
for name, model in asked.models.items():
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
    for what, reducer in (("patterns", neurons.Patterns()), ("classes", neurons.Selectivity())):
        beside = compare(model, asked.stories, [reducer])
        save(beside.figure(), asked.folder / f"{name}-{what}-twins.svg", beside.summary())
        print(beside)
    if answer.counts()["part-of-speech neurons"]:
        without = neurons.mean_ablation(model, asked.stories, answer, rows=64)
        save(without.figure(), asked.folder / f"{name}-ablation.svg", without.summary())
        print(without)
