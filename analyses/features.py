"""Features of a sparse autoencoder have more labels than neurons and hardly better ones: of 768 of stories2M
(`blocks.2.hook_resid_post`, 16 of them on a token) 99 have a part of speech (80 to 121; on 100 stories 101 and in 19
untrained twins none), of the block's 768 neurons 43 (26 to 63), of features that keep their random weights 27 (14 to
42); but of 102, 57 and 29 that one half of the stories gives, none predicts on the other half and on other words. On
100 stories 101 have a part of speech (82 to 123); the autoencoders of the 19 twins are trained alike (p = 0.05). Words
say less: 62 features have one (47 to 80; neurons 5, 1 to 12; random features 2, 0 to 8), 35 of them predict on other
stories, but on 100 stories they are 59 (44 to 77), and in the twins 28 to 56, so that they do not lead. In the
activation's place features keep 94.1% of what it is worth to the loss (93.6 to 94.5), random ones 69.5% (69.1 to 70.0),
the mean activation 16.9% (16.1 to 17.6); 12 of the 19 twins lose nothing without it, the others keep 44 to 110%. How
much of the variance features explain says nothing about training: 78%, and 77 to 86% in the twins.

Do the features of a sparse autoencoder fire on words and parts of speech, and do its labels predict on other stories?
One is trained by SAELens on training stories, of stories2M and of each of its untrained twins, and read on 200
validation stories beside the block's neurons and the features of one that keeps its random weights.
`python analyses/features.py --stories FILE` draws this again (needs tslens[sae]).
"""

from _models import study

from tslens import sae
from tslens.plots import save
from tslens.twins import TWINS, compare

HOOK, WIDTH, ACTIVE, READ = "blocks.2.hook_resid_post", 768, 16, 200

asked = study("features", limit=READ)
model = asked.models["stories2M"]
held_out = set(asked.stories)
fitted = tuple(text for text in asked.training if text not in held_out)
readers = sae.readers(sae.Training(HOOK, WIDTH, ACTIVE), fitted)
table, _, tested = sae.compared_features(model, asked.stories, readers)
save(table.figure(), asked.folder / "stories2M.svg", table.to_frame())
print(table)
for answer in tested:
    print(answer)
kept = sae.recovered(model, asked.stories, readers, twins=TWINS)
save(kept.figure(), asked.folder / "stories2M-recovered.svg", kept.summary())
print(kept)
beside = compare(model, asked.stories, [readers[sae.KINDS.index(sae.TRAINED)]])
save(beside.figure(), asked.folder / "stories2M-twins.svg", beside.summary())
print(beside)
