"""Of the 3,072 neurons of stories2M 211 prefer one part of speech (38 nouns, 37 verbs, 36 adjectives) and 54 one word
("a" 10, "," 9, "and" 6), by their top tokens and on random tokens too; of the 860 of stories260K one and 86. Untrained
twins have no neuron of a part of speech, and as many of one word. The others stay unresolved, since a top list alone
misleads (300 stories; each different word once; tags permuted among words of like frequency; q <= 0.05).

What do the MLP neurons of small story models fire on?
`python analyses/neurons.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.analysis import neurons
from tslens.plots import save

asked = study("neurons")
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
    if answer.counts()["part-of-speech neurons"]:
        without = neurons.mean_ablation(model, asked.stories, answer, rows=64)
        save(without.figure(), asked.folder / f"{name}-ablation.svg", without.summary())
        print(without)
