"""Train small story models and say, with evidence, what their heads, neurons and layers do.

>>> from tslens import load, model_stories, stories
>>> from tslens.analysis import heads
>>> from tslens.scan import scan

Importing tslens is cheap: what it exports is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tslens.corpus import model_stories as model_stories
    from tslens.errors import InputError as InputError
    from tslens.models import load as load
    from tslens.stories import stories as stories

__version__ = "0.1.0"
__all__ = ["InputError", "__version__", "load", "model_stories", "stories"]


def __getattr__(name: str) -> Any:
    """Import an exported name on first use (PEP 562).

    `stories` is the subpackage itself, which can be called: `tslens.stories` means the same thing whether or not
    somebody has imported the subpackage before.
    """
    if name == "stories":
        return import_module("tslens.stories")
    if name == "load":
        return import_module("tslens.models").load
    if name == "model_stories":
        return import_module("tslens.corpus").model_stories
    if name == "InputError":
        return import_module("tslens.errors").InputError
    raise AttributeError(f"module 'tslens' has no attribute {name!r}; it exports {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
