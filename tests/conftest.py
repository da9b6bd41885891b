"""What every test may count on: fixed seeds, one thread, no network libraries, and the shared real data where it is."""

import os
import pickle
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxtyping
import numpy as np
import pytest

from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.stories.generator import MadeStory
    from tslens.tokenizer import Tokenizer

# Before torch, transformers or datasets are imported by anyone.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("MPLBACKEND", "agg")
for _switch in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
    os.environ[_switch] = "1"

# Shapes and types are checked at every call of whatever holds arrays; an int is a float, as everywhere in Python
# (PEP 484). Functions within functions are left out, which would be compiled anew at every call of the outer one. What
# takes minutes runs UNCHECKED, up to a quarter faster: it calls what the other tests have checked.
CHECKED = ("result", "stats", "models", "forward", "generate", "batching", "draws", "scan", "analysis", "evaluation")
CHECKED += ("train", "report", "dynamics", "halves", "sae", "ngrams")
_jaxtyped = jaxtyping.jaxtyped


def _checked(fn: Any = None, *, typechecker: Any) -> Any:
    if fn is None:
        return partial(_checked, typechecker=typechecker)
    return fn if "<locals>" in getattr(fn, "__qualname__", "") else _jaxtyped(fn, typechecker=typechecker)


jaxtyping.jaxtyped = _checked  # what the hook decorates every function with
if "UNCHECKED" not in os.environ:
    jaxtyping.install_import_hook(
        [f"tslens.{module}" for module in CHECKED],
        "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
    )

CHECKOUT = Path(__file__).resolve().parents[1]
THOROUGH = {"browser", "wheel"}
"""Fixtures that need Chromium, or build a wheel: their tests run in `make test-all`."""
LONGEST = ("audit", "notebooks", "site", "cluster", "study", "documents")
"""Files that take minutes, longest first: they start first, so that no process ends with one of them alone."""
MAY_SKIP = "needs a GPU"
"""The reason that `--no-skips` lets pass: what no file of the project can install."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="a skipped test fails, but for a GPU")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not THOROUGH.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("thorough")
    last, tests = len(LONGEST), Counter(item.path for item in items)
    place = {f"test_{name}": i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (place.get(item.path.stem, last), -tests[item.path]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.config.getoption("--no-skips") and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not reason.removeprefix("Skipped: ").startswith(MAY_SKIP):
            report.outcome, report.longrepr = "failed", f"skipped where nothing may be: {reason}"
    return report


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The repository's root."""
    return CHECKOUT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data, beside the checkout or at $TSLENS_SHARED; where it is absent the test is skipped."""
    folder = Path(os.environ.get("TSLENS_SHARED", CHECKOUT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"needs the real data: {folder}/data is not there")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """One thread per process: the workers of pytest-xdist share the cores, and sums keep their order."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What tslens keeps to make it only once is kept apart from the person's own; subprocesses take it too."""
    os.environ["TSLENS_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def _stories_are_made_once() -> Iterator[None]:
    """Many tests read the first few hundred made stories, and story i of a seed is always the same: made once a
    process, by the generator itself. Its own tests, which import `generate` before this, make theirs anew."""
    from tslens.stories import generator

    generate, lock = generator.generate, threading.Lock()
    made: dict[int, tuple[list[MadeStory], Iterator[MadeStory]]] = {}

    def kept(n: int, seed: int = 0) -> Iterator["MadeStory"]:
        stories, more = made.setdefault(seed, ([], generate(sys.maxsize, seed)))
        for i in range(n):
            with lock:
                stories.extend(islice(more, max(0, i + 1 - len(stories))))
            yield stories[i]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generator, "generate", kept)
        yield


@pytest.fixture(autouse=True)
def _seeds() -> None:
    """Every test starts from the same seeds, in whatever order tests run."""
    import torch

    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  libraries under test still draw from it
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables have all their columns: pytest's workers set COLUMNS."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Ctrl-C raises, though a shell's background job ignores it; what a library makes of signals ends with the test."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is also the working folder, so that `runs/` and the like land in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def tokenizer() -> "Tokenizer":
    """A tokenizer of 279 tokens, for what needs one and does not ask which."""
    from tslens.tokenizer import Tokenizer

    return Tokenizer.train(["the cat sat on the mat and the cat was glad"] * 5, 280)


@pytest.fixture(scope="session")
def loud() -> Callable[[Any], Any]:
    """`loud(MODEL)`: the same model with weights large enough for its every part to be felt."""
    import torch

    def made(model: Any) -> Any:
        generator = torch.Generator().manual_seed(9)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
        return model

    return made


@pytest.fixture(scope="session")
def made_stories() -> list[str]:
    """24 stories of the generator."""
    from tslens.stories.generator import generate

    return [made.text for made in generate(24)]


@pytest.fixture(scope="session")
def made_words(made_stories: list[str]) -> "Tokenizer":
    """A tokenizer of 300 tokens trained on them."""
    from tslens.tokenizer import Tokenizer

    return Tokenizer.train(made_stories, 300)


@pytest.fixture(params=[None, 36], ids=["shared embedding", "its own"])
def compressor(request: pytest.FixtureRequest, made_words: "Tokenizer", loud: Callable[[Any], Any]) -> Any:
    """A small compressor whose every part is felt, with that tokenizer."""
    from tslens import models

    spec = models.CompressorSpec(24, 1, 2, 2, n_heads=3, d_vocab=made_words.size, n_ctx=32, d_encoder=request.param)
    return loud(models.build(spec, tokenizer=made_words))


@pytest.fixture
def refused() -> Callable[[str], AbstractContextManager[None]]:
    """`with refused(PATTERN):` what is inside raises an InputError that says so, in one line."""

    @contextmanager
    def check(pattern: str) -> Iterator[None]:
        with pytest.raises(InputError, match=pattern) as caught:
            yield
        assert "\n" not in str(caught.value)

    return check


class _Planted:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Path]]:
        return Path.touch, (self.mark,)


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[bytes]:
    """A pickle that leaves a file when it is opened. After the test there must be none."""
    mark = tmp_path / "opened"
    yield pickle.dumps(_Planted(mark))
    assert not mark.exists()
