"""llama2.c's files: checkpoints and their tokenizers."""

from tslens.models.llama2c.reading import EPS, ROTARY_BASE, layout, read
from tslens.models.llama2c.tokenizer import read_tokenizer, written

__all__ = ["EPS", "ROTARY_BASE", "layout", "read", "read_tokenizer", "written"]
