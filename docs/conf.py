"""Configuration of the documentation site (`make docs`)."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.addnodes import pending_xref
from sphinx.ext import napoleon
from sphinx.transforms.post_transforms import SphinxPostTransform

from tslens import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

project = "tslens"
author = copyright = "the tslens authors"
release = version = __version__
extensions = ["myst_nb", "sphinx.ext.apidoc", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
html_theme = "furo"
html_title = f"tslens {release}"
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the tests execute the notebooks; the site shows what they printed

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_use_type_comments = False
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True, "ignore-module-all": True}
suppress_warnings = ["ref.python"]  # an annotation such as `bytes` is also the name of somebody's field
add_module_names = False
toc_object_entries = False
apidoc_modules = [
    {
        "path": str(ROOT / "tslens"),
        "destination": "reference",
        # of `cli` the docstrings are the commands' help, not reST; `bench` is rows of a table
        "exclude_patterns": [f"{ROOT}/tslens/{part}" for part in ("__main__.py", "cli", "bench")],
        "separate_modules": False,  # a page for each package: the sidebar of every page lists all pages
        "module_first": True,
        "max_depth": 1,
        "include_private": False,
    }
]

DOCUMENTS = {
    "project/contributing.md": ROOT / "CONTRIBUTING.md",
    "project/changes.md": ROOT / "CHANGELOG.md",
    "project/stories2M.md": ROOT / "tslens" / "bundled" / "stories2M" / "README.md",
}
"""Pages of the site that are documents of the repository; they hold no relative links."""


def _copy_pages(_: "Sphinx") -> None:
    """Put the notebooks, and the documents that lie elsewhere in the repository, where Sphinx finds them."""
    notebooks = {f"tutorials/{path.name}": path for path in (ROOT / "notebooks").glob("*.ipynb")}
    for folder in ("tutorials", "project"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
        (HERE / folder).mkdir()
    for page, path in (notebooks | DOCUMENTS).items():
        shutil.copy(path, HERE / page)


def _read_sections(app: "Sphinx", what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Read the sections of a docstring (`Args:`, `Raises:`); what is said of a field is a sentence and has none."""
    if what not in ("attribute", "data", "property"):
        config = napoleon.Config(napoleon_use_rtype=False)
        lines[:] = napoleon.GoogleDocstring(list(lines), config, app, what, name, obj, options).lines()


class OwnNames(SphinxPostTransform):
    """Names in annotations that no object of tslens has, as text: Sphinx would compare each with all objects."""

    default_priority = 5  # before references are resolved

    def run(self, **_: object) -> None:
        """Replace the references of one page."""
        own = {name.rpartition(".")[2] for name in self.env.domains["py"].data["objects"]}
        for node in list(self.document.findall(pending_xref)):
            if node["refdomain"] == "py" and node["reftarget"].rpartition(".")[2] not in own:
                node.replace_self(node.children)


def setup(app: "Sphinx") -> None:
    """Register what is done before and during a build."""
    app.add_post_transform(OwnNames)
    app.connect("builder-inited", _copy_pages)
    app.connect("autodoc-process-docstring", _read_sections)
