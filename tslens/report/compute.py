"""The data of a report: one scan for heads, neurons and lens, then a few stories in full."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tslens import models
from tslens.analysis import heads as heads_analysis
from tslens.analysis import lens as lens_analysis
from tslens.analysis import neurons as neurons_analysis
from tslens.analysis.circuits import CircuitResult
from tslens.analysis.heads import PatternResult, RolesResult
from tslens.analysis.lens import ByDepthResult, OfPromptResult
from tslens.analysis.neurons import FadeResult, HeldOut, HeldOutResult, Profiles, ProfilesResult
from tslens.audit import Verdict, verdict_of
from tslens.batching import several_texts
from tslens.corpus import Corpus
from tslens.dynamics import SnapshotResult
from tslens.errors import InputError
from tslens.evaluation.card import CardResult
from tslens.evaluation.copies import CopiesResult
from tslens.evaluation.instruct import InstructGradesResult, InstructResult
from tslens.evaluation.loss import LossResult, loss
from tslens.evaluation.pairs import PairsResult
from tslens.evaluation.suite_result import SuiteResult
from tslens.generate import Sampling, generate, with_room
from tslens.progress import stage
from tslens.report import answers, circuits, fade, features
from tslens.report.causes import Causes, why_not
from tslens.report.causes import causes as causes_of_heads
from tslens.report.features import FoundFeatures
from tslens.report.live import Live, live_of, with_figures
from tslens.report.neurons import FoundNeurons
from tslens.scan import scan
from tslens.twins import FEWEST, STORIES, TWINS, TwinsResult, compare

if TYPE_CHECKING:
    from tslens.models import LanguageModel
    from tslens.tokenizer import Tokenizer

SHOWN_TOKENS = 128
"""Number of tokens of a story shown with attention and lens, BOS included."""
SAMPLING = Sampling(temperature=0.7, top_p=0.95)
GIVEN = "the given stories"
OF_HEADS, OF_NEURONS = (heads_analysis.Roles(), lens_analysis.ByDepth()), (Profiles(), HeldOut())
PROMPTS = ("", "", "", "Once upon a time there was a little", "Ben and his dog", "One rainy day, Anna")


@dataclass(frozen=True, eq=False)
class ReportData:
    """The content of a page, without its appearance."""

    name: str
    """The model's name."""
    description: Mapping[str, Any]
    """Shape and counts, from `models.describe`."""
    config: Mapping[str, Any]
    """The run's `config.json`; empty if the model is no run."""
    metrics: Sequence[Mapping[str, Any]]
    """The records of the run's `metrics.jsonl`; empty if there is none."""
    source: str
    """Name of the stories, split included."""
    remark: str
    """Their relation to the training stories, as a sentence; may be empty."""
    loss: LossResult
    twins: TwinsResult | None
    """The counts of labels, without roles that swaps contradict, beside those of untrained twins, which are not
    swapped; None where none was counted."""
    audit: Verdict | None
    """What an audit of the model's labels found; None where none was kept."""
    causes: Causes | None
    """What swaps and ablations say of every head; None where they were left out, for the reason of `no_causes`."""
    heads: RolesResult
    """The roles, without those that swaps contradict."""
    neurons: FoundNeurons | None
    """None of a model without MLPs."""
    depth: ByDepthResult
    patterns: Sequence[PatternResult]
    """Attention over the stories shown in full."""
    lenses: Sequence[OfPromptResult]
    """The lens over the same stories."""
    samples: Sequence[tuple[str, str]]
    """Prompts, and the stories that the model wrote, prompt included."""
    sampling: str
    """How the samples were drawn, in words."""
    no_causes: str = ""
    """Why they were left out, with what they take."""
    film: Sequence[SnapshotResult] = ()
    """The snapshots of its run, earliest first (see `tslens.dynamics.snapshots`); none where they are not shown."""
    circuits: Sequence[CircuitResult] = ()
    """Those that were found of this model and kept."""
    fade: FadeResult | None = None
    """FADE's measures of its neurons' labels, where they were kept."""
    features: Sequence[FoundFeatures] = ()
    """Those of sparse autoencoders that were found of this model and kept."""
    suites: Sequence[SuiteResult] = ()
    """Its answers to suites of prompts, where they were kept."""
    pairs: Sequence[PairsResult] = ()
    """Its scores on minimal pairs, where they were kept."""
    card: CardResult | None = None
    """Its score card, where one was kept."""
    instruct: InstructResult | None = None
    """How far it does what instructions ask, where that was kept."""
    instruct_grades: Sequence[InstructGradesResult] = ()
    """What graders say of the same stories."""
    copies: CopiesResult | None = None
    """What it copies from its training stories, where that was kept."""
    live: Live | None = None
    """The model itself, where the page runs it."""
    no_live: str = ""
    """Why it is not there."""
    given: str = "MODEL"
    """The `--model` of commands about it, from `models.given_of`."""


def compute(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    metrics: Sequence[Mapping[str, Any]] = (),
    texts: Sequence[str] = (),
    shown: int = 6,
    twins: int = TWINS,
    film: Sequence[SnapshotResult] = (),
    causes: bool | None = None,
    live: bool | None = None,
    max_new_tokens: int = 256,
) -> ReportData:
    """Scan `stories` for heads, neurons and lens, and analyse `shown` of them in full, after the user's own `texts`.

    `twins` untrained twins are counted on the first stories, none where these are too few. With `causes` every head is
    swapped and ablated, by default where that takes under a minute; with `live` the page runs the model, by default
    where it is small. InputError as for the analyses, for no story, and for a model that no page runs.
    """
    running = live_of(model, live)
    corpus = list(several_texts(stories))
    described = stories if isinstance(stories, Corpus) else Corpus(tuple(corpus), getattr(stories, "name", GIVEN))
    measured, a_story = _timed_loss(model, corpus)
    heads, depth, *of_neurons = scan(model, corpus, OF_HEADS + (OF_NEURONS if models.spec_of(model).mlp_width else ()))
    checked = causes_of_heads(model, described, heads, wanted=causes, a_story=a_story, twins=twins)
    chosen = _choose(model, [*texts], corpus, max(shown, len(texts)))
    in_full = _in_full(model, chosen)
    return ReportData(
        name=name or models.name_of(model),
        given=models.given_of(model),
        description=models.describe(model),
        config=config or {},
        metrics=metrics,
        source=described.source,
        remark=described.remark,
        loss=measured,
        audit=verdict_of(model),
        twins=_twins(model, described, twins, heads.counts(), (heads if checked is None else checked.roles).counts()),
        causes=checked,
        no_causes="" if checked is not None or causes is False else why_not(described, heads, a_story),
        heads=heads if checked is None else checked.roles,
        neurons=_neurons(model, chosen, *of_neurons) if of_neurons else None,
        depth=depth,
        film=film,
        **in_full,
        **_samples(model, max_new_tokens),
        **_kept(model) | _live(model, running, in_full["patterns"]),
    )


def _live(model: "LanguageModel", found: tuple[Live | None, str], patterns: Sequence[PatternResult]) -> dict[str, Any]:
    """The model for the page with what rounding does on the stories shown, and why it is not there, by field."""
    live, why = found
    return {"live": live and with_figures(live, model, [pattern.text for pattern in patterns]), "no_live": why}


def _kept(model: "LanguageModel") -> dict[str, Any]:
    """What other commands found of the model and kept for its page, by field."""
    instruct, grades = answers.kept_instruct(model)
    return {
        "circuits": circuits.kept(model),
        "fade": fade.kept(model),
        "features": features.kept(model),
        "suites": answers.kept_suites(model),
        "instruct": instruct,
        "instruct_grades": grades,
        "pairs": answers.kept_pairs(model),
        "card": answers.kept_card(model),
        "copies": answers.kept_copies(model),
    }


def _timed_loss(model: "LanguageModel", corpus: list[str]) -> tuple[LossResult, float]:
    """The loss, and the seconds that one story took. InputError for no story."""
    if not corpus:
        raise InputError("There is no story to report on: the source is empty or everything was filtered out.")
    began = time.monotonic()
    return loss(model, corpus), (time.monotonic() - began) / len(corpus)


def _neurons(model: "LanguageModel", chosen: list[str], found: ProfilesResult, tested: HeldOutResult) -> FoundNeurons:
    """What was found of the neurons, and the usual ones over these whole stories."""
    choice = neurons_analysis.usual_choice(found.max)
    with stage("reading stories neuron by neuron"):
        whole = neurons_analysis.in_stories(model, chosen, [*choice], reasons=[*choice.values()]) if chosen else None
    return FoundNeurons(tested.qualify(found), tested, whole)


def _in_full(model: "LanguageModel", chosen: list[str]) -> dict[str, Any]:
    """Attention and lens of these stories, cut to what is shown, by field."""
    tokenizer, limit = models.story_tokenizer_of(model), min(SHOWN_TOKENS, models.spec_of(model).n_ctx)
    with stage("reading stories head by head"):
        cut = [_cut(tokenizer, text, limit) for text in chosen]
        return {
            "patterns": [heads_analysis.pattern(model, text) for text in cut],
            "lenses": [lens_analysis.of_prompt(model, text) for text in cut],
        }


def _samples(model: "LanguageModel", max_new_tokens: int) -> dict[str, Any]:
    """What the model writes, and how it was drawn, by field."""
    with stage("writing stories"):
        prompts = with_room(model, PROMPTS)
        written = generate(model, prompts, max_new_tokens=max_new_tokens, sampling=SAMPLING)
    drawn = f"temperature {SAMPLING.temperature}, top-p {SAMPLING.top_p}, seed {SAMPLING.seed}"
    return {"samples": list(zip(prompts, written, strict=True)), "sampling": drawn}


def _twins(
    model: "LanguageModel", corpus: Corpus, n: int, before: Mapping[str, int], after: Mapping[str, int]
) -> TwinsResult | None:
    """The counts beside those of twins, less the roles that swaps contradict: those that are counted `before`, and not
    `after`."""
    if not n or len(set(islice(corpus, STORIES))) < FEWEST:
        return None
    return compare(model, corpus, n=n).without({label: count - after[label] for label, count in before.items()})


def _choose(model: "LanguageModel", own: list[str], corpus: list[str], count: int) -> list[str]:
    """The user's texts, then stories of the corpus that fit whole, then others."""
    tokenizer, limit = models.story_tokenizer_of(model), min(SHOWN_TOKENS, models.spec_of(model).n_ctx)
    fresh = list(dict.fromkeys(corpus[: 40 * count]))
    lengths = [len(row) for row in tokenizer.encode(fresh)] if fresh else []
    whole = [text for text, length in zip(fresh, lengths, strict=True) if 24 <= length <= limit]
    others = [text for text in fresh if text not in set(whole)]
    return (own + whole + others)[:count]


def _cut(tokenizer: "Tokenizer", text: str, limit: int) -> str:
    spans = tokenizer.offsets(text)
    return text if len(spans) <= limit else text[: spans[limit - 1][1]]
