"""What the shapes of all kinds of model have in common."""

import dataclasses
import math
import typing
from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeVar

from tslens.errors import InputError
from tslens.fields import typed
from tslens.nearest import did_you_mean

S = TypeVar("S", bound="ModelSpec")


class ModelSpec(ABC):
    """The common interface of the shapes of all kinds of model: HookedTransformer (`Spec`) and compressor."""

    KIND: ClassVar[str | None] = None
    """This kind of model in `config.json`; None for a HookedTransformer."""

    # Fields or properties of both kinds.
    d_model: int
    d_vocab: int
    n_ctx: int

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the shape."""

    @abstractmethod
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every trained parameter by its TransformerLens name."""

    @abstractmethod
    def flops_per_token(self, context: int | None = None, *, training: bool = False) -> int:
        """Floating-point operations per token: two for each multiply-add of every matrix product, attention as the
        full square over `context` tokens (as dense kernels are counted); training is three times the forward pass."""

    def n_parameters(self, *, embeddings: bool = True) -> int:
        """Exact number of trained parameters; without the token, position and output embeddings if asked."""
        skip = () if embeddings else ("embed.", "pos_embed.", "unembed.", "encoder.embed.")
        return sum(math.prod(shape) for name, shape in self.parameter_shapes().items() if not name.startswith(skip))

    @classmethod
    def from_dict(cls: type[S], fields: dict[str, Any]) -> S:
        """The spec of a `config.json`; InputError for an unknown key, with the nearest known one, or a wrong type."""
        known = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]  # every kind is a dataclass
        for key in fields:
            if key not in known:
                raise InputError(f"Unknown model field {key!r}.{did_you_mean(key, known)} Known: {', '.join(known)}.")
        kinds = typing.get_type_hints(cls)
        values = {key: typed(key, kinds[key], value) for key, value in fields.items()}
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"These model fields are no shape: {str(error).splitlines()[0]}.") from None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, complete."""
        fields = dataclasses.asdict(self)  # type: ignore[call-overload]
        return {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}

    def to_config(self) -> dict[str, Any]:
        """The fields of `config.json` from which `load` rebuilds the shape."""
        return {**({} if self.KIND is None else {"kind": self.KIND}), "spec": self.to_dict()}
