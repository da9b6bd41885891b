"""Five of the 16 heads of stories2M choose a kind of key by its content (2 to 9), and no head of its 19 untrained twins
does; where its heads' keys and values are turned at random and all else stays, 0 to 3 do (5 copies). Of the 40 of
stories260K 12 do (6 to 19; twins: 0 to 1), and 8 to 22 of its turned heads: so its 12 are what its embedding and
neurons sort, and say nothing of what its heads have learned. Head 2.3 of stories2M looks from a verb to its subject,
with 0.24 of its attention beyond the null (0.22 to 0.27; 99% of the twins' heads stay below 0.001). Head 1.1 chooses
pronouns and names, head 3.2 names. More heads write: 10 of stories2M raise the logits of a word class where it follows
(6 to 13; twins: 0 to 1; turned 2 to 6), 14 of stories260K (8 to 21; 0 to 1; turned 0 to 2). Head 3.2 raises those of
names most, by 1.69 (1.32 to 2.06; twins 0.07). A head writes a class only if the words of it that it writes are more
than those of classes permuted among words of like frequency: articles, quotation marks, conjunctions and particles are
words that some heads write, and no longer classes. Neither model copies repeated random tokens, so no head counts as an
induction head, though head 3.2 gives the keys of induction 0.11 of its attention in stories (0.11 to 0.12). (100
stories, and 50 generated ones for pronouns.)

What do the heads of small story models choose by its content, and which word classes do they write, beyond untrained
twins?
`python analyses/kinds.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.analysis import heads
from tslens.plots import save
from tslens.twins import STORIES, control, read_ahead

asked = study("kinds", STORIES)
for name, model in asked.models.items():
    of_keys, of_words = heads.Kinds(made=heads.MADE), heads.Writes()
    read_ahead(model, asked.stories, scored=[of_keys, of_words])
    roles = heads.roles(model, asked.stories)
    chosen = heads.kinds(model, asked.stories, roles=roles, control=control(model, asked.stories, of_keys))
    save(chosen.figure(), asked.folder / f"{name}.svg", chosen.summary())
    written = heads.writes(model, asked.stories, control=control(model, asked.stories, of_words))
    save(written.figure(), asked.folder / f"{name}-writes.svg", written.summary())
    print(name, chosen, written, sep="\n\n")
