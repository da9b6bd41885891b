"""Valid things of every kind, each tiny, in one folder: what the hostile ones are made of.

`make` writes them once; a case gets a copy of those that it needs. `SURFACES` says for each kind which files are
changed, and which commands read them.
"""

import contextlib
import io
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tslens import models
from tslens.cli import main
from tslens.models import Spec
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

TEXTS = 64
"""As many as say what is usual."""
MODEL, READ = ["--model", "tiny"], ["--stories", "tales.txt", "--limit", "6"]
SMALL = [
    *("--set", "data.vocabulary=300", "--set", "train.steps=6", "--set", "model.n_ctx=256", "--set", "train.batch=2"),
    *("--set", "train.validation_stories=2", "--set", "train.precision=float32", "--set", "train.checkpoint_every=2"),
]
SUITE = """question = "What is it?"
[[pair]]
about = "night and day"
right = "What is there."
wrong = "What is not."
prompts = [
  { text = "At night we see the", accepted = ["moon", "stars"] },
  { text = "By day we see the", accepted = ["sun", "blue sky"] },
]
[[pair]]
about = "hot and cold"
prompts = [ { text = "Fire is", accepted = ["hot"] }, { text = "Ice is", accepted = ["cold"] } ]
[[template]]
about = "places"
pairs = 3
prompts = [
  { text = "It is {weather} in the {place}. The {place} is", accepted = ["{weather}"] },
  { text = "It is {weather2} in the {place}. The {place} is", accepted = ["{weather2}"] },
]
fill.weather = ["wet", "dry", "hot", "cold"]
fill.place = ["town", "forest", "village"]
"""
RECIPE = """base = "base"
[model]
shape = "16x1x2"
n_ctx = 32
[data]
source = "tales.txt"
vocabulary = 300
[optimizer]
method = "muon"
lr = 0.01
[train]
steps = 2
batch = 2
validation_stories = 2
precision = "float32"
dropout = 0.1
[objective]
name = "language-modelling"
"""
RUBRIC = """task = "Grade the continuation."
[[axis]]
name = "grammar"
question = "Is it without errors?"
lowest = "errors everywhere"
highest = "no error"
hit_by = ["with errors"]
[[axis]]
name = "age group"
question = "How old is the writer?"
values = ["3 or younger", "4-5", "6-7"]
"""
WORDS = 'noun = ["dog", "cat"]\nverb = ["run", "eat"]\nadjective = ["red", "big"]\n'
PRICES = """[factors]
longest = 100000
batch = 0.5
cache_write = 1.25
cache_read = 0.1
[models]
claude-haiku-4-5 = { input = 1.0, output = 5.0, cache_read = 0.1 }
"""
ROPES = {
    "linear": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0},
    "llama3": {
        "rope_type": "llama3",
        "rope_theta": 1e4,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    },
}
"""Rotary positions other than the usual ones, as folders of the hub ask for them."""
BEGINNINGS = 'beginnings = ["Once there was a", "Tom had a red"]\n'


@dataclass(frozen=True)
class Surface:
    """A kind of input: the things that a case copies, the files of them that are changed, and who reads them."""

    copied: tuple[str, ...]
    changed: tuple[str, ...]
    """Patterns of files, as of `Path.glob`."""
    commands: tuple[tuple[str, ...], ...]
    cases: int = 20
    """In `make test-all`."""
    may_stop: bool = False
    """Whether a valid answer may take long, and is then stopped by Ctrl-C."""
    names: bool = False
    """Whether all that the files hold are names, which are printed as they were given, `inf` too."""


def _words(*commands: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(command.split()) for command in commands)


RUN = ("runs/small", "tales.txt")
OF_RUN = _words(
    "runs", "plot small", "loss --model small", "generate --model small --max-new-tokens 3", "train --resume small",
    "generate --model small@4 --max-new-tokens 2", "models", "loss --model small@2 --stories tales.txt --limit 4",
    "report --model small --limit 4 --twins 0 --shown 1 --no-causes --out r.html",
    "eval copies --model small --limit 12 --tokens 3 --twins 0 --stories tales.txt",
    "eval pairs --model small --limit 2", "analyze lens --model small --limit 4 --tuned --steps 2 --fit-limit 8",
)  # fmt: skip
AGAIN = ("train", "16x1x2", "--name", "small", "--overwrite", "--data", "tales.txt", *SMALL)
OF_MODEL = _words(
    "loss --model tiny --stories tales.txt --limit 4", "generate --model tiny --max-new-tokens 3", "export --model tiny --to hf",
    "analyze heads --model tiny --stories tales.txt --limit 4", "analyze neurons --model tiny --stories tales.txt --limit 4",
    "report --model tiny --stories tales.txt --limit 4 --twins 0 --shown 1 --no-causes --out r.html",
)  # fmt: skip
OF_STORIES = (
    "stories check {0}", "stories pack {0} --out p --vocab 300", "stories audit {0} --limit 30", "loss --model tiny --stories {0} --limit 6",
    "analyze neurons --model tiny --stories {0} --limit 6", "stories audit tales.txt --against {0} --limit 30",
    "train 16x1x2 --data {0} --name n --set data.vocabulary=300 --set train.steps=1 --set model.n_ctx=32 --set train.batch=2 "
    "--set train.validation_stories=2 --set train.precision=float32",
)  # fmt: skip
GRADE = "eval grade --texts texts.jsonl --rubric rubric.toml --grader scores.csv --again 0 --controls tales.txt"


KEPT = _words(
        "analyze lens --model tiny --stories tales.txt --limit 24 --tuned --steps 2 --fit-limit 8 --fit-stories tales.txt",
        "analyze twins --model tiny --stories tales.txt --limit 24 --twins 1",
        "eval pairs --model tiny --pairs pairs.jsonl --n-gram tales.txt", "eval suite.toml --model tiny --completions 1",
        "report --model tiny --stories tales.txt --limit 24 --twins 1 --shown 1 --no-causes --out r.html",
        "eval write --model tiny --prompts prompts.txt --n 1 --limit-tokens 3 --beams 0", "analyze residuals --model tiny --limit 4",
)  # fmt: skip


def _of_stories(name: str) -> Surface:
    commands = _words(*(command.format(name) for command in OF_STORIES))
    return Surface(("tiny", "tales.txt", *([] if name == "tales.txt" else [name])), (name,), commands)


def _of_folder(kind: str, *changed: str) -> Surface:
    of = f"hf:{kind}"
    commands = _words(
        f"loss --model {of} --stories tales.txt --limit 4",
        f"generate --model {of} --max-new-tokens 3",
        f"export --model {of} --to hf --out o",
    )
    names = changed or ("*.json", "*.safetensors")
    return Surface((kind, "tales.txt"), tuple(f"{kind}/{name}" for name in names), commands, 21)


SURFACES: dict[str, Surface] = {
    "a model": Surface(("tiny", "tales.txt"), ("tiny/*",), OF_MODEL, 42),
    "a run": Surface(RUN, ("runs/small/*.*", "runs/small/data/*", "runs/small/*/step-*/*"), (*OF_RUN, AGAIN), 70),
    "a stopped run": Surface(
        ("runs/half", "tales.txt"), ("runs/half/*.*", "runs/half/data/*", "runs/half/*/step-*/*"),
        _words("train --resume half", "runs", "plot half", "models", "loss --model half@4 --stories tales.txt --limit 3"), 35,
    ),
    "text": _of_stories("tales.txt"), "lines": _of_stories("tales.jsonl"), "csv": _of_stories("tales.csv"),
    "parquet": _of_stories("tales.parquet"),
    "a dataset folder": Surface(("dataset",), ("dataset/*",), _words("stories check dataset", "stories audit dataset --limit 9"), 10),
    "a pack": Surface(
        ("packed", "tales.txt"), ("packed/*",),
        _words("stories pack tales.txt --out packed", "stories pack tales.txt --out packed --no-resume --vocab 300"), 25,
    ),
    "a tokenizer": Surface(("tiny", "tales.txt"), ("tiny/tokenizer.json",), _words("stories pack tales.txt --out p --tokenizer tiny/tokenizer.json"), 14),
    "vocab and merges": Surface(
        ("gpt2files", "tales.txt"), ("gpt2files/*",),
        _words("stories pack tales.txt --out p --gpt2 gpt2files/vocab.json,gpt2files/merges.txt",
               "stories pack tales.txt --out p --gpt2 gpt2files/vocab.json,gpt2files/merges.txt --keep 280"), 20,
    ),
    "a suite": Surface(("tiny", "suite.toml"), ("suite.toml",), _words("eval ./suite.toml --model tiny --completions 1", "eval write --model tiny --prompts suite.toml --n 1 --limit-tokens 3 --beams 0"), 20),
    "a recipe": Surface(("recipe.toml", "tales.txt"), ("recipe.toml",), _words("train recipe.toml --name n"), 27, may_stop=True),
    "a rubric": Surface(("rubric.toml", "texts.jsonl", "scores.csv", "tales.txt"), ("rubric.toml",), _words(GRADE), 17),
    "texts": Surface(("texts.jsonl", "rubric.toml", "scores.csv", "tales.txt", "runs/small"), ("texts.jsonl",), _words(GRADE, "eval copies --model small --texts texts.jsonl --stories tales.txt --limit 4", "eval card --texts texts.jsonl:completion --reference tales.txt --limit 8"), 17),
    "texts as csv": Surface(("texts.csv", "rubric.toml", "scores.csv", "tales.txt"), ("texts.csv",), _words(GRADE.replace(".jsonl", ".csv")), 10),
    "scores": Surface(("texts.jsonl", "rubric.toml", "scores.csv", "tales.txt"), ("scores.csv",), _words(GRADE), 17),
    "labels": Surface(("texts.jsonl", "rubric.toml", "labels.csv"), ("labels.csv",), _words("eval label --texts texts.jsonl --rubric rubric.toml --out labels.csv"), 8, may_stop=True),
    "preferences": Surface(("prefs.csv", "prefs.jsonl"), ("prefs.*",), _words("eval rank prefs.csv", "eval rank prefs.jsonl"), 17, names=True),
    "pairs": Surface(("tiny", "pairs.jsonl", "pairs.csv", "pairs.txt", "tales.txt"), ("pairs.*",), _words(*(f"eval pairs --model tiny --pairs pairs.{kind} --n-gram {of}" for kind in ("jsonl", "csv", "txt") for of in ("none", "tales.txt"))), 20),
    "prompts": Surface(
        ("tiny", "prompts.jsonl", "prompts.csv", "prompts.txt", "prompts.toml"), ("prompts.*",),
        _words(*(f"eval write --model tiny --prompts prompts.{kind} --n 1 --limit-tokens 3 --beams 0" for kind in ("jsonl", "csv", "txt", "toml"))), 21,
    ),
    "a store": Surface(("tiny", "prompts.txt", "store"), ("store/*",), _words("eval write --model tiny --prompts prompts.txt --n 1 --limit-tokens 3 --beams 0 --store store"), 14),
    "words, prices and answers": Surface(
        ("words.toml", "prices.toml", "answers.jsonl"), ("words.toml", "prices.toml", "answers.jsonl"),
        _words("stories ask --n 2 --out o.jsonl --vocabulary words.toml --prices prices.toml --cache answers.jsonl --large-model claude-haiku-4-5"), 21, may_stop=True,
    ),
    "instructions": Surface(("tiny", "instructed.txt"), ("instructed.txt",), _words("eval instruct --model tiny --stories instructed.txt --limit 4 --samples 1 --limit-tokens 3", "stories check instructed.txt"), 8),
    "llama2.c": Surface(
        ("llama", "tales.txt"), ("llama/*.bin",),
        _words("loss --model llama2c:llama/model.bin --stories tales.txt --limit 4", "generate --model llama2c:llama/model.bin --max-new-tokens 3"), 28,
    ),
    "GPT-2": _of_folder("gpt2"), "GPT-Neo": _of_folder("gpt-neo"), "Pythia": _of_folder("gpt-neox"), "Llama": _of_folder("hf-llama"),
    "weights in parts": _of_folder("parts"), "an older folder": _of_folder("older", "vocab.json", "merges.txt"),
    **{f"positions of {kind}": _of_folder(kind, "config.json") for kind in ("neox-linear", "neox-llama3", "llama-linear", "llama-llama3", "llama-wide")},
    "TransformerLens's": Surface(
        ("hooked", "plain", "tales.txt"), ("hooked/*.*", "plain/*.*"),
        _words(*(f"{command} --model {of} --stories tales.txt --limit 4" for of in ("hooked", "plain") for command in ("loss", "analyze heads"))), 20,
    ),
    "what was kept": Surface(("tiny", "tales.txt", "pairs.jsonl", "suite.toml", "prompts.txt", "cache"), ("cache/**/*.*",), KEPT, 42),
    "what was kept of a run": Surface(
        ("runs/kept", "tales.txt"), ("runs/kept/*/**/*.*",),
        tuple(tuple("kept" if word == "small" else word.replace("small@", "kept@") for word in command) for command in (*OF_RUN, *_words(
            "analyze dynamics small --stories tales.txt --limit 24 --twins 0",
            "report --model small --stories tales.txt --limit 24 --twins 0 --shown 1 --out r.html"))), 42,
    ),
}  # fmt: skip


def make(home: Path) -> None:
    """Write the valid things into a folder."""
    before = Path.cwd()
    os.chdir(home)
    try:
        _make()
    finally:
        os.chdir(before)


def _make() -> None:
    told = [". ".join(story.split(". ")[:5]).rstrip(".") + "." for story in stories("made", limit=TEXTS, seed=2)]
    Path("tales.txt").write_text("\n<|endoftext|>\n".join(told), encoding="utf-8")
    _write_tables(told)
    tokenizer = Tokenizer.train(told, 400)  # so that pronouns are one token each
    size = tokenizer.size
    models.save(models.build(Spec(16, 2, 2, d_vocab=size, n_ctx=256), tokenizer=tokenizer), "tiny")
    models.save(
        models.build(Spec(16, 1, 2, d_vocab=size, n_ctx=64, style="llama", rotary_adjacent=True), tokenizer=tokenizer),
        "rotary",
    )
    for name, text in {
        "suite": SUITE,
        "recipe": RECIPE,
        "rubric": RUBRIC,
        "words": WORDS,
        "prices": PRICES,
        "prompts": BEGINNINGS,
    }.items():
        Path(f"{name}.toml").write_text(text, encoding="utf-8")
    _write_folders(tokenizer)
    _run("export --model rotary --to llama2c --out llama")
    _run("export --model tiny --to transformer-lens --out plain")
    _run("export --model hf:gpt-neox --to transformer-lens --out hooked")
    _run("stories pack tales.txt --out packed --vocab 300")
    _run("stories make --n 30 --instruct --out instructed.txt")
    _run("eval write --model tiny --prompts prompts.txt --n 1 --limit-tokens 3 --beams 0 --store store")
    _run("train", "16x1x2", "--name", "small", "--data", "tales.txt", *SMALL)
    shutil.copytree("runs/small", "runs/half")
    for name in ("config.json", "model.safetensors"):
        Path("runs/half", name).unlink()
    shutil.rmtree("runs/half/checkpoints/step-000006")
    shutil.copytree("runs/small", "runs/kept")
    for command in SURFACES["what was kept of a run"].commands:
        _run(*command, cache="kept-cache")
    for command in KEPT:
        _run(*command, cache="cache")


def _run(*words: str, cache: str = "") -> None:
    """Run a command, which must do its work."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSLENS_CACHE", str(Path(cache or "some-cache").resolve()))
        command = list(words) if len(words) > 1 else words[0].split()
        code = main(command)
    assert code == 0, f"{command}: {said.getvalue()}"
    for made in ("r.html", "loss.svg", "loss.csv"):
        Path(made).unlink(missing_ok=True)


def _write_tables(told: list[str]) -> None:
    """Stories, prompts, pairs, texts, scores and preferences as tables."""
    import pandas as pd

    table = pd.DataFrame({"text": told})
    table.to_csv("tales.csv", index=False)
    table.to_parquet("tales.parquet")
    table.to_json("tales.jsonl", orient="records", lines=True)
    Path("dataset").mkdir()
    table.to_json("dataset/train.jsonl", orient="records", lines=True)
    halves = [(text[: len(text) // 2], text[len(text) // 2 :]) for text in told[:8]]
    texts = pd.DataFrame(
        [{"prompt": a, "completion": b, "ending": b, "model": "ab"[i % 2]} for i, (a, b) in enumerate(halves)]
    )
    scores = texts[["prompt", "completion"]].assign(**{"grammar": range(1, 9), "age group": 2})
    pairs = pd.DataFrame(
        {
            "sentence_good": ["The cat is here.", "A dog ran."],
            "sentence_bad": ["The cat are here.", "A dog run."],
            "UID": "verbs",
        }
    )
    prefs = pd.DataFrame(
        {
            "prompt": list("pqrs") * 2,
            "first": "a",
            "second": list("bc") * 4,
            "preferred": ["a", "c", "tie", "a", "b", "a", "b", "c"],
        }
    )
    prompts = pd.DataFrame({"prompt": ["Once there was a", "Tom had a"], "ending": [" cat.", " dog."]})
    Path("labels.csv").write_text(
        scores.rename(columns={"age group": "age_group"}).assign(comment="").to_csv(index=False)
    )
    for name, made in {"texts": texts, "scores": scores, "pairs": pairs, "prefs": prefs, "prompts": prompts}.items():
        made.to_csv(f"{name}.csv", index=False)
        made.to_json(f"{name}.jsonl", orient="records", lines=True)
    Path("pairs.txt").write_text("The cat is here.\nThe cat are here.\n\nA dog ran.\nA dog run.\n")
    Path("prompts.txt").write_text("Once there was a\nTom had a red\n")
    Path("answers.jsonl").write_text(
        '{"tslens_answers": 1}\n{"key": "x", "kind": "k", "answer": {"story": "s"}, "input": 1, "output": 1, "usd": 0.1}\n'
    )


def _write_folders(tokenizer: Tokenizer) -> None:
    """Folders in the layout of the hub, one of each family, and one whose weights are in parts; GPT-2's two files."""
    import transformers as hub

    size, few = (
        tokenizer.size,
        {"hidden_size": 16, "num_attention_heads": 2, "max_position_embeddings": 64, "intermediate_size": 32},
    )
    made: dict[str, Any] = {
        "gpt2": hub.GPT2LMHeadModel(hub.GPT2Config(vocab_size=size, n_positions=64, n_embd=16, n_layer=1, n_head=2)),
        "gpt-neo": hub.GPTNeoForCausalLM(hub.GPTNeoConfig(vocab_size=size, max_position_embeddings=64, hidden_size=16, num_layers=2, num_heads=2, attention_types=[[["global", "local"], 1]], window_size=16)),
        "gpt-neox": hub.GPTNeoXForCausalLM(hub.GPTNeoXConfig(vocab_size=size, num_hidden_layers=1, **few)),
        "hf-llama": hub.LlamaForCausalLM(hub.LlamaConfig(vocab_size=size, num_hidden_layers=1, num_key_value_heads=1, **few)),
        "llama-wide": hub.LlamaForCausalLM(hub.LlamaConfig(vocab_size=size, num_hidden_layers=1, head_dim=12, **few)),
    }  # fmt: skip
    for kind, rope in ROPES.items():
        neox = hub.GPTNeoXConfig(vocab_size=size, num_hidden_layers=1, rope_parameters=dict(rope), **few)
        llama = hub.LlamaConfig(vocab_size=size, num_hidden_layers=1, rope_parameters=dict(rope), **few)
        made |= {f"neox-{kind}": hub.GPTNeoXForCausalLM(neox), f"llama-{kind}": hub.LlamaForCausalLM(llama)}
    for name, model in made.items():
        model.save_pretrained(name)
        tokenizer.save(f"{name}/tokenizer.json")
    made["gpt2"].save_pretrained("parts", max_shard_size="8KB")
    tokenizer.save("parts/tokenizer.json")
    settings = {"bos_token": {"content": "<|endoftext|>", "lstrip": False}, "model_max_length": 64}
    Path("gpt2/tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    whole = json.loads(tokenizer.backend.to_str())["model"]
    Path("gpt2files").mkdir()
    Path("gpt2files/vocab.json").write_text(json.dumps(whole["vocab"]), encoding="utf-8")
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in whole["merges"]]
    Path("gpt2files/merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    made["gpt2"].save_pretrained("older")
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(Path("gpt2files") / name, "older")
