"""Make `.venv` and install tslens into it: `python install.py [EXTRA ...]`. By uv where it can be had, else by pip.

Both take the versions of `constraints.txt` and pip's own settings (index, extra indexes, find-links, certificate), from
its configuration files and its environment. uv's own variables, where they are set, come before pip's.
"""

import ast
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent
HOME = ROOT / ".venv"
OLDEST = (3, 11)
UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
}
"""pip's settings, and the variables through which uv gets them."""
IMPORTED = (
    "transformer_lens, matplotlib.figure",
    "torch._dynamo, pandas, pyarrow.parquet, scipy.stats, sklearn.linear_model, pydantic, cyclopts.help, rich.progress",
)
"""What tslens imports that takes long to compile: two halves, for two processes."""
COMMAS = ("UV_FIND_LINKS",)  # lists that uv parts at commas; it parts others at spaces, as pip does all


def pip_settings(listing: str) -> dict[str, str]:
    """What `pip config list` says, by option: the environment counts most, then `install`, then `global`."""
    found: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, option = key.rpartition(".")
        rank = {"global": 1, "install": 2, ":env:": 3}.get(section, 0)
        if rank >= max(1, found.get(option, (0, ""))[0]):
            found[option] = rank, " ".join(ast.literal_eval(value).split())
    return {option: value for option, (_, value) in found.items()}


def uv_environment(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` with pip's settings in the variables that uv reads, except those that are set already."""
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}
    for option, variable in UV.items():
        if value := settings.get(option):
            variables[variable] = ",".join(value.split()) if variable in COMMAS else value
    return variables | {"VIRTUAL_ENV": str(HOME)} | dict(environment)


def binary(name: str) -> Path:
    """A program of the environment."""
    return HOME / ("Scripts" if os.name == "nt" else "bin") / name


def make_environment() -> None:
    """Make `.venv` unless it is there. SystemExit says what is missing."""
    if sys.version_info < OLDEST:
        given = ".".join(map(str, sys.version_info[:3]))
        sys.exit(f"tslens needs Python 3.11 or newer; {sys.executable} is {given}. Try: make PYTHON=python3.12")
    if binary("python").exists():
        return
    try:
        venv.create(HOME, with_pip=True, clear=True)
    except subprocess.CalledProcessError:
        sys.exit(f"{sys.executable} cannot make a virtual environment. On Debian: apt-get install python3-venv")


def run(
    *words: str | Path, env: Mapping[str, str] | None = None, quiet: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a program; its standard output is kept, and its errors too where it is to be quiet."""
    errors = subprocess.PIPE if quiet else None
    return subprocess.run(
        [str(word) for word in words], stdout=subprocess.PIPE, stderr=errors, text=True, env=env, cwd=ROOT, check=False
    )


def compile_imported() -> None:
    """Write the bytecode of what tslens imports. pip compiles all that it installs, whatever PYTHONDONTWRITEBYTECODE
    says; uv compiles nothing, and where that variable is set, every process would compile its imports anew."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    commands = ([str(binary("python")), "-c", f"import {modules}"] for modules in IMPORTED)
    for process in [subprocess.Popen(command, env=environment, cwd=HOME) for command in commands]:
        process.wait()


def install(extras: list[str]) -> int:
    """Install tslens in place, with these extras; returns the installer's exit code."""
    pip = (binary("python"), "-m", "pip", "--disable-pip-version-check")
    what = ("-c", "constraints.txt", "-e", f".[{','.join(extras)}]" if extras else ".")
    if run(*pip, "install", "-qq", "-c", "constraints.txt", "uv", quiet=True).returncode == 0:
        environment = uv_environment(pip_settings(run(*pip, "config", "list").stdout), os.environ)
        by_uv = run(binary("uv"), "pip", "install", "-q", *what, env=environment, quiet=True)
        if by_uv.returncode == 0:
            compile_imported()
            return 0
        last = (by_uv.stderr.strip().splitlines() or ["no word of why"])[-1]
        print(f"uv could not install ({last}); trying pip, which takes some minutes ...", file=sys.stderr)
    return run(*pip, "install", "-qq", *what).returncode


if __name__ == "__main__":
    if any(word.startswith("-") for word in sys.argv[1:]):
        sys.exit(__doc__)
    make_environment()
    print("Setting up .venv (once; under a minute with uv, a few minutes with pip) ...", flush=True)
    sys.exit(install(sys.argv[1:]))
