"""One offline page of evidence about a model: `write(draw(compute(model, stories)), path)`."""

from tslens.report.compute import ReportData, compute
from tslens.report.page import draw, write

__all__ = ["ReportData", "compute", "draw", "write"]
