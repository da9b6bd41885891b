"""Every notebook is executed top to bottom, and its two forms say the same."""

from pathlib import Path

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.py"))


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("default")  # of the kernel's own libraries
def test_runs_top_to_bottom(path, tmp_path):
    notebook = jupytext.read(path)
    NotebookClient(
        notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.get("data", {}) for output in outputs]
    assert any("image/svg+xml" in data or "svg" in str(data.get("text/html", "")) for data in shown)
    assert not any(output.output_type == "error" for output in outputs)
    _refuse_bare_figures(notebook)


def _refuse_bare_figures(notebook):
    """A figure is seen, not named."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            assert not (data.get("text/plain", "").startswith("<") and len(data) == 1), (cell.source, data)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_both_forms_hold_the_same_cells(path):
    text, notebook = jupytext.read(path), nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    assert [(c.cell_type, c.source) for c in text.cells] == [(c.cell_type, c.source) for c in notebook.cells]
    _refuse_bare_figures(notebook)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.get("name") == "stderr"], "frames of progress bars are not kept"
