"""`tslens analyze`: what is printed, what is written, and what is left behind when it fails."""

import json
import shutil
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from tslens import cli, runs, twins
from tslens.analysis import heads
from tslens.analysis.heads import AblationResult, AgreementResult, PatternResult, RolesResult, SwapsResult
from tslens.analysis.lens import ByDepthResult, LensesResult, OfPromptResult
from tslens.analysis.neurons import (
    HeldOutResult,
    MeanAblationResult,
    PatternsResult,
    ProfilesResult,
    SelectivityResult,
    printed,
)
from tslens.models import Spec, build, weights
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

STORIES = [
    "Tom had a red ball. He saw the ball roll down the hill.",
    "The cat sat on the mat. The dog saw the cat.",
    "Sue made a cake. The cake was big, and Tom had some.",
    "One day a bird came. The bird sang to the cat.",
    "Tom lost his hat. He looked for the hat by the tree.",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small model, `runs/tiny`, and a file of stories that fit its context."""
    folder = tmp_path_factory.mktemp("analyze")
    tokenizer = Tokenizer.train(STORIES, size=280)
    spec = Spec(8, 2, 2, d_vocab=tokenizer.size, n_ctx=64)
    run = folder / "runs" / "tiny"
    runs.write(run, {"spec": spec.to_dict(), "tokenizer": tokenizer.hash}, weights(build(spec)))
    tokenizer.save(run / runs.TOKENIZER)
    (folder / "stories.txt").write_text("\n<|endoftext|>\n".join(STORIES))
    return folder


@pytest.fixture(autouse=True)
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


@pytest.mark.thorough
def test_out_keeps_what_others_put_there_and_replaces_what_it_wrote_itself(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["analyze", "heads", "--model", "tiny", "--stories", "stories.txt", "--ablate", "--out", str(tmp_path)]
    (tmp_path / "on-stories").mkdir()
    (tmp_path / "on-stories/thesis.txt").write_text("mine")
    assert [cli.main(command), cli.main(command)] == [0, 0]
    assert (tmp_path / "on-stories/thesis.txt").read_text() == "mine"
    assert AblationResult.load(tmp_path / "on-stories") and RolesResult.load(tmp_path)
    (tmp_path / "RolesResult/result.json").rename(tmp_path / "RolesResult/thesis.json")

    def refused(said: str) -> None:
        before = sorted(tmp_path.rglob("*"))
        capsys.readouterr()
        assert cli.main(command) == 2
        assert said in capsys.readouterr().err and sorted(tmp_path.rglob("*")) == before

    refused("RolesResult is a folder that holds no saved result: it would be lost")
    (tmp_path / "RolesResult/thesis.json").rename(tmp_path / "RolesResult/result.json")
    shutil.rmtree(tmp_path / "on-stories")
    (tmp_path / "on-stories").touch()
    refused("on-stories is a file where a folder is needed")
    (tmp_path / "on-stories").unlink()
    (tmp_path / "RolesResult").rename(tmp_path / "elsewhere")
    (tmp_path / "RolesResult").symlink_to("elsewhere")
    refused("RolesResult is a file or a link where a folder is needed")


@pytest.mark.parametrize("more", ["--ablate", "--swap"])
def test_too_few_stories_are_refused_before_roles_are_printed(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str
) -> None:
    (tmp_path / "one.txt").write_text("Tom ran home.\n<|endoftext|>\nHe was happy.")
    command = ["analyze", "heads", "--model", "tiny", "--stories", str(tmp_path / "one.txt"), more]
    assert cli.main([*command, "--out", str(tmp_path / "out")]) == 2
    said, error = capsys.readouterr()
    assert said == "" and "An interval needs 4 stories or more; there are 2." in error
    assert not (tmp_path / "out").exists()


def test_heads_prints_a_row_per_head_and_writes_figure_table_and_answer(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    assert (
        cli.main(["analyze", "heads", "--model", "tiny", "--stories", "stories.txt", "--ablate", "--out", str(out)])
        == 0
    )
    printed, err = capsys.readouterr()
    assert "positional_fraction" in printed and f"written to {out}" in printed
    assert "a head without a name may have one (--kinds)" in err
    assert sorted(p.name for p in out.iterdir()) == [
        "RolesResult",
        "ablation-on-repeated-tokens.csv",
        "ablation-on-repeated-tokens.svg",
        "ablation-on-stories.csv",
        "ablation-on-stories.svg",
        "on-repeated-tokens",
        "on-stories",
        "roles.csv",
        "roles.svg",
    ]
    assert (out / "roles.svg").read_text().startswith("<svg")
    assert len(pd.read_csv(out / "roles.csv")) == 4
    assert RolesResult.load(out).stories == len(STORIES)
    found = AblationResult.load(out / "on-stories")
    assert found.on == "stories" and AblationResult.load(out / "on-repeated-tokens").roles == found.roles


@pytest.mark.thorough
def test_heads_with_swaps_says_what_decides_and_which_roles_that_contradicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["analyze", "heads", "--model", "tiny", "--stories", "stories.txt", "--swap"]
    assert cli.main([*command, "--out", str(tmp_path)]) == 0
    assert "verdict, all keys" in (printed := capsys.readouterr().out) and "agreement" in printed
    assert SwapsResult.load(tmp_path).stories == len(STORIES)
    assert AgreementResult.load(tmp_path).model == "tiny"
    assert len(pd.read_csv(tmp_path / "swaps.csv")) == 4 and (tmp_path / "agreement.svg").is_file()


@pytest.mark.thorough
def test_heads_with_kinds_names_what_heads_choose_and_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(twins, "control", partial(twins.control, n=2))
    monkeypatch.setattr(twins, "read_ahead", partial(twins.read_ahead, n=2))
    monkeypatch.setattr(heads, "MADE", 4)
    command = ["analyze", "heads", "--model", "tiny", "--stories", "stories.txt", "--kinds", "--out", str(tmp_path)]
    assert cli.main(command) == 0
    said = capsys.readouterr().out
    assert "pronoun to its referent" in said and "have a kind that is named here" in said
    assert "of 4 heads (" in said and "untrained twins: " in said
    assert "heads change their role between 32 tokens and 64 tokens" in said
    assert heads.KindsResult.load(tmp_path).threshold.isfinite().all() and heads.WritesResult.load(tmp_path)
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        f"{name}.svg" for name in ("roles", "kinds", "writes", "kernels", "contexts")
    }


@pytest.mark.thorough
def test_ablations_and_the_lens_stand_beside_untrained_twins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = ["--model", "tiny", "--stories", "made", "--limit", "24", "--twins", "1", "--out", str(tmp_path)]
    assert cli.main(["analyze", "heads", "--ablate", *read]) == 0
    found = twins.TwinsResult.load(tmp_path / "of-ablation")
    said = capsys.readouterr().out
    assert f"On 24 stories: {found.said(['heads that matter'])}." in said
    of_roles = twins.TwinsResult.load(tmp_path / "of-roles")
    assert "induction heads" in of_roles.labels and f"On 24 stories: {of_roles.said(of_roles.labels)}." in said
    assert (tmp_path / "twins-of-ablation.svg").is_file() and found.twins == ["permuted twin 0"]
    assert cli.main(["analyze", "lens", *read]) == 0
    found = twins.TwinsResult.load(tmp_path)
    assert f"On 24 stories: {found.said(found.labels)}." in capsys.readouterr().out
    assert "untrained twins" in (tmp_path / "by-depth.svg").read_text() and found.stories == 24
    fit = ["--tuned", "--fit-stories", "made@train", "--fit-limit", "30", "--steps", "0"]
    assert cli.main(["analyze", "lens", *read, *fit]) == 0
    found = twins.TwinsResult.load(tmp_path)
    assert "of 1,000 positions settled after block 0 by the tuned lens" in found.labels
    assert f"On 24 stories: {found.said(found.labels)}." in capsys.readouterr().out


@pytest.mark.thorough
def test_ablated_neurons_stand_beside_their_twins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun = [text[: text.rfind(". ", 0, 500) + 1] for text in stories("made", limit=40)]
    (tmp_path / "begun.txt").write_text("\n<|endoftext|>\n".join(begun), encoding="utf-8")
    read = ["--stories", str(tmp_path / "begun.txt"), "--twins", "1", "--out", str(tmp_path)]
    assert cli.main(["analyze", "neurons", "--model", "stories2M", "--ablate", *read]) == 0
    found = twins.TwinsResult.load(tmp_path / "of-ablation")
    assert f"On 32 stories: {found.said(found.labels)}." in capsys.readouterr().out and int(found.count[0]) > 0
    kept = MeanAblationResult.load(tmp_path)
    assert kept.of_twins == dict(zip(found.labels, found.of_twins.T.tolist(), strict=True))


def test_heads_with_probes_need_words_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "heads", "--model", "tiny", "--stories", "stories.txt", "--probe"]) == 2
    assert "A probe needs two parts of speech with 16 words or more each" in capsys.readouterr().err


def test_writing_again_replaces_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for limit in ("2", "3"):
        arguments = ["--model", "tiny", "--stories", "stories.txt", "--limit", limit, "--out", str(tmp_path)]
        assert cli.main(["analyze", "lens", *arguments]) == 0
    assert ByDepthResult.load(tmp_path).stories == 3
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_json_is_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "heads", "--model", "tiny", "--stories", "stories.txt", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["result"] == "RolesResult" and len(record["rows"]) == 4 and "r_causal" in record["rows"][0]
    both = ["analyze", "lens", "--model", "tiny", "--prompt", "The cat", "--stories", "stories.txt", "--json"]
    assert cli.main(both) == 0
    assert [r["result"] for r in json.loads(capsys.readouterr().out)] == ["OfPromptResult", "ByDepthResult"]


def test_lens_of_a_prompt_reads_no_stories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "lens", "--model", "tiny", "--prompt", "The cat", "--out", str(tmp_path)]) == 0
    assert "true next" in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["OfPromptResult", "of-prompt.csv", "of-prompt.svg"]
    assert OfPromptResult.load(tmp_path).text == "The cat"


def test_heads_of_a_text_reads_no_stories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "The cat saw the cat."
    assert cli.main(["analyze", "heads", "--model", "tiny", "--text", text, "--out", str(tmp_path)]) == 0
    assert "weight" in capsys.readouterr().out
    maps = [f"pattern-{layer}.{head}.svg" for layer in range(2) for head in range(2)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["PatternResult", *maps, "pattern.csv"]
    assert "Layer 1, head 0" in (tmp_path / maps[2]).read_text()
    found = PatternResult.load(tmp_path)
    assert found.text == text
    table = pd.read_csv(tmp_path / "pattern.csv")
    n = len(found.tokens)
    assert len(table) == 4 * n * (n + 1) // 2
    both = ["analyze", "heads", "--model", "tiny", "--text", text, "--stories", "stories.txt", "--json"]
    assert cli.main(both) == 0
    assert [r["result"] for r in json.loads(capsys.readouterr().out)] == ["PatternResult", "RolesResult"]


def test_the_lens_of_a_prompt_takes_a_precision(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for precision in ("float32", "bfloat16"):
        given = ["--model", "tiny", "--prompt", "The cat", "--precision", precision, "--json"]
        assert cli.main(["analyze", "lens", *given]) == 0
        said.append([row["its probability"] for row in json.loads(capsys.readouterr().out)["rows"]][:-1])
    assert said[0] != said[1] and said[0] == pytest.approx(said[1], rel=0.05)


def test_neurons_prints_counts_by_label_and_the_strongest_twenty_and_writes_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--model", "tiny", "--stories", "stories.txt", "--top", "3", "--out", str(tmp_path)]
    assert cli.main(["analyze", "neurons", *arguments]) == 0
    assert len(pd.read_csv(tmp_path / "profiles.csv")) == 2 * 4 * 8
    said, found = capsys.readouterr().out.splitlines(), ProfilesResult.load(tmp_path)
    counts = found.counts()
    of_speech = counts["part-of-speech neurons"]
    assert said[0].startswith(f"{of_speech} of 64 MLP neurons of tiny prefer a part of speech, and ")
    each = {name.removesuffix(" neurons"): n for name, n in counts.items() if n and name.split()[0] in found.tags}
    assert all(f"{n} {name}" in said[0] for name, n in each.items())
    begin = next(i for i, line in enumerate(said) if line.split()[:2] == ["layer", "neuron"])
    shown = [line.split()[:2] for line in said[begin + 1 : begin + 21]]
    rows = printed.table(found).head(20)
    assert shown == [[str(a), str(b)] for a, b in zip(rows["layer"], rows["neuron"], strict=True)]
    assert "The first 20 of 64; --out writes all." in said


def test_neurons_tests_its_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "tiny", "--stories", "stories.txt", "--test", "--out", str(tmp_path)]
    assert cli.main(["analyze", "neurons", *arguments]) == 0
    assert {"auroc_low", "precision", "predicts"} <= set(pd.read_csv(tmp_path / "held-out.csv").columns)
    assert HeldOutResult.load(tmp_path).n_labelled + HeldOutResult.load(tmp_path).n_tested == len(STORIES)
    assert "labels of a part of speech" in capsys.readouterr().out


@pytest.mark.thorough
def test_neurons_compares_classes_and_finds_patterns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "tiny", "--stories", "stories.txt", "--classes", "--patterns", "--out", str(tmp_path)]
    assert cli.main(["analyze", "neurons", *arguments]) == 0
    assert SelectivityResult.load(tmp_path).stories == len(STORIES)
    assert PatternsResult.load(tmp_path).n_labelled + PatternsResult.load(tmp_path).n_tested == len(STORIES)
    said = capsys.readouterr().out
    assert "token alone explains" in said and "'words before' predict" in said


@pytest.mark.thorough
def test_neurons_counts_patterns_on_twins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "tiny", "--stories", "made", "--limit", "24", "--patterns", "--twins", "1"]
    assert cli.main(["analyze", "neurons", *arguments, "--out", str(tmp_path)]) == 0
    assert (said := PatternsResult.load(tmp_path).beside_twins).startswith("On 24 stories: ")
    assert said in capsys.readouterr().out
    beside = twins.TwinsResult.load(tmp_path / "of-patterns")
    assert beside.twins == ["permuted twin 0"] and set(beside.labels) == {"word set neurons", "words before neurons"}
    assert (tmp_path / "twins-of-patterns.csv").is_file()


@pytest.mark.thorough
def test_neurons_by_layer_stand_beside_those_of_a_model_of_the_hub(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import transformers

    tokenizer, folder = Tokenizer.train(STORIES, size=280), tmp_path / "larger"
    sizes = {"vocab_size": tokenizer.size, "n_positions": 64, "n_embd": 12, "n_layer": 3, "n_head": 2}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).save_pretrained(folder)
    tokenizer.save(folder / "tokenizer.json")
    read = ["--stories", "made", "--limit", "24", "--twins", "1", "--out", str(tmp_path / "out")]
    assert cli.main(["analyze", "neurons", "--model", "tiny", "--beside", f"hf:{folder}", *read]) == 0
    found = twins.LayersResult.load(tmp_path / "out")
    assert found.models == ["tiny"] * 2 + ["larger"] * 3 and found.twins == ["permuted twin 0"]
    assert found.neurons.tolist() == [32] * 2 + [48] * 3 and found.stories == 24
    assert "Of the 48 neurons of each layer of larger " in capsys.readouterr().out
    assert {"model", "depth", "p"} <= set(pd.read_csv(tmp_path / "out" / "layers.csv").columns)
    assert "twins of larger" in (tmp_path / "out" / "layers.svg").read_text()


def test_a_model_beside_itself_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "neurons", "--model", "tiny", "--stories", "stories.txt", "--beside", "runs/tiny"]) == 2
    assert "--beside runs/tiny has the name of the model itself, tiny" in capsys.readouterr().err


def test_parquet_says_what_text_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.DataFrame({"n": range(5), "text": STORIES}).to_parquet(tmp_path / "stories.parquet")
    (tmp_path / "half.parquet").write_bytes((tmp_path / "stories.parquet").read_bytes()[:300])
    for command in (["loss"], ["analyze", "heads"]):
        said = []
        for source in ("stories.txt", f"{tmp_path}/stories.parquet", f"{tmp_path}/stories.parquet:text"):
            assert cli.main([*command, "--model", "tiny", "--stories", source, "--json"]) == 0
            said.append(json.loads(capsys.readouterr().out))
            said[-1].pop("corpus", None)  # which names the file
        assert said[0]["rows"] and said[0] == said[1] == said[2]
        assert cli.main([*command, "--model", "tiny", "--stories", f"{tmp_path}/half.parquet"]) == 2
        assert "half.parquet is not a whole parquet file" in capsys.readouterr().err


def test_a_model_without_stories_is_read_on_what_it_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "lens", "--model", "tiny", "--limit", "2", "--json"]) == 0
    shown = capsys.readouterr()
    record = json.loads(shown.out)
    assert record["stories"] == 2
    assert record["corpus"] == (
        "2 stories: stories that tiny wrote itself (temperature 1, seed 0). "
        "A loss on these is their entropy, not how well it predicts others."
    )
    assert f"reading {record['corpus']}" in " ".join(shown.err.split())
    assert "2 of 2 stories were longer than 64 tokens: their beginning was read." in shown.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["heads", "--model", "tinny"], "no model is called 'tinny'. Did you mean 'tiny'?"),
        (["heads", "--model", "tiny", "--stories", "absent.txt"], "absent.txt"),
        (["heads", "--model", "tiny", "--limit", "0"], "limit=0 leaves no story"),
        (["lens", "--model", "tiny", "--prompt", "a b c " * 40], "this model's context is 64. Cut it by at least"),
        (["lens", "--model", "tiny", "--prompt", "a", "--top", "999"], "k is 999; it must be from 1 to"),
        (["lens", "--model", "tiny", "--precision", "half"], "precision is 'half'"),
        (["lens", "--model", "tiny", "--prompt", "a", "--precision", "half"], "precision is 'half'"),
        (["heads", "--model", "tiny", "--text", "a", "--precision", "half"], "precision is 'half'"),
        (["heads", "--model", "tiny", "--text", "a b c " * 40], "this model's context is 64. Cut it by at least"),
        (["neurons", "--model", "tiny", "--stories", "stories.txt", "--top", "0"], "give 1 or more"),
    ],
)
def test_bad_input_gets_one_line_and_leaves_nothing(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a" / "b"
    assert cli.main(["analyze", *arguments, "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert complaint in message and message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_fails_before_the_model_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No such model either: were it loaded first, the complaint would be about that."""
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        assert cli.main(["analyze", "heads", "--model", "absent", "--out", str(out)]) == 2
        said = capsys.readouterr().err
        assert said.startswith("tslens: nothing can be written there (") and said.count("\n") == 1
        assert "give --out another folder" in said
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["analyze", "lens", "--model", "tiny", "--prompt", "The cat", "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(OfPromptResult, "save", full)
    assert cli.main([*arguments[:-3], "Another prompt", *arguments[-2:]]) == 2
    assert "no space left on device" in capsys.readouterr().err
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.thorough
def test_the_tuned_lens_is_fitted_kept_and_shown_beside_the_logit_lens(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tslens.stories.generator import generate

    texts = [made.text[: made.text.index(".", 80) + 1] for made in generate(30)]
    (place / "made.txt").write_text("\n<|endoftext|>\n".join(texts[:20]))
    (place / "others.txt").write_text("\n<|endoftext|>\n".join(texts[20:]))
    fit = ["--tuned", "--fit-stories", "made.txt", "--steps", "1"]
    command = ["analyze", "lens", "--model", "tiny", "--stories", "others.txt", *fit, "--prompt", "The cat"]
    assert cli.main([*command, "--out", str(tmp_path)]) == 0
    assert "fitting the tuned lens on 20 stories: made.txt" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "LensesResult",
        "OfPromptResult",
        "TranslatorsResult",
        "lenses-by-depth.svg",
        "lenses-by-tag-logit-lens.svg",
        "lenses-by-tag-tuned-lens.svg",
        "lenses.csv",
        "of-prompt-tuned.csv",
        "of-prompt-tuned.svg",
        "of-prompt.csv",
        "of-prompt.svg",
        "translators.csv",
        "translators.svg",
        "tuned",
    ]
    assert (place / "runs/tiny/tuned-lens/final/fitted.json").is_file()
    assert OfPromptResult.load(tmp_path / "tuned").lens == "tuned lens"
    found = LensesResult.load(tmp_path)
    assert found.stories == 10 and "made.txt" in found.fitted_on and "others.txt" in found.corpus
    assert cli.main([*command, "--json"]) == 0
    printed = capsys.readouterr()
    assert "fitting" not in printed.err
    names = [record["result"] for record in json.loads(printed.out)]
    assert names == ["TranslatorsResult", "OfPromptResult", "OfPromptResult", "LensesResult"]
    assert cli.main(["analyze", "lens", "--model", "tiny", "--stories", "made.txt", *fit]) == 2
    assert "No story is left to fit a tuned lens on" in capsys.readouterr().err


@pytest.mark.thorough
def test_attribution_and_residuals_write_their_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stories = ["--model", "tiny", "--stories", "stories.txt", "--out", str(tmp_path)]
    assert cli.main(["analyze", "attribution", *stories, "--prompt", "The cat"]) == 0
    assert cli.main(["analyze", "residuals", *stories]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "AttributionResult",
        "ByComponentResult",
        "ResidualsResult",
        "attribution.csv",
        "attribution.svg",
        "by-component-all.svg",
        "by-component-by-tag.svg",
        "by-component.csv",
        "residuals.csv",
        "residuals.svg",
    ]
    shown = capsys.readouterr()
    assert "residual of BOS" in shown.out and shown.err.count("twins: not asked; --twins 19") == 2
    for command, said in (("attribution", "No component of 1 untrained twins adds"), ("residuals", "No stream of 1")):
        given = ["--model", "tiny", "--stories", "stories.txt", "--out", str(tmp_path / command), "--twins", "1"]
        assert cli.main(["analyze", command, *given]) == 0
        assert said in capsys.readouterr().out
        assert {"measured-of-twins.csv", "measured-of-twins.svg", "of-twins"} <= {
            p.name for p in (tmp_path / command).iterdir()
        }
    asked = ["analyze", "attribution", "--model", "tiny", "--prompt", "The c", "--target", "a", "--contrast", "e"]
    assert cli.main([*asked, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["result"] == "AttributionResult" and record["against"] == "e" and record["rows"][0]["target"] == "a"
    assert cli.main(["analyze", "attribution", "--model", "tiny", "--target", "a"]) == 2
    assert "--target and --contrast ask about a --prompt" in capsys.readouterr().err
    assert cli.main(["analyze", "attribution", "--model", "tiny", "--prompt", "The c", "--twins", "1"]) == 2
    assert "--twins are measured on stories and not on a --prompt" in capsys.readouterr().err
