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
#
# Head 3.2 of the bundled model is followed, because it has an answer at every step. It was chosen with these answers
# known, so they are no sample of heads: most heads stop at one of the steps.

# %%
from tslens import load, model_stories
from tslens.analysis import circuits, heads
from tslens.scan import scan

model = load("stories2M")
corpus = model_stories(model, limit=100)

layer, head = 3, 2

# %% [markdown]
# ## The label
#
# A label needs an effect whose whole interval exceeds its threshold, and a null that it beats after correction for all
# heads and labels. This head is `content-dependent`: its position says little about where it attends.

# %%
roles = scan(model, corpus, heads.Roles())
frame = roles.to_frame()
frame.query("layer == @layer and head == @head")[
    ["layer", "head", "role", "effect", "effect_low", "effect_high", "q", "positional_fraction"]
]

# %%
roles.figure()

# %% [markdown]
# ## Would an untrained model earn it too?
#
# The counts on 19 untrained twins: freshly initialised, or with the values of every weight permuted. A count leads only
# if its interval over stories lies above every twin's. Permuted weights earn `content-dependent` too, so that label is
# no role and is not counted as one: what follows has to show more. (For the bundled model the counts are kept.)

# %%
from tslens.twins import compare

beside = compare(model, corpus)
beside.summary()

# %% [markdown]
# ## Is it position, or content?
#
# A head of position keeps its attention when words are swapped for others; a head of content does not. The table has
# the change of its attention by each kind of swap, and the verdict; `agreement` says which labels that contradicts.

# %%
swapped = heads.swaps(model, corpus, limit=40, copies=8)
changes = swapped.to_frame().query("layer == @layer and head == @head").T
changes[changes.index.str.contains("verdict|all keys")]

# %%
heads.agreement(roles, swapped)

# %% [markdown]
# ## What does it write?
#
# Which word class the head makes likelier where a word of it follows, beyond what it does elsewhere. A head has a class
# only if its whole interval exceeds the 99th percentile over the heads of untrained twins, and over heads of the model
# that are turned at random while all else stays trained. This head writes names: that is its label from here on. (Twins
# are read for it, a minute or two, once.)

# %%
from tslens.twins import control

written = heads.writes(model, corpus, control=control(model, corpus, heads.Writes()))
print(f"{layer}.{head} writes {', '.join(written.kinds[layer][head])}")
written.summary()

# %% [markdown]
# ## Does the model need it?
#
# Without the head the loss rises, by how much depends on what replaces it: nothing (`zero`), its mean, or its output on
# another story (`resample`). A label that predicts tokens is also asked whether the loss rises more on those, beyond
# other tokens of the same stories that are as frequent: here where names follow.

# %%
ablated = heads.ablation(model, corpus, roles=roles, writes=written)
print(ablated.finding(layer, head))
ablated.checks().query("layer == @layer and head == @head")

# %%
ablated.contrasts()

# %%
ablated.figure()

# %% [markdown]
# ## What is it for?
#
# Minimal pairs are two prompts that differ in one fact, and so in their answer. A circuit is claimed only where the
# model does the task: the lower end of its accuracy lies above chance. The interval is over templates, of which a task
# has four to six: the pairs of one are much alike, and a few templates leave an interval wide even where no answer is
# wrong.

# %%
from tslens.stories.pairs import TASKS

able = {name: circuits.accuracy(model, name, n=100) for name in TASKS}
for name, answer in able.items():
    print(f"{name:10} {answer.accuracy:.2f} ({answer.low:.2f} to {answer.high:.2f})  {'yes' if answer.does else 'no'}")

# %% [markdown]
# Which character was named before? The clean output of the head is put into the run on the other prompt: how much of
# the difference between the two answers does that restore, at the last token? (Interval over templates.)

# %%
task = "character"
restored = circuits.patching(model, task, n=100)
name = f"{layer}.{head}"
place = f"head {name}"
restored.to_frame().query("place == @place and role == 'last'")

# %% [markdown]
# What it says about the tokens that it attends to: those it makes likelier are mostly the same ones. It copies.

# %%
said = circuits.tokens(model, layer, head)
print(f"copying {said.copying:.2f} (random {said.copying_null:.2f}, p = {said.copying_p:.2f})")
said.figure()

# %% [markdown]
# ## Is it in the circuit?
#
# The smallest set of heads and MLPs that was found to keep 90% of the answer. Beside it stand random sets of the same
# size, the same search on a nonsense task and on a permuted twin. (Here with few of each; `tslens analyze circuit`
# takes more.)

# %%
found = circuits.circuit(model, task, n=100, random=20, others=1, donated=2, resamples=2)
print(found.verdict)

# %%
found.figure()

# %%
print(f"Head {name} is {'' if name in found.chosen else 'not '}in the circuit of {task!r}.")
found.summary()

# %% [markdown]
# The label says that content decides, the swaps agree, the head writes names, the model misses it most where names
# follow, and most of this answer passes it.
# The circuit as a whole is no proof by itself: a test of an ideal circuit may reject it, as the verdict says, and some
# random sets of its size keep much of the answer too.
