"""The documentation site is built without a warning."""

import subprocess
import sys

import pytest


@pytest.mark.thorough
def test_the_site_is_built_without_a_warning(checkout, tmp_path):
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-d",
        str(tmp_path / "doctrees"),
        "-b",
        "html",
    ]
    done = subprocess.run([*command, str(checkout / "docs"), str(tmp_path / "html")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path / "html").as_posix() for path in (tmp_path / "html").rglob("*.html")}
    assert {
        "index.html",
        "findings.html",
        "benchmarks.html",
        "tutorials/1_first_look.html",
        "architecture.html",
        "project/contributing.html",
        "project/changes.html",
        "project/stories2M.html",
    } <= pages
    roles = (tmp_path / "html" / "reference" / "tslens.analysis.heads.html").read_text(encoding="utf-8")
    assert "decide" in roles
