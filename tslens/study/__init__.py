"""The questions of `tslens analyze all`: each part is kept as it ends, so that a study that was stopped continues."""

from tslens.study.everything import Answer, everything
from tslens.study.result import EverythingResult

__all__ = ["Answer", "EverythingResult", "everything"]
