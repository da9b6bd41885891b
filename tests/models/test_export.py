"""Exported models: read by transformers, TransformerLens and a C program without tslens, with the same logits."""

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch
from tokenizers import decoders, normalizers

from tests.models.test_huggingface import LINEAR, LLAMA3, saved, tiny
from tests.models.test_llama2c import write_model, write_tokenizer
from tslens import forward, models
from tslens.models import Spec
from tslens.models.export import to_gguf, to_huggingface, to_llama2c, to_transformer_lens
from tslens.models.export.to_transformer_lens import LOADED
from tslens.models.hooked import hooked_config, spec_of_config
from tslens.models.hooked_spec import plain_config
from tslens.models.validation import spec_of
from tslens.tokenizer import END_OF_STORY, Tokenizer

TEXTS = ["Once upon a time the cat was sad.", "Ben ran.\n\nThe café — 日!", "  two  spaces"]
GPT2 = Spec(16, 2, 4, d_vocab=290, n_ctx=20)
LLAMA = Spec(16, 2, 4, d_vocab=290, n_ctx=20, style="llama")
SHAPES = {
    "gpt2": GPT2,
    "untied": replace(GPT2, tied=False, eps=1e-3, d_mlp=24),
    "odd heads": replace(GPT2, d_model=20),
    "unscaled": replace(GPT2, scaled=False),
    "llama": LLAMA,
    "grouped": replace(LLAMA, n_key_value_heads=2, tied=False),
    "neighbours": replace(LLAMA, rotary_adjacent=True, rotary_base=500.0),
}
ROWS = torch.randint(0, 290, (2, 20), generator=torch.Generator().manual_seed(1))


def made(spec: Spec, tokenizer: Tokenizer) -> Any:
    """A model of this shape with every weight away from its start, biases too."""
    model = models.build(spec, tokenizer=tokenizer)
    generator = torch.Generator().manual_seed(2)
    drawn = {n: w + 0.3 * torch.randn(w.shape, generator=generator) for n, w in models.weights(model).items()}
    models.load_weights(model, drawn)
    return model


def without_tslens(code: str, folder: Path, python: str | Path = sys.executable) -> Any:
    """What a program prints as JSON that cannot import tslens and runs in the folder, offline."""
    head = (
        "import sys, json; sys.modules['tslens'] = None\nimport torch\nrows = torch.tensor(json.loads(sys.argv[1]))\n"
    )
    command = [str(python), "-c", head + code, json.dumps(ROWS.tolist())]
    env = {"HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("gpt_neox", {}),
        ("gpt_neox", {"rope_parameters": LINEAR, "tie_word_embeddings": True, "use_parallel_residual": False}),
        ("llama", {"rope_parameters": LLAMA3, "num_key_value_heads": 1}),
        ("llama", {"head_dim": 12}),
        ("gpt_neox", {"rope_parameters": {"rope_type": "default", "rope_theta": 10.0, "partial_rotary_factor": 1.0}}),
        ("gpt2", {"activation_function": "relu", "scale_attn_by_inverse_layer_idx": True}),
        ("gpt2", {"activation_function": "gelu", "tie_word_embeddings": False, "n_inner": 24}),
        ("gpt2", {"activation_function": "silu", "scale_attn_weights": False}),
    ],
)
def test_a_model_of_transformers_goes_back(kind: str, changes: Any, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Of the shapes that run through TransformerLens's own forward."""
    from transformers import AutoModelForCausalLM

    theirs = tiny(kind, **changes)
    ours = models.load(f"hf:{saved(tmp_path / 'in', theirs, tokenizer)}")
    again = AutoModelForCausalLM.from_pretrained(to_huggingface(ours, tmp_path / "out")).eval()
    assert type(again) is type(theirs) and again.num_parameters() == theirs.num_parameters()
    with torch.no_grad():
        torch.testing.assert_close(again(ROWS).logits, theirs(ROWS).logits, atol=1e-6, rtol=0)


@pytest.mark.filterwarnings("ignore:HookedTransformer is deprecated")
@pytest.mark.parametrize("changes", [{}, {"scale_attn_by_inverse_layer_idx": True}])
def test_another_name_of_gelu_goes_out(changes: Any, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Through the fast forward and TransformerLens's own."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig
    from transformers import AutoModelForCausalLM

    shape = {"n_layers": 2, "d_model": 16, "n_ctx": 20, "d_head": 4, "n_heads": 4, "d_vocab": 290}
    ours = HookedTransformer(HookedTransformerConfig(**shape | changes, act_fn="gelu_pytorch_tanh", seed=0))
    models.attach_tokenizer(ours, tokenizer)
    theirs = AutoModelForCausalLM.from_pretrained(to_huggingface(ours, tmp_path / "out")).eval()
    with torch.no_grad():
        torch.testing.assert_close(theirs(ROWS).logits, ours(ROWS), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("changed", ["mlp.b_in", "activation", "adjacent"])
def test_what_no_family_computes_does_not_go_out(
    changed: str, tokenizer: Tokenizer, tmp_path: Path, refused: Any
) -> None:
    ours = models.load(f"hf:{saved(tmp_path / 'in', tiny('llama', head_dim=12), tokenizer)}")
    fields = dict(spec_of(ours).config)
    if changed == "mlp.b_in":
        with torch.no_grad():
            ours.blocks[0].mlp.b_in.add_(1.0)
    else:
        fields |= {"act_fn": "gelu"} if changed == "activation" else {"rotary_adjacent_pairs": True}
        ours = models.build(spec_of_config(fields), tokenizer=tokenizer)
    with refused("cannot be written for transformers.*--to transformer-lens"):
        to_huggingface(ours, tmp_path / "out")


@pytest.mark.parametrize("spec", [LLAMA, GPT2])
def test_a_bias_of_the_unembedding_is_named_where_it_has_no_place(
    spec: Spec, tokenizer: Tokenizer, tmp_path: Path, refused: Any
) -> None:
    pytest.importorskip("gguf")
    ours = made(spec, tokenizer)
    with torch.no_grad():
        ours.unembed.b_U[3] = 1.0
    with refused("16x2 cannot be written for transformers with the bias 'unembed.b_U'.*--to transformer-lens"):
        to_huggingface(ours, tmp_path / "out")
    with refused(
        "16x2 has no form in GGUF: it has the bias 'unembed.b_U', its style is not Llama's. Write it with --to t"
    ):
        to_gguf(ours, tmp_path / "out")
    with refused(
        "llama2.c cannot run 16x2: it has the bias 'unembed.b_U', its style is not Llama's. Write it with --to t"
    ):
        to_llama2c(ours, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["WordLevel", "WordPiece", "Unigram"])
def test_a_tokenizer_without_merges_has_no_form_in_gguf(kind: str, tmp_path: Path, refused: Any) -> None:
    """Nor in llama2.c: words of bytes would be cut otherwise there."""
    import tokenizers

    pytest.importorskip("gguf")
    letters = ["[UNK]", END_OF_STORY, *tokenizers.pre_tokenizers.ByteLevel.alphabet()]
    made_of = {letter: i for i, letter in enumerate(letters)}
    backend = tokenizers.Tokenizer(
        tokenizers.models.Unigram([(letter, -1.0) for letter in letters], 0)
        if kind == "Unigram"
        else getattr(tokenizers.models, kind)(made_of, unk_token="[UNK]")
    )
    backend.pre_tokenizer, backend.decoder = tokenizers.pre_tokenizers.ByteLevel(), tokenizers.decoders.ByteLevel()
    words = Tokenizer(backend)
    ours = models.build(replace(LLAMA, d_vocab=len(letters) + 2), tokenizer=words)
    with refused(f"16x2 has no form in GGUF: its tokenizer is a {kind} and not a BPE. Write it with --to hf"):
        to_gguf(ours, tmp_path / "out")
    with refused("llama2.c has no form for this tokenizer: it takes a byte-level BPE"):
        to_llama2c(ours, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", SHAPES)
def test_transformers_computes_the_same(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    ours = made(SHAPES[kind], tokenizer)
    folder = to_huggingface(ours, tmp_path / "out")
    theirs = AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        expected = forward.logits(ours, ROWS)
        assert expected.std() > 0.3
        torch.testing.assert_close(theirs(ROWS).logits, expected, atol=1e-5, rtol=1e-5)
        again = models.load(f"hf:{folder}")
        torch.testing.assert_close(forward.logits(again, ROWS), expected, atol=1e-5, rtol=1e-5)
    read = AutoTokenizer.from_pretrained(folder)
    assert read(TEXTS)["input_ids"] == tokenizer.encode(TEXTS)  # BOS first, by itself
    assert read.decode(tokenizer.encode(TEXTS)[1], skip_special_tokens=True) == TEXTS[1]
    assert models.tokenizer_of(again).hash == tokenizer.hash
    assert theirs.generation_config.eos_token_id == tokenizer.bos  # it stops where a story ends


LOADED_BY_TRANSFORMERS = """
from transformers import AutoModelForCausalLM
print(json.dumps(AutoModelForCausalLM.from_pretrained(".").double().eval()(rows).logits.tolist()))
"""


def test_transformers_computes_the_same_of_the_bundled_model_without_tslens(tmp_path: Path) -> None:
    """In float64, as fp32 rounds its logits by more than 1e-5."""
    folder = to_huggingface(models.load("stories2M"), tmp_path / "out")
    ours = models.load("stories2M").double()
    with torch.no_grad():
        found = torch.tensor(without_tslens(LOADED_BY_TRANSFORMERS, folder), dtype=torch.float64)
        torch.testing.assert_close(found, ours(ROWS), atol=1e-5, rtol=0)


def test_the_four_lines_of_the_guide_are_those_in_the_folder(checkout: Path) -> None:
    assert f"```python\n{LOADED}```\n" in (checkout / "docs/howto/export.md").read_text(encoding="utf-8")
    assert len([line for line in LOADED.splitlines() if line and "import" not in line]) == 4


def test_windows_of_gpt_neo(tokenizer: Tokenizer, tmp_path: Path, refused: Any) -> None:
    from transformers import AutoModelForCausalLM

    spec = replace(GPT2, scaled=False, window=5, local_layers=(1,))
    ours = made(spec, tokenizer)
    with refused("16x2 cannot be written for transformers.*--to transformer-lens"):
        to_huggingface(ours, tmp_path / "biased")
    with torch.no_grad():
        for block in ours.blocks:
            for name in ("b_Q", "b_K", "b_V"):
                getattr(block.attn, name).zero_()
    folder = to_huggingface(ours, tmp_path / "out")
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["GPTNeoForCausalLM"]
    with torch.no_grad():
        found = AutoModelForCausalLM.from_pretrained(folder).eval()(ROWS).logits
        torch.testing.assert_close(found, forward.logits(ours, ROWS), atol=1e-5, rtol=1e-5)
    with refused("cannot be written for transformers"):
        to_huggingface(made(replace(spec, scaled=True), tokenizer), tmp_path / "scaled")
    assert not (tmp_path / "biased").exists() and not (tmp_path / "scaled").exists()


LOADED_BY_TRANSFORMER_LENS = """
exec(open("load.py").read())
lacking = model.load_state_dict(load_file("model.safetensors"), strict=False)
assert not lacking.unexpected_keys and not [k for k in lacking.missing_keys if "W_" in k or "b_" in k], lacking
print(json.dumps([model(rows).tolist(), model.to_tokens("the cat was sad").tolist()]))
"""


@pytest.mark.parametrize("kind", ["untied", "grouped", "neighbours"])
def test_transformer_lens_computes_the_same(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    ours = made(SHAPES[kind], tokenizer)
    logits, tokens = without_tslens(LOADED_BY_TRANSFORMER_LENS, to_transformer_lens(ours, tmp_path / "out"))
    with torch.no_grad():
        torch.testing.assert_close(torch.tensor(logits), forward.logits(ours, ROWS), atol=1e-5, rtol=1e-5)
    assert tokens == tokenizer.encode(["the cat was sad"])


@pytest.mark.filterwarnings("ignore:HookedTransformer is deprecated")
def test_a_hooked_transformer_of_ones_own(tokenizer: Tokenizer, tmp_path: Path, refused: Any) -> None:
    """Of attention only: TransformerLens's folder holds it, transformers has no such model."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    config = {"n_layers": 2, "d_model": 16, "n_ctx": 20, "d_head": 4, "n_heads": 4, "d_vocab": 290, "attn_only": True}
    ours = HookedTransformer(HookedTransformerConfig(**config, seed=0, device="cpu"))
    models.attach_tokenizer(ours, tokenizer)
    logits, _ = without_tslens(LOADED_BY_TRANSFORMER_LENS, to_transformer_lens(ours, tmp_path / "out"))
    with torch.no_grad():
        torch.testing.assert_close(torch.tensor(logits), ours(ROWS), atol=1e-5, rtol=1e-5)
    with refused("cannot be written for transformers"):
        to_huggingface(ours, tmp_path / "hf")
    with refused("llama2.c cannot run .*: its style is not Llama's"):
        to_llama2c(ours, tmp_path / "llama2c")


# GGUF


@pytest.mark.parametrize("kind", ["llama", "grouped", "neighbours"])
def test_transformers_computes_the_same_from_gguf(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    pytest.importorskip("gguf")
    ours = made(SHAPES[kind], tokenizer)
    folder, file = to_gguf(ours, tmp_path / "out"), {"gguf_file": "model.gguf"}
    theirs = AutoModelForCausalLM.from_pretrained(folder, **file).eval()
    with torch.no_grad():
        torch.testing.assert_close(theirs(ROWS).logits, forward.logits(ours, ROWS), atol=1e-5, rtol=1e-5)
    read = AutoTokenizer.from_pretrained(folder, **file)
    assert read(TEXTS)["input_ids"] == tokenizer.encode(TEXTS)  # BOS first, by itself
    assert read.decode(tokenizer.encode(TEXTS)[1], skip_special_tokens=True) == TEXTS[1]
    assert read.bos_token_id == read.eos_token_id == tokenizer.bos


def test_a_vocabulary_beyond_its_tokenizer_goes_into_gguf(tokenizer: Tokenizer, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    pytest.importorskip("gguf")
    ours = made(replace(LLAMA, d_vocab=max(tokenizer.size, 290) + 6, d_mlp=24), tokenizer)
    theirs = AutoModelForCausalLM.from_pretrained(to_gguf(ours, tmp_path / "out"), gguf_file="model.gguf").eval()
    with torch.no_grad():
        torch.testing.assert_close(theirs(ROWS).logits, forward.logits(ours, ROWS), atol=1e-5, rtol=1e-5)


def with_added(tokenizer: Tokenizer, *plain: str, special: str = "<|user|>") -> Tokenizer:
    backend = tokenizers.Tokenizer.from_str(tokenizer.backend.to_str())
    backend.add_special_tokens([special])
    backend.add_tokens([*plain])
    return Tokenizer(backend)


def test_added_tokens_are_read_back_from_gguf(tokenizer: Tokenizer, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    pytest.importorskip("gguf")
    own = with_added(tokenizer, "Lily")
    folder = to_gguf(made(replace(LLAMA, d_vocab=own.size), own), tmp_path / "out")
    read = AutoTokenizer.from_pretrained(folder, gguf_file="model.gguf")
    ids = [own.backend.token_to_id(token) for token in ("<|endoftext|>", "Lily", "<|user|>", "Lily")]
    assert None not in ids and read("Lily<|user|>Lily")["input_ids"] == ids


@pytest.mark.parametrize("kind", ["added", "lower case", "space before"])
def test_a_tokenizer_that_gguf_changes_has_no_form_in_it(
    kind: str, tokenizer: Tokenizer, tmp_path: Path, refused: Any
) -> None:
    pytest.importorskip("gguf")
    own = with_added(tokenizer, " dragon") if kind == "added" else Tokenizer(tokenizer.backend)
    if kind == "lower case":
        own.backend.normalizer = normalizers.Lowercase()
    elif kind == "space before":
        own.backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    text = "' dragon'" if kind == "added" else "'"
    with refused(f"16x2 has no form in GGUF: transformers reads {text}.* as other tokens .*Write it with --to hf"):
        to_gguf(made(replace(LLAMA, d_vocab=own.size), own), tmp_path / "out")
    assert not [*tmp_path.iterdir()]


def test_a_refusal_names_only_formats_that_take_the_model(tokenizer: Tokenizer, tmp_path: Path, refused: Any) -> None:
    pytest.importorskip("gguf")
    fields = plain_config(hooked_config(LLAMA)) | {"output_logits_soft_cap": 3.0}
    capped = models.build(spec_of_config(fields), tokenizer=tokenizer)
    for model, where in ((capped, ""), (made(GPT2, tokenizer), "hf, or with --to ")):
        for write in (to_gguf, to_llama2c):
            with refused(f"its style is not Llama's.* Write it with --to {where}transformer-lens.$"):
                write(model, tmp_path / "out")


def test_what_has_no_form_in_gguf(tokenizer: Tokenizer, tmp_path: Path, refused: Any) -> None:
    pytest.importorskip("gguf")
    with refused("16x2 has no form in GGUF: its style is not Llama's. Write it with --to hf"):
        to_gguf(models.build(GPT2, tokenizer=tokenizer), tmp_path / "out")
    write_model(tmp_path / "model.bin")
    write_tokenizer(tmp_path / "tokenizer.bin")
    with refused("its tokenizer is not byte-level"):
        to_gguf(models.load(f"llama2c:{tmp_path / 'model.bin'}"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


# llama2.c


@pytest.mark.parametrize("kind", ["llama", "grouped"])
def test_our_reader_of_llama2c_finds_the_same(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    ours = made(SHAPES[kind], tokenizer)
    folder = to_llama2c(ours, tmp_path / "out")
    again = models.load(f"llama2c:{folder / 'model.bin'}")
    theirs = models.story_tokenizer_of(again)
    for text in TEXTS:
        assert theirs.decode(theirs.encode([text])[0]) == text
    rows, new = torch.tensor(tokenizer.encode(TEXTS[:1])), torch.tensor(theirs.encode(TEXTS[:1]))
    assert rows.shape == new.shape and not torch.equal(rows, new)
    _, order = models.llama2c.written(tokenizer, 290)
    assert [order[i] for i in new[0]] == rows[0].tolist()
    with torch.no_grad():
        expected, found = forward.logits(ours, rows[:, :20]), forward.logits(again, new[:, :20])
        torch.testing.assert_close(found, expected[..., order], atol=1e-5, rtol=1e-5)


def test_a_model_of_llama2c_goes_back_as_it_was(tmp_path: Path) -> None:
    write_model(tmp_path / "model.bin")
    write_tokenizer(tmp_path / "tokenizer.bin")
    ours = models.load(f"llama2c:{tmp_path / 'model.bin'}")
    again = models.load(f"llama2c:{to_llama2c(ours, tmp_path / 'out') / 'model.bin'}")
    assert all(torch.equal(w, models.weights(again)[name]) for name, w in models.weights(ours).items())
    one, two = models.story_tokenizer_of(ours), models.story_tokenizer_of(again)
    for text in ("the abba and the bab.", "é 日 x"):
        assert one.encode([text]) == two.encode([text])


def underscored(space: str = "▁") -> Tokenizer:
    """SentencePiece's BPE as transformers keeps Llama's: `▁` for a space, bytes, and an end that is not BOS."""
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>"))
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=290, special_tokens=names, show_progress=False)
    signs = [normalizers.Prepend(space), normalizers.Replace(" ", space)]
    backend.normalizer = normalizers.Sequence(signs)
    plain = [decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    backend.decoder = decoders.Sequence(plain)
    backend.train_from_iterator(["the abba and the bab."] * 20, trainer)
    return Tokenizer(backend, "<s>", "</s>")


def test_a_tokenizer_of_sentencepiece_is_llama2cs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = underscored()
    ours = made(replace(LLAMA, d_vocab=own.size), own)
    again = models.load(f"llama2c:{to_llama2c(ours, tmp_path / 'out') / 'model.bin'}")
    assert "llama2.c ends a text at <s> alone, and this model may end it with </s>." in capsys.readouterr().err
    theirs = models.story_tokenizer_of(again)
    for text in ("the abba and the bab.", "bab the  é 日 x"):
        assert theirs.encode([text]) == own.encode([text]) and theirs.decode(theirs.encode([text])[0]) == text


def test_a_tokenizer_without_a_space_is_none_of_llama2cs(tmp_path: Path, refused: Any) -> None:
    other = underscored("_")
    with refused("llama2.c has no form for this tokenizer: it needs one token for a space"):
        to_llama2c(made(replace(LLAMA, d_vocab=other.size), other), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"style": "gpt2"}, "its style is not Llama's"),
        ({"rotary_base": 500.0}, "its rotary base is 500, not 10000"),
        ({"eps": 1e-6}, "its norms add 1e-06"),
    ],
)
def test_what_llama2c_fixes(changes: Any, said: str, tokenizer: Tokenizer, tmp_path: Path, refused: Any) -> None:
    with refused(f"llama2.c cannot run 16x2: {said}"):
        to_llama2c(models.build(replace(LLAMA, **changes), tokenizer=tokenizer), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_vocabulary_that_is_too_small_for_llama2c(tmp_path: Path, refused: Any) -> None:
    small = Tokenizer.train(["ab"], 257)
    with refused("llama2.c has no form for this tokenizer.*at least 259"):
        to_llama2c(models.build(replace(LLAMA, d_vocab=257), tokenizer=small), tmp_path / "out")


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_c_program_computes_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """The program reads only the file's header and arrays, as llama2.c does."""
    ours = made(SHAPES["grouped"], tokenizer)
    folder = to_llama2c(ours, tmp_path / "out")
    program = tmp_path / "program"
    subprocess.run(["cc", "-O2", "-o", program, Path(__file__).with_name("llama2c_forward.c"), "-lm"], check=True)
    _, order = models.llama2c.written(tokenizer, 290)
    row = ROWS[0].tolist()
    ids = [str(order.index(token)) for token in row]
    done = subprocess.run([program, folder / "model.bin", *ids], capture_output=True, text=True, check=True)
    found = np.array([line.split() for line in done.stdout.splitlines()], dtype=np.float32)
    with torch.no_grad():
        expected = forward.logits(ours, torch.tensor([row]))[0][:, order].numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4)


IN_THE_NEXT_MAJOR_VERSION = """
import transformer_lens
from importlib.metadata import version
from transformer_lens.model_bridge import TransformerBridge
bridge = TransformerBridge.boot_transformers(".", device="cpu")
print(json.dumps([transformer_lens.__file__, version("transformer-lens"), bridge(rows).tolist()]))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_transformer_lens_4_opens_it(kind: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """In its bridge, in an environment of its own that has version 4; all else it finds where this one has it."""
    venv.create(tmp_path / "env")
    python = tmp_path / "env/bin/python"
    install = ["-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "transformer-lens>=4,<5"]
    subprocess.run([sys.executable, *install], check=True, capture_output=True)
    (site,) = (tmp_path / "env/lib").glob("python3.*/site-packages")
    (site / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    ours = made(SHAPES[kind], tokenizer)
    folder = to_huggingface(ours, tmp_path / "out")
    where, found, logits = without_tslens(IN_THE_NEXT_MAJOR_VERSION, folder, python)
    assert where.startswith(str(site)) and found.startswith("4.")
    with torch.no_grad():
        torch.testing.assert_close(torch.tensor(logits), forward.logits(ours, ROWS), atol=1e-5, rtol=1e-5)


def test_heads_that_do_not_divide_the_width_have_a_format_that_takes_them(
    tokenizer: Tokenizer, tmp_path: Path, refused: Any
) -> None:
    spec = spec_of_config({"n_layers": 1, "d_model": 32, "n_ctx": 16, "d_head": 5, "n_heads": 3, "d_mlp": 64,
                           "d_vocab": tokenizer.size, "act_fn": "gelu_new", "normalization_type": "LN"})  # fmt: skip
    model = models.build(spec, tokenizer=tokenizer)
    with refused("cannot be written for transformers.*Write it with --to transformer-lens"):
        to_huggingface(model, tmp_path / "a")
    assert to_transformer_lens(model, tmp_path / "b").is_dir()
