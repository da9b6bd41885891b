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
# # A claim and its proof
#
# One head, from its label to the circuit that it works in. At each step the claim could fail: beside untrained twins,
# when words are swapped, when the head is taken away, or when the model does not do the task at all.

# %%
from tslens import load, model_stories
from tslens.analysis import circuits, heads
from tslens.scan import scan

model = load("stories2M")
corpus = model_stories(model, limit=100)

# %% [markdown]
# ## The label
#
# A role needs an effect whose whole interval exceeds its threshold, and a null that it beats after correction for all
# heads and roles. This is the head with the strongest role:

# %%
roles = scan(model, corpus, heads.Roles())
frame = roles.to_frame()
named = frame[frame["role"].isin(heads.EVIDENT)].sort_values("effect_low", ascending=False)
layer, head = (int(named.iloc[0][name]) for name in ("layer", "head"))
named[["layer", "head", "role", "effect", "effect_low", "effect_high", "q"]]

# %%
roles.figure()

# %% [markdown]
# ## Would an untrained model earn it too?
#
# The same count on 19 untrained twins: freshly initialised, or with the values of every weight permuted. A count leads
# only if its interval over stories lies above every twin's. (For the bundled model the counts are kept.)

# %%
from tslens.twins import compare

beside = compare(model, corpus)
beside.summary()

# %% [markdown]
# ## Is it position, or content?
#
# A head of position keeps its attention when words are swapped for others; a head of content does not. `agreement` says
# which labels that contradicts.

# %%
swapped = heads.swaps(model, corpus, limit=40, copies=8)
swapped.to_frame().query("layer == @layer and head == @head")

# %%
heads.agreement(roles, swapped)

# %% [markdown]
# ## Does the model need it?
#
# Without the head the loss rises, by how much depends on what replaces it: nothing (`zero`), its mean, or its output on
# another story (`resample`). A role that predicts tokens is also asked whether the loss rises more on those.

# %%
ablated = heads.ablation(model, corpus, roles=roles)
print(ablated.finding(layer, head))
ablated.checks().query("layer == @layer and head == @head")

# %%
ablated.figure()

# %% [markdown]
# ## What is it for?
#
# Minimal pairs are two prompts that differ in one fact, and so in their answer. A circuit is claimed only where the
# model does the task: the lower end of its accuracy lies above chance.

# %%
from tslens.stories.pairs import TASKS

able = {name: circuits.accuracy(model, name, n=100) for name in TASKS}
for name, answer in able.items():
    print(f"{name:10} {answer.accuracy:.2f} ({answer.low:.2f} to {answer.high:.2f})  {'yes' if answer.does else 'no'}")

# %% [markdown]
# For the task that it does best, the smallest set of heads and MLPs that was found to keep 90% of the answer. Beside it
# stand random sets of the same size, the same search on a nonsense task and on a permuted twin. (Here with few of each;
# `tslens analyze circuit` takes more.)

# %%
task = max((name for name in able if able[name].does), key=lambda name: able[name].low, default=max(able))
found = circuits.circuit(model, task, n=100, random=20, others=1, donated=2, resamples=2)
print(found.verdict)

# %%
found.figure()

# %%
name = f"{layer}.{head}"
print(f"Head {name} is {'' if name in found.chosen else 'not '}in the circuit of {task!r}.")
found.summary()

# %% [markdown]
# A label may hold at every step and still not be what the model uses for this task. Each step answers its own question.
