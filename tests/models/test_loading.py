import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import files, forward, models, runs
from tslens.models import Spec
from tslens.models.export import to_huggingface
from tslens.models.record import record_of
from tslens.tokenizer import Tokenizer

GPT2 = Spec(24, 2, 3, d_vocab=300, n_ctx=16)


def test_a_run_comes_back_exactly(spec: Spec, tokenizer: Tokenizer, rows: torch.Tensor, tmp_path: Path) -> None:
    model = models.build(spec, tokenizer=tokenizer)
    again = models.load(models.save(model, tmp_path / "run"))
    with torch.no_grad():
        assert torch.equal(forward.logits(again, rows), forward.logits(model, rows))
        assert torch.equal(again(rows), model(rows))
    assert models.spec_of(again) == spec
    assert models.tokenizer_of(again).hash == tokenizer.hash
    assert not again.training


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(
    number: float, tokenizer: Tokenizer, tmp_path: Path, refused: Any
) -> None:
    model = models.build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=8), tokenizer=tokenizer)
    with torch.no_grad():
        model.blocks[0].mlp.W_in[3, 5] = number
    with refused(r"run: blocks\.0\.mlp\.W_in holds numbers that are not finite"):
        models.load(models.save(model, tmp_path / "run"))


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
    assert files.read_json(tmp_path / "exact/config.json")["note"] == "mine"


def test_where_a_name_is_looked_for(in_tmp: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.build(GPT2, tokenizer=tokenizer)
    models.save(model, in_tmp / "runs/24x2x3")
    runs.write(
        in_tmp / "runs/24x2x3/checkpoints/step-00010",
        {"spec": GPT2.to_dict(), "tokenizer": tokenizer.hash, "step": 10},
        models.weights(model),
    )
    assert "24x2x3" in models.available()
    for name in ("24x2x3", "runs/24x2x3", in_tmp / "runs/24x2x3", "runs/24x2x3/checkpoints/step-00010"):
        assert models.spec_of(models.load(name)) == GPT2
    with pytest.raises(ValueError, match=r"no model is called '24x2x4'\. Did you mean '24x2x3'\?.*tslens train 24x2x4"):
        models.load("24x2x4")
    with pytest.raises(ValueError, match=r"no weights of step 9\. It has those of steps: 10\."):
        models.load("24x2x3@9")
    for text in ("24x2x4@10", "../24x2x3@10", "@10", "24x2x3@"):
        with pytest.raises(ValueError, match="no model is called"):
            models.load(text)
    shutil.copytree("runs", "elsewhere")
    monkeypatch.setenv("TSLENS_RUNS", "elsewhere")
    assert models.available()["24x2x3"] == Path("elsewhere/24x2x3")


def test_names_that_stand_for_nothing(in_tmp: Path) -> None:
    with pytest.raises(ValueError, match=r"no model is called '\.\./\.\./x'"):
        models.load("../../x")
    with pytest.raises(ValueError, match="no model is called ''"):
        models.load("")
    (in_tmp / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty is a folder but not a model: it has neither config\.json nor"):
        models.load("empty")


def test_another_tokenizer_is_refused(tmp_path: Path, tokenizer: Tokenizer) -> None:
    folder = models.save(models.build(GPT2, tokenizer=tokenizer), tmp_path)
    Tokenizer.train(["a dog ran to a log"] * 5, 270).save(folder / runs.TOKENIZER)
    with pytest.raises(ValueError, match="is not the tokenizer that this model was trained with"):
        models.load(folder)
    with pytest.raises(ValueError, match="300 tokens|has 279 tokens and the model a vocabulary of 100"):
        models.build(Spec(8, 1, 1, d_vocab=100), tokenizer=tokenizer)
    with pytest.raises(ValueError, match="has no tokenizer"):
        models.tokenizer_of(models.build(GPT2))


def test_a_config_that_lacks_its_spec(tmp_path: Path, tokenizer: Tokenizer) -> None:
    folder = models.save(models.build(GPT2, tokenizer=tokenizer), tmp_path)
    config = files.read_json(folder / runs.CONFIG)
    for spec, said in (({"d_model": 24}, "no shape"), (None, "spec"), ({**config["spec"], "n_heads": 6}, "shape")):
        runs.change_config(folder, {"spec": spec})
        with pytest.raises(ValueError, match=said):
            models.load(folder)


def test_a_model_is_called_what_it_was_loaded_by(
    in_tmp: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = Spec(24, 2, 3, d_vocab=tokenizer.size, n_ctx=16)
    built = models.build(spec, tokenizer=tokenizer)
    assert models.name_of(built) == "24x2x3"
    config = {"spec": spec.to_dict(), "tokenizer": tokenizer.hash, "step": 10}
    models.save(built, in_tmp / "runs/mine")
    runs.write(in_tmp / "runs/mine/checkpoints/step-00010", config, models.weights(built))
    runs.write(in_tmp / "runs/mine/snapshots/step-00008", config | {"step": 8}, models.weights(built))
    names = {"mine": "mine", "runs/mine": "mine", "runs/mine/checkpoints/step-00010": "mine@10"}
    names |= {"mine@10": "mine@10", "mine@8": "mine@8"}
    assert {given: models.name_of(models.load(given)) for given in names} == names
    assert models.name_of(models.untied(models.load("mine"))) == "mine"
    monkeypatch.chdir("runs/mine")
    assert models.name_of(models.load(".")) == "mine"
    from tslens.analysis.lens import of_prompt

    assert of_prompt(models.load("."), "the cat sat").model == "mine"


def test_a_command_holds_the_model_as_it_was_given(
    in_tmp: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = models.build(Spec(24, 2, 3, d_vocab=tokenizer.size, n_ctx=16), tokenizer=tokenizer)
    assert models.given_of(built) == "MODEL"
    models.save(built, in_tmp / "runs/mine")
    to_huggingface(built, in_tmp / "a folder")
    monkeypatch.setenv("HOME", str(in_tmp.parent))
    here = str(in_tmp)
    asked = {"mine": "mine", "./runs/mine": "./runs/mine", f"{here}/runs/mine": "runs/mine"}
    asked |= {"hf:a folder": "'hf:a folder'", f"hf:{here}/a folder": "'hf:./a folder'"}
    for given, said in asked.items():
        assert models.given_of(models.load(given)) == said
        assert models.name_of(models.load(shlex.split(said)[0])) == models.name_of(models.load(given))
    model = models.load("mine")
    record_of(model).given = f"llama2c:{here}/a.bin,{here}/t/b.bin"
    assert models.given_of(model) == "llama2c:./a.bin,t/b.bin"
    monkeypatch.chdir("a folder")
    assert models.given_of(model) == models.given_of(models.load(f"{here}/runs/mine")) == "MODEL"
    monkeypatch.setenv("HOME", "/nowhere")
    assert models.given_of(model) == f"llama2c:{here}/a.bin,{here}/t/b.bin"


def test_the_hash_of_a_tokenizers_file_is_compared_before_it_is_parsed(
    tmp_path: Path, tokenizer: Tokenizer, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = models.save(models.build(GPT2, tokenizer=tokenizer), tmp_path / "run")
    path = folder / "tokenizer.json"
    assert runs.read_config(folder)["tokenizer_sha256"] == files.sha256(path)
    whole = path.read_text()
    path.write_text(whole + " ")  # says the same
    with monkeypatch.context() as patch, refused("tokenizer.json is not the tokenizer .* trained with .hash differs"):
        patch.setattr(Tokenizer, "load", None)
        models.load(folder)
    older = {key: value for key, value in runs.read_config(folder).items() if key != "tokenizer_sha256"}
    runs.write(folder, older, models.weights(models.build(GPT2, tokenizer=tokenizer)))
    assert models.tokenizer_of(models.load(folder)).hash == tokenizer.hash
    path.write_text(whole.replace("Ġ", "G"))
    with refused("tokenizer.json is "):
        models.load(folder)
