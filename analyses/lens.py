"""The share of positions that agree with the final answer before the last block says nothing about training: 55% of
stories2M by the logit lens (53 to 56) and 64% by a tuned lens (62 to 66), and of untrained twins 12 to 85% and 68 to
94%; of stories260K 49% (47 to 51) and 54% (52 to 55), and of twins 18 to 100% and 25 to 100%. (The tuned lenses are
fitted on 200 stories; fitted on 1,000, those of the models have 70%, 68 to 71, and 64%, 63 to 64.) In stories2M a tuned
lens finds the answer earlier: a part of its late decision is an error of the logit lens. By the tuned lens punctuation
is settled there more often (80%, 77 to 82; 73%, 71 to 74) than nouns (62%, 59 to 65; 58%, 56 to 59). MLPs write the
answer: over a token half a story away the last one adds 2.9 and 3.7 to its logit, the strongest head 0.4 and 0.1, and
no component of a twin more than 0.05 and 0.10 (100 stories; 20 of 24 and 45 of 46 components lie beyond their own in
every twin, p = 0.05; what is said of parts of speech is of lenses fitted on 1,000 others).

At which depth do small story models know the next token?
`python analyses/lens.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

from _models import study

from tslens.analysis import lens
from tslens.plots import save
from tslens.twins import compare, measured

PROMPT = "Once upon a time there was a little girl named Lily. She had a red ball. Lily loved to play with her"
OF_TWINS = 200
"""Stories that the tuned lens of each twin is fitted on, in closed form."""

asked = study("lens", limit=100)
for name, model in asked.models.items():
    fit = list(asked.training)
    beside = compare(model, asked.stories, [lens.ByDepth(), lens.Refitted(fit[:OF_TWINS])])
    save(beside.figure(), asked.folder / f"{name}-twins.svg", beside.to_frame())
    answer = beside.beside(lens.by_depth(model, asked.stories))
    save(answer.figure(), asked.folder / f"{name}-by-depth.svg", answer.to_frame())
    one = lens.of_prompt(model, PROMPT)
    save(one.figure(), asked.folder / f"{name}-prompt.svg", one.summary())
    fitted = lens.translators(model, fit)
    both = beside.beside(lens.lenses(model, asked.stories, fitted))
    save(both.figure(), asked.folder / f"{name}-lenses.svg", both.to_frame())
    save(both.tag_figure(lens.TUNED_LENS), asked.folder / f"{name}-lenses-by-tag.svg", both.by_tag())
    written = lens.by_component(model, asked.stories)
    save(written.figure(), asked.folder / f"{name}-attribution.svg", written.to_frame())
    save(written.tag_figure(), asked.folder / f"{name}-attribution-by-tag.svg")
    of_twins = measured(model, asked.stories, written)
    save(of_twins.figure(), asked.folder / f"{name}-attribution-twins.svg", of_twins.summary())
    logit = lens.attribution(model, PROMPT)
    save(logit.figure(), asked.folder / f"{name}-attribution-prompt.svg", logit.summary())
    norms = lens.residuals(model, asked.stories)
    save(norms.figure(), asked.folder / f"{name}-residuals.svg", norms.to_frame())
    print(name, *(answer, fitted, both, written, of_twins, norms), sep="\n\n")
