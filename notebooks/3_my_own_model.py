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
# # My own model
#
# A model that tslens has never seen: a TransformerLens `HookedTransformer` with ReLU and a tokenizer of `transformers`,
# trained by a loop of your own. First it is made, without tslens; then it is read: heads, neurons, lens, and a page to
# send to a colleague.
#
# ## Elsewhere: a model is trained
#
# The stories are generated here, so that the notebook needs no network; any list of texts will do.

# %%
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from tslens.stories import stories

texts = list(stories("made", limit=1_500))
bpe = Tokenizer(models.BPE())
bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
bpe.decoder = decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
bpe.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=800, special_tokens=["<s>"], initial_alphabet=alphabet))
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=bpe,
    bos_token="<s>",
    pad_token="<s>",
    name_or_path="mine",
    add_bos_token=True,  # else TransformerLens looks for a tokenizer of this name on the hub
)

# %%
import warnings

warnings.filterwarnings("ignore", message="HookedTransformer is deprecated")

import torch
from transformer_lens import HookedTransformer, HookedTransformerConfig

cfg = HookedTransformerConfig(
    n_layers=3, d_model=96, n_heads=4, d_head=24, n_ctx=96, d_vocab=len(tokenizer), act_fn="relu", seed=0, device="cpu"
)
model = HookedTransformer(cfg, tokenizer=tokenizer)
start = tokenizer.bos_token_id
coded = [[start, *tokenizer(text, add_special_tokens=False)["input_ids"], start] for text in texts]
rows = torch.tensor([(row + [start] * cfg.n_ctx)[: cfg.n_ctx] for row in coded])
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(200):
    batch = rows[torch.randint(len(rows), (16,), generator=torch.Generator().manual_seed(step))]
    loss = model(batch, return_type="loss")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.2f} nats per token at the end")

# %% [markdown]
# What is carried over: the weights, the configuration, the tokenizer.

# %%
from safetensors.torch import load_file, save_file

save_file({name: weight.contiguous() for name, weight in model.state_dict().items()}, "mine.safetensors")
model = HookedTransformer(cfg, tokenizer=tokenizer)
model.load_state_dict(load_file("mine.safetensors"))
model = model.eval()

# %% [markdown]
# ## Here: it is read
#
# Every analysis takes the model as it is. What the fast forward covers runs there; anything else, such as this ReLU,
# takes the slow path, by the model's own hooks, with the same answers and one line that says why. The stories must be
# new to the model, so that what is found is not what it has by heart.

# %%
from itertools import islice

from tslens.analysis import heads, lens, neurons
from tslens.evaluation.loss import loss
from tslens.scan import scan

seen = set(texts)
fresh = list(islice((text for text in stories("made") if text not in seen), 120))
print(loss(model, fresh))
roles, profiles, tested, depth = scan(
    model, fresh, [heads.Roles(), neurons.Profiles(), neurons.HeldOut(), lens.ByDepth()]
)

# %%
print(roles)
roles.figure()

# %% [markdown]
# A label says nothing if an untrained model earns it too. Here the counts are beside those of four untrained twins of
# the same shape; nineteen, the default, are needed before a count may lead.

# %%
from tslens.twins import compare

compare(model, fresh, n=4).summary()

# %%
profiles = tested.qualify(profiles)
print(profiles)

# %% [markdown]
# Some neurons over a whole story, chosen without looking: the first of the last layer and of the one before, and the
# one with the largest activation of all.

# %%
choice = neurons.usual_choice(profiles.max)
neurons.in_stories(model, fresh[:1], [*choice], reasons=[*choice.values()])

# %%
depth.figure()

# %% [markdown]
# Your own hooks work as ever, since the model is still TransformerLens's: here one head is switched off.

# %%
layer, head = 0, 0


def without(value, hook):
    value[:, :, head] = 0.0
    return value


tokens = model.to_tokens(fresh[0])[:, : cfg.n_ctx]
with torch.no_grad():
    whole = model(tokens, return_type="loss")
    ablated = model.run_with_hooks(tokens, return_type="loss", fwd_hooks=[(f"blocks.{layer}.attn.hook_z", without)])
print(f"loss {float(whole):.3f}, without head {layer}.{head} {float(ablated):.3f}")

# %% [markdown]
# ## The page
#
# All of it as one HTML file that needs no network. (Without twins and without the causes of every head here, which take
# longer; `compute` has both by default where there are stories enough.)

# %%
from tslens.report import compute, draw, write

page = draw(compute(model, fresh, name="mine", shown=2, twins=0, causes=False, max_new_tokens=60))
print(f"{write(page, 'mine.html').stat().st_size / 1e6:.1f} MB")
