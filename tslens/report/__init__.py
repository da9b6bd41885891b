"""One offline page of evidence about a model.

In a notebook, `show(result)` opens the page's view of one result in the cell.
"""

from tslens.report.compute import ReportData, compute
from tslens.report.page import check_writable, display_name, draw, write
from tslens.report.view import View, show

__all__ = ["ReportData", "View", "check_writable", "compute", "display_name", "draw", "show", "write"]
