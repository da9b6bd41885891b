"""Hugging Face models: families of architectures, and how a folder or an id of the hub is read."""

from tslens.models.huggingface.files import read_file, read_tokenizer
from tslens.models.huggingface.reading import FAMILIES, name_of, read

__all__ = ["FAMILIES", "name_of", "read", "read_file", "read_tokenizer"]
