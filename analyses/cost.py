"""A story of 200 tokens takes stories2M 0.59 seconds on two processor cores (0.50 to 0.70), and 0.041 (0.040 to 0.042)
where 64 are written at once, at 0.78 bits per byte of real stories (0.76 to 0.80). The 256x8 model takes 1.9 seconds
(0.9 to 4.0) and 0.11 (0.07 to 0.16) at 0.89 bits (0.86 to 0.91), stories260K 0.80 (0.71 to 0.90) and 0.023 (0.022 to
0.025) at 0.99 bits (0.96 to 1.01): one at a time arithmetic does not decide (stories260K has an eighth of the
parameters and is no faster; stories2M does 1.6 GFLOP a second, and 23 in batches). The shape of GPT-2 small with random
weights takes 7.3 seconds (7.1 to 7.5) and 0.60 (0.54 to 0.66), medium 19 (18 to 20) and 1.5 (1.4 to 1.6), XL 82 (72 to
94) and 6.5 (6.1 to 6.9), by what 2 and 8 of its layers take: in batches a story of XL costs as much as 158 of
stories2M. What random weights write has no quality; no figure of it stands here. stories2M was trained on none of these
stories; whether stories260K was is not known.

What does a story of 200 tokens cost, and how good is the model that writes it?
`python analyses/cost.py --stories FILE --model stories260K=llama2c:stories260K.bin --model 256x8=256x8x8` measures it
on this machine.
"""

from _models import study

from tslens.evaluation.loss import loss
from tslens.evaluation.writing.cost import cost
from tslens.models import name_of
from tslens.plots import save

asked = study("cost", limit=300)
measured = cost(asked.models.values())
losses = {name_of(model): loss(model, asked.stories) for model in asked.models.values()}
table = measured.summary()
known = table["model"].map(losses)  # a shape with random weights has none
for column, read in {
    "bits_per_byte": lambda found: found.bits_per_byte,
    "bits_low": lambda found: found.interval("text_bytes")[0],
    "bits_high": lambda found: found.interval("text_bytes")[1],
}.items():
    table[column] = known.map(read, na_action="ignore")
save(measured.figure(), asked.folder / "cost.svg", table)
print(measured, table.to_string(), sep="\n")
