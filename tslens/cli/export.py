"""The command that writes models for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tslens.cli.options import Model

if TYPE_CHECKING:
    from tslens.models import LanguageModel

Format = Literal["hf", "transformer-lens", "llama2c", "gguf"]
LOADED = {
    "hf": 'AutoModelForCausalLM.from_pretrained("{}") loads it.',
    "transformer-lens": "its load.py loads it, in four lines of TransformerLens.",
    "gguf": 'AutoModelForCausalLM.from_pretrained("{}", gguf_file="model.gguf") loads it.',
    "llama2c": "./run {0}/model.bin -z {0}/tokenizer.bin writes with it.",
}


def export(model: Model, *, to: Format, out: Path | None = None) -> None:
    """Write a model for other programs: transformers, TransformerLens, llama2.c or those that read GGUF, with its
    tokenizer.

    Parameters
    ----------
    to
        `hf`: a folder that transformers loads, with GPT-2's, GPT-Neo's, GPT-NeoX's or Llama's architecture.
        `transformer-lens`: a configuration and weights of TransformerLens, of any HookedTransformer. `llama2c`: a
        checkpoint and a tokenizer for llama2.c, of a Llama-style model. `gguf`: one file with the tokenizer in it, of a
        Llama-style model (needs the extra `tslens[gguf]`).
    out
        The new folder. Default: the model's name and the format, such as stories2M-hf.
    """
    from tslens.models import load, name_of
    from tslens.models.export import to_gguf, to_huggingface, to_llama2c, to_transformer_lens
    from tslens.models.export.to_gguf import FILE
    from tslens.progress import stage

    loaded = load(model)
    folder = Path(f"{name_of(loaded)}-{to}") if out is None else out
    writers = {"hf": to_huggingface, "transformer-lens": to_transformer_lens, "llama2c": to_llama2c, "gguf": to_gguf}
    read_by_transformers: dict[Format, dict[str, str]] = {"hf": {}, "gguf": {"gguf_file": FILE}}
    with stage(f"writing {folder}"):
        writers[to](loaded, folder)
        named = read_by_transformers.get(to)
        differs = None if named is None else _difference(loaded, folder, named)
    print(f"{folder}: {LOADED[to].format(folder)}")
    if differs is not None:
        print(f"Logits of transformers differ from ours by at most {differs:.1g}, on {loaded.cfg.n_ctx} random tokens.")


def _difference(model: "LanguageModel", folder: Path, named: dict[str, str]) -> float:
    """The largest difference of the logits that transformers computes from a folder, or from the file in it that is
    `named`, on one row of random tokens."""
    import torch
    from transformers import AutoModelForCausalLM

    from tslens.forward import logits
    from tslens.models.huggingface.quiet import quiet

    tokens = torch.randint(0, model.cfg.d_vocab, (1, model.cfg.n_ctx), generator=torch.Generator().manual_seed(0))
    with quiet(), torch.no_grad():
        theirs = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, **named).eval()
        return float((theirs(tokens).logits - logits(model, tokens)).abs().max())
