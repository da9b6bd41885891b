"""What the model loses without each head, and what its name is worth: swaps, ablations and kinds, kept once found.

They are read on the first 100 stories of the page. What is found is kept in the folder of the run or in the cache, part
by part, so that a page that was stopped goes on, and the next one of the same model and stories takes no longer.
"""

import contextlib
import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tslens.analysis import heads as method
from tslens.analysis.heads import (
    EVIDENT,
    ROLES,
    AblationResult,
    AgreementResult,
    KernelsResult,
    KindsResult,
    RolesResult,
    SwapsResult,
    WritesResult,
)
from tslens.corpus import Corpus
from tslens.errors import InputError
from tslens.progress import note
from tslens.result import Result
from tslens.scan import Reducer
from tslens.twins import (
    ABLATED_STORIES,
    FEWEST,
    STORIES,
    TURNS,
    TWINS,
    TwinsResult,
    ablated,
    control,
    read_ahead,
    usual_questions,
)
from tslens.twins import kept as store
from tslens.twins.ablating import VERSION as RULES

if TYPE_CHECKING:
    from tslens.models import LanguageModel

VERSION = "causes of heads, 14"
"""Part of the key of kept answers: raise it when a rule changes."""
SWAPPED, ABLATED, COPIES = 50, 64, 1
"""Stories that are swapped, those that heads are ablated on, and copies with half of the words replaced."""
AFFORDABLE = 120.0
"""Seconds, by estimate: what takes longer is done only where it was asked for, or is kept."""
PASSES = 40
"""What swapping a story costs in scans of it, with the comparison of the patterns (36 on stories2M)."""
PASS = 1.25
"""What three ablations of one head on one story cost in scans of it (1.23 on stories2M)."""
KIND_SECONDS = 0.06
"""What the kinds of one story cost beside its scan."""

Kept = TypeVar("Kept", bound=Result)


@dataclass(frozen=True, eq=False)
class Causes:
    """What interventions say of every head and of its name."""

    roles: RolesResult
    """The roles, `unresolved` where swaps contradict them."""
    swaps: SwapsResult
    agreement: AgreementResult
    kernels: KernelsResult
    kinds: KindsResult | None
    """The kinds of keys; None where they would have taken too long."""
    writes: WritesResult | None
    """The word classes that heads write; None as well."""
    ablation: AblationResult
    """The loss without each head."""
    ablated: TwinsResult | None = None
    """How many heads matter, of the model and of untrained twins; None where these would have taken too long."""
    twins: int = TWINS
    """Untrained twins that were asked for; with 0 there are no kinds and word classes, which need their thresholds."""

    @property
    def lost(self) -> int:
        """The number of heads whose role swaps contradict; those that are `content-dependent` have none."""
        roles = zip(self.agreement.roles, self.agreement.withheld.tolist(), strict=True)
        return sum(gone and role in EVIDENT for row, of in roles for role, gone in zip(row, of, strict=True))

    def in_order(self) -> list[tuple[int, int, str]]:
        """Layer, head and finding of every head: first those that matter and have no name, then as they matter."""
        checks = self.ablation.checks()
        return list(zip(checks["layer"].tolist(), checks["head"].tolist(), checks["finding"].tolist(), strict=True))


def causes(
    model: "LanguageModel",
    corpus: Corpus,
    roles: RolesResult,
    *,
    wanted: bool | None = None,
    a_story: float = math.inf,
    twins: int = TWINS,
) -> Causes | None:
    """Swap words for every head and ablate it, and the heads of `twins` untrained ones; name the kinds of
    its keys.

    With `wanted` None the parts that are kept, and those that take less than two minutes together, where a scan takes
    `a_story` seconds a story. None where that leaves nothing, or where the stories are too few.
    """
    texts = list(dict.fromkeys(islice(corpus, STORIES)))
    if wanted is False or len(texts) < FEWEST:
        return None
    shelf = Shelf(model, corpus, texts, wanted is True)
    seconds, a_row = _seconds(len(texts), roles, a_story)
    kinds, writes = _kinds(model, texts, shelf, a_story, twins) if twins else (None, None)
    asked = "/".join(ROLES[code] for code in roles.role_code.flatten().tolist())
    asked += "".join("/" + " ".join(own) for of in (kinds, writes) if of is not None for row in of.kinds for own in row)
    parts: dict[type[Result], str] = {SwapsResult: "", AblationResult: asked}
    if not shelf.affords(seconds, "Swapped words and ablated heads", parts):
        return None
    swaps = shelf.of(SwapsResult, "", lambda: method.swaps(model, texts, limit=SWAPPED, copies=COPIES))
    agreement = method.agreement(roles, swaps)
    kept = agreement.withhold(roles)
    ablation = shelf.of(
        AblationResult,
        asked,
        lambda: method.ablation(model, texts, roles=kept, keys=kinds, writes=writes, rows=ABLATED),
    )
    kernels = method.kernels(kept, swaps)
    kinds = None if kinds is None else replace(kinds, roles=kept.roles)
    beside = _ablated(model, shelf, twins, a_row)
    return Causes(kept, swaps, agreement, kernels, kinds, writes, ablation, beside, twins)


def _seconds(stories: int, roles: RolesResult, a_story: float) -> tuple[float, float]:
    """What swapping and ablating all heads on so many stories takes, and ablating them on one of these."""
    a_row = PASS * roles.role_code.numel() * a_story
    return min(SWAPPED, stories) * PASSES * a_story + min(ABLATED, stories) * a_row, a_row


def why_not(corpus: Corpus, roles: RolesResult, a_story: float) -> str:
    """Why `causes` left everything out: too few stories, or the seconds that it takes."""
    stories = len(set(islice(corpus, STORIES)))
    if stories < FEWEST:
        return f"it needs {FEWEST} different stories, and has {stories}"
    return f"that takes about {_seconds(stories, roles, a_story)[0]:.0f} s, once"


def of_twins(n: int) -> str:
    """What is asked of `n` untrained twins: part of the key of the answer."""
    return f"{RULES}, {n} twins, {ABLATED_STORIES} stories"


def _ablated(model: "LanguageModel", shelf: "Shelf", n: int, a_row: float) -> TwinsResult | None:
    """The heads that matter of `n` untrained twins, where ablating all heads takes `a_row` seconds a story."""
    asked, seconds = of_twins(n), (n / 3 + 1) * ABLATED_STORIES * a_row / 2  # half the tokens, see `ablated`
    if n and shelf.affords(seconds, "Ablated heads of untrained twins", {TwinsResult: asked}):
        return shelf.of(TwinsResult, asked, lambda: ablated(model, shelf.corpus, n=n))
    return None


def _kinds(
    model: "LanguageModel",
    texts: Sequence[str],
    shelf: "Shelf",
    a_story: float,
    n: int,
) -> tuple[KindsResult | None, WritesResult | None]:
    """Kinds and word classes beyond `n` untrained twins, whose labels are counted on the way."""
    asked = "" if n == TWINS else f"{n} twins"
    seconds = (n + TURNS + 1) * (len(texts) + method.MADE) * (KIND_SECONDS + 2 * a_story)
    if not shelf.affords(seconds, "Kinds of keys, on untrained twins too", {KindsResult: asked, WritesResult: asked}):
        return None, None
    stories, of_kinds, of_writes = shelf.corpus, method.Kinds(made=method.MADE), method.Writes()

    def kinds() -> KindsResult:
        read_ahead(model, stories, counted=[usual_questions(model)], scored=[of_kinds, of_writes], n=n)
        return method.kinds(model, texts, control=control(model, stories, of_kinds, n=n))

    def writes() -> WritesResult:
        return method.writes(model, texts, control=control(model, stories, of_writes, n=n))

    return shelf.of(KindsResult, asked, kinds), shelf.of(WritesResult, asked, writes)


class Shelf:
    """The kept answers about one model on the same stories."""

    def __init__(self, model: "LanguageModel", corpus: Corpus, texts: Sequence[str], wanted: bool) -> None:
        self.corpus = corpus
        self._model = model
        reducers: list[Reducer[Any, Any]] = [method.Kinds(made=method.MADE), method.Writes()]
        self._key = store.key(f"{VERSION} {SWAPPED} {ABLATED} {COPIES}", model, texts, corpus, reducers)
        self._room = math.inf if wanted else AFFORDABLE

    def affords(self, seconds: float, what: str, parts: dict[type[Result], str]) -> bool:
        """Whether all parts are kept, were asked for, or fit the seconds that are left; says what they cost."""
        if all(self._read(result, asked) is not None for result, asked in parts.items()):
            return True
        if seconds > self._room:
            note(f"{what}: left out, about {seconds:.0f} s, once; --causes includes it.")
            return False
        self._room -= seconds
        if seconds > 2:
            note(f"{what}: about {seconds:.0f} s, once.")
        return True

    def of(self, result: type[Kept], asked: str, find: Callable[[], Kept]) -> Kept:
        """What is kept, or else found now and kept."""
        found = self._read(result, asked)
        if found is None:
            found = find()
            with contextlib.suppress(OSError):
                found.save(self._places(asked)[0])
        return found

    def _read(self, result: type[Kept], asked: str) -> Kept | None:
        for place in self._places(asked):
            with contextlib.suppress(OSError, InputError):
                return result.load(place)
        return None

    def _places(self, asked: str) -> list[Path]:
        """The folders of the answers to what was asked, beside model and stories."""
        name = hashlib.blake2b(f"{self._key} {asked}".encode(), digest_size=16).hexdigest()
        return store.places(self._model, f"causes/{name}")
