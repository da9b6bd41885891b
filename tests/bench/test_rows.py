"""Every row is measured, at a size that takes a moment; what is counted is counted right; nothing is said of speed."""

import json
import math
from pathlib import Path

import pytest
import torch

from tslens import cli, scan
from tslens.analysis.neurons import Profiles
from tslens.bench import (
    BENCHMARKS,
    Benchmark,
    Measured,
    Size,
    Target,
    generation,
    rounding,
    scanning,
    select,
    table,
)
from tslens.tables import wide

TINY = Size(
    repeats=2,
    shape="16x2",
    vocabulary=300,
    learnt=30,
    context=24,
    batch=2,
    compiled=False,
    trained_shape="16x1",
    saved_shape="16x2",
    saved_context=16,
    prompt=4,
    new_tokens=5,
    completed=3,
    completions=2,
    completion_tokens=8,
    scanned=4,
    flat_shape="16x1",
    flat_vocabulary=300,
    flat=3,
    packed=30,
    made=30,
    compared=8,
    tagged=3,
    page_shape="16x2x2",
    page_stories=4,
    page_tokens=24,
)
SLOW = {"help", "import", "scan-memory"}  # processes of their own: seconds each; the first has a test of its own
QUICK = [
    pytest.param(row, id=row.name, marks=[pytest.mark.thorough] * (row.run.__module__ == rounding.__name__))
    for row in BENCHMARKS
    if row.name not in SLOW
]


@pytest.mark.parametrize("row", QUICK)
def test_every_row_measures(row: Benchmark) -> None:
    found = row.run(TINY)
    assert math.isfinite(found.value) and found.low <= found.value <= found.high
    assert found.value > 0 or row.name in ("made-duplicates", "waiting")


def test_names_are_unique() -> None:
    assert len({row.name for row in BENCHMARKS}) == len(BENCHMARKS)


def test_rows_are_chosen_by_name_or_by_its_beginning() -> None:
    assert select() == list(BENCHMARKS)
    assert [row.name for row in select(["page", "saved"])] == ["saved", "saved-bytes", "page"]
    with pytest.raises(ValueError, match="'pgae'.*Did you mean 'page'.*Known: training-hooked"):
        select(["pgae"])


def test_the_loop_of_ones_own_finds_the_same_tops() -> None:
    """What the scan is held against answers the same question, but counts a prefix once for every story."""
    model, stories = scanning._model(TINY), list(scanning.corpus(TINY.scanned))
    (state,) = scan.states(model, stories, [Profiles(k=scanning.K, bos=True)])
    best, seen = None, set()
    for number, batch in enumerate(scanning._batches(TINY)):
        _, cache = model.run_with_cache(batch.tokens, names_filter=["blocks.1.mlp.hook_post"])
        new = batch.mask.clone()
        for row, p in batch.mask.nonzero().tolist():
            prefix = tuple(batch.tokens[row, : p + 1].tolist())
            new[row, p] = prefix not in seen
            seen.add(prefix)
        best = scanning._merged(best, cache["blocks.1.mlp.hook_post"][new], number)
    assert best is not None
    torch.testing.assert_close(best[0].T, state.tops.ranked().values[64:], atol=1e-5, rtol=1e-4)


def test_all_sides_write_as_many_tokens() -> None:
    model, other = generation.build(TINY.spec), generation.gpt2(TINY.spec)
    assert {len(row) for row in generation.ours(TINY, model)} == {5}
    assert generation.by_hooked(TINY, model).shape == (2, 4 + 5)
    assert generation.by_transformers(TINY, other).shape == (2, 4 + 5)


def test_ours_are_the_tokens_of_the_uncached_hooked_forward() -> None:
    model = generation.build(TINY.spec)
    rows = generation._prompts(TINY)
    for _ in range(TINY.new_tokens):
        rows = torch.cat([rows, model(rows)[:, -1].argmax(-1, keepdim=True)], dim=1)
    assert rows[:, TINY.prompt :].tolist() == generation.ours(TINY, model)


ROWS = [
    (
        Benchmark("a", "speed", "a peer", Target(3), lambda size: Measured.exactly(1)),
        Measured(3.14159, 3, 4, 5, "9", "3"),
    ),
    (Benchmark("b", "size", "a number", None, lambda size: Measured.exactly(1), " MB"), Measured.exactly(187.4)),
]


def test_the_table_fits_a_terminal_and_is_whole_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table.show(ROWS, table.facts())
    lines = capsys.readouterr().out.split("\n")
    assert max(map(len, lines)) <= 80 and all(any(line.startswith(row.name) for line in lines) for row, _ in ROWS)
    with wide(True):
        table.show(ROWS, table.facts())
    said = capsys.readouterr().out
    assert all(row.what in said for row, _ in ROWS) and "--wide" not in said


def test_the_table_as_markdown() -> None:
    lines = table.markdown(ROWS, table.facts()).splitlines()
    assert lines[2] == "| speed | a peer | ≥ 3× | 3.14× | [3, 4] | 9 | 3 | pass |"
    assert lines[3] == "| size | a number |  | 187 MB |  |  |  |  |"
    assert f"torch {torch.__version__.partition('+')[0]}" in lines[-1] and "threads" in lines[-1]


def test_threads_are_all_cores_while_it_runs_and_as_before_after_it() -> None:
    seen = []
    row = Benchmark("a", "b", "c", None, lambda size: seen.append(torch.get_num_threads()) or Measured.exactly(1))
    before = torch.get_num_threads()
    assert table.run([row], TINY) == [(row, Measured.exactly(1))]
    assert seen == [table.cores()] and torch.get_num_threads() == before


def test_the_command(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "import", "--quick", "--out", "out"]) == 0
    assert "import tslens" in capsys.readouterr().out
    written = json.loads(Path("out/bench.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in written["rows"]] == ["import"]
    assert written["rows"][0]["low"] <= written["rows"][0]["value"] and written["machine"]["threads"] >= 1
    assert Path("out/table.md").read_text(encoding="utf-8").startswith("| what | against |")


def test_what_the_command_refuses(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "trainnig"]) == 2
    assert "Did you mean 'training" in capsys.readouterr().err
    Path("file").write_text("in the way")
    assert cli.main(["bench", "import", "--out", "file"]) == 2
    assert "file" in capsys.readouterr().err


def test_the_share_of_a_list_that_is_the_same_by_hand() -> None:
    """Two neurons, two ranks: the same tokens in another order, and one of two (the other in another story)."""

    class Tops:
        def __init__(self, story: list[list[list[int]]], pos: list[list[list[int]]]) -> None:
            self.top_story, self.top_pos = torch.tensor(story), torch.tensor(pos)
            self.story_hashes, self.story_occurrences = torch.arange(5) * 7, torch.zeros(5, dtype=torch.long)

    a, b = Tops([[[0, 1], [2, 3]]], [[[5, 6], [7, 8]]]), Tops([[[1, 0], [2, 4]]], [[[6, 5], [7, 8]]])
    assert rounding.same_lists(a, b).tolist() == [1.0, 0.5]  # type: ignore[arg-type]


def test_the_largest_move_of_a_share() -> None:
    class Shares:
        def __init__(self, *values: float) -> None:
            self.one, self.two = torch.tensor(values), torch.tensor([0.5, math.nan])

    move, field = rounding.largest_move(Shares(0.1, 0.2), Shares(0.1, 0.6), ("one", "two"))
    assert (round(move, 6), field) == (0.4, "one")
