"""FADE's measures on the page: kept beside the model whose weights they are of, with intervals, controls and twins."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import models
from tslens.analysis.neurons import FadeResult
from tslens.report import fade
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

EVIL = "token: <script>"


def measured(n: int = 2, **changed: Any) -> FadeResult:
    """Labels of `n` neurons of layer 1: the first is above its controls by all measures, the others by none."""
    value = torch.full((n, 4), 0.5)
    value[:, 3] = torch.linspace(0.2, 0.1, n)
    low = torch.full((n, 4), 0.1)
    low[0] = 0.45
    value[-1, 0] = torch.nan
    fields: dict[str, Any] = {
        "model": "m",
        "labels": [EVIL, *["NOUN"] * (n - 1)],
        "by_word": torch.arange(n) == 0,
        "layer": torch.ones(n, dtype=torch.int64),
        "neuron": torch.arange(n) + 7,
        "value": value,
        "low": low,
        "high": value + 0.1,
        "controls": torch.full((n, 19, 4), 0.3),
        "strength": torch.full((n,), -5.0),
        "positives": torch.full((n,), 40),
        "natural": 64,
        "made": 64,
        "prompts": 32,
        "beside_twins": "On 100 stories: twins: 3",
        "corpus": "On my stories (validation)",
    }
    return FadeResult(**fields | changed)


def test_they_are_kept_beside_the_model_of_these_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    tokenizer = Tokenizer.train(list(stories("made", limit=20)), 300)
    spec = models.Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=16)
    model, other = (models.build(spec, seed=seed, tokenizer=tokenizer) for seed in (0, 1))
    assert fade.kept(model) is None
    fade.keep(model, measured())
    fade.keep(model, measured(3))  # the last stays
    found = fade.kept(model)
    assert found is not None and found.labels == [EVIL, "NOUN", "NOUN"] and fade.kept(other) is None


def test_the_panel_shows_each_measure_beside_its_controls() -> None:
    said = fade.panel(measured(), "m")
    assert '<a href="#neuron=1.7">1.7</a>' in said and "token: &lt;script&gt;" in said and EVIL not in said
    assert "<b>0.200</b> at -5<span>[0.450, 0.300]</span><span>others 0.300</span>" in said
    assert '<b class="faint">0.500</b><span>[0.100, 0.600]</span>' in said and ">–</td>" in said
    assert "faithfulness 0 of 1 parts of speech and 1 of 1 words" in said
    assert "twins: 3" in said and "my stories" in said and "Not listed" not in said
    assert said.index("1.7") < said.index("1.8")  # it writes more of its label


def test_long_lists_are_cut_and_said_to_be() -> None:
    said = fade.panel(measured(fade.ROWS + 5), "m")
    assert said.count("<tr>") == 1 + fade.ROWS and "Not listed: 5 labels" in said


def test_without_measures_the_command_is_given() -> None:
    assert "tslens analyze neurons --fade --model m does" in fade.panel(None, "m")
    nothing = measured().tensors()
    empty = {name: tensor[:0] for name, tensor in nothing.items()}
    assert "No label predicts" in fade.panel(measured(labels=[], **empty), "m")


def test_the_bundled_model_brings_them_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    found = fade.kept(models.load("stories2M"))
    assert found is not None and len(found.labels) > 20 and found.counts()["part-of-speech neurons of purity"] > 10
