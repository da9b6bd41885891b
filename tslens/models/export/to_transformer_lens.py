"""Write a model as TransformerLens itself loads it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tslens.models.export.folder import new_folder
from tslens.models.fast_tokenizer import to_transformers
from tslens.models.hooked import hooked_config, story_tokenizer_of
from tslens.models.hooked_folder import CONFIG, WEIGHTS
from tslens.models.hooked_spec import plain_config
from tslens.models.validation import spec_of

if TYPE_CHECKING:
    from tslens.models.protocols import LanguageModel

PROGRAM = "load.py"
LOADED = """\
import json
from pathlib import Path

from safetensors.torch import load_file
from transformer_lens import HookedTransformer, HookedTransformerConfig
from transformers import AutoTokenizer

cfg = HookedTransformerConfig.from_dict(json.loads(Path("cfg.json").read_text()))
tokenizer = AutoTokenizer.from_pretrained(".")
model = HookedTransformer(cfg, tokenizer=tokenizer)
model.load_state_dict(load_file("model.safetensors"), strict=False)  # masks are made anew
"""
"""What loads the folder in TransformerLens 3, without tslens."""


def to_transformer_lens(model: "LanguageModel", folder: str | Path) -> Path:
    """Write the configuration (`cfg.json`), all parameters (`model.safetensors`, fp32) and the tokenizer of any
    HookedTransformer; returns the folder, which must be new. `load.py` there loads it in TransformerLens 3, without
    tslens, in four lines; `tslens.load(folder)` reads it too."""
    from safetensors.torch import save_file

    tokenizer, config = story_tokenizer_of(model), plain_config(hooked_config(spec_of(model)))
    own = dict(model.named_parameters()) | {"unembed.W_U": model.unembed.W_U}  # a tied one is no parameter
    held = {name: weight.detach().cpu().clone(memory_format=torch.contiguous_format) for name, weight in own.items()}
    with new_folder(folder) as made:
        (made / CONFIG).write_text(json.dumps(config, indent=1), encoding="utf-8")
        save_file(held, made / WEIGHTS)
        (made / PROGRAM).write_text(LOADED, encoding="utf-8")
        to_transformers(tokenizer).save_pretrained(made)
    return Path(folder)
