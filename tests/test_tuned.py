"""The tuned lens that is kept: where, under which name, and when it is refused or fitted anew."""

import json
from pathlib import Path

import pytest
import torch

from tslens import models, runs, tuned
from tslens.models import Spec, build
from tslens.stories.identity import content_hash
from tslens.tuned import place_of, tuned_lens

QUICK = {"source": "stories.txt", "steps": 1}


@pytest.fixture
def run(in_tmp: Path, made_words, made_stories, loud, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`runs/tiny`, a model trained on `stories.txt` by its record, and that file."""
    monkeypatch.setenv("TSLENS_CACHE", str(in_tmp / "cache"))
    (in_tmp / "stories.txt").write_text("\n<|endoftext|>\n".join(made_stories))
    model = loud(build(Spec(8, 2, 2, d_vocab=made_words.size, n_ctx=48), tokenizer=made_words))
    return models.save(model, in_tmp / "runs" / "tiny", {"data": {"source": "stories.txt"}})


def test_it_is_fitted_on_the_runs_training_stories_kept_in_its_folder_and_found_by_name(run: Path, capsys) -> None:
    fitted = tuned_lens(models.load("tiny"), steps=1)
    assert "stories.txt" in fitted.corpus and "train" in fitted.corpus
    assert sorted(p.name for p in (run / "tuned-lens/final").iterdir()) == ["TranslatorsResult", "fitted.json"]
    capsys.readouterr()
    again = tuned_lens(models.load("tiny"), steps=1)
    assert torch.equal(again.weight, fitted.weight) and str(again) == str(fitted)
    assert "fitting" not in capsys.readouterr().err
    assert models.load("tiny") is not None  # the run is still one


def test_a_changed_model_is_refused_and_refit_mends_it(run: Path, refused) -> None:
    first = tuned_lens(models.load("tiny"), **QUICK)
    config, tensors = runs.read(run)
    tensors["ln_final.w"] += 0.5
    runs.write(run, config, tensors)
    with refused(r"fitted on other weights than tiny has now\. Fit it again: --refit"):
        tuned_lens(models.load("tiny"), **QUICK)
    second = tuned_lens(models.load("tiny"), **QUICK, refit=True)
    assert not torch.equal(first.weight, second.weight)
    assert torch.equal(tuned_lens(models.load("tiny"), **QUICK).weight, second.weight)


def test_an_altered_file_is_refused(run: Path, refused) -> None:
    tuned_lens(models.load("tiny"), **QUICK)
    record = run / "tuned-lens/final/fitted.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"stories": "other"}))
    with refused("was altered"):
        tuned_lens(models.load("tiny"), **QUICK)


def test_it_is_never_fitted_on_what_it_is_shown_on(run: Path, made_stories) -> None:
    model = models.load("tiny")
    everything = tuned_lens(model, **QUICK)
    assert everything.story_hashes.tolist() == sorted(map(content_hash, made_stories))
    apart = tuned_lens(model, made_stories[:6], **QUICK)
    assert apart.story_hashes.tolist() == sorted(map(content_hash, made_stories[6:]))
    assert torch.equal(tuned_lens(model, made_stories[2:5], **QUICK).weight, apart.weight)  # still fits, so it is kept
    few = tuned_lens(model, made_stories[:6], **QUICK, limit=12)
    assert few.story_hashes.tolist() == sorted(map(content_hash, made_stories[6:18]))


def test_other_wishes_fit_another_lens(run: Path) -> None:
    model = models.load("tiny")
    first = tuned_lens(model, **QUICK)
    assert tuned_lens(model, **QUICK | {"steps": 2}).steps == 2
    assert torch.equal(tuned_lens(model, **QUICK).weight, first.weight)


def test_a_model_without_a_run_is_kept_in_the_cache_and_writes_its_own_stories(
    in_tmp: Path, made_words, made_stories, loud, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(in_tmp / "cache"))
    monkeypatch.setattr(tuned, "model_stories", lambda *a, **k: own(*a, **k))
    from tslens.corpus import Corpus, model_stories

    def own(model, source=None, *, limit=200):
        if source == "self":
            return Corpus(tuple(made_stories[:limit]), "stories that it wrote itself")
        return model_stories(model, source, limit=limit)

    model = loud(build(Spec(8, 2, 2, d_vocab=made_words.size, n_ctx=48), tokenizer=made_words))
    fitted = tuned_lens(model, steps=1)
    assert "stories that it wrote itself" in fitted.corpus
    assert "fitted on stories that the model writes itself" in capsys.readouterr().err
    place = place_of(model)
    assert place.is_relative_to(in_tmp / "cache") and place.is_dir()
    other = loud(build(Spec(8, 2, 2, d_vocab=made_words.size, n_ctx=48), seed=5, tokenizer=made_words))
    assert place_of(other) != place
    bundled = models.load("stories2M")
    assert place_of(bundled).is_relative_to(in_tmp / "cache")


def test_a_step_of_a_run_has_its_own(run: Path) -> None:
    config, tensors = runs.read(run)
    early = run / "snapshots" / "step-000004"
    runs.write(early, {**config, "step": 4}, {name: w * 0.5 for name, w in tensors.items()})
    last, first = (tuned_lens(models.load(name), **QUICK) for name in ("tiny", "tiny@4"))
    assert not torch.equal(last.weight, first.weight)
    assert sorted(p.name for p in (run / "tuned-lens").iterdir()) == ["final", "step-4"]


def test_where_nothing_can_be_kept_it_is_still_fitted(run: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (run / "tuned-lens").touch()
    assert tuned_lens(models.load("tiny"), **QUICK).steps == 1
    assert "cannot be kept" in capsys.readouterr().err


def test_no_story_left_is_refused(run: Path, made_stories, refused) -> None:
    with refused("No story is left to fit a tuned lens on"):
        tuned_lens(models.load("tiny"), made_stories, **QUICK)
