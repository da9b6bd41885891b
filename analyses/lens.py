"""Both models decide late: before its last block stories2M agrees with its own final answer at 55% of the positions
(54 to 55), stories260K at 49% (48 to 50); the last block takes 1.2 and 0.9 nats off the loss (100 stories).

At which depth do small story models know the next token?
`python analyses/lens.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.analysis import lens
from tslens.plots import save

PROMPT = "Once upon a time there was a little girl named Lily. She had a red ball. Lily loved to play with her"

asked = study("lens", limit=100)
for name, model in asked.models.items():
    answer = lens.by_depth(model, asked.stories)
    save(answer.figure(), asked.folder / f"{name}-by-depth.svg", answer.to_frame())
    one = lens.of_prompt(model, PROMPT)
    save(one.figure(), asked.folder / f"{name}-prompt.svg", one.summary())
    print(name)
    print(answer)
