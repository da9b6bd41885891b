"""What a run is computed in is decided once: measured by the first process, recorded, and kept when it goes on."""

import multiprocessing
import shutil
import socket

import pytest
import torch

from tslens import files, runs
from tslens.models import Spec, build
from tslens.train import precision, session
from tslens.train import recipe as recipes
from tslens.train.distributed import World, process_group

SMALL = {
    "data.source": "stories.txt",
    "data.vocabulary": "300",
    "model.n_ctx": "32",
    "train.batch": "4",
    "train.steps": "4",
    "train.validate_every": "2",
    "train.checkpoint_every": "2",
    "train.validation_stories": "4",
}


@pytest.fixture
def stories(in_tmp) -> None:
    texts = (f"Once there was a {kind} with {n} spots." for n in range(60) for kind in ("dog", "cat", "fox"))
    (in_tmp / "stories.txt").write_text("\n<|endoftext|>\n".join(texts))


def timed(monkeypatch: pytest.MonkeyPatch, products: float, muon: float) -> None:
    """Let a timer say how many times as fast bfloat16 is."""
    monkeypatch.setattr(precision, "bf16_speedup", lambda shape, device: products)
    monkeypatch.setattr(precision, "muon_speedup", lambda model, device: muon)


def recorded(folder) -> dict[str, object]:
    config = files.read_json(folder / "config.json")
    return {key: config[key] for key in precision.KEYS if key in config}


def test_auto_is_measured_recorded_and_kept(stories, in_tmp, monkeypatch, capsys) -> None:
    timed(monkeypatch, products=1.3, muon=1.05)
    session.train(recipes.load("16x1x2", SMALL), "a")
    found = {
        "precision": "bfloat16",
        "bf16_speedup": 1.3,
        "muon_precision": "float32",
        "muon_bf16_speedup": 1.05,
    }
    folder = in_tmp / "runs/a"
    assert files.read_json(folder / "precision.json") == found
    assert recorded(folder) == recorded(folder / "checkpoints/step-000002") == found
    shutil.rmtree(folder / "checkpoints/step-000004")
    before = runs.read(folder)[1]
    timed(monkeypatch, products=0.5, muon=2.0)  # another machine, or another moment
    session.resume("a")
    assert recorded(folder) == found and "warning" not in capsys.readouterr().err
    after = runs.read(folder)[1]
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("named", ["float32", "bfloat16"])
def test_a_named_precision_is_muon_s_too_and_never_measured(stories, in_tmp, monkeypatch, named) -> None:
    monkeypatch.setattr(precision, "bf16_speedup", lambda *given: pytest.fail("measured"))
    monkeypatch.setattr(precision, "muon_speedup", lambda *given: pytest.fail("measured"))
    session.train(recipes.load("16x1x2", SMALL | {"train.precision": named}), "a")
    assert recorded(in_tmp / "runs/a") == {"precision": named, "muon_precision": named}


def test_a_run_of_before_muon_s_precision_was_chosen_goes_on_in_bfloat16() -> None:
    model, recipe = build(Spec(16, 1, 2, d_vocab=11, n_ctx=8)), recipes.load("16x1x2", {"train.precision": "auto"})
    kept = precision.settle(recipe, model, World(), {"precision": "float32", "device": "cpu"})
    assert kept == {"precision": "float32", "muon_precision": "bfloat16"}


def test_muon_s_own_matrices_are_measured(monkeypatch) -> None:
    """Four of d_model squared and two of the MLP's in a block; of two blocks one is timed."""
    seen: list[tuple[int, ...]] = []
    monkeypatch.setattr(precision, "has_bf16", lambda device: True)
    monkeypatch.setattr(precision, "speedup", lambda work, device, rows: work(rows, torch.float32) or 0.7)
    monkeypatch.setattr(precision, "orthogonalized", lambda update, dtype, iterations: seen.append(tuple(update.shape)))
    precision._measured.cache_clear()
    assert precision.muon_speedup(build(Spec(16, 2, 2, d_vocab=11, n_ctx=8)), torch.device("cpu")) == 0.7
    precision._measured.cache_clear()
    assert sorted(seen) == [(16, 16)] * 4 + [(16, 64), (64, 16)]


def _settled(rank: int, port: int, said) -> None:  # type: ignore[no-untyped-def]
    import os

    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    os.environ |= {"MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    precision.bf16_speedup = lambda shape, device: (0.6, 1.8)[rank]  # type: ignore[assignment]
    precision.muon_speedup = lambda model, device: (1.5, 0.4)[rank]  # type: ignore[assignment]
    model = build(Spec(16, 1, 2, d_vocab=11, n_ctx=8))
    with process_group() as world:
        said.put((rank, precision.settle(recipes.load("16x1x2"), model, world, {})))
        world.wait()


def test_two_processes_whose_timers_disagree_take_the_first_one_s_answer() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    context = multiprocessing.get_context("fork")
    said = context.Queue()
    both = [context.Process(target=_settled, args=(rank, port, said)) for rank in range(2)]
    for process in both:
        process.start()
    answers = dict(said.get(timeout=120) for _ in both)
    for process in both:
        process.join(60)
    first = {"precision": "float32", "bf16_speedup": 0.6, "muon_precision": "bfloat16", "muon_bf16_speedup": 1.5}
    assert answers == {0: first, 1: first}
