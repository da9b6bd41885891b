"""Write models for other programs: transformers, TransformerLens, llama2.c, and those that read GGUF."""

from tslens.models.export.to_gguf import to_gguf
from tslens.models.export.to_huggingface import to_huggingface
from tslens.models.export.to_llama2c import to_llama2c
from tslens.models.export.to_transformer_lens import to_transformer_lens

__all__ = ["to_gguf", "to_huggingface", "to_llama2c", "to_transformer_lens"]
