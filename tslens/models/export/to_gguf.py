"""Write a Llama-style model as a GGUF file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokenizers

from tslens.backends import PROBE
from tslens.errors import InputError
from tslens.models.export.biases import bias_beyond
from tslens.models.export.folder import new_folder
from tslens.models.export.to_huggingface import elsewhere
from tslens.models.hooked import story_tokenizer_of, weights
from tslens.models.huggingface.llama import LLAMA
from tslens.models.huggingface.quiet import quiet
from tslens.models.loading import name_of
from tslens.models.rotary import in_neighbours
from tslens.models.spec import Spec
from tslens.models.validation import spec_of
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models.protocols import LanguageModel

FILE = "model.gguf"
TEXTS = (PROBE, "Once upon a time, Lily's CAT didn't  see 1234 cafés.\n\n  It ran! ")
MOST = 100
"""Added tokens of which the file is read back."""


def to_gguf(model: "LanguageModel", folder: str | Path) -> Path:
    """Write `model.gguf` (fp32) with the tokenizer in it; returns the folder, which must be new. transformers reads it:
    `AutoModelForCausalLM.from_pretrained(folder, gguf_file="model.gguf")`.

    Raises:
        InputError: the model is not Llama-style, its tokenizer is no byte-level BPE or one that transformers reads
            otherwise from the file, or the extra `gguf` is missing.
    """
    try:
        import gguf
    except ImportError as error:
        raise InputError("A GGUF file needs the extra `gguf`: pip install 'tslens[gguf]'.") from error

    spec, tokenizer, bias = spec_of(model), story_tokenizer_of(model), bias_beyond(model)
    kind = type(tokenizer.backend.model).__name__
    refused = {
        f"it has the bias {bias!r}": bias is not None,
        "its style is not Llama's": spec.style != "llama",
        "its attention has windows": bool(spec.local_layers),
        "its scores are not scaled": not spec.scaled,
        "its tokenizer is not byte-level": not tokenizer.byte_level,
        f"its tokenizer is a {kind} and not a BPE": kind != "BPE",
    }
    if found := [what for what, there in refused.items() if there]:
        raise InputError(f"{name_of(model)} has no form in GGUF: {', '.join(found)}. {elsewhere(model)}")
    arrays = LLAMA.write(spec, in_neighbours(spec, weights(model)))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, spec.n_layers)
    with new_folder(folder) as made:
        writer = gguf.GGUFWriter(made / FILE, "llama")
        writer.add_name(name_of(model))
        _shape(writer, spec)
        _vocabulary(writer, tokenizer, spec.d_vocab, gguf.TokenType)
        for name, array in arrays.items():
            theirs = names.get_name(name, (".weight",))
            assert theirs is not None, name
            writer.add_tensor(theirs, array.contiguous().numpy())
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        if (text := _read_otherwise(made, tokenizer)) is not None:
            raise InputError(
                f"{name_of(model)} has no form in GGUF: transformers reads {text!r} from it as other tokens than the "
                f"model's tokenizer does. {elsewhere(model)}"
            )
    return Path(folder)


def _shape(writer: Any, spec: Spec) -> None:
    writer.add_vocab_size(spec.d_vocab)
    writer.add_context_length(spec.n_ctx)
    writer.add_embedding_length(spec.d_model)
    writer.add_block_count(spec.n_layers)
    writer.add_feed_forward_length(spec.mlp_width)
    writer.add_head_count(spec.n_heads)
    writer.add_head_count_kv(spec.key_value_heads)
    writer.add_layer_norm_rms_eps(spec.eps)
    writer.add_rope_dimension_count(spec.d_head)
    writer.add_rope_freq_base(spec.rotary_base)
    writer.add_file_type(0)  # all in fp32


def _vocabulary(writer: Any, tokenizer: Tokenizer, size: int, kind: Any) -> None:
    """Tokens, merges, BOS and EOS; ids that the tokenizer leaves out are unused."""
    merges = json.loads(tokenizer.backend.to_str())["model"]["merges"]
    texts = [tokenizer.backend.id_to_token(i) for i in range(size)]
    added = tokenizer.backend.get_added_tokens_decoder()
    kinds = [kind.UNUSED if text is None else kind.NORMAL for text in texts]
    for i, token in added.items():
        kinds[i] = kind.CONTROL if token.special else kind.USER_DEFINED
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([f"<unused {i}>" if text is None else text for i, text in enumerate(texts)])
    writer.add_token_types(kinds)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    writer.add_bos_token_id(tokenizer.bos)
    if tokenizer.ends:
        writer.add_eos_token_id(tokenizer.eos)
    writer.add_add_bos_token(True)


def _read_otherwise(folder: Path, tokenizer: Tokenizer) -> str | None:
    """The first of some texts, among them every added token up to `MOST`, that transformers encodes otherwise by the
    file; None where there is none. Special tokens in a text count as themselves, as programs that read GGUF take
    them."""
    from transformers import AutoTokenizer

    own = tokenizers.Tokenizer.from_str(tokenizer.backend.to_str())
    added = [token.content for token in own.get_added_tokens_decoder().values()][:MOST]
    texts = [*TEXTS, *(text for token in added for text in (token, f"Tom {token} ran", f"Tom{token}ran"))]
    with quiet():
        read = AutoTokenizer.from_pretrained(folder, gguf_file=FILE, local_files_only=True)
    found = zip(texts, read(texts)["input_ids"], own.encode_batch(texts), strict=True)
    return next((text for text, theirs, ours in found if theirs != ours.ids), None)
