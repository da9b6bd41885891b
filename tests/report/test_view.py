import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import report
from tslens.report import ReportData
from tslens.report.shell import bundle

EVIL = "<script>alert(1)</script>"


def written(view: report.View, folder: Path) -> Path:
    """The view as Jupyter has it: its frame inside a page, the frame's document taken from there."""
    found = re.search(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts', view._repr_html_())
    assert found
    return report.write(html.unescape(found[1]), folder / "view.html")


def test_a_pattern_is_looked_into(
    made: Callable[..., ReportData], opener: Callable[[Path], Any], tmp_path: Path
) -> None:
    data = made(layers=2, heads=3, tokens=12)
    page = opener(written(report.show(data.patterns[0]), tmp_path))
    page.click('.head[data-head="4"]')
    assert page.one("#head-detail h3").text.startswith("Layer 1, head 1")
    page.until("document.querySelector('#head-matrix canvas')?.width > 100")
    assert page.complaints() == []
    page = opener(written(report.show(data.patterns[0], data.heads), tmp_path))
    assert data.heads.roles[0][0] in page.one(".head").get_attribute("aria-label")
    assert page.complaints() == []


def test_the_lens_and_the_neurons_are_looked_into(
    made: Callable[..., ReportData], opener: Callable[[Path], Any], tmp_path: Path
) -> None:
    data = made(layers=2, tokens=12)
    page = opener(written(report.show(data.lenses[0]), tmp_path))
    assert len(page.all(".cell")) == 3 * 12
    page.click('.cell[data-i="30"]')
    assert f"{float(data.lenses[0].top_probability[2, 6, 0]):.1%}" in page.one("#lens-readout").text
    assert page.complaints() == []
    page = opener(written(report.show(data.neurons.profiles), tmp_path))
    page.one("#neuron-search").send_keys("0.5")
    page.until("document.querySelectorAll('tr.row').length === 1")
    assert page.complaints() == []
    assert {url.partition(":")[0] for url in page.requests()} <= {"file", "data"}


def test_only_attention_brings_circuitsvis_along(made: Callable[..., ReportData]) -> None:
    data = made()
    assert bundle() in report.show(data.patterns[0]).page
    for answer in (data.lenses[0], data.neurons.profiles):
        assert len(report.show(answer).page) < 250_000
        assert EVIL not in report.show(answer).page


def test_what_has_no_view_is_refused(made: Callable[..., ReportData]) -> None:
    with pytest.raises((ValueError, TypeError), match="has no view|Type-check"):
        report.show(made().depth)


@pytest.mark.parametrize("answer", ["heads", "neurons", "depth", "loss", "patterns", "lenses"])
def test_answers_show_themselves_without_reaching_out(made: Callable[..., ReportData], answer: str) -> None:
    data = made(layers=2, tokens=12)
    data.heads.effect[:] = torch.rand(2, 4)
    result = data.neurons.profiles if answer == "neurons" else getattr(data, answer)
    result = result[0] if isinstance(result, list) else result
    shown = result._repr_html_()
    assert "<svg" in shown
    assert EVIL not in shown
    assert not re.search(r"<(script|link|img|iframe)|@import|url\((?!#)", shown)
    assert not re.search(r"(src|href)=[\"'](?!#|data:)", shown)
