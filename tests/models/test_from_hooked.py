import ast
import inspect
from typing import Any

import pytest

from tslens import models
from tslens.models import HookedSpec, Spec, from_hooked, hooked_spec

LOCAL = Spec(24, 2, 3, d_vocab=300, n_ctx=16, scaled=False, window=4, local_layers=(1,))


def test_what_was_built_is_read_back(spec: Spec) -> None:
    assert from_hooked.read(models.build(spec)) == spec


def test_everything_beyond_a_spec_is_named() -> None:
    model = models.build(LOCAL)
    model.cfg.act_fn, model.cfg.attn_scores_soft_cap = "relu", 30.0
    found = from_hooked.read(model)
    assert isinstance(found, HookedSpec) and not found.scores_are_products
    assert found.because == ("activation 'relu'", "soft caps")  # and nothing that is not its own
    model.cfg.attention_dir, model.cfg.d_vocab_out = "bidirectional", 7
    with pytest.raises(ValueError, match="has attention in both directions, outputs over 7 tokens.*no next token"):
        from_hooked.read(model)


def fields_read(source: str) -> set[str]:
    """The fields of a configuration (`c`, or `model.cfg`) that code names, on whichever branch."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    return {node.attr for node in nodes if ast.unparse(node.value) in ("c", "model.cfg")}


def test_everything_that_a_spec_is_read_from_is_watched() -> None:
    """No field less, of either kind of spec, and none more but the scale, which TransformerLens's blocks hold too."""
    read = fields_read(inspect.getsource(from_hooked)) | fields_read(inspect.getsource(hooked_spec))
    assert read - {"to_dict"} == {*from_hooked.READ_ONCE, *from_hooked.READ_ANEW} - {"attn_scale"}


def test_fields_are_found_on_every_branch() -> None:
    assert fields_read("if c.first:\n    f(model.cfg.second or x.other, c.third[0])") == {"first", "second", "third"}


def test_reading_a_spec_asks_for_nothing_else(spec: Spec) -> None:
    """Under no other name of the configuration either."""
    model, read = models.build(spec), set()

    class Watched:
        def __init__(self, cfg: Any) -> None:
            self.__dict__["cfg"] = cfg

        def __getattr__(self, name: str) -> Any:
            read.add(name)
            return getattr(self.__dict__["cfg"], name)

    model.cfg = Watched(model.cfg)
    from_hooked.read(model)
    assert len(read) > 30
    assert read <= {*from_hooked.READ_ONCE, *from_hooked.READ_ANEW}


def test_a_final_norm_of_another_kind_is_named() -> None:
    """Read as a layer norm like the others, its losses would be others."""
    model = models.build(LOCAL)
    model.cfg.final_rms = True
    found = from_hooked.read(model)
    assert found.final_norm == "rms" and found.norm == "layer"
