"""Head 2.3 of stories2M looks from a verb to its subject, with 0.15 of its attention beyond what any null explains
(0.13 to 0.19; 99% of the heads of untrained twins and of heads turned at random stay below 0.001), and head 3.3 to the
opening quotation mark (0.19, 0.16 to 0.23; below 0.001). In stories260K head 2.0 looks from verbs to their subjects
(0.10, 0.07 to 0.15; below 0.007), 2 heads from nouns to their determiners and adjectives (4.6: 0.14, 0.11 to 0.18;
below 0.011), 2 to earlier mentions of a name (2.6: 0.12, 0.09 to 0.16; below 0.07) and 2 to the last punctuation (4.0:
0.08, 0.07 to 0.09; below 0.009). In all 5 of 16 heads choose a kind of key (2 to 9; untrained twins: 0) and 7 of 40 (3
to 13; twins: 0 to 1). Each kind exceeds the 99th percentile over the twins' heads and over heads whose keys and values
are turned at random while all else stays trained (5 copies). Held against one another 0 to 2 and 0 to 7 of the turned
heads have a kind: the 5 of stories2M are surely more (2.2 at least), the 7 of stories260K are not (3.3 at least), but
kinds that lie far above their thresholds are. Names are what turned heads choose too; 1.1 and 3.2 of stories2M choose
them more (3.2: 0.11, 0.10 to 0.12; below 0.06), and 1.0 verbs.

More heads write: 8 of stories2M raise the logits of a word class where it follows (4 to 12; twins: 0; turned 0 to 2),
11 of stories260K (6 to 17; twins: 0 to 1; turned 0). Head 3.2 raises those of names most, by 1.69 (1.32 to 2.06;
controls 0.07). A head writes a class only if the words of it that it writes are more than those of classes permuted
among words of like frequency. A relation must exceed the attention that the same word gets elsewhere, at the same
distance, and that of keys as many words away; and every kind what the place in the story explains, since stories begin
alike: a head that looks at the fifth place, often a comma, chooses no marks. Neither model copies repeated random
tokens, so no head counts as an induction head, though head 3.2 gives the keys of induction 0.11 of its attention in
stories (0.11 to 0.13). (100 stories, and 50 generated ones for pronouns; intervals of counts are over stories, with the
test of words as all of them gave it.)

What do the heads of small story models choose by its content, and which word classes do they write, beyond untrained
twins and turned heads?
`python analyses/kinds.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

import pandas as pd
from _models import study

from tslens.analysis import heads
from tslens.plots import save
from tslens.twins import STORIES, control, read_ahead

asked, counts = study("kinds", STORIES), []
for name, model in asked.models.items():
    of_keys, of_words = heads.Kinds(made=heads.MADE), heads.Writes()
    read_ahead(model, asked.stories, scored=[of_keys, of_words])
    roles = heads.roles(model, asked.stories)
    chosen = heads.kinds(model, asked.stories, roles=roles, control=control(model, asked.stories, of_keys))
    save(chosen.figure(), asked.folder / f"{name}.svg", chosen.summary())
    written = heads.writes(model, asked.stories, control=control(model, asked.stories, of_words))
    save(written.figure(), asked.folder / f"{name}-writes.svg", written.summary())
    print(name, chosen, written, sep="\n\n")
    for what, found in (("kind of key", chosen), ("written class", written)):
        low, high = found.interval
        beside = {"twins_most": max(found.of_twins), "turned_most": max(found.of_turned)}
        counts.append({"model": name, "heads with a": what, "count": found.having, "low": low, "high": high} | beside)
pd.DataFrame(counts).to_csv(asked.folder / "counts.csv", index=False, float_format="%.6g")
