"""Weights that are set: compared with a spec, and copied into a model of this spec."""

import torch
from torch import Tensor

from tslens.errors import InputError
from tslens.models.bounds import MOST_WEIGHT, is_wild
from tslens.models.model_spec import ModelSpec
from tslens.models.protocols import LanguageModel


def fill(model: LanguageModel, spec: ModelSpec, tensors: dict[str, Tensor], *, origin: str = "these weights") -> None:
    """Copy weights (any float dtype) into a model of this spec, which may hold none yet; InputError names one that is
    missing, extra, misshapen, not finite or beyond `MOST_WEIGHT`."""
    shapes = spec.parameter_shapes()
    check_shapes(spec, tensors, origin=origin)
    for name in shapes:
        if is_wild(tensors[name]):
            raise InputError(
                f"{origin}: {name} holds numbers that are not finite, or beyond {MOST_WEIGHT:g}. Its training "
                "diverged, or the file was altered; load an earlier step or another copy."
            )
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name in shapes:
            parameters[name].copy_(tensors[name])


def check_shapes(spec: ModelSpec, tensors: dict[str, Tensor], *, origin: str) -> None:
    """InputError for a weight of a model of this shape that is missing, extra or misshapen."""
    shapes = spec.parameter_shapes()
    if missing := sorted(shapes.keys() - tensors.keys()):
        raise InputError(f"{origin} lack {missing[0]!r} (and {len(missing) - 1} more) of a {spec.name} model.")
    if extra := sorted(tensors.keys() - shapes.keys()):
        raise InputError(f"{origin} hold {extra[0]!r}, which a {spec.name} model does not have.")
    for name, shape in shapes.items():
        if tuple(tensors[name].shape) != shape:
            raise InputError(f"{origin}: {name} has shape {tuple(tensors[name].shape)}, expected {shape}.")
