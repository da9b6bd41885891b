"""What `from tslens import ...` gives, whatever was imported before."""

import subprocess
import sys

import pytest

import tslens


def run(code: str) -> str:
    """The output of a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "before", ["", "import tslens.stories", "from tslens.stories import stories", "import tslens.stories.clean"]
)
def test_stories_means_one_thing(before: str) -> None:
    """The subpackage and its function share a name: calling either reads stories, and submodules stay in reach."""
    code = (
        f"{before}\n"
        "from tslens import stories\n"
        "import tslens.stories as package, tslens.stories.clean\n"
        "assert stories is package is tslens.stories\n"
        "print(list(stories('made', limit=2, seed=3)) == list(package.stories('made', limit=2, seed=3)))\n"
        "print(tslens.stories.clean.__name__)\n"
    )
    assert run(code).split() == ["True", "tslens.stories.clean"]


def test_load_is_that_of_models() -> None:
    from tslens.models import load

    assert tslens.load is load


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    names = run("import tslens.models, tslens.scan, tslens.stories, tslens; print(*dir(tslens))").split()
    assert names == sorted(tslens.__all__) == ["InputError", "__version__", "load", "model_stories", "stories"]
    for name in names:
        assert getattr(tslens, name) is not None


def test_importing_tslens_imports_no_heavy_library() -> None:
    loaded = run("import sys, tslens; dir(tslens); print(*sys.modules)").split()
    assert not {"torch", "numpy", "pandas", "transformers", "matplotlib"} & set(loaded)


def test_an_unknown_name_is_refused_with_what_there_is() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode'; it exports InputError, __version__, load, "):
        tslens.lode  # noqa: B018
