"""The whole audit of the bundled model and of the rotary style: twenty models built by hand, which take an hour each.

`TSLENS_AUDIT_MODELS` sets another number of models, and `TSLENS_AUDIT_RUNS` another number of simulated corpora.
"""

import os

import numpy as np
import pytest

from tslens import models, stats
from tslens.audit import AuditResult, audit
from tslens.audit.running import STORIES
from tslens.audit.simulated import RUNS
from tslens.stories import stories

MODELS, TWINS = int(os.environ.get("TSLENS_AUDIT_MODELS", "20")), 5
CORPORA = int(os.environ.get("TSLENS_AUDIT_RUNS", RUNS))

pytestmark = pytest.mark.stress


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(stories("made@validation", limit=STORIES))


@pytest.fixture(scope="module")
def whole(texts: list[str]) -> AuditResult:
    """The audit of the bundled model, as `analyses/audit.py` runs it."""
    return audit(models.load("stories2M"), texts, seeds=MODELS, n=TWINS, runs=CORPORA)


def test_the_whole_audit_passes_on_the_bundled_model(whole: AuditResult) -> None:
    assert whole.failures == [] and whole.models == MODELS and whole.twins == TWINS


def test_the_whole_audit_passes_on_real_stories(shared) -> None:
    """With rotary positions: stories260K on TinyStories."""
    model = models.load(f"llama2c:{shared / 'data/models/stories260K.bin'}")
    texts = stories(f"{shared / 'data/stories/tinystories-v2.jsonl'}@validation", limit=STORIES)
    assert audit(model, texts, seeds=MODELS, n=TWINS, runs=CORPORA).failures == []


def test_without_benjamini_and_hochberg_the_whole_audit_fails(
    whole: AuditResult, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels that it gives to random components fail it, and these alone: with q it passes."""
    of_labels = "roles and parts of speech are given to random components"
    assert of_labels not in whole.verdict
    monkeypatch.setattr(stats, "benjamini_hochberg", lambda p: np.asarray(p, dtype=float))
    without = audit(models.load("stories2M"), texts, seeds=MODELS, n=TWINS, runs=CORPORA)
    assert not without.passes and of_labels in without.verdict
