"""The result of an audit: power, false discoveries and coverage of every kind of label, and the verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.audit.coverage import passed, sorts, wrong_intervals
from tslens.audit.judging import ANY_KIND, ANY_WRITTEN, MORE, ONE_WORD, PLANTED_KINDS, PREDICTS, SETS
from tslens.audit.settings import READ_AGAIN
from tslens.audit.tallies import MOST_FALSE, more_found, notes, often_false, unplanted
from tslens.result import Result
from tslens.tables import as_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FALSE = ("false_share", "false_low", "false_high")


@dataclass(frozen=True, eq=False)
class AuditResult(Result):
    """Whether the labels of heads and neurons can be believed: what they call plants and random components.

    Plants are heads and neurons whose nature is known: in models of the same style that are built by hand, and in
    copies of the model itself. Random components are those of the models built by hand, untrained and of high gain.
    They read nothing that plants read (no word class, no name, no quotation mark), so that what they are is known:
    their false discoveries are those of chance. What an untrained network finds in words, its twins show.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("label",)
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {
        "label": "labels",
        "plant": "plants",
        "test": "tests",
        "way": "ways",
    }

    model: str
    """The model's name."""
    stories: int
    """Stories that all models were read on."""
    models: int
    """Models that were built by hand."""
    labels: list[str]
    """The labels that claim something."""
    count: Int[Tensor, " label"]
    """Heads or neurons of the model itself that have the label."""
    planted: Int[Tensor, " label"]
    """Pure plants that should get the label; of kinds of keys, heads that choose such keys."""
    named: Int[Tensor, " label"]
    """Of these, those that got it."""
    power: Float[Tensor, " label"]
    """Their share; NaN where nothing was planted."""
    power_low: Float[Tensor, " label"]
    """Lower end of its interval, Wilson 95%."""
    least_missed: Float[Tensor, " label"]
    """Smallest share of missed plants that is detectable: so many plants show one with a probability of 95%."""
    random: Int[Tensor, " label"]
    """Random heads, or neurons; of kinds of keys all heads that do not choose such keys, of any kind all heads."""
    false: Int[Tensor, " label"]
    """Of these, those that got the label: false discoveries."""
    false_share: Float[Tensor, " label"]
    """False discoveries among all that got the label. For `one word` and sets of words among the random neurons: a
    random neuron does fire on such words, so the label is not wrong, but says nothing about training."""
    false_low: Float[Tensor, " label"]
    """Lower end of its interval, Wilson 95%."""
    false_high: Float[Tensor, " label"]
    """Upper end of it."""
    least_false: Float[Tensor, " label"]
    """Smallest share of random components with the label that is detectable, likewise."""
    coverage: Float[Tensor, " label"]
    """Coverage of the 95% interval that the label rests on, over simulated corpora: the least of its simulations; NaN
    where it has no interval."""
    covers: list[str]
    """What this interval should do: cover 95%, or be conservative and cover 95% or more; or that there is none."""
    twins: int
    """Untrained twins of the model."""
    of_twins: Float[Tensor, " label"]
    """The label's mean count in these twins."""

    plants: list[str]
    """What was planted, mixtures included."""
    plant_n: Int[Tensor, " plant"]
    """How often."""
    plant_right: Int[Tensor, " plant"]
    """How often it was called rightly: by its label, a mixture `unresolved` or by its larger part."""
    lost: list[str]
    """Plants that the copies of this model cannot carry: they are not counted."""

    tests: list[str]
    """Intervals and p-values that were simulated."""
    test_kinds: list[str]
    """Of an interval its sort: `covers 95%`, or conservative, `covers 95% or more`; of p-values `uniform p`."""
    test_value: Float[Tensor, " test"]
    """Coverage, or the largest distance of the p-values from uniform."""
    test_p: Float[Tensor, " test"]
    """p of an exact binomial test that it covers 95% (conservative: not less), or of Kolmogorov and Smirnov's test."""
    test_detectable: Float[Tensor, " test"]
    """Smallest distance from 95%, or from uniform, that is detectable: it is rejected with a probability of 80%."""
    runs: int
    """Simulated corpora."""

    ways: list[str]
    """Other ways to read the same stories, the first `READ_AGAIN` of them."""
    changed: Int[Tensor, " way"]
    """Answers that changed: a label, or none."""
    read: int
    """Answers that were compared, for each way."""
    command: str
    """The command that makes this again."""

    @property
    def _claimed(self) -> list[int]:
        """The places of roles and parts of speech among the labels."""
        others = (ONE_WORD, PREDICTS, ANY_KIND, *PLANTED_KINDS, *MORE)
        return [i for i, label in enumerate(self.labels) if label not in others]

    @property
    def wrong_labels(self) -> list[str]:
        """What is wrong with labels, one phrase each: plants called something else, false discoveries, labels that
        depend on how stories are read."""
        found = [
            f"{n - right} of {n} plants '{plant}' are called something else"
            for plant, n, right in zip(self.plants, self.plant_n.tolist(), self.plant_right.tolist(), strict=True)
            if right < n
        ]
        of_kinds = zip(self.labels, self.planted.tolist(), self.named.tolist(), strict=True)
        found += [
            f"{n - named} of {n} plants are not given their '{label}'"
            for label, n, named in of_kinds
            if label in (*PLANTED_KINDS, *MORE) and label != SETS and named < n  # few top tokens may miss a set's word
        ]
        rows = zip(self.labels, self.false.tolist(), self.false_share.tolist(), self.false_low.tolist(), strict=True)
        found += [
            f"{share:.0%} of the random neurons are called after one word"
            if label == ONE_WORD
            else f"{share:.0%} of the labels '{label}' are false discoveries ({false})"
            for label, false, share, low in rows
            if (share if label in (ANY_KIND, ANY_WRITTEN, PREDICTS) else low) > MOST_FALSE
            and label
            not in (*PLANTED_KINDS, SETS)  # q is over all kinds together; random neurons do have sets of words
        ]
        claimed = self._claimed
        false, given = int(self.false[claimed].sum()), int((self.false + self.named)[claimed].sum())
        if false > MOST_FALSE * given:
            found.append(f"{false} of {given} roles and parts of speech are given to random components")
        return found + [
            f"{way} changes {n} answers" for way, n in zip(self.ways, self.changed.tolist(), strict=True) if n
        ]

    @property
    def often_false(self) -> str:
        """The kinds of keys of which surely more than 5% are given wrongly, in a sentence; empty if there are none.
        They are named and fail no audit: q is over all kinds together."""
        return often_false(self.labels, self.false, self.named, self.false_low, self.false_high)

    @property
    def wrong_intervals(self) -> list[str]:
        """The intervals that do not cover as their sort should, and p-values that are not uniform, one phrase each."""
        return wrong_intervals(self.tests, self.test_kinds, self.test_value.tolist(), self.test_p.tolist())

    @property
    def failures(self) -> list[str]:
        """What fails; empty if the audit passes."""
        return self.wrong_labels + self.wrong_intervals

    @property
    def passes(self) -> bool:
        """Whether nothing fails."""
        return not self.failures

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.passes:
            return f"The audit fails: {'; '.join(self.failures)}.{self.often_false}"
        of = {label: i for i, label in enumerate(self.labels)}
        named = int(self.planted[[*self._claimed, of[ONE_WORD]]].sum())
        others, components = int(self.plant_n.sum()) - named, int(self.random[0] + self.random[of[ONE_WORD]])
        kinds = ""
        if (any_ := of.get(ANY_KIND)) is not None:
            n, right, heads, wrong = (int(part[any_]) for part in (self.planted, self.named, self.random, self.false))
            kinds = f"{right} of {n} heads that choose a kind of key have it, {wrong} of {heads:,} have a wrong one, "
        if (sure := of.get(PREDICTS)) is not None:
            n, right, wrong = (int(part[sure]) for part in (self.planted, self.named, self.false))
            kinds += f"{right} of {n} planted parts of speech predict on other stories and {wrong} other neurons' do, "
        kinds += more_found(self.labels, self.planted, self.named, self.random, self.false)
        false = int(self.false[self._claimed].sum())
        return (
            f"The audit passes (sets of words and single kinds of keys fail none): all {named} plants with one right "
            f"label have it and {others} others none that is wrong, {false} of {components:,} random heads and neurons "
            f"have a role or a part of speech, {kinds}"
            f"{sorts(self.test_kinds)}, and no way of reading {min(READ_AGAIN, self.stories)} stories changes a label."
            f"{self.often_false}{unplanted(self.labels, self.planted)}"
        )

    def summary(self) -> "pd.DataFrame":
        """Every label with its power, false discoveries, coverage and smallest detectable effects."""
        shown = ["label", "count", "of_twins", "planted", "named", "power_low", "least_missed", "random", "false"]
        return self.to_frame()[[*shown, *FALSE, "least_false", "coverage", "covers"]]

    def simulations(self) -> "pd.DataFrame":
        """Every simulated interval and p-value, with the smallest distance that is detectable."""
        import pandas as pd

        rows = {"interval or p": self.tests, "sort": self.test_kinds}
        arrays = {"value": self.test_value, "p": self.test_p, "detectable": self.test_detectable}
        frame = pd.DataFrame(rows | {name: values.numpy() for name, values in arrays.items()})
        found = zip(self.test_kinds, self.test_value.tolist(), self.test_p.tolist(), strict=True)
        return frame.assign(passes=[passed(*one, self.runs) for one in found])

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per label; the last column says of which sort the interval is that it rests on."""
        return super().to_frame(field) if field else super().to_frame().assign(covers=self.covers)

    def __str__(self) -> str:
        least = 1 - 0.05 ** (1 / max(self.read, 1))
        of = f"{int(self.changed.sum())} answers changed of {self.read:,} in each, a label or none"
        lines = [
            self.verdict,
            super().__str__(),
            as_text(self.simulations()),
            f"{', '.join(self.ways)}: {of} (a share of {least:.2%} is detectable).",
            f"Not planted in copies of {self.model}: {', '.join(self.lost)}." if self.lost else "",
            *notes(self),
            f"Made by: {self.command}",
        ]
        return "\n".join(filter(None, lines))

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"verdict": self.verdict, "passes": self.passes, "failures": self.failures}

    def figure(self) -> "Figure":
        """The share of plants that are called rightly, with its interval, by plant."""
        from tslens import plots

        found = stats.wilson(self.plant_right.numpy(), self.plant_n.numpy())
        return plots.bars(
            [f"{plant} ({n})" for plant, n in zip(self.plants, self.plant_n.tolist(), strict=True)],
            100 * found.estimate,
            low=100 * found.low,
            high=100 * found.high,
            title=f"Audit on {self.stories} stories: plants called by their name, of {int(self.plant_n.sum())}",
            x_label="%",
        )
