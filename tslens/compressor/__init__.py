"""What is done with a compressor that is done with any model: its stories written, its trunk looked into."""

from tslens.compressor.trunk import trunk
from tslens.compressor.writer import Writer

__all__ = ["Writer", "trunk"]
