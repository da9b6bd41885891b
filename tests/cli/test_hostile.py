"""What the fuzz tests found, a cause each: bad input that once ended in a traceback, a hang, lost data or no memory."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tslens import models, runs
from tslens.byte_bpe import read_files
from tslens.cli import main
from tslens.cli.failures import LONGEST, complain
from tslens.evaluation.grading import compare, read_texts
from tslens.evaluation.untrained import untrained
from tslens.evaluation.writing import MOST, WritingSettings, prompts_of
from tslens.generate import generate_written
from tslens.models import Spec
from tslens.models.bounds import MOST_WIDTH
from tslens.models.building import from_weights
from tslens.stories import stories
from tslens.stories.asked import vocabulary_of
from tslens.stories.pack import pack
from tslens.tokenizer import Tokenizer
from tslens.train import saving, validation_stories


@pytest.fixture
def tiny(in_tmp: Path, tokenizer: Tokenizer) -> Path:
    """A tiny model in a folder, beside a file of stories."""
    told = "\n<|endoftext|>\n".join(stories("made", limit=8))
    Path("tales.txt").write_text(told, encoding="utf-8")
    model = models.build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer)
    return models.save(model, "tiny")


def line(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line with which a command is refused."""
    assert main(list(words)) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said and said.count("tslens: ") == 1
    return said.splitlines()[-1]


def test_a_message_is_one_short_line_of_plain_text(capsys):
    complain("a\x1b[31m\nb \u202e\udcff " + "\x00" * LONGEST + " give a name", 2)
    said = capsys.readouterr().err
    assert said.startswith("tslens: a\\x1b[31m b \\u202e\\udcff ") and said.endswith(" give a name\n")
    assert said[:-1].isprintable() and len(said) < LONGEST + 30


def test_whole_numbers_that_no_index_can_be(tiny, capsys):
    for option, most in (("--limit", "100,000,000"), ("--twins", "9,999")):
        words = ["analyze", "residuals", "--model", "tiny", "--stories", "tales.txt", option, str(sys.maxsize + 1)]
        assert f"{option} is a number of 19 digits; give {most} or less." in line(capsys, *words)
    assert "--n is a number of 4,000 digits; give 100,000,000" in line(capsys, "stories", "make", "--n", "9" * 4000)
    for seed in (str(sys.maxsize + 1), "9" * 4000):  # which has no bound of its own
        words = ["generate", "--model", "tiny", "--seed", seed]
        assert f"for --seed. A whole number of over {sys.maxsize:,} is given" in line(capsys, *words)


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("eval cost --model tiny --repeats 1000000000", "1,000"),
        ("eval cost --model tiny --batch 60000", "4,096"),
        ("eval cost --model tiny --tokens 2000000", "100,000"),
        ("audit --model tiny --seeds=1000000000", "100"),
        ("analyze lens --model tiny --tuned --steps 1000000000", "1,000,000"),
        ("stories make --n 200000000", "100,000,000"),
    ],
)
def test_counts_have_bounds_that_the_help_names(in_tmp, capsys, words, most):
    said = line(capsys, *words.split())  # before the model, which is not there, is looked for
    assert said.endswith(f"; give {most} or less.") and said.count("--") == 1
    option = said.split()[1]
    main([*words.split("--")[0].split(), "--help"])
    assert f"{option} {most}" in " ".join(capsys.readouterr().out.split()).split("Largest values:")[1]


@pytest.mark.parametrize("given", ["1.5", "0.6", "0x2", "1e3", "2_0"])
def test_a_fraction_is_no_whole_number(tiny, capsys, given):
    words = ["loss", "--model", "tiny", "--stories", "tales.txt"]
    assert line(capsys, *words, "--limit", given) == f"tslens: --limit takes a whole number; {given!r} is none."
    assert line(capsys, *words, f"--limit={given}").startswith("tslens: --limit takes a whole number")
    assert main([*words, "--limit", "+3"]) == 0
    several = ["eval", "cost", "--shape", "16x1x2", "--vocabulary", "300", "--batch", "1", "--batch", given]
    assert line(capsys, *several) == f"tslens: --batch takes a whole number; {given!r} is none."


@pytest.mark.parametrize("text", ["[1]\n", "x\n", '{"step": 1}\n[1]\n', '{"step": "x"}\n'])
def test_a_record_of_metrics_that_is_none(in_tmp, refused, text):
    Path("metrics.jsonl").write_text(text)
    with refused(r"metrics.jsonl, line \d is (not JSON|no record of a run)"):
        runs.read_metrics(Path())
    Path("metrics.jsonl").write_text('{"step": 1}\n{"step": 2, "tok')  # as a kill leaves it
    assert runs.read_metrics(Path()) == [{"step": 1}]


def test_half_a_surrogate_pair_in_a_row(tiny, capsys):
    Path("pairs.jsonl").write_text('{"sentence_good": "a", "sentence_bad": "b", "UID": "\\ud800"}\n')
    words = ["eval", "pairs", "--model", "tiny", "--pairs", "pairs.jsonl", "--n-gram", "none"]
    assert "pairs.jsonl, line 1 has half a surrogate pair, which is no text" in line(capsys, *words)


def test_more_than_is_held_at_once(refused, tiny):
    model = models.load("tiny")
    with refused("at most 100,000 are written at a time"):
        generate_written(model, n=10**9)
    with refused(f"--n is .* give {MOST:,} or fewer"):
        WritingSettings(n=MOST + 1).samplings()
    with refused("--twins is .* all are held at once"):
        untrained({"tiny": model}, 10**9)


def test_completions_requests_and_batches_have_bounds(tiny, capsys):
    assert "--completions is" in line(capsys, "eval", "facts", "--model", "tiny", "--completions", "3000000000")
    asked = ["stories", "ask", "--n", "3000000000", "--out", "o.jsonl"]
    assert "--n is 3,000,000,000; give 1,000,000 or less" in line(capsys, *asked)
    assert "4,096" in line(capsys, "eval", "cost", "--model", "tiny", "--batch", "3000000000")


def test_a_shape_larger_than_the_machine_is_refused_before_it_is_made(refused):
    with refused("this machine has"):
        models.build(Spec(2**20, 100, 4, d_vocab=2**20))
    with refused("d_vocab is over 16,777,216"):
        Spec(16, 1, 2, d_vocab=MOST_WIDTH + 1)


def test_shapes_are_compared_before_a_model_is_made(refused, tokenizer, monkeypatch):
    monkeypatch.setattr("tslens.models.building.build", lambda *_, **__: pytest.fail("a model was made"))
    with refused("a file lack"):
        from_weights(Spec(16, 1, 2, d_vocab=300), {"embed.W_E": torch.zeros(300, 16)}, tokenizer, origin="a file")


def test_a_link_to_itself(tiny, capsys):
    Path("pairs.txt").symlink_to("pairs.txt")
    assert "too many levels of symbolic links" in line(
        capsys, "eval", "pairs", "--model", "tiny", "--pairs", "pairs.txt", "--n-gram", "none"
    )
    Path("tiny/model.safetensors").unlink()
    Path("tiny/model.safetensors").symlink_to("model.safetensors")
    assert "is a link to model.safetensors, which leads to no file" in line(capsys, "generate", "--model", "tiny")


def test_a_folder_called_tilde_is_one_of_this_folder(tiny, capsys):
    assert main(["stories", "audit", "tales.txt", "--out", "~"]) == 0
    assert list(Path("~").glob("*.csv"))


def test_a_folder_whose_name_is_no_text(tiny, capsys):
    words = ["analyze", "residuals", "--model", "tiny", "--stories", "tales.txt", "--out", "o\udcff"]
    assert line(capsys, *words) == r"tslens: 'o\udcff' is no UTF-8: rename it, or give another name."
    assert not Path("o\udcff").exists()


def test_a_pipe_for_stories_and_a_device_for_words(tiny, capsys, refused):
    os.mkfifo("pipe.txt")
    assert "pipe.txt is a pipe, not a file" in line(capsys, "loss", "--model", "tiny", "--stories", "pipe.txt")
    Path("words.toml").symlink_to("/dev/zero")
    with refused("words.toml is a device"):
        vocabulary_of(Path("words.toml"))


@pytest.mark.parametrize("changed", [{"tokens": -1}, {"tokens": 2**40}, {"text": 1.5}, {"ended": 1}, {"tokens": True}])
def test_an_altered_completion(tiny, capsys, changed):
    Path("prompts.txt").write_text("the cat\n")
    words = ["eval", "write", "--model", "tiny", "--prompts", "prompts.txt", "--n", "1", "--beams", "0", "--store", "s"]
    assert main(words) == 0
    capsys.readouterr()
    (store,) = Path("s").glob("*.jsonl")
    head, row = store.read_text().splitlines()
    store.write_text(f"{head}\n{json.dumps(json.loads(row) | changed)}\n")
    assert "line 2 is no completion of its own" in line(capsys, *words)


@pytest.mark.parametrize("changed", [{"tokens": 0}, {"tokens": 40}, {"stories": -1}, {"longest": 10**6}])
def test_a_record_of_a_pack_that_contradicts_its_files_does_not_cut_them(in_tmp, tokenizer, refused, changed):
    told = list(stories("made", limit=8))
    pack(told, tokenizer, "p", source="told")
    record, before = json.loads(Path("p/pack.json").read_text()), Path("p/tokens.bin").read_bytes()
    Path("p/pack.json").write_text(json.dumps(record | changed))
    with refused("not the record of packed stories|its size is not the one"):
        pack(told, tokenizer, "p", source="told")
    assert Path("p/tokens.bin").read_bytes() == before


def test_values_of_an_optimizer_of_no_parameter(refused, tokenizer):
    model = models.build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=8))
    for key in ("../x", "embed.W_E/momentum"):
        with refused("which is of no parameter"):
            saving._check_optimizer(model, {key: torch.zeros(3)}, Path("step-000004"))


def test_a_validation_story_that_is_no_text(in_tmp, refused):
    path = Path("validation.jsonl")
    validation_stories.write(path, ["a", "b"])
    path.write_text(path.read_text().replace('"b"', '["b"]'))
    with refused("validation.jsonl was altered"):
        validation_stories.read(path)


@pytest.mark.parametrize("number", [-1, 4_000_000_000, 10**30])
def test_an_id_out_of_range_in_a_vocabulary(in_tmp, tokenizer, refused, number):
    ids = json.loads(tokenizer.backend.to_str())["model"]["vocab"]
    Path("vocab.json").write_text(json.dumps(ids | {"new": number}))
    Path("merges.txt").write_text("")
    with refused("no whole number below 1,000,000"):
        read_files(Path("vocab.json"), Path("merges.txt"))


@pytest.mark.parametrize("value", ["1.5", "7", '"x"'])
def test_beginnings_that_are_no_list(in_tmp, refused, value):
    Path("mine.toml").write_text(f"beginnings = {value}\n")
    with refused("mine"):
        prompts_of("mine.toml")


def test_a_dataset_folder_whose_file_holds_no_row(in_tmp, refused):
    Path("data").mkdir()
    Path("data/train.jsonl").write_text("[]")
    with refused("data"):
        list(stories("data"))


def test_a_dataset_folder_whose_file_is_empty(in_tmp, refused):
    Path("data").mkdir()
    Path("data/train.jsonl").touch()
    with refused("the dataset folder data cannot be read .*; mend it, or give one of its files"):
        list(stories("data"))


def test_half_a_surrogate_pair_in_a_record_that_has_its_own_hash(tiny, capsys):
    config = json.loads(Path("tiny/config.json").read_text()) | {"note": "\ud800"}
    rest = {key: value for key, value in config.items() if key != "config_sha256"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    whole = rest | {"config_sha256": hashlib.sha256(text).hexdigest()}
    for written, said in (
        (json.dumps(whole), "has half a surrogate pair"),
        (json.dumps(whole, ensure_ascii=False), "utf-8"),
    ):
        Path("tiny/config.json").write_bytes(written.encode("utf-8", "surrogatepass"))
        assert said in line(capsys, "generate", "--model", "tiny")


def test_a_tokenizer_that_the_library_writes_and_cannot_read(in_tmp, tokenizer, refused):
    whole = json.loads(tokenizer.backend.to_str())
    ids = whole["model"]["vocab"]
    ids["Ġthe"] = ids["Ġthe"] + 1  # which another token has
    Path("tokenizer.json").write_text(json.dumps(whole))
    with refused("tokenizer.json is not a Hugging Face tokenizer.json .*; give one that is"):
        Tokenizer.load("tokenizer.json")


def test_models_compared_on_too_few_prompts_are_drawn(in_tmp):
    from tslens.evaluation.grading import grade, rubric
    from tslens.evaluation.grading.graders import TableGrader

    rows = ["prompt,completion,model,grammar,creativity,consistency,plot,age group"]
    rows += [f"Once there was,a {word}.,{name},5,5,5,5,2" for name, word in (("a", "cat"), ("b", "dog"))]
    Path("scores.csv").write_text("\n".join(rows) + "\n")
    grades = grade(read_texts("scores.csv"), TableGrader(Path("scores.csv")), rubric("story"), [])
    compared = compare(grades)
    assert not torch.isfinite(compared.low).any()
    assert compared.figure().axes


PRESS = """
import os, runpy, signal, sys
class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Press())
sys.argv = ["tslens", *{words!r}]
runpy.run_module("tslens", run_name="__main__")
"""
"""Runs a command, and presses Ctrl-C when it begins to import a module."""


@pytest.mark.parametrize(
    "name",
    ["tslens.interrupt", "tslens.cli", "cyclopts", "tslens.cli.models", "torch", "torch._C", "numpy", "torch.nn"],
)
def test_ctrl_c_while_we_are_imported_is_one_line(in_tmp, name):
    program = PRESS.format(name=name, words=["generate", "--model", "stories2M"])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (130, "tslens: interrupted\n", "")
