"""The loss of stories2M is higher without 15 of its 16 heads and that of stories260K without 15 of its 40 (11 to 16 and
8 to 23), and 4 and 18 heads attend by position (1.6 to 7.9 and 12 to 24), as no head of 19 untrained twins does.
Swapped words contradict none of the 24 roles that they have on more stories and confirm 13. Few of their labels of
content say on which tokens a head is missed: 4 of 17 kinds of keys and 5 of 25 written classes (an untrained twin has
at most one such label).

However they are ablated, the loss is higher without 15 of the 16 heads of stories2M and without 15 of the 40 of
stories260K (the first 64 tokens of 32 stories; intervals 11 to 16 and 8 to 23; of 128 tokens of 100 without 16 and 16;
no head of 19 untrained twins, p = 0.05). The costliest of stories2M has no role: without 0.1, diffuse, it loses 1.03
and 0.49 nats by zero and mean (0.06 by resampling); head 3.2, which is content-dependent, costs 0.18 to 0.24, and 1.3,
positional, 0.20 to 0.38. On 300 stories 6 and 12 heads are positional and 6 of stories260K look at the previous token
(on 100 stories 4, 1.6 to 7.9; 13, 8.0 to 19.2; 5, 2.1 to 10.5); no head of a twin does. The published rule calls none
of the 56 positional. Their kernels are all relative: in stories2M 4 local ones of 3 to 7 tokens (2 to 8 on 100 stories;
twins 0) and 2 slow decays over 23 and 29 tokens (none on 100 stories); in stories260K 12 local ones of 2 to 5 tokens (7
to 18; twins 0) and 6 of the previous token (3 to 12; twins 0). Roles go by the first 128 tokens of a story: by the
first 256 8 and 17 heads are positional. Between 64 and 256 tokens 1 head of stories2M changes its role (0.0, from BOS
to position), and 3 and 9 heads have a role at one of both contexts alone (no twin was asked).

Swapped words (100 stories; twins have no role to contradict) contradict none of these 24 roles and confirm 13: of the
nats of their attention the mean under random tokens leaves surely more than half in 0 of 6 and 1 of 18 (head 1.2 of
stories260K, at the previous token, among the keys but BOS: 0.54, 0.52 to 0.55), that under whole words in none. So
random tokens alone agree with 12 of 12 and 29 of 30 labels (1.00 and 0.97, where 0.95 was sought), content-dependent
heads included, and with 6 of 6 and 17 of 18 roles alone (1.00 and 0.94). By the change of the pattern at unswapped keys
over its distance from uniform attention, which decides nothing here since it misses planted heads that look at content,
all 6 and 18 roles agree, and 4 of 6 and 0 of 12 content-dependent heads (10 of 12 and 18 of 30 labels: 0.83 and 0.60).
Words of the same part of speech keep what the class of a word says, so that they can contradict roles of position
alone: they do in 0 of 6 and 0 of 18. Of 3 of the 12 content-dependent heads of stories260K they leave surely less than
half (0.41 to 0.47, where random tokens leave 0.66 to 0.71): position and the class of a word decide more there than the
word does. This says less than it seems: measured by squares, and not in the nats that roles are made of, random tokens
agreed in 0.92 and 0.57 and confirmed 2 roles; and copies of random tokens are like any other story, so that the share
that they leave is one minus the positional fraction, to 0.02 and 0.01 on average (at most 0.08 and 0.05). Of the 18
heads that are only content-dependent both kinds of swap confirm 10.

Few labels say where a head is missed (untrained twins have at most one; none was ablated). However head 2.3 or 3.3 of
stories2M is ablated, tokens after a query that has an opening quotation mark before it lose 0.11 (0.08 to 0.14) and
0.08 nats (0.04 to 0.12) more than equally frequent others of the same stories, without 1.0 those after a query that has
a verb 0.06 (0.03 to 0.09), without 2.0 of stories260K those after a noun that has its determiner or adjective 0.01
(0.00 to 0.02). These are 4 of 17 labels of kinds of keys; the clearest relation, from a verb to its subject (2.3), is
not among them (0.01, -0.02 to 0.04). Of 25 written classes (the one that a head writes most) 5 are: names by 3.2, 1.1
and 4.4 of stories260K (2.6, 2.3 to 2.9; 0.40, 0.32 to 0.47; 0.54, 0.39 to 0.69), nouns by 3.1 (0.16, 0.06 to 0.26),
verbs by 4.5 of stories260K (0.02, 0.01 to 0.03). Without 2.3, which writes nouns, nouns lose less than other tokens
however it is ablated (-0.06, -0.11 to -0.02, by resampling). Parts of speech are read from no query or key of stories2M
better than from the token alone (0.75 of words, balanced), but from 32 of the 60 of stories260K (0.32), in which two
heads share a key and whose tokens are mostly pieces of words (no twin was asked). Of roles only that of the previous
token predicts tokens, those that two tokens tell better than one, and none of its 6 heads of stories260K is missed more
there. On repeated random tokens neither model copies, so they say nothing of its heads.

What do the attention heads of small story models do, and what would the published rule have called them?
`python analyses/heads.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.analysis import heads
from tslens.plots import save
from tslens.scan import scan
from tslens.twins import ablated, compare, control, read_ahead

KERNELS = (heads.Roles(), heads.Kernels())

asked = study("heads")
for name, model in asked.models.items():
    answer = scan(model, asked.stories, heads.Roles())
    print(name, answer.to_frame()["role"].value_counts().to_dict())
    both = heads.at_contexts(model, asked.stories)
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
        save(
            found.figure(),
            asked.folder / f"{name}{what}.svg",
            found.to_frame() if what in ("", "-swaps") else found.summary(),
        )
    without.contrasts().to_csv(asked.folder / f"{name}-ablation-on-labels.csv", index=False)
    print(both, agreed, kernels, beside.beside(without), probes, heads.ablation(model).copying, sep="\n")
