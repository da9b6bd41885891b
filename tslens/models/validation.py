"""The cheap check, before every run of the fast forward, that a model still matches its spec."""

from typing import Any, Literal, overload

import torch

from tslens.errors import InputError
from tslens.models.bounds import MOST_WEIGHT, refuse_wild
from tslens.models.compressor_spec import CompressorSpec
from tslens.models.from_hooked import READ_ANEW, READ_ONCE, read, scales
from tslens.models.hooked_spec import HookedSpec
from tslens.models.protocols import LanguageModel
from tslens.models.record import Checked, ModelRecord, made_record, record_of
from tslens.models.spec import Spec
from tslens.progress import note


@overload
def spec_of(model: LanguageModel, *, compressors: Literal[False] = False) -> Spec: ...
@overload
def spec_of(model: LanguageModel, *, compressors: bool) -> Spec | CompressorSpec: ...
def spec_of(model: LanguageModel, *, compressors: bool = False) -> Spec | CompressorSpec:
    """The spec that would build this model; for one that the fast forward does not cover a `HookedSpec`, and one line
    that says why; one line too for a configuration that puts no BOS before a text. InputError for a model that no
    analysis can read, and for one with hooks.

    A compressor is refused unless `compressors` is true, because most analyses need a single HookedTransformer.
    The result is cached, and everything it depends on is compared at every call: configuration, modules, dtypes, and
    the biases that must be zero; where gradients are off, whether weights became NaN or infinite too. On an
    accelerator, where reading would wait, values are compared by address and version only, so a write past autograd
    (`bias.data[0] = 1`) is detected on the CPU but not there.
    """
    if compressors and isinstance(spec := getattr(model, "spec", None), CompressorSpec):
        _refuse_divergence(model, record_of(model), [dict(model.named_parameters())])
        return spec
    record = record_of(model)
    if record.checked is not None and torch.compiler.is_compiling():
        return record.checked.spec  # reading tensors would cut the compiled graph in two
    checked = record.checked
    _refuse_hooks(model, checked)
    if checked is None or checked.mark != _mark(model, checked) or _written(checked) != bool(_outside(checked.spec)):
        if checked is not None:
            _refuse_changes(model, checked)
        known, checked = checked, remember(model, read(model))
        name = record.name or checked.spec.name
        if known is None and model.cfg.default_prepend_bos is False:
            note(f"{name}: default_prepend_bos=False is not followed; every text is read with BOS before it.")
        if isinstance(checked.spec, HookedSpec) and (known is None or not isinstance(known.spec, HookedSpec)):
            note(f"{name}: {checked.spec.said}")
    _refuse_divergence(model, record, checked.parameters)
    return checked.spec


def _refuse_divergence(model: LanguageModel, record: ModelRecord, owners: list[dict[str, Any]]) -> None:
    """InputError for weights that are no longer finite. On the CPU their sums tell; on an accelerator they are read if
    they were written to. Nothing is read where gradients are on: training watches its weights itself."""
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        return
    parameters = [p for owner in owners for p in owner.values() if p is not None]
    sums = [p.detach().sum() for p in parameters if p.device.type == "cpu"]
    if sums and not bool((torch.stack(sums).abs() <= MOST_WEIGHT).all()):
        refuse_wild(model.named_parameters())
    elsewhere = [p for p in parameters if p.device.type != "cpu"]
    written = [(p.data_ptr(), 0 if p.is_inference() else p._version) for p in elsewhere]
    if written != record.written:
        refuse_wild(model.named_parameters())
        record.written = written


def remember(model: LanguageModel, spec: Spec) -> Checked:
    """Store in the model's record this spec and what it was read from."""
    shapes, tree = spec.parameter_shapes().keys() - _outside(spec), list(model.named_modules())
    frozen = [
        (owner._parameters, name, p)
        for path, owner in tree
        for name, p in owner.named_parameters(recurse=False)
        if f"{path}.{name}" not in shapes
    ]
    checked = Checked(
        spec,
        _configured(model),
        [(owner._modules, name, child) for _, owner in tree for name, child in owner.named_children()],
        [owner._parameters for _, owner in tree if owner._parameters],
        frozen,
        [p.detach().reshape(-1) for _, _, p in frozen if p.device.type == "cpu"],
    )
    checked.mark = _mark(model, checked)
    made_record(model).checked = checked
    return checked


def _outside(spec: Spec) -> tuple[str, ...]:
    return spec.outside if isinstance(spec, HookedSpec) else ()


def _configured(model: LanguageModel) -> tuple[Any, ...]:
    values = (getattr(model.cfg, field) for field in READ_ONCE)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _mark(model: LanguageModel, checked: Checked) -> Any:
    """A mark that changes with configuration, modules, dtypes or frozen parameters. Reads no tensor value."""
    return (
        _configured(model),
        [getattr(model.cfg, field) for field in READ_ANEW],
        scales(model),
        [id(owner.get(name)) for owner, name, _ in checked.modules],
        {p.dtype for owner in checked.parameters for p in owner.values() if p is not None},
        [id(owner.get(name)) for owner, name, _ in checked.frozen],
        [(p.data_ptr(), 0 if p.is_inference() else p._version) for _, _, p in checked.frozen],
    )


def _written(checked: Checked) -> bool:
    """Whether a parameter that must be zero is not: `p.data[0] = 1` leaves no other trace. (Of a model that takes the
    slow path for this reason alone, one must not be zero.)"""
    return bool(checked.flat) and bool(torch.cat(checked.flat).any())


def _refuse_hooks(model: LanguageModel, checked: Checked | None) -> None:
    known = model.modules() if checked is None else [next(model.modules()), *(child for _, _, child in checked.modules)]
    for m in known:
        if m._forward_hooks or m._backward_hooks or m._forward_pre_hooks or m._backward_pre_hooks:
            name = next((name for name, each in model.named_modules() if each is m), None)
            if name is None:
                continue  # a module that was since replaced
            raise InputError(
                f"{name or 'the model'} holds a hook, which analyses would not run: remove it with "
                "model.reset_hooks(including_permanent=True), or use the hooked forward (model.run_with_hooks)."
            )


def _refuse_changes(model: LanguageModel, checked: Checked) -> None:
    for field, was, now in zip(READ_ONCE, checked.configured, _configured(model), strict=True):
        if was != now:
            raise InputError(
                f"cfg.{field} was changed from {was!r} to {now!r} after the model was made, which its modules do not "
                "follow: set it back, or build a new model."
            )
