"""On 100 stories 239 of the 3,072 neurons of stories2M prefer a part of speech (213 to 265; 63 nouns, 42 verbs, 38
adjectives), and not one neuron of its 19 untrained twins does; 48 have one, made on half of the stories, that predicts
where they fire on the other half and on other words (41 to 55; 17 adjectives, 4 nouns; twins 0). 4 of its 16 heads have
a role (4 to 4), and 18 of the 40 of stories260K (17 to 19: 13 positional, 5 at the previous token), and no twin's head
has. The 49 and 57 neurons of one word (40 to 58; 49 to 65) say nothing about training: the twins have 30 to 75 and 37
to 191 (p = 0.45 and 0.55, for the others 0.05, the least that 19 twins can give), and so do those of them whose word
predicts, 32 and 36 (17 to 75; 22 to 158). One neuron of stories260K has a part of speech (0 to 4), so that this does
not lead.

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
