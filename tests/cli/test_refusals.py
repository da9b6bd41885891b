"""What bad input gets: one line with the remedy, exit code 2, nothing half-written."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from tslens import models, runs
from tslens.cli import main
from tslens.models import Spec
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

TRAIN = ["train", "16x1x2", "--set", "data.vocabulary=300", "--set", "train.steps=2", "--set", "model.n_ctx=32"]
TRAIN += ["--set", "train.batch=2", "--set", "train.validation_stories=2"]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory) -> Path:
    """A tiny model with a tokenizer, in a folder."""
    tokenizer = Tokenizer.train(stories("made", limit=30), 300)
    model = models.build(Spec(16, 1, 2, d_vocab=300, n_ctx=32), tokenizer=tokenizer)
    return models.save(model, tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def tales(in_tmp) -> Path:
    """A good story file."""
    path = in_tmp / "tales.txt"
    path.write_text("\n<|endoftext|>\n".join(stories("made", limit=60, seed=2)), encoding="utf-8")
    return path


def refused(capsys, *arguments: object) -> str:
    """The one line that a refused command prints."""
    before = snapshot()
    assert main([str(a) for a in arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    told = [line for line in lines if line.startswith("tslens: ")]
    assert len(told) == 1 and "Traceback" not in "".join(lines)
    assert snapshot() == before, "something was written"
    return told[0]


def snapshot() -> set[str]:
    return {str(p) for p in Path().rglob("*")}


def test_a_missing_story_file_names_the_nearest(in_tmp, tales, model_folder, capsys):
    assert "tales.txt" in refused(capsys, "loss", "--model", model_folder, "--stories", "tale.txt")


def test_an_empty_story_file(in_tmp, model_folder, capsys):
    Path("none.txt").write_text("")
    assert "none.txt" in refused(capsys, "loss", "--model", model_folder, "--stories", "none.txt")
    refused(capsys, *TRAIN, "--data", "none.txt")


def test_bytes_that_are_not_utf8_are_named_by_their_offset(in_tmp, model_folder, capsys):
    Path("bad.txt").write_bytes(b"Once there was a cat. \xff\xfe It ran.\n")
    assert "22" in refused(capsys, "loss", "--model", model_folder, "--stories", "bad.txt")


def test_a_prompt_longer_than_the_context(in_tmp, model_folder, capsys):
    words = "the cat and the dog and " * 20
    assert "32" in refused(capsys, "generate", "--model", model_folder, "--prompt", words)
    assert "32" in refused(capsys, "analyze", "lens", "--model", model_folder, "--prompt", words)


def test_fewer_stories_than_a_batch(in_tmp, tales, capsys):
    message = refused(capsys, *TRAIN, "--data", tales, "--set", "train.batch=5000")
    assert "fewer than the 5000 of one batch" in message


def test_a_tokenizer_of_another_model(in_tmp, model_folder, capsys):
    Path("mixed").mkdir()
    for name in ("config.json", "model.safetensors"):
        (Path("mixed") / name).write_bytes((model_folder / name).read_bytes())
    Tokenizer.train(stories("made", limit=30, seed=9), 290).save("mixed/tokenizer.json")
    assert "not the tokenizer that this model was trained with" in refused(capsys, "generate", "--model", "mixed")


def test_an_unknown_model_gets_the_nearest_name(in_tmp, capsys):
    assert "Did you mean 'stories2M'" in refused(capsys, "generate", "--model", "storys2M")
    assert "Did you mean 'stories2M'" in refused(capsys, "generate", "--model", "STORIES2M")


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="needs a file that opens and cannot be read")
def test_a_file_that_the_system_cannot_read(in_tmp, capsys):
    said = refused(capsys, "generate", "--model", "llama2c:/proc/self/mem")
    assert said == "tslens: input/output error: /proc/self/mem. The system cannot read or write it: give another."


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("", "--out is empty; give a path."),
        ("gone/..", "gone/.. names no new folder: give a path that ends in its name."),
        (os.fsdecode(b"ex\xff"), r"'ex\udcff' is no UTF-8: rename it, or give another name."),
        (f"{os.devnull}/x", f"not a directory: {os.devnull}/x. A file cannot hold another"),
    ],
)
def test_a_place_that_cannot_be_written(in_tmp, model_folder, capsys, out, said):
    assert refused(capsys, "export", model_folder, "--to", "transformer-lens", "--out", out).startswith(
        f"tslens: {said}"
    )


def test_files_and_folders_whose_names_are_no_utf8(in_tmp, tales, model_folder, capsys, monkeypatch):
    story, model, folder = (os.fsdecode(name) for name in (b"caf\xe9.txt", b"mod\xe9l", b"h\xe9re"))
    shutil.copy(tales, story)
    shutil.copytree(model_folder, model)
    Path("link").symlink_to(model)
    for words in (
        ("stories", "check", story),
        ("stories", "audit", tales, "--out", story),
        (*TRAIN, f"--data={story}"),
        ("loss", "--model", model, "--stories", tales),
        ("loss", "--model", "link", "--stories", tales),
        ("eval", "--model", f"hf:{model}"),
        ("plot", folder),
    ):
        assert "is no UTF-8: rename it, or give another name." in refused(capsys, *words)
    Path(folder).mkdir()
    monkeypatch.chdir(folder)
    assert "h\\udce9re' is no UTF-8" in refused(capsys, "runs")


def test_a_run_whose_name_is_no_utf8_is_listed_beside_others(in_tmp, model_folder, capsys):
    for name in ("good", os.fsdecode(b"caf\xe9")):
        shutil.copytree(model_folder, Path("runs") / name)
        (Path("runs") / name / "recipe.json").write_text("{}")
    for command in ("runs", "models"):
        assert main([command]) == 0
        rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.split()}
        assert "is no UTF-8" in rows["caf\\udce9"] and "is no UTF-8" not in rows["good"]
        assert main([command, "--json"]) == 0
        assert {row["name"] for row in json.loads(capsys.readouterr().out)} >= {"good", "caf\\udce9"}


def test_a_pipe_is_not_its_own_nearest_name(in_tmp, model_folder, capsys):
    os.mkfifo("f.jsonl")
    said = refused(capsys, "loss", "--model", model_folder, "--stories", "f.jsonl")
    assert "f.jsonl is a pipe" in said and "nearest" not in said


def test_a_shape_without_a_run_says_how_long_training_takes_here(in_tmp, capsys, monkeypatch):
    monkeypatch.setattr("tslens.train.estimate.PROBE", 0.1)
    said = refused(capsys, "analyze", "heads", "--model", "16x1x2")
    assert "To train it: tslens train 16x1x2 (about " in said and " on this machine, as busy as it is, for " in said
    Path("tales.txt").write_text("\n<|endoftext|>\n".join(stories("made", limit=40)), encoding="utf-8")
    named = refused(capsys, "analyze", "heads", "--model", "16x1x2", "--stories", "tales.txt")
    assert "tslens train 16x1x2 --data tales.txt (about " in named and "tokens of tales.txt" in named
    Path("tales.txt").unlink()
    monkeypatch.setattr("tslens.train.estimate.estimate", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    assert refused(capsys, "analyze", "heads", "--model", "16x1x2").endswith("To train it: tslens train 16x1x2")
    assert list(in_tmp.iterdir()) == []


def test_a_misspelt_recipe_or_key(in_tmp, capsys):
    assert "Did you mean 'demo'" in refused(capsys, "train", "demoo")
    assert "Did you mean 'lr'" in refused(capsys, "train", "16x1x2", "--set", "optimizer.lrr=1")
    assert "has no '='" in refused(capsys, "train", "16x1x2", "--set", "optimizer.lr")


def test_a_truncated_or_altered_model(in_tmp, model_folder, capsys):
    for name, change in (("cut", lambda b: b[:-5]), ("altered", lambda b: b[:-1] + bytes([b[-1] ^ 1]))):
        Path(name).mkdir()
        for file in model_folder.iterdir():
            data = file.read_bytes()
            (Path(name) / file.name).write_bytes(change(data) if file.name == runs.WEIGHTS else data)
        assert "truncated or altered" in refused(capsys, "generate", "--model", name)


def test_a_planted_pickle_is_never_read(in_tmp, model_folder, capsys):
    Path("planted").mkdir()
    for file in model_folder.iterdir():
        (Path("planted") / file.name).write_bytes(file.read_bytes())
    (Path("planted") / runs.WEIGHTS).unlink()
    (Path("planted") / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n.")
    assert "model.safetensors" in refused(capsys, "generate", "--model", "planted")


def test_a_name_that_would_leave_its_folder(in_tmp, tales, capsys):
    assert "stays in its folder" in refused(capsys, *TRAIN, "--data", tales, "--name", "../../x")
    assert "stays in its folder" in refused(capsys, "train", "--resume", "../x")


def test_a_folder_that_cannot_be_written_is_said_before_the_work(in_tmp, model_folder, capsys):
    Path("file").write_text("in the way")
    refused(capsys, "analyze", "heads", "--model", model_folder, "--limit", 4, "--out", "file/inside")
    refused(capsys, "report", "--model", model_folder, "--limit", 4, "--out", "file/inside/page.html")


def test_a_full_disk(in_tmp, tales, capsys, monkeypatch):
    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(runs, "write_tensors", full)
    assert main([*TRAIN, "--data", str(tales)]) == 2
    assert "it has no checkpoint yet. Make room" in capsys.readouterr().err
    assert not list(Path("runs").rglob("*.tmp")) and not list(Path("runs").rglob("checkpoints/*/config.json"))
    assert all(place.with_name("model.safetensors").is_file() for place in Path("runs").rglob("config.json"))


def test_a_missing_file_that_no_one_names_is_a_defect(in_tmp, model_folder, tales, capsys, monkeypatch):
    def lost(*args, **options):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(runs, "read", lost)
    assert main(["loss", "--model", str(model_folder), "--stories", str(tales)]) == 1
    assert "this is a defect of tslens" in capsys.readouterr().err


def test_a_model_without_its_tokenizer_names_the_folder(in_tmp, model_folder, capsys):
    Path("bare").mkdir()
    for name in ("config.json", "model.safetensors"):
        (Path("bare") / name).write_bytes((model_folder / name).read_bytes())
    assert "bare has no tokenizer.json" in refused(capsys, "generate", "--model", "bare")
    assert "no source of stories is named" in refused(capsys, "stories", "check", " ,")
    assert "''" in refused(capsys, "generate", "--model", "llama2c:")


def test_a_name_that_is_empty_and_more_tops_than_memory_holds(in_tmp, model_folder, capsys):
    assert "'' cannot be a run's name" in refused(capsys, *TRAIN[:2], "--name", "")
    for top, said in (("0", "leaves nothing to show"), ("100000", "give 1,000 or less")):
        assert said in refused(
            capsys, "analyze", "neurons", "--model", model_folder, "--stories", "no.txt", "--top", top
        )
    neurons = ["analyze", "neurons", "--model", model_folder, "--sample", "19"]
    assert "--sample 19 can show no label" in (said := refused(capsys, *neurons)) and "Give 20 or more." in said


def test_how_the_tuned_lens_is_fitted_is_asked_of_the_tuned_lens(in_tmp, model_folder, capsys):
    lens = ["analyze", "lens", "--model", model_folder, "--stories", "made"]
    assert "add --tuned" in refused(capsys, *lens, "--steps", "5")
    assert "0 stories are none to fit a tuned lens on" in refused(capsys, *lens, "--tuned", "--fit-limit", "0")


def test_bytes_that_are_no_text_are_said_in_one_line(in_tmp, model_folder, capsys):
    Path("bad.txt").write_bytes(b"Tom ran.\xff")
    for command in (["stories", "check"], ["stories", "pack"], ["loss", "--model", model_folder, "--stories"]):
        more = ["--out", "packed"] if command[-1] == "pack" else []
        capsys.readouterr()
        assert main([*map(str, command), "bad.txt", *more]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "bad.txt is not UTF-8: byte 0xff at offset 8" in said


def test_generation_settings_out_of_range(in_tmp, model_folder, capsys):
    assert "temperature" in refused(capsys, "generate", "--model", model_folder, "--temperature", "-1")
    assert "at least 1" in refused(capsys, "generate", "--model", model_folder, "--n", "0")
    assert "precision" in refused(
        capsys, "loss", "--model", model_folder, "--stories", "made", "--precision", "float8", "--limit", "2"
    )


def test_no_input_is_replaced_by_what_is_written(in_tmp, tales, model_folder, capsys):
    Path("link.txt").symlink_to("tales.txt")
    shutil.copytree(model_folder, "tiny")
    Path("p").mkdir()
    shutil.copy(tales, "p/loss.csv")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    model = ("--model", "tiny")
    for option, words in (
        ("--stories", ("report", *model, "--stories", "tales.txt@validation", "--out", "tales.txt")),
        ("--stories", ("report", *model, "--stories=./tales.txt", "--out=tales.txt")),
        ("--stories", ("report", *model, "--stories", "link.txt,p/loss.csv", "--out", "link.txt")),
        ("--source", ("stories", "pack", "tales.txt", "--out", "tales.txt")),
        ("--stories", ("analyze", "heads", *model, "--stories", "tales.txt", "--out", "tales.txt")),
        ("--texts", ("eval", "label", "--texts", "tales.txt", "--rubric", "x.toml", "--out", "tales.txt")),
    ):
        assert f"would be replaced, and {option} reads it: give --out another place." in refused(capsys, *words)
    said = refused(capsys, "report", *model, "--stories", "tales.txt", "--out", "tiny/model.safetensors")
    assert said.endswith("tiny/model.safetensors is there and is no page: it would be lost. Give --out another place.")
    assert {path: path.read_bytes() for path in before} == before
    Path("preferences.csv").write_text("prompt,first,second,preferred\np,a,b,a\nq,a,b,b\nr,a,b,tie\n")
    said = refused(capsys, "eval", "rank", "preferences.csv", "--out", ".")  # a table of it has that name
    assert "preferences.csv would be replaced, and PREFERENCES reads it" in said
