import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tslens import checkpoints, forward, models
from tslens.models import Spec
from tslens.tokenizer import Tokenizer

SPECS = [
    Spec(24, 2, 3, d_vocab=300, n_ctx=16),
    Spec(24, 2, 3, d_vocab=300, n_ctx=16, tied=False, d_mlp=20),
    Spec(24, 2, 3, d_vocab=300, n_ctx=16, scaled=False, window=4, local_layers=(1,)),
    Spec(24, 2, 6, d_vocab=300, n_ctx=16, style="llama", n_key_value_heads=2, rotary_adjacent=True),
    Spec(24, 2, 3, d_vocab=300, n_ctx=16, style="llama", tied=False),
]


@pytest.fixture(params=SPECS, ids=lambda s: f"{s.style}-{'tied' if s.tied else 'untied'}-{s.n_key_value_heads}")
def spec(request: pytest.FixtureRequest) -> Spec:
    return request.param


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["the cat sat on the mat and the cat was glad"] * 5, 280)


def rows(n: int = 2) -> torch.Tensor:
    return torch.randint(0, 300, (n, 16), generator=torch.Generator().manual_seed(1))


def save(folder: Path, model: Any, tokenizer: Tokenizer) -> Path:
    config = {"spec": models.spec_of(model).to_dict(), "tokenizer": tokenizer.hash}
    checkpoints.write(folder, config, models.weights(model))
    tokenizer.save(folder / checkpoints.TOKENIZER)
    return folder


# Names and shapes


@pytest.mark.parametrize(
    ("name", "width", "layers", "heads"), [("512x12", 512, 12, 4), ("256x8x8", 256, 8, 8), ("64x1x1", 64, 1, 1)]
)
def test_a_name_is_a_shape(name: str, width: int, layers: int, heads: int) -> None:
    spec = Spec.parse(name, d_vocab=100)
    assert (spec.d_model, spec.n_layers, spec.n_heads, spec.d_vocab) == (width, layers, heads, 100)
    assert spec.name == name


def test_the_usual_heads_are_not_named() -> None:
    assert Spec.parse("256x8x4").name == "256x8"


@pytest.mark.parametrize("name", ["", "512", "512x", "x12", "512X12", "512x12x4x2", "512x-1", "a512x12", "512x12 "])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="is no shape. Write WIDTHxLAYERS or WIDTHxLAYERSxHEADS"):
        Spec.parse(name)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"d_model": 250}, "4 heads do not divide a width of 250; widths near it that they divide: 248, 252"),
        ({"d_model": 0}, "d_model is 0"),
        ({"n_layers": -1}, "n_layers is -1"),
        ({"n_ctx": True}, "n_ctx is True"),
        ({"d_mlp": 0}, "d_mlp is 0"),
        ({"style": "llama", "d_model": 20}, "even head width"),
        ({"style": "llama", "n_key_value_heads": 3}, "3 key/value heads do not divide 4 heads"),
        ({"style": "llama", "n_key_value_heads": 0}, "n_key_value_heads is 0"),
        ({"n_key_value_heads": 2}, "need style 'llama'"),
        ({"local_layers": (0,)}, "need a window"),
        ({"local_layers": (7,), "window": 4}, "local_layers names layer 7"),
    ],
)
def test_shapes_that_cannot_be(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Spec(**{"d_model": 24, "n_layers": 2} | fields)


def test_a_config_goes_through_json(spec: Spec) -> None:
    assert Spec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


@pytest.mark.parametrize("fields", [{"style": "bert"}, {"d_vocab": 2.5}, {"d_vocab": "many"}])
def test_a_config_of_other_types(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"style|no shape|d_vocab"):
        Spec.from_dict({"d_model": 8, "n_layers": 2} | fields)


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"Unknown model field 'n_layer'\. Did you mean 'n_layers'\?"):
        Spec.from_dict({"d_model": 8, "n_layer": 2})


# Counts


def test_parameters_counted_by_hand() -> None:
    """Width 4, one layer, 10 tokens, context 3: 52; attention 4 x (16 + 4), MLP 64 + 16 + 64 + 4, norms 3 x 8."""
    spec = Spec(4, 1, 1, d_vocab=10, n_ctx=3)
    assert models.n_parameters(spec) == 40 + 12 + 80 + 148 + 24
    assert models.n_parameters(spec, embeddings=False) == 80 + 148 + 24
    assert models.n_parameters(Spec(4, 1, 1, d_vocab=10, n_ctx=3, tied=False)) == 304 + 40


def test_counts_are_those_of_the_model(spec: Spec) -> None:
    model = models.build(spec)
    trained = {name: tuple(p.shape) for name, p in model.named_parameters() if p.requires_grad}
    assert trained == models.parameter_shapes(spec)
    assert models.n_parameters(spec) == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert models.describe(model)["parameters"] == models.n_parameters(spec)
    assert not any(p.any() for p in model.parameters() if not p.requires_grad)


def test_flops_are_those_counted(spec: Spec) -> None:
    """The count of PyTorch over the forward with its attention laid open, which counts every product."""
    model = models.build(spec)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        forward.unembed(model, forward.residual(model, rows(), hooks=["blocks.0.attn.hook_pattern"])[0])
    assert counter.get_total_flops() == rows().numel() * models.flops_per_token(spec, 16)
    assert models.flops_per_token(spec, training=True) == 3 * models.flops_per_token(spec)
    assert models.flops_per_token(spec, 8) < models.flops_per_token(spec, 16)


def test_training_flops_are_those_counted() -> None:
    spec = Spec(24, 2, 3, d_vocab=300, n_ctx=16)
    model = models.build(spec).train()
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        scores = forward.logits(model, rows())
        scores.sum().backward()
    assert counter.get_total_flops() == rows().numel() * models.flops_per_token(spec, 16, training=True)


# Building, copying, moving


def test_a_seed_decides(spec: Spec) -> None:
    first, again, other = (models.weights(models.build(spec, seed=s)) for s in (3, 3, 4))
    assert all(torch.equal(first[k], again[k]) for k in first)
    assert not torch.equal(first["embed.W_E"], other["embed.W_E"])
    assert first["embed.W_E"].std().item() == pytest.approx(0.02, rel=0.1)
    assert first["blocks.0.attn.W_O"].std().item() == pytest.approx(0.02 / 2, rel=0.15)  # divided by sqrt(2 x 2 layers)


def test_a_tie_survives_copying_and_moving() -> None:
    model = models.build(SPECS[0])
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
    assert models.spec_of(twin) == SPECS[0]


def test_one_gradient_for_a_tied_matrix() -> None:
    model = models.build(SPECS[0])
    forward.loss(model, rows())[0].backward()
    unseen = next(t for t in range(300) if t not in rows())
    assert model.embed.W_E.grad[unseen].any()  # never read, so its gradient came through the output


# Saving and loading


def test_a_run_comes_back_exactly(spec: Spec, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = models.build(spec, tokenizer=tokenizer)
    again = models.load(save(tmp_path / "run", model, tokenizer))
    with torch.no_grad():
        assert torch.equal(forward.logits(again, rows()), forward.logits(model, rows()))
        assert torch.equal(again(rows()), model(rows()))
    assert models.spec_of(again) == spec
    assert models.tokenizer_of(again).hash == tokenizer.hash
    assert not again.training


def test_tied_weights_are_saved_once(tmp_path: Path, tokenizer: Tokenizer) -> None:
    from safetensors import safe_open

    save(tmp_path, models.build(SPECS[0]), tokenizer)
    with safe_open(tmp_path / checkpoints.WEIGHTS, "pt") as file:
        assert set(file.keys()) == models.parameter_shapes(SPECS[0]).keys()
        assert "unembed.W_U" not in file.keys()  # noqa: SIM118  safe_open is no mapping


def test_transformerlens_works_on_a_loaded_model(tmp_path: Path, tokenizer: Tokenizer) -> None:
    model = models.load(save(tmp_path / "run", models.build(SPECS[0]), tokenizer))
    ids = model.to_tokens("the cat sat")
    assert ids.tolist() == tokenizer.encode(["the cat sat"])
    assert model.to_tokens(["the", "the cat sat"])[0, -1] == tokenizer.bos  # padded on the right
    assert model.to_string(ids[0, 1:]) == "the cat sat"
    logits, cache = model.run_with_cache("the cat sat")
    assert cache["blocks.1.mlp.hook_post"].shape == (1, ids.shape[1], 96)
    torch.testing.assert_close(forward.logits(model, ids), logits, atol=1e-4, rtol=0)
    made = model.generate(ids, max_new_tokens=3, do_sample=False, verbose=False, stop_at_eos=False)
    assert made.shape == (1, ids.shape[1] + 3)
    assert torch.equal(made[:, : ids.shape[1]], ids)


def test_where_a_name_is_looked_for(in_tmp: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.build(SPECS[0], tokenizer=tokenizer)
    save(in_tmp / "runs" / "24x2x3", model, tokenizer)
    checkpoints.write(
        in_tmp / "runs/24x2x3/checkpoints/step-00010",
        {"spec": SPECS[0].to_dict(), "tokenizer": tokenizer.hash},
        models.weights(model),
    )
    assert "24x2x3" in models.available()
    for name in ("24x2x3", "runs/24x2x3", in_tmp / "runs/24x2x3", "runs/24x2x3/checkpoints/step-00010"):
        assert models.spec_of(models.load(name)) == SPECS[0]
    with pytest.raises(ValueError, match=r"no model is called '24x2x4'\. Did you mean '24x2x3'\?.*tslens train 24x2x4"):
        models.load("24x2x4")
    shutil.copytree("runs", "elsewhere")
    monkeypatch.setenv("TSLENS_RUNS", "elsewhere")
    assert models.available()["24x2x3"] == Path("elsewhere/24x2x3")


def test_names_that_stand_for_nothing(in_tmp: Path) -> None:
    with pytest.raises(ValueError, match=r"no model is called '\.\./\.\./x'"):
        models.load("../../x")
    with pytest.raises(ValueError, match="no model is called ''"):
        models.load("")
    (in_tmp / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty is a folder but not a model: it has no config\.json"):
        models.load("empty")


def test_another_tokenizer_is_refused(tmp_path: Path, tokenizer: Tokenizer) -> None:
    folder = save(tmp_path, models.build(SPECS[0]), tokenizer)
    Tokenizer.train(["a dog ran to a log"] * 5, 270).save(folder / checkpoints.TOKENIZER)
    with pytest.raises(ValueError, match="is not the tokenizer that this model was trained with"):
        models.load(folder)
    with pytest.raises(ValueError, match="300 tokens|has 279 tokens and the model a vocabulary of 100"):
        models.build(Spec(8, 1, 1, d_vocab=100), tokenizer=tokenizer)
    with pytest.raises(ValueError, match="has no tokenizer"):
        models.tokenizer_of(models.build(SPECS[0]))


def test_a_config_that_lacks_its_spec(tmp_path: Path, tokenizer: Tokenizer) -> None:
    folder = save(tmp_path, models.build(SPECS[0]), tokenizer)
    config = checkpoints.read_json(folder / checkpoints.CONFIG)
    for spec, said in (({"d_model": 24}, "no shape"), (None, "spec"), ({**config["spec"], "n_heads": 6}, "shape")):
        checkpoints.write_json(folder / checkpoints.CONFIG, config | {"spec": spec})
        with pytest.raises(ValueError, match=said):
            models.load(folder)


def test_weights_that_do_not_fit() -> None:
    model, tensors = models.build(SPECS[0]), models.weights(models.build(SPECS[0]))
    lacking = {k: v for k, v in tensors.items() if k != "ln_final.w"}
    with pytest.raises(ValueError, match=r"lack 'ln_final\.w' \(and 0 more\)"):
        models.load_weights(model, lacking)
    with pytest.raises(ValueError, match=r"hold 'unembed\.W_U'"):
        models.load_weights(model, tensors | {"unembed.W_U": torch.zeros(24, 300)})
    with pytest.raises(ValueError, match=r"ln_final\.w has shape \(23,\), expected \(24,\)"):
        models.load_weights(model, tensors | {"ln_final.w": torch.zeros(23)})


def test_what_was_written_into_a_bias_is_seen() -> None:
    """A model that stops being what its spec says is refused, and accepted again once it is mended."""
    model = models.build(SPECS[3])
    assert models.spec_of(model) == SPECS[3]
    with torch.no_grad():
        model.blocks[0].mlp.b_out[0] = 1.0
    with pytest.raises(ValueError, match=r"blocks\.0\.mlp\.b_out"):
        models.spec_of(model)
    with torch.no_grad():
        model.blocks[0].mlp.b_out.zero_()
    assert models.parameter_shapes(models.spec_of(model)) == models.parameter_shapes(SPECS[3])


def test_a_saved_model_loads_again_also_from_half_precision(tmp_path):
    tokenizer = Tokenizer.train(["the cat sat on the mat"] * 3, 280)
    model = models.build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=8), tokenizer=tokenizer)
    tokens = torch.tensor([[0, 5, 6]])
    exact = models.load(models.save(model, tmp_path / "exact", {"note": "mine"}))
    half = models.load(models.save(model, tmp_path / "half", dtype=torch.float16))
    with torch.no_grad():
        assert torch.equal(exact(tokens), model(tokens))
        assert torch.allclose(half(tokens), model(tokens), atol=1e-3)
    assert next(half.parameters()).dtype == torch.float32
    assert checkpoints.read_json(tmp_path / "exact/config.json")["note"] == "mine"


def test_everything_that_a_spec_is_read_from_is_watched() -> None:
    model, read = models.build(SPECS[2]), set()

    class Watched:
        def __init__(self, cfg: Any) -> None:
            self.__dict__["cfg"] = cfg

        def __getattr__(self, name: str) -> Any:
            read.add(name)
            return getattr(self.__dict__["cfg"], name)

    model.cfg = Watched(model.cfg)
    models._read_spec(model)
    assert len(read) > 30
    assert read <= {*models._READ_ONCE, *models._READ_ANEW}


def test_looking_at_a_model_is_cheap() -> None:
    """It happens at every forward pass: 0.3 ms alone on a core, of which a busy machine makes three times that."""
    import timeit

    model = models.build(Spec(64, 12, 4, d_vocab=4096, n_ctx=16, style="llama"))
    assert min(timeit.repeat(lambda: models.spec_of(model), number=10, repeat=20)) / 10 < 0.9e-3


@pytest.mark.parametrize("spec", [s for s in SPECS if s.tied], ids=lambda s: f"{s.style}-{s.scaled}")
def test_weight_processing_works_on_an_untied_copy(spec: Spec, tokenizer: Tokenizer) -> None:
    model = models.build(spec, seed=2, tokenizer=tokenizer)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)))
    with pytest.raises(ValueError, match=r"process a copy that has its own, untied = tslens\.models\.untied\(model\)"):
        copy.deepcopy(model).process_weights_()
    own = models.untied(model)
    assert models.spec_of(own).tied is False and models.tokenizer_of(own) is tokenizer
    with torch.no_grad():
        expected = model(rows()).log_softmax(-1)
        assert expected.std() > 0.3
        torch.testing.assert_close(forward.logits(own, rows()), model(rows()), atol=1e-4, rtol=0)
        own.process_weights_(fold_ln=True, center_writing_weights=spec.style == "gpt2", center_unembed=True)
        torch.testing.assert_close(own(rows()).log_softmax(-1), expected, atol=1e-3, rtol=0)
        assert not torch.equal(own.unembed.W_U, model.unembed.W_U)
        torch.testing.assert_close(model(rows()).log_softmax(-1), expected)  # the original is as it was
    with pytest.raises(ValueError, match="Pre'"):
        forward.logits(own, rows())


def test_a_model_is_called_what_it_was_loaded_by(
    in_tmp: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = Spec(24, 2, 3, d_vocab=tokenizer.size, n_ctx=16)
    built = models.build(spec, tokenizer=tokenizer)
    assert models.name_of(built) == "24x2x3"
    config = {"spec": spec.to_dict(), "tokenizer": tokenizer.hash}
    save(in_tmp / "runs" / "mine", built, tokenizer)
    checkpoints.write(in_tmp / "runs/mine/checkpoints/step-00010", config, models.weights(built))
    names = {"mine": "mine", "runs/mine": "mine", "runs/mine/checkpoints/step-00010": "mine/step-00010"}
    assert {given: models.name_of(models.load(given)) for given in names} == names
    assert models.name_of(models.untied(models.load("mine"))) == "mine"
    monkeypatch.chdir("runs/mine")
    assert models.name_of(models.load(".")) == "mine"
    from tslens.analysis.lens import prompt

    assert prompt(models.load("."), "the cat sat").model == "mine"
