"""The figure of a search for copies: histograms of the three comparisons, and the growth of the vocabulary."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tslens import plots
from tslens.evaluation.copies.names import COMPARISONS, WHO, sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tslens.evaluation.copies.result import CopiesResult

BINS = 20


def figure(found: "CopiesResult") -> "Figure":
    """What was written and true endings, for each cut: shares of texts, and different words among the first so many."""
    return plots.panels(*_histograms(found), *_growth(found))


def _histograms(found: "CopiesResult") -> list[dict[str, Any]]:
    edges = np.linspace(0, 1, BINS + 1)
    table, charts = found.columns(), []
    for name, label in COMPARISONS.items():
        series = {}
        for share, chosen in found.sets():
            for who, writer in enumerate(WHO):
                values = table[name][chosen & (found.who.numpy() == who)]
                values = values[~np.isnan(values)]
                if len(values):
                    series[sample(writer, share)] = np.histogram(values, edges)[0] / len(values)
        if series:
            middle = (edges[1:] + edges[:-1]) / 2
            charts.append({"series": series, "x": middle, "x_label": label, "y_label": "share of texts"})
    return charts


def _growth(found: "CopiesResult") -> list[dict[str, Any]]:
    """The chart of the vocabulary of each set, with its band; none where no set has two stories."""
    names = [sample(writer, share) for share, _ in found.sets() for writer in WHO]
    curves = {name: found.growth[found.samples.index(name)].numpy() for name in names if name in found.samples}
    curves = {name: curve[~np.isnan(curve[:, 0])] for name, curve in curves.items()}
    if not curves:
        return []
    return [
        {
            "series": {name: curve[:, 0] for name, curve in curves.items()},
            "bands": {name: (curve[:, 1], curve[:, 2]) for name, curve in curves.items()},
            "x": {name: found.places.numpy()[: len(curve)] for name, curve in curves.items()},
            "x_label": "words and marks so far\n(bands: 95% of orders of these texts)",
            "y_label": "different ones",
        }
    ]
