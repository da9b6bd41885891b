import importlib
import json
import os
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from jaxtyping import Float, Int
from safetensors.torch import save_file
from torch import Tensor

import tslens
from tslens.result import Result, axes_of, read_on
from tslens.twins.result import TwinsResult


@dataclass(frozen=True, eq=False)
class Scores(Result):
    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "kind")
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {"layer": "layers", "kind": ("loud", "quiet")}

    layers: list[str]
    shape: tuple[int, int]
    score: Float[Tensor, "layer kind"]
    count: Int[Tensor, "layer kind"]
    curve: Float[Tensor, "kind step"]


@pytest.fixture
def scores() -> Scores:
    return Scores(
        ["embed", "0"], (2, 2), torch.tensor([[0.5, 1], [2, 3]]), torch.arange(4).view(2, 2), torch.ones(2, 3)
    )


def test_an_axis_is_named_by_a_field_or_by_words_and_numbered_otherwise(scores: Scores) -> None:
    frame = scores.to_frame()
    assert list(frame) == ["layer", "kind", "score", "count"]  # the curve has other axes
    assert frame["layer"].tolist() == ["embed", "embed", "0", "0"]
    assert frame["kind"].tolist() == ["loud", "quiet"] * 2
    assert frame["score"].tolist() == [0.5, 1, 2, 3]
    curve = scores.to_frame("curve")
    assert curve[["kind", "step"]].values.tolist()[3:] == [["quiet", 0], ["quiet", 1], ["quiet", 2]]
    with pytest.raises(ValueError, match=r"Scores has no array 'scores'\. It has: score, count, curve"):
        scores.to_frame("scores")


def test_axes_are_read_off_the_annotation(scores: Scores) -> None:
    assert axes_of(scores, "curve") == ("kind", "step")
    assert axes_of(Scores, "layers") is None


ALTERED: list[tuple[str, object]] = [
    ("layers", ["embed", 0]),
    ("layers", "embed"),
    ("layers", ["embed", "0", "1"]),  # of two layers
    ("shape", [2, "2"]),
    ("shape", [2, 2, 2]),
    ("corpus", None),
    ("score", torch.zeros(2)),
    ("score", torch.zeros(2, 2, dtype=torch.int64)),
    ("count", torch.zeros(3, 2, dtype=torch.int64)),
    ("curve", torch.zeros(3, 3)),  # of three kinds, where scores are of two
]


@pytest.mark.parametrize(("name", "value"), ALTERED)
def test_a_field_of_another_type_or_size_is_refused(scores, tmp_path, refused, name: str, value: object) -> None:
    place = scores.save(tmp_path)
    record = json.loads((place / "result.json").read_text())
    if isinstance(value, Tensor):
        save_file(scores.tensors() | {name: value}, str(place / "arrays.safetensors"))
        del record["arrays_sha256"]  # as in those of earlier versions
    else:
        record["fields"][name] = value
    (place / "result.json").write_text(json.dumps(record))
    with refused(f"was altered: {name} cannot be so"):
        Scores.load(tmp_path)


def test_saved_and_loaded_it_is_the_same(scores: Scores, tmp_path: Path) -> None:
    place = scores.save(tmp_path)
    for folder in (tmp_path, place):
        again = Scores.load(folder)
        assert (again.layers, again.shape) == (scores.layers, scores.shape)
        assert all(torch.equal(again.tensors()[name], array) for name, array in scores.tensors().items())
    scores.save(tmp_path)  # over the old one
    assert [p.name for p in tmp_path.iterdir()] == ["Scores"]


def test_numbers_that_were_altered_are_refused(scores: Scores, tmp_path: Path, refused) -> None:
    arrays = scores.save(tmp_path) / "arrays.safetensors"
    data = bytearray(arrays.read_bytes())
    data[-1] ^= 1
    arrays.write_bytes(data)
    with refused("arrays.safetensors was altered: it does not match the hash in result.json"):
        Scores.load(tmp_path)


def test_a_folder_that_is_no_saved_result_is_never_replaced(scores: Scores, tmp_path: Path) -> None:
    (tmp_path / "Scores").mkdir()
    (tmp_path / "Scores/thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="Scores is no saved result and would be lost"):
        scores.save(tmp_path)
    assert [p.relative_to(tmp_path).as_posix() for p in sorted(tmp_path.rglob("*"))] == ["Scores", "Scores/thesis.txt"]


def test_what_is_no_saved_result_is_refused(scores: Scores, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no saved Scores"):
        Scores.load(tmp_path)
    place = scores.save(tmp_path)
    whole = (place / "result.json").read_text()
    (place / "result.json").write_text(whole.replace('"Scores"', '"Marks"'))
    with pytest.raises(ValueError, match="holds 'Marks' in format 1, not 'Scores' in format 1"):
        Scores.load(tmp_path)
    (place / "result.json").write_text(whole[:-9])
    with pytest.raises(ValueError, match="cannot be read .* Save the result again"):
        Scores.load(tmp_path)


def test_its_repr_is_its_summary_in_at_most_20_lines() -> None:
    layers = [str(i) for i in range(500)]
    many = Scores(
        layers, (500, 2), torch.rand(500, 2), torch.arange(1000).view(500, 2), torch.ones(2, 3), corpus="a.txt"
    )
    lines = repr(many).splitlines()
    assert len(lines) <= 20 and lines[0] == "Scores, on a.txt"
    assert "score" in lines[1] and lines[2].split()[:2] == ["0", "loud"] and lines[-1].split()[0] == "499"
    assert str(many).endswith("On a.txt")


def test_what_was_read_is_kept_with_it(scores: Scores, tmp_path: Path) -> None:
    class Named(list[str]):
        description = "2 stories: a.txt."

    assert scores.corpus == "" and read_on(scores, ["a"]) is scores
    said = read_on(scores, Named())
    assert said.corpus == "2 stories: a.txt." == said.to_json()["corpus"]
    assert Scores.load(said.save(tmp_path)).corpus == said.corpus


def test_a_result_of_another_version_is_refused(scores: Scores, tmp_path: Path, refused) -> None:
    place = scores.save(tmp_path)
    whole = (place / "result.json").read_text()
    for text, complaint in (
        (whole.replace('"layers"', '"lairs"'), "altered, or written by another version: lairs, layers"),
        ("[1]", "is no record of a result"),
        ('{"fields": 3}', "is no record of a result"),
    ):
        (place / "result.json").write_text(text)
        with refused(complaint):
            Scores.load(tmp_path)


def test_a_pipe_or_a_device_in_its_place_is_not_read(scores: Scores, tmp_path: Path, refused) -> None:
    place = scores.save(tmp_path)
    (place / "arrays.safetensors").unlink()
    os.mkfifo(place / "arrays.safetensors")
    with refused("arrays.safetensors is a pipe"):
        Scores.load(tmp_path)
    (place / "result.json").unlink()
    (place / "result.json").symlink_to("/dev/zero")
    with refused("result.json is a device"):
        Scores.load(tmp_path)


def test_it_shows_itself_with_what_is_markup_as_text(scores: Scores) -> None:
    object.__setattr__(scores, "layers", ["<script>", "0"])
    shown = scores._repr_html_()
    assert "&lt;script&gt;" in shown and "<script" not in shown and "<svg" not in shown
    assert "0.500" in str(scores) and scores.to_json()["rows"][0]["score"] == 0.5


SHOWN_OTHERWISE = {"PatternResult", "InStoriesResult", "SnapshotResult", "Memory"}
"""Results of which no command prints a table."""
LISTS = {"EverythingResult", "BeginningsResult", "CardResult", "AuditResult", "GradesResult", "InstructGradesResult"}
"""Those whose rows are findings, or texts, each; or which begin with a verdict of their own."""


def test_every_result_that_a_command_prints_begins_with_its_finding() -> None:
    for module in pkgutil.walk_packages(tslens.__path__, "tslens."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    every, without = [Result], []
    for cls in every:
        every += [sub for sub in cls.__subclasses__() if sub.__module__.startswith("tslens.")]
        without += [cls.__name__] if cls.headline is Result.headline else []
    bases = {"Result", "CountedResult", "LayersResult", "LayersByStepResult"}  # the last two say it in `said`
    assert set(without) <= bases | SHOWN_OTHERWISE | LISTS


def test_twins_lead_with_their_finding() -> None:
    assert TwinsResult.__str__ is Result.__str__ and TwinsResult.headline is not Result.headline
