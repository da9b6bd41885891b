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
# # A first look inside a story model
#
# From loading a model to its heads, its neurons, its layers and one page that holds it all. Everything here runs
# offline: the model comes with tslens, and it writes the stories that it is read on.

# %%
from tslens import load, model_stories
from tslens.models import describe

model = load("stories2M")  # a TransformerLens HookedTransformer
describe(model)

# %% [markdown]
# It writes stories. Temperature 0 is greedy; a seed makes the draw repeatable.

# %%
from tslens.generate import Sampling, generate

print(generate(model, "Once upon a time there was a little", max_new_tokens=120, sampling=Sampling(0.7, seed=1))[0])

# %% [markdown]
# ## One pass, three questions
#
# A *reducer* is a question about activations over a corpus. One scan runs the model once and feeds them all.
# `model_stories` gives the validation stories that a model's run kept; for a model that kept none, such as this one,
# stories that it writes itself.

# %%
from tslens.analysis import heads, lens, neurons
from tslens.scan import scan

corpus = model_stories(model, limit=100)
roles, profiles, tested, depth = scan(
    model, corpus, [heads.Roles(), neurons.Profiles(), neurons.HeldOut(), lens.ByDepth()]
)

# %% [markdown]
# ## Heads
#
# Every head has a role only where the evidence carries it: an effect whose whole interval lies above its threshold,
# after correction for all heads and roles tried. `diffuse` and `content-dependent` describe how a head attends and are
# no roles, and what the evidence does not decide is `unresolved`.
#
# Untrained networks earn labels too. So counts stand beside those of 19 untrained twins of the model, fresh ones and
# ones with permuted weights, which are kept for the bundled model.

# %%
from tslens.twins import compare

twins = compare(model, corpus)
roles = twins.beside(roles)
print(roles)

# %%
roles.figure()

# %%
frame = roles.to_frame()
frame.query("role not in ['unresolved', 'diffuse', 'content-dependent']")[
    ["layer", "head", "role", "effect", "effect_low", "effect_high", "q"]
]

# %% [markdown]
# The published rule (correlation of attention with distance above 0.5) cannot say "positional" of any causal head. Here
# is how often it does, beside the positional fraction.

# %%
frame[["published_positional", "causal_positional", "r_full", "r_causal", "positional_fraction"]].describe(
    include="all"
)

# %% [markdown]
# The attention of one head over one story:

# %%
story = next(iter(corpus))[:260]
heads.pattern(model, story).figure(layer=1, head=0)

# %% [markdown]
# ## Neurons
#
# The tokens that most activate each neuron, beside a random sample (the top alone misleads), and a part of speech (or
# one word) where both the top words and the random sample support it.

# %%
profiles = twins.beside(profiles)
profiles

# %% [markdown]
# Does a label predict where the neuron fires? One half of the stories gives it, the other tests it, on other words;
# what does not predict there is a `tail selector`: it says what the top tokens are, and no more.

# %%
tested = twins.beside(tested)
print(tested)
profiles = tested.qualify(profiles)
best = tested.summary().iloc[0]
profiles.neuron(int(best["layer"]), int(best["neuron"]))

# %% [markdown]
# ## Layers
#
# The logit lens reads each layer as if it were the last: how soon is the next token known, and how soon in a network
# that was never trained?

# %%
depth = twins.beside(depth)
print(depth)

# %%
depth.figure()

# %%
lens.of_prompt(model, "Once upon a time there was a little girl named Lily. She had a red").figure()

# %% [markdown]
# ## The page
#
# The same answers as one HTML file, to open, search and send around; it needs no network. Labels are counted on 19
# untrained twins too, and every head is checked by swapped words and ablation; for the bundled model both are kept.

# %%
from tslens.report import compute, draw, write

page = draw(compute(model, model_stories(model, limit=300), name="stories2M", shown=2))
write(page, "stories2M-report.html").stat().st_size
