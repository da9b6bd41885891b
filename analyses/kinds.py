"""Five of the 16 heads of stories2M choose a kind of key by its content (2 to 9; untrained twins: 0), and 10 of the 40
of stories260K (5 to 16; twins: 0 to 1). Each kind exceeds the 99th percentile over the twins' heads and over heads
whose keys and values are turned at random while all else stays trained (5 copies). Held against one another 0 to 3 and
0 to 9 of the turned heads have a kind, so the counts are not surely more than theirs; single kinds are. In stories260K
all 10 choose relations, which turned heads hardly do: 5 look from a verb to its subject (2.0 with 0.26 of its attention
beyond the null, 0.22 to 0.31; 99% of the controls' heads stay below 0.011), 5 from a noun to its determiner or
adjective (4.6: 0.35, 0.33 to 0.38; below 0.018), 2 to earlier mentions of a name and 2 to the last punctuation.
Articles, names and punctuation marks are what turned heads choose too. In stories2M head 2.3 looks from a verb to its
subject (0.15, 0.13 to 0.19; below 0.001), 1.1 chooses pronouns and names, 3.2 names, 1.0 verbs. More heads write: 8 of
stories2M raise the logits of a word class where it follows (4 to 12; twins: 0; turned 0 to 2), 11 of stories260K (6 to
17; 0 to 1; turned 0). Head 3.2 raises those of names most, by 1.69 (1.32 to 2.06; controls 0.08). A head writes a class
only if the words of it that it writes are more than those of classes permuted among words of like frequency, and a
relation must exceed the attention that the same word gets elsewhere, at the same distance. Neither model copies
repeated random tokens, so no head counts as an induction head, though head 3.2 gives the keys of induction 0.11 of its
attention in stories (0.11 to 0.12). (100 stories, and 50 generated ones for pronouns.)

What do the heads of small story models choose by its content, and which word classes do they write, beyond untrained
twins and turned heads?
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
