"""A count beside those of untrained twins: what a page says of it is of the stories that all of them were read on."""

from dataclasses import dataclass

from tslens.analysis.heads.ablation_result import MATTERING
from tslens.corpus import counted
from tslens.halves import ENOUGH
from tslens.twins import TwinsResult


@dataclass(frozen=True)
class Beside:
    """A count of the model and what stands beside it."""

    count: int
    """On the stories of the interval and of the twins; without twins on all stories."""
    where: str
    """` on 100 stories`; empty without twins."""
    said: str
    """The twins' counts, or that there are none."""
    evidence: str
    """Count, interval and twins in a sentence."""
    leads: bool
    """Whether the interval lies above every twin's count."""

    @classmethod
    def of(cls, twins: TwinsResult | None, label: str, found: int, unit: str = "") -> "Beside":
        """For the count of a label, of which `found` is that of all stories."""
        if twins is None:
            return cls(found, "", "not compared with untrained twins", "No untrained twin was counted.", False)
        at, doubt = twins.place(label), twins.doubt(label)
        said = f"untrained twins: {twins.range_of(label)}"
        where = counted(twins.stories) if twins.unit == "stories" else f"{twins.stories:,} {twins.unit}"
        read_once = twins.unit == "stories" and label != MATTERING and not unit  # not of shares, nor of ablations
        few = read_once and twins.stories < ENOUGH
        narrow = f" (too narrow on fewer than {ENOUGH} stories)" if few else ""
        evidence = (
            f"On {where}: {int(twins.count[at]):,}{unit} [{float(twins.low[at]):,.1f}, {float(twins.high[at]):,.1f}]"
            f"{narrow}, {len(twins.twins)} untrained twins {twins.range_of(label)}, p = {float(twins.p[at]):.2f}"
            f"{f': {doubt}' if doubt else ''}."
        )
        return cls(int(twins.count[at]), f" on {where}", said, evidence, not doubt)


def counts(twins: TwinsResult | None, label: str, found: int) -> str:
    """'6 (untrained twins: 0 to 3)', on the stories of the twins; without twins the count of all stories."""
    if twins is None:
        return f"{found:,}"
    return f"{int(twins.count[twins.place(label)]):,} (untrained twins: {twins.range_of(label)})"
