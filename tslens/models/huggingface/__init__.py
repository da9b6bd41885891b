"""Hugging Face models: families of architectures, and how a folder or an id of the hub is read."""

from tslens.models.huggingface.reading import FAMILIES, read

__all__ = ["FAMILIES", "read"]
