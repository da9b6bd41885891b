"""TODO finding.

Which labels of tslens can be believed, and how small an error would have been seen?
`python analyses/audit.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.audit import audit
from tslens.audit.running import STORIES
from tslens.plots import save

asked = study("audit", STORIES)
for name, model in asked.models.items():
    found = audit(model, asked.stories, seeds=20, n=5)
    save(found.figure(), asked.folder / f"{name}.svg", found.summary())
    found.simulations().to_csv(asked.folder / f"{name}-simulations.csv", index=False)
    print(name, found, sep="\n")
