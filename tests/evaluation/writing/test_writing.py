"""Completions: each written once, kept through a kill, the same whatever else is asked; their measures by hand."""

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tslens import forward, models
from tslens.evaluation import writing
from tslens.evaluation.writing import StoryPrompt, WritingResult, WritingSettings, measures
from tslens.evaluation.writing.running import Store
from tslens.evaluation.writing.store import Asked, opened
from tslens.generate import Sampling, generate_ids
from tslens.models import Spec
from tslens.tokenizer import Tokenizer

BEGUN = [
    StoryPrompt("Once upon a time", " there was a dog."),
    StoryPrompt("Tom"),
    StoryPrompt("The sun was"),
    StoryPrompt(""),
]
FEW = WritingSettings(n=3, beams=2, limit_tokens=12)


@pytest.fixture(scope="module")
def model(made_words: Tokenizer, loud: Callable[[Any], Any]) -> Any:
    return loud(models.build(Spec(16, 1, 2, d_vocab=made_words.size, n_ctx=40), tokenizer=made_words))


def lines(store: Path, model: Any) -> list[dict[str, Any]]:
    text = (store / f"{models.weights_key(model)}.jsonl").read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()[1:]]


def test_every_completion_is_what_the_model_says_after_the_prompt(model: Any, tmp_path: Path) -> None:
    found = writing.write([model], BEGUN, FEW, tmp_path)
    frame = found.to_frame()
    assert len(frame) == 4 * (3 + 1) and set(frame["sampling"]) == {"temperature 1", "beams 2"}
    assert list(frame.columns[:3]) == ["model", "prompt", "completion"]
    assert frame["true_ending"].tolist()[:4] == [BEGUN[0].ending] * 4
    tokenizer, beams = models.tokenizer_of(model), Sampling(0.0, beams=2)
    for begun in BEGUN:
        (row,) = tokenizer.encode([begun.prompt])
        (new,) = generate_ids(model, [row], max_new_tokens=12, sampling=beams)
        (said,) = frame[(frame["prompt"] == begun.prompt) & (frame["sampling"] == "beams 2")].itertuples()
        assert tokenizer.decode(row + new) == begun.prompt + said.completion
        assert said.tokens == len(new) and said.ended == (len(new) < 12)
    sampled = frame[frame["sampling"] == "temperature 1"]
    assert len(set(sampled["completion"])) > 9


def test_what_is_kept_is_not_written_again_and_no_completion_depends_on_another(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = writing.write([model], BEGUN, FEW, tmp_path / "a")
    part = writing.write([model], BEGUN[2:3], FEW, tmp_path / "b")
    assert part.texts == whole.texts[8:12]
    added: list[str] = []
    monkeypatch.setattr(Store, "add", lambda self, key, made: (added.append(key), self.kept.update({key: made})))
    again = writing.write([model], BEGUN, FEW, tmp_path / "a")
    assert not added and again.texts == whole.texts
    writing.write([model], BEGUN, FEW._replace(n=5), tmp_path / "a")
    assert len(added) == 2 * len(BEGUN)
    writing.write([model], BEGUN, FEW._replace(seed=1), tmp_path / "a")
    assert len(added) == (2 + 3) * len(BEGUN)  # beams draw nothing


def test_suites_and_copies_take_their_texts_from_the_store(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt that is given twice has two samples, of which the first is that of `write` for these settings."""
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    made = writing.continuations(model, ["Tom", "The sun", "Tom"], limit_tokens=30, seed=2)
    assert made[0] != made[2]
    monkeypatch.setattr("tslens.evaluation.writing.running.stream", pytest.fail)
    assert writing.continuations(model, ["Tom", "Tom"], limit_tokens=30, seed=2) == [made[0], made[2]]
    settings = WritingSettings(n=2, beams=0, limit_tokens=30, seed=2)
    kept = writing.write([model], [StoryPrompt("Tom")], settings, tmp_path / writing.STORE)
    assert kept.to_frame()["completion"].tolist() == [made[0], made[2]]


def test_a_prompt_that_is_asked_twice_is_written_once(model: Any, tmp_path: Path) -> None:
    twice = [StoryPrompt("Tom"), StoryPrompt("Tom", " slept.")]
    assert len(writing.write([model], twice, FEW, tmp_path).texts) == 8
    assert len(lines(tmp_path, model)) == 4


KILLED = """
import os, signal, sys
from pathlib import Path
from tslens import forward, models
from tslens.evaluation import writing
from tslens.evaluation.writing.running import Store
add = Store.add
def dying(self, key, made):
    if len(self.kept) == 7:
        self._file.write('{{"key": "half')
        self._file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, key, made)
Store.add = dying
from tslens.tokenizer import Tokenizer
from safetensors.torch import load_file
tokenizer = Tokenizer.load({tokenizer!r})
model = models.build(models.Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=40), tokenizer=tokenizer)
models.load_weights(model, load_file({weights!r}), origin="the test")
begun = [writing.StoryPrompt(*row) for row in {begun!r}]
writing.write([model], begun, writing.WritingSettings(*{settings!r}), Path({store!r}))
"""


def test_a_killed_run_goes_on_with_nothing_lost_and_nothing_twice(model: Any, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    store = tmp_path / "killed"
    save_file({k: v.detach().contiguous().clone() for k, v in models.weights(model).items()}, tmp_path / "w")
    models.story_tokenizer_of(model).save(tmp_path / "tokenizer.json")
    script = KILLED.format(
        tokenizer=str(tmp_path / "tokenizer.json"),
        weights=str(tmp_path / "w"),
        begun=[tuple(b) for b in BEGUN],
        settings=tuple(FEW),
        store=str(store),
    )
    died = subprocess.run([sys.executable, "-c", script], env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False)
    assert died.returncode == -signal.SIGKILL
    place = store / f"{models.weights_key(model)}.jsonl"
    before = place.read_bytes()
    assert before.count(b"\n") == 8 and not before.endswith(b"\n")
    resumed = writing.write([model], BEGUN, FEW, store)
    assert place.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    keys = [row["key"] for row in lines(store, model)]
    assert len(keys) == len(set(keys)) == 16
    unbroken = writing.write([model], BEGUN, FEW, tmp_path / "whole")
    for found, name in ((resumed, "a"), (unbroken, "b")):
        found.write_jsonl(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_one_process_at_a_time_writes_a_store(tmp_path: Path) -> None:
    def second() -> None:
        with opened(tmp_path, "m"):
            pass

    with opened(tmp_path, "m"), ThreadPoolExecutor(1) as other, pytest.raises(ValueError, match="is being written by"):
        other.submit(second).result()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": 0, "model": "m"}\n', "format 0, and this version of tslens reads 1. Move the file away"),
        ('{"key": "a", "text": "", "tokens": 0, "ended": true}\n', "format None, and this"),
        ("nonsense\n", "line 1 is not JSON"),
        ('{"format": 1, "model": "m"}\n{"key": "a"}\n', "line 2 is no completion of its own"),
        (
            '{"format": 1, "model": "m"}\n' + '{"key": "a", "text": "", "tokens": 0, "ended": true}\n' * 2,
            "line 3 is no completion of its own",
        ),
    ],
)
def test_a_store_of_another_version_or_altered(content: str, message: str, tmp_path: Path, refused: Any) -> None:
    (tmp_path / "m.jsonl").write_text(content)
    with refused(message), opened(tmp_path, "m"):
        pass
    assert (tmp_path / "m.jsonl").read_text() == content


def test_the_key_names_all_that_decides() -> None:
    asked = Asked("a", Sampling(), 0, 9, "float32")
    others = [
        asked._replace(prompt="b"),
        asked._replace(sampling=Sampling(0.5)),
        asked._replace(sampling=Sampling(seed=1)),
        asked._replace(sampling=Sampling(top_k=4)),
        asked._replace(sampling=Sampling(top_p=0.5)),
        asked._replace(sampling=Sampling(0.0, beams=5)),
        asked._replace(sample=1),
        asked._replace(limit=10),
        asked._replace(precision="bfloat16"),
    ]
    assert len({asked.key, *(other.key for other in others)}) == 1 + len(others)


def test_a_prompt_longer_than_the_context_is_refused(model: Any, tmp_path: Path, refused: Any) -> None:
    with refused(r"prompt 'the the.*takes \d+ tokens, and the context of .* is 40. Shorten it."):
        writing.write([model], [StoryPrompt("the " * 60)], FEW, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"n": 0, "beams": 0}, "neither may be negative"), ({"n": -1}, "--n is -1"), ({"limit_tokens": 0}, "is 0; it")],
)
def test_settings_that_are_none(change: dict[str, int], message: str, refused: Any) -> None:
    with refused(message):
        FEW._replace(**change).samplings()


# Measures and their intervals


def test_measures_by_hand() -> None:
    assert measures("the dog ran to the dog ran to Sue") == (9, pytest.approx(1 / 6), False, False)
    assert measures("a b c d " * 5) == (20, pytest.approx(13 / 17), False, False)
    assert measures(" \n\t") == (0, pytest.approx(math.nan, nan_ok=True), True, False)
    assert measures("caf\ufffd and more of it").broken and measures("a\x00b").broken
    assert not measures("Café\n\t“yes” 🙂").broken


def result(prompts: int, per: int, ended: list[bool], tokens: list[int], words: int = 9) -> WritingResult:
    n, none = prompts * per, torch.zeros(prompts * per, dtype=torch.bool)
    return WritingResult(
        models=["m"],
        prompts=[str(i) for i in range(prompts)],
        endings=[""] * prompts,
        samplings=["temperature 1"],
        texts=["x"] * n,
        limit_tokens=9,
        seed=0,
        model=torch.zeros(n, dtype=torch.int64),
        prompt=torch.arange(prompts).repeat_interleave(per),
        sampling=torch.zeros(n, dtype=torch.int64),
        sample=torch.arange(per).repeat(prompts),
        tokens=torch.tensor(tokens),
        words=torch.full((n,), words),
        repetition=torch.full((n,), torch.nan),
        ended=torch.tensor(ended),
        blank=none,
        broken=none,
    )


def test_the_share_that_ends_is_said_first() -> None:
    found = result(2, 2, [True, False, True, True], [9] * 4)
    share = found.interval("ended", torch.ones(4, dtype=torch.bool))
    said = f"Within 9 tokens end of m 0.75 ({share.low:.2f} to {share.high:.2f}), by temperature 1."
    assert found.headline() == said and str(found).startswith(said)


def test_intervals_are_clustered_by_prompt() -> None:
    alike = result(8, 10, [i % 2 == 0 for i in range(8) for _ in range(10)], [i for i in range(8) for _ in range(10)])
    mixed = result(8, 10, [j % 2 == 0 for _ in range(8) for j in range(10)], [j for _ in range(8) for j in range(10)])
    every = torch.ones(80, dtype=torch.bool)
    for measure in ("ended", "tokens"):
        assert alike.interval(measure, every).halfwidth > 2.5 * mixed.interval(measure, every).halfwidth
    assert alike.interval("ended", every).estimate == 0.5
    nothing = alike.interval("blank", every)  # as if there were 8 completions
    assert nothing.low == nothing.estimate == 0 and nothing.high == pytest.approx(0.324, abs=1e-3)
    assert np.isnan(alike.interval("repetition", every).estimate)
    summary = alike.summary().set_index("measure")
    assert summary.loc["tokens", "value"] == 3.5 and set(summary["n"]) == {80} and set(summary["prompts"]) == {8}


def test_first_texts_stand_side_by_side() -> None:
    both = torch.tensor([0, 1]).repeat(4)
    found = replace(result(2, 4, [True] * 8, [1] * 8), models=["a", "b"], model=both, texts=list("pqrstuvw"))
    shown = found.side_by_side()
    assert list(shown) == ["prompt", "a, temperature 1", "b, temperature 1"]
    assert shown.values.tolist() == [["0", "p", "q"], ["1", "t", "u"]]
    known = replace(found, endings=["end", ""]).side_by_side()
    assert list(known)[1] == "true ending" and list(known["true ending"]) == ["end", ""]


def test_one_prompt_has_no_interval_of_its_length() -> None:
    alone = result(1, 4, [True] * 4, [1, 2, 3, 4])
    found = alone.interval("tokens", torch.ones(4, dtype=torch.bool))
    assert found.estimate == 2.5 and np.isnan(found.low)


def test_a_result_is_drawn_kept_and_read(model: Any, tmp_path: Path) -> None:
    found = writing.write([model], BEGUN, FEW, tmp_path / "store")
    assert len(found.figure().axes) == 1
    found.save(tmp_path)
    assert WritingResult.load(tmp_path).to_frame().equals(found.to_frame())
    found.write_jsonl(tmp_path / "c.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["completion"] for row in rows] == found.texts
    assert {"model", "prompt", "completion", "sample", "seed", "ended", "true_ending"} <= rows[0].keys()


def test_true_endings_have_bits_per_byte(model: Any, tmp_path: Path) -> None:
    """Of the endings that are known, whatever was sampled."""
    begun = [StoryPrompt("The cat sat", " on a mat."), StoryPrompt("A dog", " ran home."), StoryPrompt("Tim", "")]
    found = writing.write([model], begun, FEW, tmp_path / "store")
    tokenizer, nats = models.tokenizer_of(model), 0.0
    for prompt, ending in begun[:2]:
        row = tokenizer.encode([prompt + ending])[0]
        losses = forward.token_losses(model, torch.tensor([row]))[0]
        nats += float(losses[len(tokenizer.encode([prompt])[0]) - 1 :].sum())
    table = found.summary().query("measure == 'bits per byte of the true ending'")
    assert table[["sampling", "n"]].values.tolist() == [["", 2]] and np.isfinite(table["low"]).all()
    assert table["value"].item() == pytest.approx(nats / np.log(2) / len(" on a mat. ran home."), rel=1e-5)
    unknown = writing.write([model], [StoryPrompt("The cat"), StoryPrompt("Tim")], FEW, tmp_path / "store")
    assert not unknown.summary()["measure"].str.startswith("bits").any()
