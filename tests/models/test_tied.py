import copy
from pathlib import Path

import torch

from tslens import forward, models, runs
from tslens.models import Spec
from tslens.tokenizer import Tokenizer

GPT2 = Spec(24, 2, 3, d_vocab=300, n_ctx=16)


def test_a_tie_survives_copying_and_moving() -> None:
    model = models.build(GPT2)
    twin = copy.deepcopy(model)
    model = model.to(torch.float64).to(torch.float32)
    for each in (model, twin):
        with torch.no_grad():
            each.embed.W_E.fill_(2.0)
        assert (each.unembed.W_U == 2.0).all()
        assert sum(p.shape == (300, 24) for p in each.parameters()) == 1
    with torch.no_grad():
        model.embed.W_E.fill_(5.0)
    assert (twin.unembed.W_U == 2.0).all()
    assert models.spec_of(twin) == GPT2


def test_one_gradient_for_a_tied_matrix(rows: torch.Tensor) -> None:
    model = models.build(GPT2)
    forward.loss(model, rows)[0].backward()
    unseen = next(t for t in range(300) if t not in rows)
    assert model.embed.W_E.grad[unseen].any()  # never read, so its gradient came through the output


def test_tied_weights_are_saved_once(tmp_path: Path, tokenizer: Tokenizer) -> None:
    from safetensors import safe_open

    models.save(models.build(GPT2, tokenizer=tokenizer), tmp_path)
    with safe_open(tmp_path / runs.WEIGHTS, "pt") as file:
        assert set(file.keys()) == GPT2.parameter_shapes().keys()
        assert "unembed.W_U" not in file.keys()  # noqa: SIM118  safe_open is no mapping
