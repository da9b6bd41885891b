"""Of the 3,072 neurons of stories2M 236 prefer a part of speech (212 to 260; 58 nouns, 39 verbs, 38 adjectives), and
not one neuron of its 19 untrained twins does; 8 of its 16 heads have a role (7 to 9), and no twin's head has. Its 49
neurons of one word (42 to 56) say nothing about training: the twins have 30 to 75 (100 stories; p = 0.05 for the first
two, the least that 19 twins can give, and 0.45 for words).

Which labels say something about training, because untrained models of the same shape do not earn them?
`python analyses/twins.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.analysis import heads, neurons
from tslens.plots import save
from tslens.twins import STORIES, compare

asked = study("twins", STORIES)
for name, model in asked.models.items():
    found = compare(model, asked.stories, [heads.Roles(), neurons.Profiles()])
    save(found.figure(), asked.folder / f"{name}.svg", found.to_frame())
    print(name, found.summary().to_string(index=False), sep="\n")
