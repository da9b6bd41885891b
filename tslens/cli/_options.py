"""The options that several commands have, each with its one help text."""

from typing import Annotated

from cyclopts import Parameter

STORIES = "validation"  # the default, of the embedded generator: there without a download

Model = Annotated[str, Parameter(help="A run, a bundled model, a path, llama2c:FILE or hf:FOLDER_OR_HUB_ID.")]
Stories = Annotated[str, Parameter(help="A file, a dataset, or `validation` (the embedded generator's).")]
Limit = Annotated[int | None, Parameter(help="Stories read at most.")]
Precision = Annotated[str, Parameter(help="Of the model's matrix products: float32, bfloat16 or auto.")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON.")]
