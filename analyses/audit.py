"""The audit passes on stories2M and on stories260K: each of 486 and 489 plants that have one right label gets it, and
none of 801 and 801 others a wrong one (100 real stories of V2; 20 models built by hand for each, with learned and with
rotary positions, and copies of the model itself); so do all of 340 and 340 heads that choose one of 27 kinds of keys,
and 1 of 703 and 1 of 705 heads have a wrong kind (by thresholds of untrained twins; an analysis adds those of turned
heads, which are not audited). On 100 generated stories one of 340 with rotary positions missed its kind, since in the
second layer what is random beside it turned it away from the last mark; it stands in the first layer now, and all have
theirs (`make stress`). All 141 and 143 kernels and written classes are named. Two kinds of label are not judged, since
random weights earn them too. Sets of words: only 80 and 60 of 100 are found (94 and 91 on stories of V1), and 1,832 and
2,942 of 12,100 random neurons have one (15% and 24%). Of random heads and neurons 2 and 0 of 12,220 have a role or a
part of speech (they read neither word classes nor BOS, so that these are errors of chance alone; untrained twins show
what random weights find in words), and no neuron of rare words or of other plants has a part of speech that predicts.
One word: of 12,100 random neurons 401 and 290 have one, of which untrained twins have as many as the model or more (48
and 48; 79 and 42), and 79% and 73% of all that have one in an audit are random; the word that is planted is the
commonest of the stories, and rarer ones need a larger sample than the 1,000 tokens of an audit. No simulated interval
is rejected, but those of counts, of kinds of keys, of areas near 1, of the positional fraction on 10 stories (0.978 and
0.959) and of p over words are tested on one side only: they may cover more than 95% (`tslens audit` says which do), and
families of kernels have none. No way of reading 24 stories changes an answer (9,264 and 2,700, most of which are that
there is no label: roles, kinds of keys, written classes, and neurons' labels and patterns). Taken singly a kind of key
has 10 or 20 plants: fewer misses than 26% or 14% would not have been seen, and quotation marks are named wrongly once
beside 10 right ones (9%, 2 to 38).

Which labels of tslens can be believed, and how small an error would have been seen?

Twenty models built by hand in the style of each model (learned positions as in stories2M, rotary ones as in
stories260K), copies of the model itself with plants, five untrained twins, and 2,000 simulated corpora.
`python analyses/audit.py --stories FILE --model stories260K=llama2c:stories260K.bin` draws this again.
"""

import math

from _models import study

from tslens.audit import AuditResult, audit
from tslens.audit.running import STORIES
from tslens.audit.settings import READ_AGAIN
from tslens.audit.tallies import notes
from tslens.plots import save

SEEDS, TWINS = 20, 5
COMMAND = "python analyses/audit.py --stories FILE --model stories260K=llama2c:stories260K.bin"
COLUMNS = {
    "label": "label",
    "planted": "planted",
    "named": "named",
    "least_missed": "detectable",
    "random": "without it",
    "false": "named so",
    "false_share": "share",
    "false_low": "from",
    "false_high": "to",
    "least_false": "detectable",
    "coverage": "coverage",
    "covers": "should",
    "count": "in the model",
    "of_twins": "in a twin",
}
SHARES = ("least_missed", "false_share", "false_low", "false_high", "least_false", "coverage")


def table(found: AuditResult) -> str:
    """The labels with their power, false discoveries and coverage, the simulated intervals, and the verdict."""

    def cell(column: str, value: float | str) -> str:
        if isinstance(value, str):
            return value
        return (
            ""
            if math.isnan(value)
            else f"{value:.2%}"
            if column in SHARES
            else f"{value:,.0f}"
            if value == round(value)
            else f"{value:,.1f}"
        )

    frame, tests = found.to_frame(), found.simulations()
    rows = [[cell(column, row[column]) for column in COLUMNS] for _, row in frame.iterrows()]
    intervals = [
        [test["interval or p"], test["sort"], *(f"{test[c]:.3f}" for c in ("value", "p", "detectable")), test["passes"]]
        for _, test in tests.iterrows()
    ]
    least = 1 - 0.05 ** (1 / found.read)
    return "\n\n".join(
        [
            f"**{found.model}** and {found.models} models built by hand in its style, {found.stories} stories. "
            f"{found.verdict}",
            markdown(list(COLUMNS.values()), rows),
            markdown(
                ["interval, or p under the null", "should be", "covers, or distance", "p", "detectable", "passes"],
                intervals,
            ),
            f"{READ_AGAIN} stories read as {', '.join(found.ways)}: {int(found.changed.sum())} of {found.read:,} "
            "answers change, each a label or none: roles, kinds of keys and written classes of heads; labels, labels "
            f"that predict and patterns of neurons (a share of {least:.2%} is detectable)."
            + (f" Copies of {found.model} cannot carry {', '.join(found.lost)}." if found.lost else ""),
            "\n".join(notes(found)),
            f"`{COMMAND}` makes this again.",
        ]
    )


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    asked = study("audit", STORIES)
    tables = []
    for name, model in asked.models.items():
        found = audit(model, asked.stories, seeds=SEEDS, n=TWINS)
        save(found.figure(), asked.folder / f"{name}.svg", found.summary())
        found.simulations().to_csv(asked.folder / f"{name}-simulations.csv", index=False)
        tables.append(table(found))
        print(name, found, sep="\n")
    (asked.folder / "table.md").write_text("\n\n".join(tables) + "\n", encoding="utf-8")
