"""Hugging Face models: families of architectures, and how a folder or an id of the hub is read."""

from tslens.models.huggingface.files import read_file, read_tokenizer
from tslens.models.huggingface.reading import FAMILIES, read, source_name, tokenizer_in

__all__ = ["FAMILIES", "read", "read_file", "read_tokenizer", "source_name", "tokenizer_in"]
