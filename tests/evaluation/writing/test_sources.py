"""Where prompts come from, and stories that are cut."""

from pathlib import Path
from typing import Any

import pytest

from tslens.evaluation.suites import suite
from tslens.evaluation.writing import StoryPrompt, cut_at, prompts_of, sources


def test_of_every_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Once upon\n\n  The cat  \nOnce upon\n")
    assert prompts_of(str(tmp_path / "a.txt")) == [StoryPrompt("Once upon"), StoryPrompt("The cat")]
    (tmp_path / "a.jsonl").write_text('{"prompt": "The cat", "ending": " sat."}\n{"prompt": "Tom", "n": 1}\n')
    assert prompts_of(str(tmp_path / "a.jsonl")) == [StoryPrompt("The cat", " sat."), StoryPrompt("Tom")]
    (tmp_path / "a.csv").write_text('prompt,ending\n"The cat, and",\nTom," ran, fast."\n')
    assert prompts_of(str(tmp_path / "a.csv")) == [StoryPrompt("The cat, and"), StoryPrompt("Tom", " ran, fast.")]
    assert prompts_of(str(tmp_path / "a.csv"), limit=1) == [StoryPrompt("The cat, and")]


def test_of_a_suite() -> None:
    assert [b.prompt for b in prompts_of("facts", limit=5)] == [p.text for p in suite("facts").prompts][:5]


def test_of_a_list_of_beginnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.toml").write_text('beginnings = ["The cat saw", "Tom had"]')
    expected = [StoryPrompt("The cat saw"), StoryPrompt("Tom had")]
    assert prompts_of(str(tmp_path / "own.toml")) == expected
    monkeypatch.setattr(sources.resources, "files", lambda package: tmp_path)
    assert prompts_of("own") == expected


def test_a_cut_story_is_its_beginning_and_its_ending() -> None:
    story = "One two  three\nfour five."
    assert cut_at(story, 0.5) == StoryPrompt("One two", "  three\nfour five.")
    for share in (0.01, 0.4, 0.5, 0.99):
        cut = cut_at(story, share)
        assert cut is not None and cut.prompt + cut.ending == story
        assert 1 <= len(cut.prompt.split()) <= 4 and not cut.prompt.endswith((" ", "\n"))
    assert cut_at("One", 0.5) is None


def test_of_stories_that_are_cut(tmp_path: Path, made_stories: list[str]) -> None:
    (tmp_path / "s.txt").write_text("<|endoftext|>".join(made_stories))
    found = prompts_of(str(tmp_path / "s.txt"), cut=0.4, limit=7)
    assert len(found) == 7
    assert all((b.prompt + b.ending).split() == s.split() for b, s in zip(found, made_stories, strict=False))
    shares = [len(b.prompt.split()) / len((b.prompt + b.ending).split()) for b in found]
    assert shares == pytest.approx([0.4] * 7, abs=0.02)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "\n\n", "holds no prompt"),
        ("a.jsonl", '{"text": "Tom"}\n', "line 1 has no column 'prompt'; it has text."),
        ("a.jsonl", '{"prompt": 3}\n', "'prompt' and 'ending' must be text; got 3"),
        ("a.csv", "text\nTom\n", "line 2 has no column 'prompt'; it has text."),
        ("a.md", "Tom", r"prompts are read from .txt, .jsonl, .csv or a suite's .toml; got"),
        ("b.txt", None, "there is no file of prompts"),
        ("fcts", None, "Did you mean"),
    ],
)
def test_refusals(name: str, content: str | None, message: str, in_tmp: Path, refused: Any) -> None:
    if content is not None:
        Path(name).write_text(content)
    with refused(message):
        prompts_of(name)


def test_a_share_that_leaves_nothing(refused: Any) -> None:
    for cut in (0.0, 1.0, -1.0):
        with refused("it must be above 0 and below 1"):
            prompts_of("made", cut=cut)
    with refused("0 prompts were asked for"):
        prompts_of("facts", limit=0)
