"""FINDING

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
