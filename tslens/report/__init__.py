"""One offline page of evidence about a model: `write(draw(compute(model, stories)), path)`."""

from tslens.report.compute import ReportData, compute
from tslens.report.page import check_writable, display_name, draw, write

__all__ = ["ReportData", "check_writable", "compute", "display_name", "draw", "write"]
