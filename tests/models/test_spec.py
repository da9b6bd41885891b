import json
from typing import Any

import pytest

from tslens.models import Spec


@pytest.mark.parametrize(
    ("name", "width", "layers", "heads"), [("512x12", 512, 12, 4), ("256x8x8", 256, 8, 8), ("64x1x1", 64, 1, 1)]
)
def test_a_name_is_a_shape(name: str, width: int, layers: int, heads: int) -> None:
    spec = Spec.parse(name, d_vocab=100)
    assert (spec.d_model, spec.n_layers, spec.n_heads, spec.d_vocab) == (width, layers, heads, 100)
    assert spec.name == name


def test_the_usual_heads_are_not_named() -> None:
    assert Spec.parse("256x8x4").name == "256x8"


@pytest.mark.parametrize("name", ["", "512", "512x", "x12", "512X12", "512x12x4x2", "512x-1", "a512x12", "512x12 "])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="is no shape. Write WIDTHxLAYERS or WIDTHxLAYERSxHEADS"):
        Spec.parse(name)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"d_model": 250}, "4 heads do not divide a width of 250; widths near it that they divide: 248, 252"),
        ({"d_model": 0}, "d_model is 0"),
        ({"n_layers": -1}, "n_layers is -1"),
        ({"n_ctx": True}, "n_ctx is True"),
        ({"d_mlp": 0}, "d_mlp is 0"),
        ({"eps": float("nan")}, "eps is nan; it must be a number above 0, and at most 1e.18"),
        ({"rotary_base": 1e-300}, "rotary_base is 1e-300; it must be a number of at least 1, and at most"),
        ({"rotary_base": 1e30}, "rotary_base is 1e.30; it must be a number of at least 1, and at most"),
        ({"style": "llama", "d_model": 20}, "even head width"),
        ({"style": "llama", "n_key_value_heads": 3}, "3 key/value heads do not divide 4 heads"),
        ({"style": "llama", "n_key_value_heads": 0}, "n_key_value_heads is 0"),
        ({"n_key_value_heads": 2}, "need style 'llama'"),
        ({"local_layers": (0,)}, "need a window"),
        ({"local_layers": (7,), "window": 4}, "local_layers names layer 7"),
    ],
)
def test_shapes_that_cannot_be(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Spec(**{"d_model": 24, "n_layers": 2} | fields)


def test_a_config_goes_through_json(spec: Spec) -> None:
    assert Spec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


@pytest.mark.parametrize("fields", [{"style": "bert"}, {"d_vocab": 2.5}, {"d_vocab": "many"}])
def test_a_config_of_other_types(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"style|no shape|d_vocab"):
        Spec.from_dict({"d_model": 8, "n_layers": 2} | fields)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tied": "no"}, "tied is 'no'; it must be true or false"),
        ({"scaled": 1}, "scaled is 1; it must be true or false"),
        ({"eps": True}, "eps is True; it must be a number"),
        ({"n_layers": "2"}, "n_layers is '2'; it must be a whole number"),
        ({"window": 2.5}, "window is 2.5; it must be a whole number"),
        ({"local_layers": 3}, "local_layers is 3; it must be a list of whole numbers"),
        ({"style": ["gpt2"]}, "style is .*; it must be one of gpt2, llama"),
    ],
)
def test_a_value_of_another_type_is_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Spec.from_dict({"d_model": 8, "n_layers": 2} | fields)


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"Unknown model field 'n_layer'\. Did you mean 'n_layers'\?"):
        Spec.from_dict({"d_model": 8, "n_layer": 2})
