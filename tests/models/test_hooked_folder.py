"""A folder of TransformerLens, as `export --to transformer-lens` writes it, is a model like any other."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import tslens
from tests.forward.test_hooked import COVERED, N_CTX, OTHERS, other
from tslens import cli, forward, models
from tslens.errors import InputError
from tslens.models import HookedSpec, Spec
from tslens.models.export import to_transformer_lens
from tslens.tokenizer import Tokenizer

ROWS = torch.randint(1, 200, (2, N_CTX), generator=torch.Generator().manual_seed(1))


def same(read: Any, model: Any) -> None:
    assert models.spec_of(read) == models.spec_of(model)
    assert models.tokenizer_of(read).hash == models.tokenizer_of(model).hash
    rows = ROWS[:, : models.spec_of(model).n_ctx]
    assert torch.equal(forward.logits(read, rows), forward.logits(model, rows))


@pytest.mark.parametrize("name", OTHERS)
def test_one_s_own_model_is_read_back(name: str, tmp_path: Path, made_words: Tokenizer) -> None:
    model = other(name, made_words)
    with pytest.raises(InputError, match=r"to_transformer_lens\(model, FOLDER\), which every --model reads"):
        models.save(model, tmp_path / "refused")
    read = tslens.load(to_transformer_lens(model, tmp_path / "own"))
    assert models.name_of(read) == "own" and isinstance(models.spec_of(read), HookedSpec)
    same(read, model)


@pytest.mark.parametrize("name", COVERED)
def test_a_covered_model_stays_fast(name: str, tmp_path: Path, made_words: Tokenizer, loud: Any) -> None:
    size = {"d_vocab": made_words.size, "n_ctx": N_CTX, "local_layers": COVERED[name].local_layers}
    model = loud(models.build(Spec(**COVERED[name].to_dict() | size), seed=1, tokenizer=made_words))
    read = tslens.load(to_transformer_lens(model, tmp_path / "own"))
    assert type(models.spec_of(read)) is Spec
    same(read, model)


@pytest.fixture
def folder(in_tmp: Path, made_words: Tokenizer) -> Path:
    return to_transformer_lens(other("gelu", made_words), "own")


def test_commands_read_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", str(folder), "--stories", "made", "--limit", "4"]
    assert cli.main(["analyze", "heads", *words]) == 0
    assert "slow path, because of activation 'gelu'." in capsys.readouterr().err
    assert cli.main(["report", *words, "--twins", "0", "--shown", "1", "--no-causes", "--out", "r.html"]) == 0
    assert "own" in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_layers": "x"}, "n_layers is 'x'; it must be a whole number"),
        ({"n_layers": 99_999}, "n_layers is over 1,000"),
        ({"n_layers": 900}, "more layers or experts than model.safetensors has tensors"),
        ({"n_layers": 3}, r"lack 'blocks.2.attn.W_K' \(and 15 more\)"),
        ({"d_model": 3}, r"embed.W_E has shape .*, expected \(\d+, 3\)"),
        ({"d_vocab": None}, "d_vocab is None"),
        ({"n_ctx": 10**5}, "n_ctx is 100,000; models of up to 2,048 positions"),
        ({"act_fn": "sine"}, "act_fn is 'sine'; it must be one of solu, "),
        ({"eps": -1.0}, "eps is -1.0"),
        ({"attn_scale": 0.0}, "attn_scale is 0"),
        ({"num_experts": 4}, "none that TransformerLens builds a model of: experts_per_token must be set"),
        ({"num_experts": 900, "experts_per_token": 2}, "more layers or experts than"),
        ({"num_experts": 2, "experts_per_token": 3}, "experts_per_token is 3; num_experts is 2"),
        ({"original_architecture": "Olmo2ForCausalLM", "use_qk_norm": True}, "it has no use_qk_norm"),
        ({"original_architecture": "OlmoeForCausalLM", "d_head": 4}, "heads are d_model wide together, and"),
        (
            {
                "original_architecture": "Olmo2ForCausalLM",
                "use_normalization_before_and_after": True,
                "normalization_type": "RMS",
            },
            "is normed twice, which tslens does not read",
        ),
        ({"positional_embedding_type": "none"}, "must be one of standard, rotary"),
        ({"positional_embedding_type": "rotary", "rotary_dim": 7}, "rotary_dim is 7; it must be even"),
        ({"normalization_type": "batch"}, "none that TransformerLens builds a model of"),
        ({"use_local_attn": True, "window_size": 4}, "attn_types must name the attention of each layer"),
        ({"attention_dir": "bidirectional"}, "attention in both directions"),
        ({"output_logits_soft_cap": 1e300}, "at most 1e"),
    ],
)
def test_what_is_no_model_is_refused(changes: dict[str, Any], said: str, folder: Path) -> None:
    path = folder / "cfg.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(InputError, match=said):
        tslens.load(folder)


def test_what_says_nothing_of_the_function_is_not_followed(folder: Path) -> None:
    path = folder / "cfg.json"
    astray = {
        "seed": 5,
        "tokenizer_name": "gpt2",
        "device": "cuda",
        "trust_remote_code": True,
        "dtype": "torch.float16",
    }
    path.write_text(json.dumps(json.loads(path.read_text()) | astray))
    torch.manual_seed(1)
    before = torch.get_rng_state()
    assert tslens.load(folder).cfg.device == "cpu"
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    shutil.move(folder / name, folder / "other")
    with pytest.raises(InputError, match=name):
        tslens.load(folder)
    (folder / name).symlink_to("lost")
    with pytest.raises(InputError, match=rf"{name} is a link to lost, which leads to no file"):
        tslens.load(folder)
