"""DRAFT

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
