"""Made answers of any shape, so that the page is tested without running a model, and a browser without a network."""

import dataclasses
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import models
from tslens.analysis import heads as heads_analysis
from tslens.analysis.heads import (
    FADING,
    GROWING,
    KINDS,
    MOSTLY,
    PUBLISHED,
    ROLES,
    AblationResult,
    KindsResult,
    PatternResult,
    RolesResult,
    SwapsResult,
    WritesResult,
)
from tslens.analysis.heads.ablation_result import MATTERING
from tslens.analysis.heads.kinds_words import CLASSES
from tslens.analysis.heads.names import names
from tslens.analysis.heads.swaps_result import UNRESOLVED
from tslens.analysis.lens import ByDepthResult, OfPromptResult, settled
from tslens.analysis.neurons import SILENT, HeldOutResult, InStoriesResult, ProfilesResult, usual_choice
from tslens.analysis.neurons.held_out_result import TESTED
from tslens.dynamics import SnapshotResult
from tslens.dynamics.snapshot import UNITS
from tslens.evaluation.loss import LossResult
from tslens.report import ReportData
from tslens.report.causes import Causes
from tslens.report.neurons import FoundNeurons
from tslens.result import axes_of
from tslens.twins import TwinsResult

EVIL = "<script>alert(1)</script>"
VOCABULARY = ["<|endoftext|>", "\n", "`${alert(1)}`", "&amp;", "<!--", "]]>", EVIL, " \"'", "\u2028"] + [
    f" {word}" for word in "cat dog tree she he they ran saw big red happy the a was to and sun ball Lily Tom".split()
]


def drawn(cls: type, sizes: dict[str, int], **fixed: Any) -> Any:
    """A result whose arrays are random, of the shapes that its annotations say; other fields as given."""
    fields: dict[str, Any] = {}
    for field in [field for field in dataclasses.fields(cls) if not field.kw_only]:
        axes = axes_of(cls, field.name)
        if field.name in fixed or axes is None:
            fields[field.name] = fixed[field.name]
            continue
        shape = [sizes[axis] for axis in axes]
        kind: Any = field.type
        name = kind.__name__
        if name.startswith("Float"):
            fields[field.name] = torch.rand(shape)
        elif name.startswith("Bool"):
            fields[field.name] = torch.rand(shape) > 0.5
        else:
            fields[field.name] = torch.randint(0, 3, shape)
    return cls(**fields)


def twins_of(model: str, depths: list[str]) -> TwinsResult:
    """Counts of which those of roles, of parts of speech and of what the embedding settles exceed every twin's."""
    of_neurons = ["part-of-speech neurons", "one-word neurons"]
    labels = ["heads with a role", "induction heads", *of_neurons, *(f"{label} that predict" for label in of_neurons)]
    labels += [PUBLISHED, GROWING, FADING, MOSTLY, SILENT, *map(settled, depths[:-1])]
    later = len(depths) - 2
    count = torch.tensor([2, 1, 30, 8, 20, 5, 6, 1, 2, 3, 4, 300, *[550] * later])
    rows = [
        [0, 0, 0, 9, 0, 5, 6, 0, 1, 0, 2, 100, *[610] * later],
        [0, 1, 1, 17, 0, 8, 7, 3, 1, 0, 5, 200, *[930] * later],
    ]
    of_twins = torch.tensor(rows)
    return beside(model, 100, labels, count, of_twins)


def beside(model: str, stories: int, labels: list[str], count: torch.Tensor, of_twins: torch.Tensor) -> TwinsResult:
    """These counts beside those of two twins."""
    least, most = of_twins.amin(0), of_twins.amax(0)
    low, high = count - 0.5, count + 0.5
    p = (1 + (of_twins >= count).sum(0)) / 3
    twins = ["permuted twin 0", "fresh twin 0"]
    return TwinsResult(model, stories, labels, twins, count, low, high, least, most, p, low > most, of_twins)


def causes_of(roles: RolesResult, shape: dict[str, int]) -> Causes:
    """Interventions of random outcome on heads of these roles, none of which is withheld."""
    sizes = shape | {"keys": 2, "swap": 3}
    code = torch.full((2, *roles.role_code.shape), UNRESOLVED)
    read = {"model": roles.model, "stories": 30, "copies": 1, "context": 96, "replaced": 0.5}
    swaps = drawn(SwapsResult, sizes, **read, verdict_code=code)
    about = {"model": roles.model, "stories": 80, "groups": 8, "roles": roles.roles, "of_twins": [0, 2]}
    nothing = torch.full((len(KINDS), *roles.role_code.shape), torch.nan)
    kinds = drawn(KindsResult, shape | {"kind": len(KINDS)}, p_of_words=nothing, **about)
    writes = drawn(WritesResult, shape | {"kind": len(CLASSES)}, p_of_words=nothing[: len(CLASSES)], **about)
    of = {"model": roles.model, "on": "stories", "copying": "", "kinds": ("zero", "mean", "resample"), "rows": 30}
    of |= {
        "tokens": 3000,
        "baseline": 2.0,
        "roles": names((len(roles.roles), len(roles.roles[0])), roles, kinds, writes),
    }
    of["tests"] = [f"{i}.{j} induction" for i, row in enumerate(roles.roles) for j in range(len(row))]
    ablation = drawn(AblationResult, shape | {"kind": 3, "test": len(of["tests"])}, **of)
    agreement, kernels = heads_analysis.agreement(roles, swaps), heads_analysis.kernels(roles, swaps)
    ablated = beside(roles.model, 32, [MATTERING], torch.tensor([3]), torch.tensor([[0], [1]]))
    return Causes(roles, swaps, agreement, kernels, kinds, writes, ablation, ablated)


def made_data(
    *,
    layers: int = 2,
    heads: int = 4,
    d_mlp: int = 32,
    tokens: int = 24,
    stories: int = 2,
    ranks: int = 6,
    vocabulary: list[str] | None = None,
    **changed: Any,
) -> ReportData:
    """Answers about a model that does not exist; the page cannot tell. Every text field holds markup."""
    words = vocabulary or VOCABULARY
    spec = models.Spec(8 * heads, layers, heads, d_vocab=len(words), n_ctx=max(tokens, 8), d_mlp=d_mlp)
    shape = {"layer": layers, "head": heads, "neuron": d_mlp, "offset": 8, "claim": 5, "tag": 4, "rank": ranks}
    shape |= {"drawn": 2, "token": ranks + 2}
    shape |= {"window": 11, "sample": 60, "random": 4, "quantile": 3, "example": 2, "effect": 5}
    shape |= {"query": tokens, "key": tokens, "depth": layers + 1, "pos": tokens, "k": 5, "story": 9}
    depths = ["embed", *map(str, range(layers))]
    pieces, texts, patterns, lenses = [], [], [], []
    read = torch.randint(1, len(words), (60, 300))  # the corpus: story by position
    read[:, 0] = 0
    for i in range(stories):
        pieces.append([words[t] for t in read[i, :tokens].tolist()])
        texts.append("".join(pieces[-1][1:]))
        scores = (
            torch.randn(layers, heads, tokens, tokens).mul(2).masked_fill(torch.ones(tokens, tokens).triu(1) > 0, -1e9)
        )
        patterns.append(PatternResult(spec.name, texts[-1], pieces[-1], scores.softmax(-1)))
        top = torch.rand(layers + 1, tokens, 5).sort(-1, descending=True).values / 2
        truth = torch.rand(layers + 1, tokens)
        truth[:, -1] = float("nan")
        rank = torch.randint(1, len(words), (layers + 1, tokens))
        rank[:, -1] = 0
        ids = torch.randint(0, len(words), (layers + 1, tokens, 5))
        names = [[[words[t] for t in place] for place in row] for row in ids.tolist()]
        lenses.append(
            OfPromptResult(
                spec.name, texts[-1], pieces[-1], depths, names, ids, top, truth, rank, torch.rand(layers + 1, tokens)
            )
        )

    def windows(story: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
        at = pos[..., None] + torch.arange(-5, 6)
        return torch.where((at >= 0) & (at < 300), read[story[..., None], at.clamp(0, 299)], -1)

    top_story = torch.randint(0, 60, (layers, d_mlp, ranks))
    top_pos = torch.randint(1, 300, (layers, d_mlp, ranks))
    sample_story, sample_pos = torch.randint(0, 60, (60,)), torch.randint(1, 300, (60,))
    values = torch.rand(layers, d_mlp, ranks).sort(-1, descending=True).values * 5
    label = torch.randint(-1, 4, (layers, d_mlp))
    by_word = (label < 0) & (torch.rand(label.shape) < 0.3)
    word = torch.randint(1, len(words), label.shape)
    value = 0.6 + 0.4 * torch.rand(*label.shape, len(TESTED))
    value[..., TESTED.index("base_rate")] = 0.2
    fields: dict[str, Any] = {
        "name": f"made {EVIL}",
        "description": models.describe(models.build(spec)),
        "config": {"tokens": 1000, "step": 10, "data": {"source": EVIL}, "validation_loss": 2.0, "bits_per_byte": 1.0},
        "metrics": [
            {"step": i, "tokens": 100 * i, "train_loss": 5 / i, "validation_loss": 6 / i if i % 2 else None}
            for i in range(1, 20)
        ],
        "source": f"stories {EVIL}",
        "remark": "",
        "loss": LossResult(
            torch.rand(9) * 50 + 50, torch.randint(30, 60, (9,)), torch.randint(120, 200, (9,)), 0, spec.name
        ),
        "twins": twins_of(spec.name, depths),
        "audit": None,
        "heads": drawn(
            RolesResult, shape, model=spec.name, stories=9, queries=300, groups=3,
            role_code=torch.randint(0, len(ROLES), (layers, heads)),
        ),
        "neurons": drawn(
            ProfilesResult, shape, top_story=top_story, top_pos=top_pos, top_contexts=windows(top_story, top_pos),
            top_tags=label.clamp(min=0)[..., None].expand(-1, -1, ranks).clone(),
            top_tokens=windows(top_story, top_pos)[..., 5], top_values=values, max=values[..., 0], label=label,
            best=label.clamp(min=0), by_word=by_word, word=word,
            sample_story=sample_story, sample_pos=sample_pos,
            sample_contexts=windows(sample_story, sample_pos), sample_tokens=windows(sample_story, sample_pos)[..., 5],
            quantile_samples=torch.randint(0, 60, (layers, d_mlp, 3, 2)),
            promoted_tokens=torch.randint(0, len(words), (layers, d_mlp, 5)),
            suppressed_tokens=torch.randint(0, len(words), (layers, d_mlp, 5)),
            quantiles=[0.99, 0.75, 0.5], tags=["NOUN", "VERB", "ADJ", EVIL], pieces=words, model=spec.name,
            precision="float32", n_tokens=18000, n_stories=60,
        ),
        "depth": drawn(ByDepthResult, shape, model=spec.name, stories=9, tokens=300, depths=depths),
        "patterns": patterns,
        "lenses": lenses,
        "samples": [("", f"A story. {EVIL}"), ("Once", f"Once {EVIL} upon")],
        "sampling": "temperature 0.7",
    }  # fmt: skip
    fields["causes"] = causes_of(fields["heads"], shape)
    alike = torch.rand(label.shape) < 0.08  # so that one neuron in 15 has a label that half of the stories give too
    profiles = fields["neurons"]
    tested = drawn(
        HeldOutResult, shape | {"measure": len(TESTED)}, label=label.where(alike, -1),
        by_word=by_word & alike, word=word, value=value, low=value - 0.1, high=(value + 0.1).clamp(max=1),
        tags=profiles.tags, pieces=words, model=spec.name, n_labelled=30, n_tested=30, n_tokens=9000,
    )  # fmt: skip
    choice = usual_choice(profiles.max)
    whole = InStoriesResult(
        torch.randn(len(choice), tokens * stories), [list(place) for place in choice], [*choice.values()], pieces,
        spec.name,
    )  # fmt: skip
    fields["neurons"] = FoundNeurons(tested.qualify(profiles), tested, whole)
    return ReportData(**fields | changed)


@pytest.fixture(scope="session")
def made() -> Callable[..., ReportData]:
    """`made_data`, for tests to call with the shape that they need."""
    return made_data


def film_of(
    steps: list[int], layers: int = 2, heads: int = 4, d_mlp: int = 32, text: str = f"A story. {EVIL}"
) -> list[SnapshotResult]:
    """Snapshots of a run whose loss falls by one at each; from half of them on, half of its neurons are nouns."""
    found = []
    for i, step in enumerate(steps):
        scores = [*UNITS, "heads with a role", "NOUN neurons"]
        value = torch.full((len(scores),), 0.5)
        value[0], value[-1] = float(len(steps) - i), float(d_mlp * (2 * i >= len(steps)))
        label = torch.full((layers, d_mlp), -1)
        label[:, : d_mlp // 2] = 0 if 2 * i >= len(steps) else -1
        sizes = {"layer": layers, "head": heads, "neuron": d_mlp, "depth": layers + 1, "measure": 4}
        sizes["score"] = len(scores)
        found.append(
            drawn(
                SnapshotResult, sizes, model=f"made@{step}", step=step, stories=30, scores=scores, value=value,
                low=value - 0.1, high=value + 0.1, depths=["embed", *map(str, range(layers))],
                role_code=torch.full((layers, heads), i % len(ROLES)), labels=["NOUN", EVIL], label=label,
                prompts=["", "A"], texts=[f"{text} {step}", f"A story {step}"],
            )
        )  # fmt: skip
    return found


@pytest.fixture(scope="session")
def made_film() -> Callable[..., list[SnapshotResult]]:
    """`film_of`, for tests to call with the steps that they need."""
    return film_of


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs chromium and chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "host-resolver-rules=MAP * ~NOTFOUND",
        "force-prefers-reduced-motion",
        "window-size=1400,1000",
        f"user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    opened.execute_cdp_cmd("Network.enable", {})
    opened.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield opened
    opened.quit()


class Open:
    """A page in the browser, with what it asked for and what it complained of."""

    def __init__(self, browser: Any, place: Path) -> None:
        self.browser = browser
        for log in ("browser", "performance"):
            browser.get_log(log)
        browser.get(place.as_uri())
        self.until("document.body.dataset.ready === 'true'")

    def __call__(self, script: str) -> Any:
        return self.browser.execute_script(script)

    def until(self, condition: str) -> Any:
        """The value of a JavaScript expression as soon as it is true."""
        for _ in range(400):
            if value := self.browser.execute_script(f"return {condition}"):
                return value
            time.sleep(0.05)
        raise AssertionError(f"never became true: {condition}")

    def all(self, css: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", css))

    def one(self, css: str) -> Any:
        return self.browser.find_element("css selector", css)

    def click(self, css: str) -> None:
        """As a person would: scroll there, then press."""
        element = self.one(css)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def requests(self) -> list[str]:
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture
def opener(browser: Any) -> Callable[[Path], Open]:
    """Opens a file in the browser."""
    return lambda place: Open(browser, place)
