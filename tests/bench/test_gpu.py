"""The benchmark for a GPU, on a CPU: every side runs, the JSON is whole, and a machine without a GPU is told so."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tslens import forward
from tslens.bench import gpu, gpu_race
from tslens.bench.parameter_shell import parameter_shell
from tslens.bench.peers import OURS, Peer, PeerModel, TrainingSetup
from tslens.bench.reference_gpt import ReferenceGPT
from tslens.models import Spec, build, load_weights

SPEC = Spec(16, 2, 2, d_vocab=30, n_ctx=12)
ROWS = torch.randint(30, (3, 13), generator=torch.Generator().manual_seed(0))


@pytest.mark.thorough
def test_every_side_is_measured_and_the_json_is_whole(tmp_path: Path) -> None:
    """In a process of its own, because the shape checks of the tests cannot be traced by a compiler."""
    out = tmp_path / "gpu.json"
    command = [sys.executable, "-m", "tslens.bench.gpu", "--cpu-smoke", "--out", str(out)]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["left_out"] == {} and [row["name"] for row in found["rows"]] == [name for name, *_ in gpu_race.RUNNERS]
    assert all(row["tokens_per_second"] > 0 and 0 < row["share_of_peak"] < 1 for row in found["rows"])
    assert len(found["matrix_peaks_measured"]) == 3 and found["muon_step_seconds"] > 0
    assert {"tslens compiled / plain GPT compiled", "tslens / HookedTransformer"} <= found["ratios"].keys()
    share, ratio = found["goals"]
    compiled = next(row for row in found["rows"] if row["name"] == "tslens compiled")
    assert share["measured"] == compiled["share_of_peak"]
    assert ratio["measured"] == found["ratios"]["tslens compiled / plain GPT compiled"]["ratio"]


LATE = """
import dataclasses, sys, time
from tslens.bench import gpu

def run(race):
    race.peak()
    time.sleep(100)  # as in a compiler

gpu.SMOKE = dataclasses.replace(gpu.SMOKE, deadline=0.2)
gpu.GPURace.run = run
gpu.main(["--cpu-smoke", "--out", sys.argv[1]])
"""


@pytest.mark.thorough
def test_at_the_deadline_it_writes_what_it_has(tmp_path: Path) -> None:
    out = tmp_path / "gpu.json"
    subprocess.run([sys.executable, "-c", LATE, str(out)], check=True, timeout=60, capture_output=True)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["cut_after_seconds"] == 0.2 and found["turns"] == 0 and len(found["matrix_peaks_measured"]) == 1


def test_a_machine_without_a_gpu_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main([]) == 2
    assert capsys.readouterr().err.startswith("tslens: no NVIDIA GPU found")


def test_what_is_missing_or_fails_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(setup: TrainingSetup) -> PeerModel:
        raise RuntimeError("no kernel for this")

    runners = ((OURS, Peer(broken), False), ("b", Peer(broken, needs="no_such_package"), False), gpu_race.RUNNERS[1])
    monkeypatch.setattr(gpu_race, "RUNNERS", runners)
    found = gpu_race.GPURace(gpu_race.SMOKE, lambda what: None).run()
    assert found["left_out"] == {OURS: "RuntimeError: no kernel for this", "b": "no_such_package is not installed"}
    assert [row["name"] for row in found["rows"]] == ["plain GPT"] and found["muon_step_seconds"] is None


def test_the_bare_parameters_give_the_model_s_own_loss() -> None:
    model, without = build(SPEC, seed=1), parameter_shell(SPEC, seed=2)
    load_weights(model, {name: p.detach() for name, p in without.named_parameters()})
    assert torch.equal(forward.loss(model, ROWS)[0], forward.loss(without, ROWS)[0])


WITHOUT = """
import sys
missing = "transformer_lens transformers datasets pandas pyarrow scipy sklearn einops HanTa circuitsvis".split()
sys.modules.update(dict.fromkeys([*missing, "cyclopts", "matplotlib"]))
from tslens.bench import gpu, peers
from tslens.bench.size import random_tokens
assert peers.peer("tslens", gpu.SMOKE.setup()).loss(random_tokens(2, 17, 64)).isfinite()
"""


def test_it_runs_where_transformer_lens_is_not_installed() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT], check=True, timeout=120, capture_output=True)


def test_the_plain_gpt_is_the_same_model() -> None:
    """As many parameters, and with ours copied into it the same loss."""
    model, plain = build(SPEC), ReferenceGPT(SPEC)
    assert sum(p.numel() for p in plain.parameters()) == SPEC.n_parameters()
    own = {name: p.detach() for name, p in model.named_parameters()}

    def columns(w: torch.Tensor) -> torch.Tensor:
        return w.permute(1, 0, 2).flatten(1).T

    with torch.no_grad():
        plain.tokens.weight.copy_(own["embed.W_E"])
        plain.positions.weight.copy_(own["pos_embed.W_pos"])
        for i, block in enumerate(plain.blocks):
            a = f"blocks.{i}.attn."
            block.qkv.weight.copy_(torch.cat([columns(own[f"{a}W_{m}"]) for m in "QKV"]))
            block.qkv.bias.zero_()
            block.out.weight.copy_(own[f"{a}W_O"].flatten(0, 1).T)
            block.out.bias.zero_()
            for linear, which in ((block.up, "in"), (block.down, "out")):
                linear.weight.copy_(own[f"blocks.{i}.mlp.W_{which}"].T)
                linear.bias.zero_()
    total, n = forward.loss(model, ROWS)
    torch.testing.assert_close(plain(ROWS), total / n, atol=1e-5, rtol=1e-5)
