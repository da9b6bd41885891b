"""`install.py` hands pip's settings on to uv."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def install(checkout):
    spec = importlib.util.spec_from_file_location("install", checkout / "install.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LISTING = """:env:.find-links='/wheels /more'
global.cert='/etc/ca.crt'
global.extra-index-url='file:///one/simple file:///two/simple'
global.find-links='/old'
install.index-url='https://mirror/simple'
freeze.index-url='https://nowhere/simple'
"""


def test_the_environment_counts_most_then_the_command_then_all(install):
    assert install.pip_settings(LISTING) == {
        "find-links": "/wheels /more",
        "cert": "/etc/ca.crt",
        "extra-index-url": "file:///one/simple file:///two/simple",
        "index-url": "https://mirror/simple",
    }
    assert install.pip_settings("install.cert='/b'\nglobal.cert='/a'\n") == {"cert": "/b"}
    assert install.pip_settings("") == {}


def test_uv_is_told_what_pip_is_and_its_own_variables_count_more(install):
    told = install.uv_environment(install.pip_settings(LISTING), {"SSL_CERT_FILE": "/own.crt", "PATH": "/bin"})
    assert told["UV_FIND_LINKS"] == "/wheels,/more"
    assert told["UV_INDEX"] == "file:///one/simple file:///two/simple"
    assert told["UV_DEFAULT_INDEX"] == "https://mirror/simple"
    assert told["SSL_CERT_FILE"] == "/own.crt" and told["PATH"] == "/bin"
    assert "UV_NO_INDEX" not in install.uv_environment({}, {})


def test_a_list_may_stand_on_several_lines(install):
    assert install.pip_settings(r"global.extra-index-url='\nhttps://one/simple\nhttps://two/simple'") == {
        "extra-index-url": "https://one/simple https://two/simple"
    }


@pytest.mark.parametrize("uv", [0, 1])
def test_pip_installs_where_uv_cannot(install, monkeypatch, capsys, uv):
    """`uv` is the exit code of uv's own installation, 0 where it fails only when it is used."""
    ran = []

    def run(*words, env=None, quiet=False):
        ran.append([str(word) for word in words])
        by_uv = ran[-1][0].endswith("uv") or ran[-1][-1] == "uv"
        code = (uv if ran[-1][-1] == "uv" else 1) if by_uv else 0
        return install.subprocess.CompletedProcess(words, code, stdout="", stderr="no such package")

    monkeypatch.setattr(install, "run", run)
    assert install.install(["dev"]) == 0
    assert ran[-1][1:4] == ["-m", "pip", "--disable-pip-version-check"] and ran[-1][-1] == ".[dev]"
    assert ("no such package" in capsys.readouterr().err) is (uv == 0)


def test_an_old_python_is_refused_in_one_line(install, monkeypatch):
    monkeypatch.setattr(install.sys, "version_info", (3, 10, 13))
    with pytest.raises(SystemExit, match=r"^tslens needs Python 3.11 or newer; .* is 3.10.13. Try: make PYTHON="):
        install.make_environment()


def test_what_is_imported_is_compiled_whatever_the_environment_says(install, tmp_path, monkeypatch):
    (tmp_path / "heavy.py").write_text("import json\n")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(install, "HOME", tmp_path)
    monkeypatch.setattr(install, "IMPORTED", ("heavy",))
    monkeypatch.setattr(install, "binary", lambda name: Path(sys.executable))
    install.compile_imported()
    assert list((tmp_path / "__pycache__").glob("heavy.*.pyc"))
