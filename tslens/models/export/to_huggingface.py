"""Write a model as a folder that transformers loads."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from tslens.errors import InputError
from tslens.models.export.biases import bias_beyond
from tslens.models.export.folder import new_folder
from tslens.models.fast_tokenizer import to_transformers
from tslens.models.hooked import story_tokenizer_of, weights
from tslens.models.hooked_spec import HookedSpec
from tslens.models.huggingface.family import UNEMBEDDING, Family
from tslens.models.huggingface.gpt2 import GPT2
from tslens.models.huggingface.gpt_neo import GPT_NEO
from tslens.models.huggingface.gpt_neox import GPT_NEOX
from tslens.models.huggingface.llama import LLAMA
from tslens.models.huggingface.quiet import quiet
from tslens.models.loading import name_of
from tslens.models.rotary import in_halves
from tslens.models.spec import Spec
from tslens.models.validation import spec_of

if TYPE_CHECKING:
    from tslens.models.protocols import LanguageModel


def to_huggingface(model: "LanguageModel", folder: str | Path) -> Path:
    """Write `config.json`, `model.safetensors` (fp32), the generation config and the tokenizer of a model; returns the
    folder, which must be new. `AutoModelForCausalLM` and `AutoTokenizer` load it without tslens.

    Raises:
        InputError: no family of transformers computes what this model does.
    """
    tokenizer, spec = story_tokenizer_of(model), spec_of(model)
    parameters = in_halves(spec, weights(model))
    family = _family(spec, parameters)
    if family is None:
        bias = bias_beyond(model)
        raise InputError(
            f"{name_of(model)} cannot be written for transformers{'' if bias is None else f' with the bias {bias!r}'}: "
            "models of GPT-2's, GPT-Neo's, GPT-NeoX's or Llama's style can, with windows only GPT-Neo's (unscaled "
            "scores, no biases of queries, keys and values). Write it with --to transformer-lens."
        )
    import transformers

    end = tokenizer.eos if tokenizer.ends else None
    ends = {"bos_token_id": tokenizer.bos, "eos_token_id": end, "pad_token_id": tokenizer.bos}
    with quiet():
        config = getattr(transformers, family.config)(**family.fields(spec), **ends)
        theirs = getattr(transformers, family.architecture)(config)
    found = theirs.load_state_dict(family.write(spec, parameters), strict=False)
    assert (
        not found.unexpected_keys and {*found.missing_keys} <= {UNEMBEDDING} and (spec.tied or not found.missing_keys)
    )
    with quiet(), new_folder(folder) as made:
        if len(tokenizer.ends) > 1:
            theirs.generation_config.eos_token_id = list(tokenizer.ends)
        theirs.save_pretrained(made)
        to_transformers(tokenizer, padding=False).save_pretrained(made)
    return Path(folder)


def elsewhere(model: "LanguageModel") -> str:
    """Where a model that another format refuses can be written."""
    as_theirs = _family(spec_of(model), weights(model)) is not None
    return "Write it with --to " + ("hf, or with --to " if as_theirs else "") + "transformer-lens."


def _family(spec: Spec, parameters: Mapping[str, Tensor]) -> Family | None:
    """The family that computes what a model of this shape does, with these parameters; None if there is none."""
    if spec.style == "llama" and not spec.local_layers and spec.scaled:
        return LLAMA
    if spec.style == "gpt2" and not spec.local_layers:
        return GPT2
    if spec.style == "gpt2" and not spec.scaled and _holds(GPT_NEO, spec, parameters):
        return GPT_NEO
    if isinstance(spec, HookedSpec) and not spec.config["attn_only"]:
        for family in (GPT_NEOX, LLAMA) if spec.positions == "rotary" else (GPT2,):
            if _reads_back(family, spec) and _holds(family, spec, parameters):
                return family
    return None


def _holds(family: Family, spec: Spec, parameters: Mapping[str, Tensor]) -> bool:
    """Whether a family has all parameters that are not zero."""
    named = {name for part in family.parts(spec) for name in part.names}
    return not any(bool(weight.any()) for name, weight in parameters.items() if name not in named)


def _reads_back(family: Family, spec: HookedSpec) -> bool:
    """Whether the family's configuration of a shape describes this shape and no other."""
    import transformers

    with quiet():
        config = getattr(transformers, family.config)(**family.fields(spec))
    try:
        return not any(family.refused(config).values()) and family.spec(config) == spec
    except InputError:  # no shape of the family, such as heads that do not divide the width
        return False
