"""FINDING

What do the attention heads of small story models do, and what would the published rule have called them?
`python analyses/heads.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.analysis import heads
from tslens.plots import save
from tslens.scan import scan

asked = study("heads")
for name, model in asked.models.items():
    answer = scan(model, asked.stories, heads.Roles())
    save(answer.figure(), asked.folder / f"{name}.svg", answer.to_frame())
    frame = answer.to_frame()
    print(name, frame["role"].value_counts().to_dict())
    on_repeats = heads.ablation(model)
    save(on_repeats.figure(), asked.folder / f"{name}-ablation.svg", on_repeats.to_frame())
