"""Circuits on the page: kept beside the model whose weights they are of, and shown with their graph and controls."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import models, report
from tslens.analysis.circuits import CircuitResult
from tslens.report import ReportData
from tslens.report.circuits import keep, kept, section
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

EVIL = "<script>alert(1)</script>"


def circuit(**changed: Any) -> CircuitResult:
    """A circuit of two heads of one layer, of which the second works against the answer."""
    nodes, edges = ["0.0", "0.1", "MLP 0"], ["input → 0.0", "0.0 → logits", "0.1 → logits"]
    controls = [
        ("circuit", 2, 0.93, 1.0),
        ("random sets", 2, 0.11, 0.01),
        ("nonsense", 3, 0.5, 0.2),
        ("permuted", 1, 0, 1),
    ]
    evidence = [
        {
            "control": name,
            "size": size,
            "faithfulness": share,
            "low": share - 0.1,
            "high": share + 0.1,
            "p": p,
            "effect": p,
        }
        for name, size, share, p in controls
    ]
    evidence.append({"control": "Jaccard overlap of 9 samples' circuits", "overlap": 0.875, "by_chance": 0.1875})
    evidence.append({"control": "test of equivalence", "p": 0.5, "share": 0.15625})
    fields: dict[str, Any] = {
        "model": "m",
        "task": "character",
        "question": f"who? {EVIL}",
        "pairs": 20,
        "dropped": {},
        "does": True,
        "accuracy": 0.9,
        "low": 0.8,
        "high": 0.95,
        "nodes": nodes,
        "members": torch.tensor([True, True, False]),
        **{name: torch.tensor([0.6, 0.3, 0.0]) for name in ("screen", "alone", "frequency", "minimality_p")},
        "evidence": evidence,
        "edges": edges,
        **{name: torch.tensor([0.5, 0.4, -0.3]) for name in ("edge_effect", "edge_low", "edge_high")},
        "seconds": 1.0,
    }
    return CircuitResult(**fields | changed)


def test_a_circuit_is_kept_beside_the_model_of_these_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    tokenizer = Tokenizer.train(list(stories("made", limit=20)), 300)
    spec = models.Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=16)
    model, other = (models.build(spec, seed=seed, tokenizer=tokenizer) for seed in (0, 1))
    assert kept(model) == []
    keep(model, circuit())
    keep(model, circuit(task="colour", does=False))
    keep(model, circuit(accuracy=0.7))  # the last of a task stays
    assert [(found.task, found.accuracy) for found in kept(model)] == [("character", 0.7), ("colour", 0.9)]
    assert kept(other) == []
    (tmp_path / "circuits").rename(tmp_path / "elsewhere")
    assert kept(model) == []


def test_the_bundled_model_brings_one_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    (found,) = kept(models.load("stories2M"))
    assert found.task == "character" and found.does and len(found.chosen) < len(found.nodes) / 2


def test_the_section_has_graph_verdict_and_controls() -> None:
    shown = section([circuit(), circuit(task="colour", does=False)], "m")
    assert shown.count("<svg") == 2 and EVIL not in shown and "who? &lt;script&gt;" in shown
    assert "2 of 3 nodes (0.0, 0.1) keep 0.93" in shown and "m does not do this (colour)" in shown
    assert shown.count("<tr>") == 7 and "<td>random sets</td>" in shown and ">0.01</td>" in shown
    assert ">overlap</th>" in shown and ">0.875</td>" in shown and ">0.188</td>" in shown and ">0.156</td>" in shown
    assert "tslens analyze circuit character --model m" in section([], "m")


def test_the_graph_stands_on_the_page(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path
) -> None:
    page = opener(report.write(report.draw(made(circuits=[circuit()])), tmp_path / "report.html"))
    assert page.one("#circuits svg").size["height"] > 100 and page.one("#circuits h3").text == f"who? {EVIL}"
    assert page.complaints() == []
