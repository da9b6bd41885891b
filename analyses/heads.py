"""However they are ablated, the loss is higher without 15 of the 16 heads of stories2M and without 14 of the 40 of
stories260K (11 to 16 and 7 to 22 on 32 stories; no head of 19 untrained twins; p = 0.05). On 300 stories 6 and 12 heads
are positional and 6 of stories260K look at the previous token; no head of a twin, read on 100, does. The published rule
calls none of the 56 positional. Swapped words (100 stories) contradict none of these 24 roles where both kinds of swap
have to, but confirm only 2: by random tokens alone, which break words up, 1 of 6 and 13 of 18 are contradicted, by
whole words 1 and 0. Of the 18 heads that are only content-dependent they confirm 13. Head 3.2 of stories2M, one of
these, costs 0.18 to 0.24 nats, and head 1.3, positional, 0.20 to 0.38. Of the 9 and 14 heads that write a word class
(read on 300 stories) 3 and 2 cost surely more on words of that class than on equally frequent others: without head 3.2
names lose 2.6 to 2.7 nats more (2.3 to 3.0), without 4.4 of stories260K 0.5 to 0.7 (0.4 to 0.8). On repeated random
tokens neither model copies, so they say nothing of its heads.

What do the attention heads of small story models do, and what would the published rule have called them?
`python analyses/heads.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.analysis import heads
from tslens.plots import save
from tslens.scan import scan
from tslens.twins import ablated, compare, control, read_ahead

KERNELS = (heads.Roles(), heads.Kernels())
SHORT = 64
"""Tokens of the shorter of the two contexts at which roles are compared."""

asked = study("heads")
for name, model in asked.models.items():
    answer = scan(model, asked.stories, heads.Roles())
    print(name, answer.to_frame()["role"].value_counts().to_dict())
    at_short = heads.roles(model, asked.stories, context=SHORT)
    both = heads.contexts({f"{SHORT} tokens": at_short, "the whole context": answer})
    swapped = heads.swaps(model, asked.stories)
    agreed = heads.agreement(answer, swapped)
    of_keys, of_words = heads.Kinds(made=heads.MADE), heads.Writes()
    read_ahead(model, asked.stories, counted=[KERNELS], scored=[of_keys, of_words])
    kernels = compare(model, asked.stories, KERNELS).beside(heads.kernels(answer, swapped))
    keys = heads.kinds(model, asked.stories, roles=answer, control=control(model, asked.stories, of_keys))
    written = heads.writes(model, asked.stories, control=control(model, asked.stories, of_words))
    without = heads.ablation(model, asked.stories, roles=answer, keys=keys, writes=written, rows=100)
    beside = ablated(model, asked.stories)
    probes = scan(model, asked.stories, heads.Probes())
    shown = {
        "": answer,
        "-contexts": both,
        "-swaps": swapped,
        "-agreement": agreed,
        "-kernels": kernels,
        "-ablation": without,
        "-ablated-twins": beside,
        "-probes": probes,
    }
    for what, found in shown.items():
        save(found.figure(), asked.folder / f"{name}{what}.svg", found.summary())
    without.contrasts().to_csv(asked.folder / f"{name}-ablation-on-labels.csv", index=False)
    print(both, agreed, kernels, beside.beside(without), probes, heads.ablation(model).copying, sep="\n")
