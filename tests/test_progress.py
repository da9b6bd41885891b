"""Progress goes to stderr, moves on a terminal alone, and can be silenced."""

import contextvars
import io

import pytest
from rich.console import Console

from tslens import progress


@pytest.fixture
def terminal(monkeypatch) -> io.StringIO:
    """What a terminal would show."""
    shown = io.StringIO()
    monkeypatch.setattr(progress, "_stderr", lambda: Console(file=shown, force_terminal=True, width=100))
    return shown


@pytest.fixture
def log(monkeypatch) -> io.StringIO:
    """What a log file would hold."""
    shown = io.StringIO()
    monkeypatch.setattr(progress, "_stderr", lambda: Console(file=shown, force_terminal=False, width=100))
    return shown


def test_a_bar_counts_and_carries_its_note(terminal):
    with progress.bar("packing", [1, 2, 3]) as bar:
        bar.advance(2, "2 stories")
        assert bar.done == 2
        bar.update(3, note="3 stories")
    assert "packing" in terminal.getvalue() and "3/3" in terminal.getvalue() and "3 stories" in terminal.getvalue()


def test_a_bar_is_one_line_of_a_log_at_80_columns(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(progress, "_stderr", lambda: Console(file=shown, force_terminal=False, width=80))
    with progress.bar("packing", 4e6, kept=True, in_bytes=True) as bar:
        bar.update(4e6, note="14,120 stories · 11,033 stories/s · 10.0 MB/s")
    (line,) = shown.getvalue().splitlines()
    assert line.startswith("packing 4.0/4.0 MB 14,120 stories") and "10.0 MB/s 0:00:0" in line


def test_a_bar_that_never_moves_is_never_drawn(terminal):
    with progress.bar("packing", 3, kept=True):
        pass
    assert terminal.getvalue() == ""


def test_a_log_holds_only_the_last_line_of_a_bar_that_is_kept(log):
    with progress.bar("scan", 10) as bar:
        bar.advance(10)
    assert log.getvalue() == ""
    with progress.bar("train", 10, kept=True) as bar:
        for step in range(1, 11):
            bar.update(step, note=f"loss {step}")
    assert log.getvalue().count("train") == 1 and "loss 10" in log.getvalue()


def test_a_total_that_becomes_known(terminal):
    with progress.bar("train") as bar:
        bar.update(1, total=4, what="fine-tune")
    assert "1/4" in terminal.getvalue() and "fine-tune" in terminal.getvalue()


def test_items_pass_through_unchanged(terminal):
    assert list(progress.track(iter("abc"), "letters")) == ["a", "b", "c"]
    assert "letters" in terminal.getvalue()


def test_off_silences_all_and_ends_with_its_block(terminal):
    with progress.off(), progress.bar("scan", 2, kept=True) as bar, progress.stage("writing"):
        bar.advance(2)
        progress.note("cut")
        assert list(progress.track([1], "one")) == [1]
    assert terminal.getvalue() == "" and bar.done == 2
    progress.note("3 [stories] were cut")
    assert terminal.getvalue() == "3 [stories] were cut\n"


def test_stdout_stays_free_and_a_log_without_terminal_has_no_bar(capsys):
    with progress.bar("scan", 1) as bar:
        bar.advance()
    assert capsys.readouterr() == ("", "")


def test_inside_a_bar_no_second_one_is_drawn(terminal):
    with progress.bar("train", 2) as outer, progress.bar("loss", 2) as inner, progress.stage("writing"):
        outer.advance()
        inner.advance()
        assert list(progress.track([1], "endings")) == [1]
    assert "train" in (shown := terminal.getvalue()) and inner.done == 1
    assert not any(what in shown for what in ("loss", "writing", "endings"))
    list(progress.track([1], "endings"))
    assert "endings" in terminal.getvalue()


def test_a_stage_says_what_is_next(terminal):
    with progress.stage("reading") as following:
        following("timing")
    assert "timing" in terminal.getvalue()


def test_bytes_are_shown_in_their_units(terminal):
    with progress.bar("packing", 2e6, in_bytes=True) as bar:
        bar.advance(1e6)
    assert "1.0/2.0 MB" in terminal.getvalue()


def test_bars_inside_a_part_move_the_whole_and_are_not_drawn(terminal):
    with progress.bar("all", 100) as whole:
        with progress.part(whole, 60):
            for _ in progress.track(range(4), "inner"):
                assert sum(1 for _ in progress.track([1, 2], "innermost")) == 2  # which moves nothing
            assert whole.done == 60
        with progress.part(whole, 40):
            with progress.bar("first", 4) as first:
                first.update(3)
                assert whole.done == 90
            with progress.bar("second", 4) as second:
                second.advance()
                assert whole.done == 90  # the farthest of them counts
                with progress.stage("thinking"):
                    pass
        assert whole.done == 100
    shown = terminal.getvalue()
    assert "all" in shown and not any(word in shown for word in ("inner", "first", "second", "thinking"))


def test_a_part_without_a_bar_inside_moves_the_whole_at_its_end_and_a_failed_one_does_not(log):
    with progress.bar("all", 10) as whole:
        with progress.part(whole, 5):
            assert whole.done == 0
        assert whole.done == 5
        with pytest.raises(KeyError), progress.part(whole, 5):
            raise KeyError
        assert whole.done == 5
        with progress.bar("later", 2) as later:  # it is no part of anything
            later.update(2)
        assert whole.done == 5


def test_the_time_left_of_a_steady_bar_follows_from_the_whole_time(terminal, monkeypatch):
    """Half in 100 seconds, then next to nothing for 40: at the mean speed the other half takes 140 seconds, at that of
    the last half minute a day."""
    from rich.progress import Progress

    clock = [0.0]
    real = Progress.__init__
    monkeypatch.setattr(Progress, "__init__", lambda self, *a, **k: real(self, *a, get_time=lambda: clock[0], **k))
    left = {}
    for steady in (True, False):
        clock[0] = 0.0
        with progress.bar("all", 100, steady=steady) as bar:
            for seconds, done in ((0, 0.001), (50, 25), (100, 50), (120, 50.01), (140, 50.02)):
                clock[0] = seconds
                bar.update(done)
            left[steady] = bar._drawn.tasks[0].time_remaining
    assert left[True] == pytest.approx(140, abs=2) and left[False] > 3600


def test_a_bar_may_end_in_another_context_than_it_began():
    """As in a notebook, whose cells are run in contexts of their own."""
    letters = progress.track(iter("ab"), "letters")
    assert contextvars.copy_context().run(next, letters) == "a"
    assert list(letters) == ["b"]
