import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import cli, forward, models
from tslens.analysis import heads, lens, neurons
from tslens.evaluation.loss import loss
from tslens.models import from_hooked, huggingface
from tslens.scan import scan
from tslens.tokenizer import Tokenizer

NEO_WINDOW = 5


def tiny(kind: str, **changes: Any) -> Any:
    """An untrained model of transformers with every weight away from its start: a few thousand parameters."""
    import transformers

    torch.manual_seed(0)
    if kind == "gpt2":
        sizes = {"vocab_size": 290, "n_positions": 20, "n_embd": 16, "n_layer": 2, "n_head": 4}
        config = transformers.GPT2Config(**sizes | {"bos_token_id": 0, "eos_token_id": 0} | changes)
        model = transformers.GPT2LMHeadModel(config)
    elif kind in ("llama", "gpt_neox"):
        sizes = {"vocab_size": 290, "max_position_embeddings": 20, "hidden_size": 16, "intermediate_size": 40}
        sizes |= {"num_hidden_layers": 2, "num_attention_heads": 2, "bos_token_id": 0, "eos_token_id": 0}
        family = huggingface.FAMILIES[kind]
        config = getattr(transformers, family.config)(**sizes | changes)
        model = getattr(transformers, family.architecture)(config)
    else:
        sizes = {"vocab_size": 290, "max_position_embeddings": 20, "hidden_size": 16, "num_layers": 2, "num_heads": 4}
        sizes |= {"attention_types": [[["global", "local"], 1]], "window_size": NEO_WINDOW}
        config = transformers.GPTNeoConfig(**sizes | {"bos_token_id": 0, "eos_token_id": 0} | changes)
        model = transformers.GPTNeoForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    assert model.num_parameters() < 20_000
    return model.eval()


def saved(folder: Path, model: Any, tokenizer: Tokenizer) -> Path:
    model.save_pretrained(folder)
    tokenizer.save(folder / "tokenizer.json")
    return folder


LINEAR = {"rope_type": "linear", "rope_theta": 50.0, "factor": 2.0}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 50.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA3 |= {"original_max_position_embeddings": 40}  # some directions turn as before, some slower, some between
ROWS = torch.randint(0, 290, (2, 20), generator=torch.Generator().manual_seed(1))  # four of GPT-Neo's windows long


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("gpt2", {}),
        ("gpt2", {"n_inner": 24, "layer_norm_epsilon": 1e-3, "activation_function": "gelu_pytorch_tanh"}),
        ("gpt2", {"scale_attn_weights": False, "n_head": 2}),
        ("gpt2", {"tie_word_embeddings": False}),
        ("gpt2", {"activation_function": "relu", "scale_attn_by_inverse_layer_idx": True}),
        ("gpt2", {"activation_function": "gelu", "tie_word_embeddings": False, "n_inner": 24}),
        ("gpt2", {"activation_function": "silu", "scale_attn_weights": False}),
        ("gpt_neo", {}),
        ("gpt_neo", {"intermediate_size": 24, "attention_types": [[["global"], 2]]}),
        ("llama", {}),
        ("llama", {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True}),
        ("llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}, "rms_norm_eps": 1e-4}),
        ("llama", {"head_dim": 12, "num_key_value_heads": 1, "tie_word_embeddings": True}),
        ("llama", {"rope_parameters": LINEAR, "max_position_embeddings": 20}),
        ("llama", {"rope_parameters": LLAMA3, "head_dim": 8}),
        ("gpt_neox", {"rope_parameters": LLAMA3 | {"partial_rotary_factor": 0.5}, "tie_word_embeddings": True}),
        ("gpt_neox", {}),
        ("gpt_neox", {"use_parallel_residual": False, "hidden_act": "gelu_new"}),
        ("gpt_neox", {"rope_parameters": {"rope_type": "default", "rope_theta": 10.0, "partial_rotary_factor": 1.0}}),
    ],
)
def test_logits_are_those_of_transformers(tmp_path: Path, tokenizer: Tokenizer, kind: str, changes: Any) -> None:
    theirs = tiny(kind, **changes)
    ours = models.load(f"hf:{saved(tmp_path, theirs, tokenizer)}")
    with torch.no_grad():
        expected = theirs(ROWS).logits
        assert expected.std() > 0.3
        torch.testing.assert_close(forward.logits(ours, ROWS), expected, atol=1e-4, rtol=0)
        torch.testing.assert_close(ours(ROWS), expected, atol=1e-4, rtol=0)
    assert models.tokenizer_of(ours).hash == tokenizer.hash
    # What their model lacks is zero in ours, as biases of GPT-Neo's queries are.
    assert sum(w.numel() for w in models.weights(ours).values() if w.any()) == theirs.num_parameters()


@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])
def test_a_tied_one_is_untied(tmp_path: Path, tokenizer: Tokenizer, kind: str) -> None:
    theirs = tiny(kind, rope_parameters=dict(LINEAR), tie_word_embeddings=True)
    ours = models.load(f"hf:{saved(tmp_path, theirs, tokenizer)}")
    assert "rotary positions divided by 2" in models.spec_of(ours).because
    own = models.untied(ours)
    assert not models.spec_of(own).tied and models.spec_of(own) == from_hooked.read(own)
    with torch.no_grad():
        expected = ours(ROWS)
        torch.testing.assert_close(forward.logits(own, ROWS), expected, atol=1e-5, rtol=0)
        own.process_weights_(fold_ln=True, center_writing_weights=False, center_unembed=False)
        torch.testing.assert_close(forward.logits(own, ROWS), expected, atol=1e-4, rtol=0)
        torch.testing.assert_close(ours(ROWS), expected)  # the original is as it was


@pytest.mark.parametrize("kind", [*huggingface.FAMILIES])
def test_it_is_analysed(tmp_path: Path, tokenizer: Tokenizer, kind: str) -> None:
    """GPT-NeoX by TransformerLens's forward, the others by ours."""
    ours = models.load(f"hf:{saved(tmp_path, tiny(kind), tokenizer)}")
    stories = ["The cat sat on a mat.", "A dog ran to the cat.", "Tim had a red ball."] * 8
    roles, profiles, depth = scan(ours, stories, [heads.Roles(), neurons.Profiles(), lens.ByDepth()])
    spec = models.spec_of(ours)
    assert roles.role_code.shape == (2, spec.n_heads) and profiles.label.shape == (2, spec.mlp_width)
    assert depth.kl[-1] < 1e-4
    with torch.no_grad():
        expected = forward.token_losses(ours, torch.tensor(tokenizer.encode(stories[:1]))).mean()
    assert loss(ours, stories[:1]).nats_per_token == pytest.approx(float(expected), rel=0.2)  # which has the end too


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [*huggingface.FAMILIES])
def test_the_commands_take_it(in_tmp: Path, tokenizer: Tokenizer, kind: str, capsys: Any) -> None:
    saved(in_tmp / "theirs", tiny(kind), tokenizer)
    tales = ["The cat sat on a mat.", "A dog ran to the cat.", "Tim had a red ball.", "Mia said no."]
    Path("tales.txt").write_text("\n<|endoftext|>\n".join(f"{tale} Day {i}." for i in range(5) for tale in tales))
    on = ["--model", "hf:theirs", "--stories", "tales.txt", "--limit", "12"]
    for question in ("heads", "neurons", "lens"):
        assert cli.main(["analyze", question, *on]) == 0
        assert "On 12 stories: tales.txt." in capsys.readouterr().out
    assert cli.main(["report", *on, "--out", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<h1" in page and "theirs" in page


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("llama", {"attention_bias": True}, "biases"),
        ("gpt2", {"activation_function": "tanh"}, "activation 'tanh'"),
        (
            "gpt2",
            {"activation_function": "relu", "n_positions": 2049, "n_embd": 4, "n_head": 2},
            "over 2,048 positions with 'relu' or scores scaled by layer",
        ),
        (
            "llama",
            {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}},
            "rotary positions 'dynamic'",
        ),
        ("gpt_neox", {"hidden_act": "silu"}, "activation 'silu'"),
        ("gpt_neox", {"attention_bias": False}, "attention without biases"),
    ],
)
def test_a_variant_that_is_not_covered(
    tmp_path: Path, tokenizer: Tokenizer, kind: str, changes: Any, said: str, refused: Any
) -> None:
    saved(tmp_path, tiny(kind, **changes), tokenizer)
    with refused(f"has {said}, which tslens does not cover in a {huggingface.FAMILIES[kind].architecture}"):
        huggingface.read(tmp_path)


def test_a_context_beyond_2048_is_cut(tmp_path: Path, tokenizer: Tokenizer, capsys: Any) -> None:
    """TransformerLens's mask of all pairs of positions would take 17 GB at the 131,072 of Llama 3.2."""
    theirs = tiny("llama", max_position_embeddings=131_072)
    ours = models.load(f"hf:{saved(tmp_path, theirs, tokenizer)}")
    assert models.spec_of(ours).n_ctx == 2048
    assert "has 131,072 positions; 2,048 of them are read." in capsys.readouterr().err
    with torch.no_grad():
        torch.testing.assert_close(forward.logits(ours, ROWS), theirs(ROWS).logits, atol=1e-4, rtol=0)


def test_older_names_of_pythia(tmp_path: Path, tokenizer: Tokenizer) -> None:
    """Older files of GPT-NeoX call the unembedding `embed_out` and keep causal masks."""
    from safetensors.torch import load_file, save_file

    theirs = tiny("gpt_neox")
    path = saved(tmp_path, theirs, tokenizer) / "model.safetensors"
    old = {name.replace("lm_head", "embed_out"): tensor for name, tensor in load_file(path).items()}
    save_file(old | {"gpt_neox.layers.0.attention.bias": torch.ones(1, 1, 20, 20)}, path)
    with torch.no_grad():
        found = forward.logits(models.load(f"hf:{tmp_path}"), ROWS)
        torch.testing.assert_close(found, theirs(ROWS).logits, atol=1e-4, rtol=0)


def test_the_shape_of_gpt_neo(tmp_path: Path, tokenizer: Tokenizer) -> None:
    spec, weights, _ = huggingface.read(saved(tmp_path, tiny("gpt_neo"), tokenizer))
    assert (spec.window, spec.local_layers, spec.scaled, spec.tied) == (NEO_WINDOW, (1,), False, True)
    assert (spec.d_model, spec.n_layers, spec.n_heads, spec.d_vocab, spec.n_ctx) == (16, 2, 4, 290, 20)
    assert not weights["blocks.0.attn.b_Q"].any()


def test_older_files(tmp_path: Path, tokenizer: Tokenizer) -> None:
    """The oldest GPT-2 files have no `transformer.` before their names, and keep their causal masks; half precision."""
    from safetensors.torch import load_file, save_file

    theirs = tiny("gpt2")
    path = saved(tmp_path, theirs, tokenizer) / "model.safetensors"
    old = {name.removeprefix("transformer."): tensor.half() for name, tensor in load_file(path).items()}
    save_file(old | {"h.0.attn.bias": torch.ones(1, 1, 20, 20)}, path)
    with torch.no_grad():
        expected, found = theirs.half().float()(ROWS).logits, forward.logits(models.load(f"hf:{tmp_path}"), ROWS)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def test_weights_in_several_files(tmp_path: Path, tokenizer: Tokenizer) -> None:
    theirs = tiny("gpt_neo")
    theirs.save_pretrained(tmp_path, max_shard_size="20KB")
    tokenizer.save(tmp_path / "tokenizer.json")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    with torch.no_grad():
        torch.testing.assert_close(
            forward.logits(models.load(f"hf:{tmp_path}"), ROWS), theirs(ROWS).logits, atol=1e-4, rtol=0
        )
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(index.read_text().replace("model-00001", "../model-00001"))
    with pytest.raises(ValueError, match=r"names '\.\./model-00001.*no safetensors file of its folder"):
        huggingface.read(tmp_path)


def test_gpt2s_own_tokenizer_files(tmp_path: Path, tokenizer: Tokenizer) -> None:
    saved(tmp_path, tiny("gpt2"), tokenizer)
    whole = json.loads((tmp_path / "tokenizer.json").read_text())["model"]
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"has no tokenizer: put tokenizer.json, or vocab.json and merges.txt"):
        huggingface.read(tmp_path)
    (tmp_path / "vocab.json").write_text(json.dumps(whole["vocab"]), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(m) for m in whole["merges"]), "utf-8")
    found = huggingface.read(tmp_path)[2]
    assert found.encode(["the cat was sad"]) == tokenizer.encode(["the cat was sad"])


# Refusals


@pytest.fixture
def folder(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    return saved(tmp_path / "model", tiny("gpt2"), tokenizer)


def test_a_truncated_file(folder: Path, refused: Any) -> None:
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    for part in (whole[:-100], whole[:50], b""):
        path.write_bytes(part)
        with refused(r"model\.safetensors was truncated or is not safetensors"):
            huggingface.read(folder)


@pytest.mark.parametrize("wrong", [float("nan"), -float("inf"), 3e38])
def test_weights_that_are_not_finite_or_would_not_stay_so(folder: Path, refused: Any, wrong: float) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors["transformer.h.0.mlp.c_fc.weight"][2, 3] = wrong
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with refused(r"mlp\.W_in holds numbers that are not finite"):
        models.load(f"hf:{folder}")


def test_pickled_weights_are_not_opened(folder: Path, planted: bytes) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(planted)
    with pytest.raises(ValueError, match=r"only in pytorch_model\.bin, which is pickled.*Convert it to safetensors"):
        huggingface.read(folder)
    (folder / "model.safetensors").write_bytes((folder / "pytorch_model.bin").read_bytes())
    with pytest.raises(ValueError, match="is not safetensors"):
        huggingface.read(folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"model_type": "mistral", "architectures": ["MistralForCausalLM"]},
            "MistralForCausalLM, which is not supported; GPT2LMHeadModel, GPTNeoForCausalLM, GPTNeoXForCausalLM and Ll",
        ),
        ({"architectures": ["GPT2ForTokenClassification"]}, "describes GPT2ForTokenClassification"),
        ({"model_type": None, "architectures": None}, "describes no model"),
        ({"activation_function": "tanh"}, "activation 'tanh'"),
        ({"add_cross_attention": True}, "cross-attention"),
        ({"n_layer": 3}, "lack 'h.2.ln_1.weight' .and 11 more."),
        ({"n_layer": 1}, "hold 'h.1"),
        ({"n_embd": 32}, "wte.weight has shape .290, 16.; its config asks for .290, 32."),
        ({"tie_word_embeddings": False}, "lack 'lm_head.weight'"),
        ({"n_head": 3}, "3 heads do not divide"),
        ({"architectures": 5, "model_type": "x"}, "architectures is 5; it must be a list of names"),
        ({"architectures": [], "model_type": ["gpt2"]}, "describes"),
        ({"per_layer_config": {"0": {"n_head": 2}}}, "layers configurations of their own"),
        ({"n_layer": "two"}, "config of GPT2LMHeadModel: .*'n_layer'.*'two'"),  # the whole reason, in one line
    ],
)
def test_a_config_that_does_not_fit(folder: Path, changes: dict[str, Any], said: str, refused: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with refused(said):
        huggingface.read(folder)


@pytest.mark.parametrize("changes", [{"num_labels": 10**9}, {"num_labels": "x", "id2label": 5, "label2id": []}])
def test_the_labels_of_a_classifier_are_not_read(folder: Path, changes: dict[str, Any]) -> None:
    """Of a billion labels transformers would write out each."""
    path = folder / "config.json"
    before = huggingface.read(folder)[0]
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    assert huggingface.read(folder)[0] == before


BOTH = ["global", "local"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"attention_types": [[["global"], 1_000_000_000]]}, "the kinds of 1,000,000,000 layers, and num_layers is 2"),
        ({"attention_types": [[["global"] * 20_000, 1000]] * 10}, "the kinds of 200,000,000 layers, and num_layers"),
        ({"attention_types": [[BOTH, 3]], "attention_layers": BOTH}, "the kinds of 6 layers, and num_layers is 2"),
        ({"attention_types": [[BOTH, 3]], "num_layers": 6, "num_hidden_layers": 2}, "6 layers, and num_hidden_layers"),
        ({"attention_types": [[["global"], 2]], "attention_layers": BOTH}, "is not what attention_types says"),
        ({}, "the kinds of 24 layers, and num_layers is 2"),
        ({"attention_layers": BOTH * 2}, "the kinds of 4 layers"),
        *[
            ({"attention_types": wrong}, "is no config of GPTNeoForCausalLM: attention_types is")
            for wrong in (5, [5], [[]], [[["global"], "many"]], {"a": 1}, [[["global"], 10**9], 5], ["ab"])
        ],
    ],
)
def test_attention_types_of_another_number_of_layers(
    folder: Path, refused: Any, changes: dict[str, Any], said: str
) -> None:
    """Known before transformers writes them out, which takes all memory or, with `attention_layers`, is in vain."""
    neo = {"model_type": "gpt_neo", "architectures": ["GPTNeoForCausalLM"], "num_layers": 2}
    (folder / "config.json").write_text(json.dumps(neo | changes))
    with refused(said):
        huggingface.read(folder)


@pytest.mark.parametrize(
    "index", [[], 5, {}, {"weight_map": []}, {"weight_map": {}}, {"weight_map": {"wte.weight": 7}}, None]
)
def test_an_index_without_a_map_of_files(folder: Path, index: Any, refused: Any) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with refused("has no 'weight_map' from tensors to files"):
        huggingface.read(folder)


def test_what_is_no_model(folder: Path, in_tmp: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        huggingface.read(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ValueError, match=r"there is no .*config\.json: .* is no Hugging Face model"):
        huggingface.read(folder)
    with pytest.raises(ValueError, match=r"'../../x' is neither a folder nor a hub id"):
        huggingface.read("../../x")


# By id


def test_an_id_without_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refused: Any) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with refused(r"somebody/stories is not in the hub's cache.*offline.*hf:FOLDER"):
        huggingface.read("somebody/stories")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_what_is_no_file_has_the_right_sentence(name: str, tmp_path: Path, tokenizer: Tokenizer, refused: Any) -> None:
    folder = saved(tmp_path / "theirs", tiny("gpt2"), tokenizer)
    for makes, said in (
        (os.mkfifo, f"{name} is a pipe, not a file"),
        (lambda path: path.symlink_to("lost"), f"{name} is a link to lost, which leads to no file"),
        (os.mkdir, f"{name} is a folder, not a file"),
    ):
        (folder / name).rmdir() if (folder / name).is_dir() else (folder / name).unlink()
        makes(folder / name)
        with refused(said):
            huggingface.read(folder)


def test_a_folder_of_the_hub_s_layout_named_as_ours(tmp_path: Path, tokenizer: Tokenizer, refused: Any) -> None:
    folder = saved(tmp_path / "theirs", tiny("gpt2"), tokenizer)
    with refused(f"It is a model of Hugging Face's layout: hf:{folder} names it."):
        models.load(folder)


def test_a_small_vocabulary_says_nothing_of_its_own(tmp_path: Path, tokenizer: Tokenizer) -> None:
    """In a process of its own, where transformers has its own stderr and has warned of nothing yet."""
    folder = saved(tmp_path / "theirs", tiny("gpt2", bos_token_id=50256, eos_token_id=50256), tokenizer)
    command = [sys.executable, "-m", "tslens", "export", f"hf:{folder}", "--to", "hf", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "[transformers]" not in done.stderr and "token_id" not in done.stderr


@pytest.mark.parametrize(
    ("source", "name"),
    [("OWNER/NAME", "NAME"), ("NAME@v1.0", "NAME@v1.0"), ("OWNER/NAME@refs/pr/1", "NAME@refs-pr-1"), (".", None)],
)
def test_the_name_of_an_id(source: str, name: str | None) -> None:
    assert huggingface.source_name(source) == (name or Path.cwd().name)


@pytest.mark.thorough
def test_an_id_in_the_hubs_cache(tmp_path: Path, tokenizer: Tokenizer) -> None:
    """In a process of its own, as the hub reads HF_HOME once, and in which opening any socket is an error."""
    theirs = tiny("gpt_neo")
    repository, revision = tmp_path / "hub" / "models--somebody--stories-1M", "0123456789abcdef0123456789abcdef01234567"
    saved(repository / "snapshots" / revision, theirs, tokenizer)
    for ref in ("main", "refs/pr/1"):
        (repository / "refs" / ref).parent.mkdir(parents=True, exist_ok=True)
        (repository / "refs" / ref).write_text(revision)
    code = (
        "import socket, sys, torch\n"
        "def no(*_): raise AssertionError('the network was asked')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = no\n"
        "from tslens.models import huggingface\n"
        "for name in ('somebody/stories-1M', 'somebody/stories-1M@refs/pr/1'):\n"
        "    spec, weights, tokenizer = huggingface.read(name)\n"
        "    print(spec.name, spec.d_vocab, tokenizer.size, round(float(weights['embed.W_E'].sum()), 3))\n"
    )
    env = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    env.pop("HF_HUB_CACHE", None)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    line = f"16x2 290 {tokenizer.size} {round(float(theirs.transformer.wte.weight.detach().sum()), 3)}"
    assert done.stdout.splitlines() == [line, line]


ROPE: dict[str, Any] = {"rope_type": "default", "rope_theta": 1e4}


@pytest.mark.parametrize("kind", ["gpt_neox", "llama"])
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rope_parameters": ROPE | {"rope_theta": "x"}}, "rope_theta is 'x'; it must be a number of at least 1"),
        ({"rope_parameters": ROPE | {"rope_theta": -5.0}}, "rope_theta is -5.0"),
        ({"rope_parameters": ROPE | {"rope_theta": "9" * 5_000}}, "rope_theta is '9+[.]{3}9+'; "),
        ({"hidden_act": "x" * 5_000}, "has activation 'x+[.]{3}x+', which tslens does not cover"),
        ({"hidden_size": "x" * 5_000}, r"is no config of .*\[\.\.\.]$"),
        ({"rope_parameters": LINEAR | {"factor": 0}}, "factor is 0; it must be a number of at least 1"),
        ({"rope_parameters": LINEAR | {"factor": [2]}}, "factor is .2.|no config of"),
        (
            {"rope_parameters": LLAMA3 | {"low_freq_factor": 0}},
            "low_freq_factor is 0; it must be a number above 0",
        ),
        ({"rope_parameters": LLAMA3 | {"low_freq_factor": 4.0}}, "low_freq_factor is 4.0 and high_freq_factor 4.0"),
        ({"rope_parameters": LLAMA3 | {"original_max_position_embeddings": -8}}, "original_max_position_embeddings is"),
        ({"rope_parameters": ROPE | {"partial_rotary_factor": 4e9}}, "rotary positions"),
        ({"vocab_size": 10**12}, "vocab_size is over 16,777,216"),
        ({"hidden_size": -16}, "hidden_size is -16; it must be a whole number of at least 1"),
        ({"intermediate_size": -3}, "intermediate_size is -3"),
        ({"intermediate_size": 16_000_000}, "has shape .40, 16.; its config asks for .16000000, 16."),
        ({"max_position_embeddings": 0}, "max_position_embeddings is 0"),
        ({"num_attention_heads": -2}, "num_attention_heads is -2"),
        ({"num_hidden_layers": 999}, "num_hidden_layers is 999, and the files hold [0-9]+ tensors"),
        ({"num_hidden_layers": 1001}, "num_hidden_layers is over 1,000"),
    ],
)
def test_a_number_that_no_model_has_is_refused_before_one_is_made(
    tmp_path: Path, tokenizer: Any, refused: Any, kind: str, changed: dict[str, Any], said: str
) -> None:
    """On the path of models that TransformerLens runs."""
    options = {"head_dim": 12} if kind == "llama" else {}
    saved(tmp_path, tiny(kind, **options), tokenizer)
    altered(tmp_path, changed)
    with refused(rf"^{tmp_path}.*{said}"):
        models.load(f"hf:{tmp_path}")


@pytest.mark.parametrize(
    ("kind", "changed", "said"),
    [
        ("gpt_neox", {"layer_norm_eps": 10**20}, "layer_norm_eps.* 1000+"),  # transformers refuses it itself, or not
        ("gpt_neox", {"layer_norm_eps": -100.0}, "layer_norm_eps is -100.0; it must be a number above 0"),
        ("llama", {"rms_norm_eps": -100.0}, "rms_norm_eps is -100.0; it must be a number above 0"),
        (
            "gpt_neox",
            {"rope_parameters": ROPE | {"partial_rotary_factor": 0.4}},
            "is 0.4, 3 of the 8 directions",
        ),
        (
            "gpt_neox",
            {"rope_parameters": ROPE | {"partial_rotary_factor": 0.1}},
            "is 0.1, 0 of the 8 directions",
        ),
        ("llama", {"head_dim": -12}, "head_dim is -12"),
        ("llama", {"num_key_value_heads": 0}, "num_key_value_heads is 0"),
        ("llama", {"num_key_value_heads": 3}, "3 key/value heads do not divide 2 heads"),
    ],
)
def test_a_number_of_one_family_that_no_model_has(
    tmp_path: Path, tokenizer: Any, refused: Any, kind: str, changed: dict[str, Any], said: str
) -> None:
    saved(tmp_path, tiny(kind), tokenizer)
    altered(tmp_path, changed if kind == "gpt_neox" else {"rope_parameters": LINEAR} | changed)
    with refused(rf"config\.json: .*{said}"):
        models.load(f"hf:{tmp_path}")


def altered(folder: Path, changed: dict[str, Any]) -> None:
    """Change fields of a folder's config."""
    place = folder / "config.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | changed))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "is not JSON"),
        ("[1]", "is no table of a tokenizer's settings"),
        ('{"bos_token": {"content": 5}}', "bos_token is {'content': 5}; it must be a text"),
        ('{"bos_token": {}}', "bos_token is {}; it must be a text"),
        ('{"bos_token": ["<s>"]}', "bos_token is .'<s>'.; it must be a text"),
    ],
)
def test_broken_settings_of_a_tokenizer_are_named(folder: Path, refused: Any, text: str, said: str) -> None:
    (folder / "tokenizer_config.json").write_text(text)
    with refused(rf"^{folder}/tokenizer_config\.json:? .*{said}"):
        models.load(f"hf:{folder}")


def test_bos_is_the_one_that_the_tokenizers_settings_name(folder: Path) -> None:
    usual = models.tokenizer_of(models.load(f"hf:{folder}"))
    for text, bos in (
        ("{}", usual.bos_text),
        ('{"bos_token": null}', usual.bos_text),
        ('{"bos_token": "no such token"}', usual.bos_text),
        ('{"bos_token": "a"}', "a"),
        ('{"bos_token": {"__type": "AddedToken", "content": "a"}}', "a"),
    ):
        (folder / "tokenizer_config.json").write_text(text)
        assert models.tokenizer_of(models.load(f"hf:{folder}")).bos_text == bos


@pytest.mark.parametrize("given", ["GPT2LMHeadModel", [{}], 5, {"0": "GPT2LMHeadModel"}])
def test_architectures_are_a_list_of_names(folder: Path, refused: Any, given: Any) -> None:
    altered(folder, {"architectures": given})
    with refused(r"config\.json: architectures is .*; it must be a list of names"):
        models.load(f"hf:{folder}")


def test_a_folder_whose_name_is_no_text_is_named(folder: Path, refused: Any) -> None:
    theirs = folder.rename(folder.with_name(os.fsdecode(b"h\xff")))
    with refused(r"h\\udcff' is no UTF-8: rename it, or give another name"):
        models.load(f"hf:{theirs}")
