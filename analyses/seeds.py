"""(finding)

How stable are the counts of labels, and the labels themselves, over seeds of one recipe?
`python analyses/seeds.py --recipe stories2M --stories FILE` trains what is missing and draws this again.
"""

from _runs import Runs, options

from tslens import dynamics
from tslens.plots import save
from tslens.stories import stories

parser = options("seeds", tokens=0)  # what they are is left to the recipe
parser.add_argument("--recipe", default="demo")
asked = parser.parse_args()
runs = Runs(asked.stories, asked.out, asked.jobs)
names = [f"{asked.recipe}-s{seed}" for seed in range(asked.seeds)]
runs.train({name: (asked.recipe, {"seed": seed}) for seed, name in enumerate(names)})
held_out = list(stories(asked.stories, split="validation", limit=dynamics.STORIES))
folders = [asked.out / name for name in names]
answer = dynamics.dynamics(folders, held_out)
times = dynamics.emergence(answer)
print(times.summary().to_string(index=False, float_format="{:.1f}".format))
for name, figure in answer.figures():
    save(figure, asked.figures / f"{asked.recipe}-{name}.svg")
save(answer.figure(), asked.figures / f"{asked.recipe}.svg", answer.to_frame())
agreed = dynamics.stability(folders, held_out)
save(agreed.figure(), asked.figures / f"{asked.recipe}-stability.svg", agreed.to_frame())
print(agreed)
print(f"attention in common {agreed.heads_alike:.2f}, untrained {agreed.heads_untrained:.2f}")
print(f"correlation of neurons {agreed.neurons_alike:.2f}, untrained {agreed.neurons_untrained:.2f}")
