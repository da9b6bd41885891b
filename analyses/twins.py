"""On 100 stories of V1 234 of the 3,072 neurons of stories2M prefer a part of speech (197 to 274; 66 nouns, 43 verbs,
36 adjectives), and not one neuron of its 19 untrained twins does; 19 have one, made on half of the stories, that
predicts where they fire on the other half, on other words, among words of like frequency, and over words in general (9
to 32; twins 0): 6 punctuation marks and 4 prepositions, which lead by themselves too, and 3 names, 3 adjectives, 1
noun, 1 verb and 1 adverb, which may be one or none. 4 of its 16 heads have a role (1.6 to 7.9), and 18 of the 40 of
stories260K (12 to 24: 13 positional, 5 at the previous token), and no twin's head has. The 44 and 39 neurons of one
word (30 to 61; 26 to 55) say nothing about training: the twins have 23 to 70 and 26 to 176 (p = 0.45 and 0.50, for the
others 0.05, the least that 19 twins can give), and so do those of them whose word predicts, 32 and 36 (twins 17 to 75
and 21 to 157). One neuron of stories260K has a part of speech (0 to 6), as one of a twin, so that this does not lead.

Which labels say something about training, because untrained models of the same shape do not earn them?
`python analyses/twins.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.plots import save
from tslens.twins import STORIES, compare

asked = study("twins", STORIES)
for name, model in asked.models.items():
    found = compare(model, asked.stories)
    save(found.figure(), asked.folder / f"{name}.svg", found.to_frame())
    print(name, found.summary().to_string(index=False), sep="\n")
