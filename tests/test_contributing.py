"""The examples of CONTRIBUTING.md do what it says."""

import re
import sys
from importlib import resources
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tslens import models
from tslens.cli import main
from tslens.evaluation import suites
from tslens.models import Spec
from tslens.scan import Shard, scan, states


def example(checkout: Path, name: str) -> str:
    """The code block that begins with the comment of this path."""
    text = (checkout / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = [block for block in re.findall(r"```\w+\n(.*?)```", text, re.DOTALL) if block.startswith(f"# {name}\n")]
    assert len(found) == 1
    return str(found[0])


def test_a_suite_is_one_file(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in resources.files("tslens.suites").iterdir():
        if file.name.endswith(".toml"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "weather.toml").write_text(example(checkout, "eval/weather.toml"), encoding="utf-8")
    monkeypatch.setattr(suites.resources, "files", lambda package: tmp_path)
    assert "weather" in suites.suites() and len(suites.suite("weather").prompts) == 4 + 12 + 6
    assert main(["eval", "--list"]) == 0
    assert "Does the model know what the weather asks for?" in capsys.readouterr().out


def test_a_reducer_is_one_module(
    checkout: Path, tokenizer, loud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = ModuleType("norms_of_contributing")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where `dataclass` looks annotations up
    exec(compile(example(checkout, "tslens/analysis/norms.py"), "CONTRIBUTING.md", "exec"), module.__dict__)
    model = loud(models.build(Spec(8, 2, 2, d_vocab=tokenizer.size, n_ctx=16), tokenizer=tokenizer))
    texts = ["the cat sat", "the mat was glad and the cat sat on the mat", "on"]
    found = scan(model, texts, module.Norms())
    rows = [model.run_with_cache(torch.tensor([row]))[1] for row in tokenizer.encode(texts)]
    for layer in range(2):
        lengths = torch.cat([cache[f"blocks.{layer}.hook_resid_post"][0].norm(dim=-1) for cache in rows])
        assert torch.allclose(found.norm[layer], lengths.mean(), rtol=1e-4) and found.tokens == len(lengths)
    parts = [states(model, texts, [module.Norms()], shard=Shard(i, 2))[0] for i in range(2)]
    whole = module.Norms().finish(module.Norms().merge(*parts))
    assert torch.allclose(whole.norm, found.norm) and whole.tokens == found.tokens
    assert list(found.to_frame()) == ["layer", "norm"] and repr(found).startswith("NormsResult\n")
    assert module.NormsResult.load(found.save(tmp_path)).tokens == found.tokens
