"""At 80 columns no line of a command's output is longer, and --wide prints every column."""

import json
import shutil
from pathlib import Path

import pytest

from tslens import cli, models
from tslens.stories import stories
from tslens.tables import size_of
from tslens.train import recipe, session

FEW = ("--model", "stories2M", "--stories", "made", "--limit", "4")
COMMANDS = {
    "heads": ("analyze", "heads", *FEW),
    "heads of a text": ("analyze", "heads", *FEW, "--text", "Tom saw a dog."),
    "swaps": ("analyze", "heads", *FEW, "--swap"),
    "recipes": ("train", "--list"),
    "all suites": ("eval", "all", "--model", "stories2M", "--completions", "0", "--twins", "0", "--n-gram", "none"),
    "ablations": ("analyze", "heads", *FEW, "--ablate"),
    "neurons": ("analyze", "neurons", *FEW, "--test", "--classes"),
    "patterns": ("analyze", "neurons", *FEW, "--patterns"),
    "lens": ("analyze", "lens", *FEW),
    "attribution": ("analyze", "attribution", *FEW),
    "lens of a prompt": ("analyze", "lens", "--model", "stories2M", "--prompt", "Once upon a time there was"),
    "attribution of a prompt": ("analyze", "attribution", "--model", "stories2M", "--prompt", "Once upon a time there"),
    "residuals": ("analyze", "residuals", *FEW),
    "models": ("models",),
    "loss": ("loss", *FEW),
    "facts": ("eval", "facts", "--model", "stories2M", "--completions", "0"),
    "pairs": ("eval", "pairs", "--model", "stories2M", "--limit", "4", "--n-gram", "none"),
    "card": ("eval", "card", "--model", "stories2M", "--limit", "0", "--pairs", "4", "--n-gram", "none"),
    "suites": ("eval", "--list"),
    "audit": ("stories", "audit", "made", "--limit", "40"),
}


LONG, WIDE = "n" * 80, "絵本" * 20 + "🙂"
OF = "--model {small} --stories tales.txt --limit 24"
NAMED = {
    "runs": "runs",
    "models": "models",
    "neurons": f"analyze neurons {OF}",
    "ablated neurons": f"analyze neurons {OF} --ablate",
    "report": f"report {OF} --twins 0 --shown 1 --no-causes --out r.html",
    "composition": f"analyze composition {OF} --twins 0",
    "circuit": "analyze circuit pronoun --model {bundled} --pairs 8 --twins 0",
    "loss": f"loss {OF}",
    "suite": "eval facts --model {small} --completions 0",
    "pairs": "eval pairs --model {small} --limit 4 --n-gram none",
    "copies": f"eval copies {OF} --tokens 3 --twins 0",
    "rank": "eval rank prefs.csv",
    "cost": "eval cost --model {small} --shape 16x1 --batch 1 --tokens 2 --repeats 2 --vocabulary 300",
    "card": "eval card --model {small} --limit 0 --pairs 4 --n-gram none",
    "write": "eval write --model {small} --prompts prompts.txt --n 1 --limit-tokens 3 --beams 0",
    "check": "stories check tales.txt",
    "check two": "stories check tales.txt," + LONG + ".txt",
    "pack": "stories pack tales.txt --out " + LONG + " --vocab 300 --no-resume",
    "grade": "eval grade --texts texts.jsonl --rubric rubric.toml --grader scores.csv --again 0 --controls tales.txt",
    "instruct": "eval instruct --model {small} --stories instructed.txt --limit 4 --samples 1 --limit-tokens 3",
    "dry run": "train 16x1x2 --data tales.txt --dry-run --set data.vocabulary=300",
    "beginnings": "eval beginnings --model {small} --stories tales.txt --n 2 --max-new-tokens 3",
}
SLOW = {
    "twins": f"analyze twins {OF} --twins 1",
    "kinds": f"analyze heads {OF} --kinds",
    "tuned lens": f"analyze lens {OF} --tuned --steps 2 --fit-limit 8 --fit-stories tales.txt",
    "all": f"analyze all {OF} --twins 1",
    "audit": f"audit {OF} --seeds 1 --twins 1 --runs 10",
    "dynamics": "analyze dynamics {small} --stories tales.txt --limit 24 --twins 0",
    "features": f"analyze features {OF} --hook blocks.0.hook_resid_post --fit-stories tales.txt --fit-limit 8 "
    "--width 16 --active 2 --steps 2",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run and a copy of the bundled model, each under a long name and in a folder with a wide one; preferences
    between models of such names."""
    home = tmp_path_factory.mktemp("named")
    settings = {"data.source": "tales.txt", "data.vocabulary": 300, "train.steps": 4, "model.n_ctx": 512}
    settings |= {"train.batch": 2, "train.validation_stories": 2, "train.precision": "float32"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        Path("tales.txt").write_text("\n<|endoftext|>\n".join(stories("made", limit=40)), encoding="utf-8")
        Path("prompts.txt").write_text("Once there was a\nTom had a red\n")
        session.train(recipe.load("16x2x2", {key: str(value) for key, value in settings.items()}), LONG)
        for source, kind in ((Path("runs", LONG), "small"), (models.bundled()["stories2M"], "bundled")):
            for folder in (Path("runs", f"{LONG}-{kind}"), Path(f"{WIDE}-{kind}")):
                shutil.copytree(source, folder)
        rows = [f"{prompt},{LONG},{WIDE},{better}\n" for prompt, better in zip("pqrs", [LONG, WIDE] * 2, strict=True)]
        Path(f"{LONG}.txt").write_text("Ann saw a hen. The hen saw Ann.\n<|endoftext|>\n", encoding="utf-8")
        _write_graded()
        Path("prefs.csv").write_text("prompt,first,second,preferred\n" + "".join(rows), encoding="utf-8")
    return home


def _write_graded() -> None:
    """Texts of two models, a rubric, their scores, and stories with instructions."""
    axis = 'name = "grammar"\nquestion = "Is it right?"\nlowest = "no"\nhighest = "yes"\nhit_by = ["with errors"]\n'
    Path("rubric.toml").write_text(f'task = "Grade the continuation."\n[[axis]]\n{axis}')
    rows = [{"prompt": f"Tom {n}", "completion": f"ran {n}.", "model": (LONG, WIDE)[n % 2]} for n in range(8)]
    Path("texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    scores = [f"{row['prompt']},{row['completion']},{n + 1}\n" for n, row in enumerate(rows)]
    Path("scores.csv").write_text("prompt,completion,grammar\n" + "".join(scores))
    assert cli.main("stories make --n 12 --instruct --out instructed.txt".split()) == 0


def printed(words: str, name: str, home: Path, capsys: pytest.CaptureFixture[str], code: int = 0) -> list[str]:
    """The lines that a command prints of models so named, before it exits with this code."""
    assert cli.main(words.format(small=f"{name}-small", bundled=f"{name}-bundled").split()) == code
    return capsys.readouterr().out.split("\n")


@pytest.mark.parametrize("name", [LONG, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize("words", NAMED.values(), ids=NAMED)
def test_names_leave_room(
    words: str, name: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(words, name, home, capsys)
    assert [line for line in lines if size_of(line) > 80] == []
    cut = [line for line in lines if line.startswith(name[:3]) and "…" in line and "]" not in line]  # a table's rows
    assert all(len(row.split()) > 2 for row in cut), "a name took all other columns away"


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # SAELens's imports
@pytest.mark.parametrize("words", SLOW.values(), ids=SLOW)
def test_names_leave_room_in_what_takes_long(
    words: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("COLUMNS", "80")
    code = int(words.startswith("audit"))  # an untrained model does not pass it
    for name in (LONG, WIDE):
        assert [line for line in printed(words, name, home, capsys, code) if size_of(line) > 80] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_longer_than_the_terminal(
    name: str, in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(COMMANDS[name]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert [line for line in lines if size_of(line) > 80] == []


def test_wide_prints_every_column(in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(["analyze", "heads", *FEW, "--wide"]) == 0
    printed = capsys.readouterr().out
    assert "induction_random" in printed.split("\n")[2] and "--wide" not in printed
    assert printed.startswith(
        ("None of the 16 heads", "1 of 16 heads has", *(f"{n} of 16 heads have" for n in range(17)))
    )


def test_an_unresolved_head_shows_what_it_is_nearest_to(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "heads", *FEW[:-1], "12"]) == 0
    rows = [line for line in capsys.readouterr().out.split("\n") if "unresolved (" in line]
    assert rows
    for row in rows:
        effect, low, high = row.partition(")")[2].split()[:3]
        assert float(low) <= float(effect) <= float(high)
    assert cli.main(["analyze", "heads", *FEW[:-1], "12", "--json"]) == 0
    each = [row for row in json.loads(capsys.readouterr().out)["rows"] if row["role"] == "unresolved"]
    assert len(each) == len(rows)
    for row, line in zip(each, rows, strict=True):
        assert f"unresolved ({row['nearest_role']}?)" in line and row["effect"] is None
        assert f" {row['nearest_effect']:.3f} " in line


def test_the_strongest_neurons_of_a_label_show_their_tokens(
    in_tmp: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(["analyze", "neurons", *FEW, "--layer", "2", "--label", "noun"]) == 0
    assert "held_low top tokens" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (COMMANDS["attribution of a prompt"], "Most to the logit of ' "),
        (("stories", "check", "made", "--limit", "4"), "4 of 4 stories are kept, 0 of them repaired."),
    ],
)
def test_the_finding_comes_first(
    words: tuple[str, ...], said: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 0
    assert capsys.readouterr().out.startswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--layer", "4"], "--layer is 4; layers run from 0 to 3."),
        (["--label", "nuon"], "Did you mean 'NOUN'?"),
        (["--word", "brontosaurus"], "--word is 'brontosaurus', which is no token of this model"),
    ],
)
def test_a_choice_that_no_neuron_can_meet_is_refused(
    words: list[str], said: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["analyze", "neurons", *FEW, *words]) == 2
    assert said in capsys.readouterr().err


def test_the_neurons_of_a_word_are_printed_and_counted(
    in_tmp: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(["analyze", "neurons", *FEW, "--word", "The", "--layer", "1"]) == 0
    printed = capsys.readouterr().out
    n, said = " ".join(printed.split()).split(" of 3,072 MLP neurons of stories2M have 'The' among their top tokens; ")
    lines = printed[printed.index("\nlayer") + 1 :].split("\n")
    head, rows = lines[0].split(), [line.split() for line in lines if line.split()[:1] == ["1"]]
    assert head[-2:] == ["top", "tokens"]
    assert 0 < len(rows) == min(int(n), 20) and " of them prefer a part of speech, and " in said
    assert all(any(word.lower().startswith("the") for word in row) for row in rows)


def test_generated_stories_come_with_their_settings_and_their_end(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["generate", "--model", "stories2M", "--prompt", "Tom", "--n", "2", "--max-new-tokens", "4", "--seed", "7"]
    words += ["--temperature", "0.7", "--top-k", "5", "--top-p", "0.9"]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["index"] for one in found] == [0, 1]
    for one in found:
        assert one["text"].startswith("Tom") and (one["prompt"], one["seed"], one["model"]) == ("Tom", 7, "stories2M")
        assert one["ended"] == ("most new tokens" if one["tokens"] == 4 else "end of story")
        asked = {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "max_new_tokens": 4}
        assert asked.items() <= one.items()
