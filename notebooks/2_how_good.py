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
# # How good is a model?
#
# From three models to a score card: suites of prompts, minimal pairs, and what the models write. Nothing here needs a
# key or the network. The three are the bundled model and two that were never trained: fresh weights, and the bundled
# model's own with their values permuted. What those score, no training is needed for. A run of your own is
# `load("256x8")`.

# %%
from tslens import load
from tslens.models.twins import Twin

bundled = load("stories2M")
models = {"stories2M": bundled} | {kind: Twin(kind, seed=0).of(bundled) for kind in ("permuted", "fresh")}

# %% [markdown]
# ## Suites
#
# What one prompt of a pair accepts, the other rejects, so a model that does not read the prompt has half of them right.
# Prompts written by hand and prompts of templates stand apart; pairs and templates are clusters of the intervals.

# %%
from tslens.evaluation import prompts, suites

facts = prompts.evaluate(models, suites.suite("facts"))
facts.summary()

# %% [markdown]
# Sixty prompts hardly tell models apart. The paired differences say so, prompt by prompt, corrected for their number:

# %%
facts.differences()

# %%
facts.figure()

# %% [markdown]
# ## Minimal pairs
#
# Two texts that differ in one respect: how often is the good one more probable? Counts of words and length score
# exactly one half. A word 5-gram of generated stories stands beside the models: what it can do needs no model.

# %%
from tslens.evaluation import pairs
from tslens.ngrams import five_gram
from tslens.stories import stories

made = list(stories("made", limit=300))
scored = pairs.score(models, pairs.own_pairs(24), n_grams={"5-gram": five_gram(made)})
scored.summary()

# %%
scored.figure()

# %% [markdown]
# ## The score card
#
# Grammar, consistency and plot without a grader, from minimal pairs. What the axes do not measure stands beside them.
# What models write can be scored too, beside stories of the kind that they were trained on, which are not at hand here:
# `tslens eval card --model stories2M --reference tinystories.txt`.

# %%
from tslens.evaluation import card

found = card.card(models, scored)
found

# %%
found.figure()

# %% [markdown]
# Does an axis of texts notice damage? Each damage must cost its own axis most: here of generated stories.

# %%
usual = card.reference(made[40:], "made")
card.controls(made[:40], usual).summary()
