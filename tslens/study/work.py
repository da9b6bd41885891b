"""What the parts of a study share: what they work on, and what a part is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from tslens.analysis import heads
from tslens.corpus import Corpus
from tslens.errors import InputError
from tslens.models import spec_of
from tslens.result import CountedResult, Result
from tslens.scan import Reducer
from tslens.twins import TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel

Found = TypeVar("Found", bound=Result)
Counted = TypeVar("Counted", bound=CountedResult)
ALL, CHECKED, NONE = "all stories", "checked stories", "no stories"
TWINS = "twins"


@dataclass(frozen=True)
class Work:
    """What the parts of a study work on."""

    model: "LanguageModel"
    corpus: Corpus
    scan: Callable[[Sequence[Reducer[Any, Any]]], list[Any]]
    """Answers several reducers in one pass over the whole corpus."""
    checked: int
    """Stories on which labels are checked: by twins, swaps and ablations."""
    twins: int
    found: dict[str, Result]
    """The answers so far, by their names."""

    def answer(self, name: str, kind: type[Found]) -> Found:
        """The answer of an earlier part; InputError where it has none."""
        if not isinstance(answer := self.found.get(name), kind):
            raise InputError(f"It reads the answer {name!r}, and there is none.")
        return answer

    @property
    def roles(self) -> heads.RolesResult:
        """The roles of heads, without those that swaps contradict; InputError where there are none."""
        roles, agreement = self.answer("roles", heads.RolesResult), self.found.get("agreement")
        return agreement.withhold(roles) if isinstance(agreement, heads.AgreementResult) else roles

    def beside(self, answer: Counted) -> Counted:
        """The answer, with the counts of untrained twins where these were counted."""
        twins = self.found.get(TWINS)
        return twins.beside(answer) if isinstance(twins, TwinsResult) else answer

    @property
    def few(self) -> Corpus:
        """The checked stories."""
        return replace(self.corpus, texts=self.corpus.texts[: self.checked])

    @property
    def heads(self) -> int:
        """Heads of the model."""
        spec = spec_of(self.model)
        return spec.n_layers * spec.n_heads


@dataclass(frozen=True)
class StudyPart:
    """Questions that are asked together: their answers are kept, and computed again, as one."""

    name: str
    answers: Mapping[str, type[Result]]
    """The kind of each answer by its name."""
    ask: Callable[[Work], Mapping[str, Result]]
    """The answers by their names; one that this model has none for is left out."""
    cost: Callable[[Work], float]
    """About how many passes of the model over one story take as long."""
    reads: str = CHECKED
    """The stories that its intervals are over: `ALL`, `CHECKED` or `NONE`."""
