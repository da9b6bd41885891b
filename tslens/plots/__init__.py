"""Plots in one style, returned and never shown.

Each function takes arrays and names and returns a `matplotlib.figure.Figure`, without changing global state. `svg`
returns a figure as SVG text, the same text for the same data; `save` writes it atomically, with its table.
"""

from tslens.plots.charts import bars, beside_controls, histogram, lines, panels, strip
from tslens.plots.dots import intervals
from tslens.plots.graph import layered
from tslens.plots.maps import heatmap, tiles
from tslens.plots.saving import save
from tslens.plots.scales import scales
from tslens.plots.style import ABSENT, DARK, LIGHT, PALETTE, STYLE, svg

__all__ = [
    "ABSENT",
    "DARK",
    "LIGHT",
    "PALETTE",
    "STYLE",
    "bars",
    "beside_controls",
    "heatmap",
    "histogram",
    "intervals",
    "layered",
    "lines",
    "panels",
    "save",
    "scales",
    "strip",
    "svg",
    "tiles",
]
