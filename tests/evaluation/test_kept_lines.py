"""Kept log-probabilities: the model is not run again, a stopped run goes on, and nothing else or damaged is read."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import forward, models
from tslens.evaluation import kept_lines
from tslens.evaluation.kept_lines import kept_log_probabilities
from tslens.evaluation.lines import log_probabilities
from tslens.evaluation.pairs import PairSet, score
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suites import Prompt, Suite
from tslens.models import Spec, build
from tslens.stories.pairs.phenomena import MinimalPair
from tslens.tokenizer import Tokenizer

LINES = [[1, 5, 9], [1, 7], [1, 4, 8, 3], [1, 6, 2]]
STARTS = [1, 1, 2, 1]
PAIRS = PairSet(
    "made", tuple(MinimalPair(f"the {who} sat", f"the {who} ran", who, i) for i in range(2) for who in ("cat", "mat"))
)
TWINS = (Prompt("the cat", ("sat",), ("was",), "cats"), Prompt("the mat", ("was",), ("sat",), "cats"))
SUITE = Suite("made", "?", (*TWINS, *(Prompt(f"so {p.text}", p.accepted, p.rejected, "t", True) for p in TWINS)))


@pytest.fixture
def model(tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path / "cache"))
    return build(Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=32), tokenizer=tokenizer, seed=3)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of lines in each batch that a model reads from now on."""
    sizes, real = list[int](), forward.token_losses

    def counted(model: Any, tokens: torch.Tensor, **options: Any) -> torch.Tensor:
        sizes.append(len(tokens))
        return real(model, tokens, **options)

    monkeypatch.setattr(forward, "token_losses", counted)
    return sizes


def kept_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / kept_lines.FOLDER).glob("*/*"))


@pytest.mark.parametrize(
    ("ask", "lines"),
    [
        (lambda model: score({"m": model}, PAIRS).tensors(), [4, 4]),  # two paradigms
        (lambda model: evaluate({"m": model}, SUITE).tensors(), [4, 4]),  # written by hand, and templated
    ],
    ids=["pairs", "suite"],
)
def test_a_second_call_does_not_run_the_model_and_gives_the_same_bits(
    model: Any, read: list[int], ask: Callable[[Any], dict[str, torch.Tensor]], lines: list[int]
) -> None:
    first = ask(model)
    assert read == lines
    second = ask(model)
    assert read == lines
    assert all(torch.equal(values, second[name]) for name, values in first.items())


def test_values_are_those_of_the_model_in_the_order_of_the_lines(model: Any) -> None:
    expected = log_probabilities(model, LINES, STARTS)
    for _ in range(2):
        found = kept_log_probabilities(model, LINES, STARTS, ["a", "b", "a", "b"])
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_a_stopped_run_goes_on_where_it_was(model: Any, read: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    whole, counted = score({"m": model}, PAIRS, batch_tokens=1000), forward.token_losses

    def stopped(*given: Any, **options: Any) -> torch.Tensor:
        if len(read) == 3:
            raise KeyboardInterrupt
        return counted(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(forward, "token_losses", stopped)
        with pytest.raises(KeyboardInterrupt):
            score({"m": model}, PAIRS)
    assert read == [4, 4, 4]
    resumed = score({"m": model}, PAIRS)
    assert read == [4, 4, 4, 4]  # the second paradigm alone
    assert torch.equal(resumed.good, whole.good) and torch.equal(resumed.bad, whole.bad)


def test_large_parts_are_kept_in_several_files(
    model: Any, read: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_lines, "MOST", 3)
    kept_log_probabilities(model, LINES, STARTS, [""] * 4)
    assert read == [3, 1] and len(kept_files(tmp_path)) == 2


def test_what_decides_the_values_is_part_of_the_key(model: Any, read: list[int], tokenizer: Tokenizer) -> None:
    def ask(one: Any = model, lines: Any = LINES, starts: Any = STARTS, **options: Any) -> bool:
        """Whether a model is run."""
        before = len(read)
        kept_log_probabilities(one, lines, starts, [""] * 4, **options)
        return len(read) > before

    assert ask() and not ask()
    assert not ask(build(models.spec_of(model), tokenizer=tokenizer, seed=3))  # the same weights
    for other in ({"precision": "bfloat16"}, {"lines": [*LINES[:3], [1, 6, 3]]}, {"starts": [1] * 4}):
        assert ask(**other) and not ask(**other)
    with torch.no_grad():
        model.embed.W_E[5, 0] += 1e-3
    assert ask() and not ask()


def test_damaged_and_renamed_files_are_replaced(model: Any, read: list[int], tmp_path: Path) -> None:
    def ask() -> torch.Tensor:
        return kept_log_probabilities(model, LINES, STARTS, ["a", "b", "a", "b"])

    whole = ask()
    contents = {place: place.read_bytes() for place in kept_files(tmp_path)}
    first, second = contents
    for damage in (b"", b"no tensors", contents[first][:-3], contents[second]):  # cut off; of other lines
        first.write_bytes(damage)
        before = len(read)
        assert torch.equal(ask(), whole) and len(read) == before + 1
        assert {place: place.read_bytes() for place in kept_files(tmp_path)} == contents


def test_no_altered_byte_alters_a_value(model: Any, tmp_path: Path) -> None:
    kept_log_probabilities(model, LINES, STARTS, [""] * 4)
    (place,) = kept_files(tmp_path)
    content, whole = place.read_bytes(), kept_lines._read(place, 4)
    assert whole is not None and kept_lines._read(place, 3) is None
    for at in range(len(content)):
        place.write_bytes(content[:at] + bytes([content[at] ^ 0x15]) + content[at + 1 :])
        found = kept_lines._read(place, 4)
        assert found is None or torch.equal(found, whole)


def test_where_nothing_can_be_kept_all_is_computed_anew(model: Any, read: list[int], tmp_path: Path) -> None:
    first = kept_log_probabilities(model, LINES, STARTS, [""] * 4)
    (place,) = kept_files(tmp_path)
    place.unlink()
    os.mkfifo(place)  # reading it would never end
    assert torch.equal(kept_log_probabilities(model, LINES, STARTS, [""] * 4), first)
    place.unlink()
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    (tmp_path / "cache").touch()
    assert torch.equal(kept_log_probabilities(model, LINES, STARTS, [""] * 4), first)
    assert len(read) == 3
