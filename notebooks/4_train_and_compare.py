# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Train and compare
#
# Does width or depth matter more? Twelve small runs, two widths by two depths by three seeds, each by `tslens train`;
# then one figure and one table. The whole takes a minute or two, so the models are tiny and see few stories: what is
# found holds for these. The same lines compare larger ones.
#
# ## Twelve runs
#
# A run is a folder in `runs/`: recipe, weights, tokenizer, metrics. All read the same stories in the same number of
# steps, and are scored on the same validation stories. A run that is there is not trained again.

# %%
import subprocess
import sys
from pathlib import Path

from tslens import runs
from tslens.progress import track
from tslens.stories import stories

Path("stories.txt").write_text("\n<|endoftext|>\n".join(stories("made", limit=400)), encoding="utf-8")

usual = {
    "model.n_ctx": 64,
    "data.vocabulary": 600,
    "train.steps": 80,
    "train.batch": 8,
    "train.validation_stories": 20,
    "train.precision": "float32",
}
shapes = ["32x1x2", "32x3x2", "64x1x2", "64x3x2"]
seeds = range(3)
wanted = {f"{shape}-s{seed}": (shape, seed) for shape in shapes for seed in seeds}

for name, (shape, seed) in track([*wanted.items()], "training"):
    if not (runs.run_folder(name) / runs.CONFIG).is_file():
        settings = [part for key, value in (usual | {"seed": seed}).items() for part in ("--set", f"{key}={value}")]
        command = ["train", shape, "--data", "stories.txt", "--name", name, *settings]
        subprocess.run([sys.executable, "-m", "tslens", *command], check=True, capture_output=True)
len(wanted)

# %% [markdown]
# On the command line one of them is
#
# ```console
# $ tslens train 32x1x2 --data stories.txt --name 32x1x2-s0 --set seed=0 --set train.steps=80 ...
# ```
#
# and `tslens runs` lists them all.
#
# ## One figure
#
# The last validation loss of each run, in bits per byte, so that models of different vocabularies could be compared
# too. A dot is the mean over seeds, with its 95% interval; bars from zero would hide the differences.

# %%
import numpy as np

from tslens.plots import intervals
from tslens.stats import mean_interval

ends = {
    shape: np.array([runs.read_metrics(runs.run_folder(f"{shape}-s{seed}"))[-1]["bits_per_byte"] for seed in seeds])
    for shape in shapes
}
means = [mean_interval(values) for values in ends.values()]
intervals(
    shapes,
    {"": ([one.estimate for one in means], [one.low for one in means], [one.high for one in means])},
    title="After 80 steps, three seeds",
    x_label="validation loss, bits per byte",
)

# %% [markdown]
# ## One table
#
# How much each shape differs from the smallest, seed by seed: runs of one seed begin with the same draws and see the
# same rows, so their difference varies less than either. An interval that contains 0 tells nothing apart; three seeds
# make wide ones.

# %%
import pandas as pd

from tslens.models import Spec

rows = []
for shape, values in ends.items():
    mean, less = mean_interval(values), mean_interval(ends[shapes[0]] - values)
    config = runs.read_config(runs.run_folder(f"{shape}-s0"))
    rows.append(
        {
            "shape": shape,
            "parameters": Spec.parse(shape, d_vocab=600, n_ctx=64).n_parameters(),
            "tokens seen": config["tokens"],
            "bits per byte": mean.estimate,
            "less than the smallest": less.estimate,
            "low": less.low,
            "high": less.high,
        }
    )
pd.DataFrame(rows).round(3)

# %% [markdown]
# A run is a model like any other: its name loads it, and every analysis reads it.

# %%
from tslens import load
from tslens.generate import Sampling, generate

best = min(wanted, key=lambda name: runs.read_metrics(runs.run_folder(name))[-1]["bits_per_byte"])
print(best)
print(generate(load(best), "Once upon a time", max_new_tokens=40, sampling=Sampling(0.6, seed=0))[0])
