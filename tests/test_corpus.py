"""Which stories a model is read on, and what is said of them."""

from pathlib import Path

import pytest

from tslens import corpus, model_stories, models, runs
from tslens.models import Spec
from tslens.stories import stories
from tslens.tokenizer import Tokenizer
from tslens.train import validation_stories


@pytest.fixture
def run(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`runs/tiny`, untrained, which says that it was trained on tales.txt; its cache is empty."""
    monkeypatch.setenv("TSLENS_CACHE", str(in_tmp / "cache"))
    texts = list(stories("made", limit=60))
    (in_tmp / "tales.txt").write_text("\n<|endoftext|>\n".join(texts), encoding="utf-8")
    return _saved("tiny", {"data": {"source": "tales.txt"}})


def _saved(name: str, facts: dict) -> Path:
    tokenizer = Tokenizer.train(stories("made", limit=20), 300)
    model = models.build(Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=24), tokenizer=tokenizer)
    return models.save(model, runs.run_folder(name), facts)


def test_a_runs_own_validation_stories_come_first(run: Path) -> None:
    validation_stories.write(run / "data" / "validation.jsonl", ["Once there was a cat.", "Tom saw a dog."])
    model = models.load("tiny")
    for source in (None, "validation"):
        found = model_stories(model, source)
        assert list(found) == ["Once there was a cat.", "Tom saw a dog."] and len(found) == 2
        assert found.description == "2 stories: validation stories that tiny kept (of tales.txt)."
    assert list(model_stories(model, limit=1)) == ["Once there was a cat."]
    untied = models.untied(model)
    assert list(model_stories(untied)) == list(found)


def test_altered_stories_of_a_run_are_refused(run: Path, refused) -> None:
    validation_stories.write(run / "data" / "validation.jsonl", ["Once there was a cat.", "Tom saw a dog."])
    place = run / "data" / "validation.jsonl"
    place.write_text(place.read_text().replace("cat", "cow"))
    with refused("was altered"):
        model_stories(models.load("tiny"))


def test_training_stories_are_generated_again_and_validation_stories_never(in_tmp: Path, refused) -> None:
    recipe = {"data": {"source": "made", "seed": 7}}
    _saved("of-made", {"data": {"source": "made"}, "recipe": recipe})
    model = models.load("of-made")
    with refused("of-made keeps no validation stories"):
        model_stories(model, "validation", limit=5)
    assert "of-made wrote itself" in model_stories(model, limit=1).description
    seen = model_stories(model, "train", limit=5)
    assert list(seen) == list(stories("made", split="train", seed=7, limit=5))
    assert seen.remark == (
        "By its record it was trained on stories of made; those kept from training are made@validation."
    )


def test_a_model_without_kept_stories_is_read_on_what_it_writes(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "BLOCK", 4)
    model = models.load("tiny")
    found = model_stories(model, limit=6)
    assert len(found) == 6 and "stories that tiny wrote itself (temperature 1, seeds 0 to 1)" in found.description
    (folder,) = (run.parents[1] / "cache" / "stories").iterdir()
    assert sorted(file.name for file in folder.iterdir()) == ["0.json", "1.json"]
    monkeypatch.setattr(corpus, "generate", lambda *_, **__: pytest.fail("what is cached is not written again"))
    assert model_stories(model, "self", limit=6) == found
    assert list(model_stories(model, limit=3)) == list(found)[:3]


def test_a_model_writes_up_to_its_context_where_no_limit_is_given(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two are kept apart."""
    most = []
    monkeypatch.setattr(corpus, "BLOCK", 2)
    write = corpus.generate
    monkeypatch.setattr(corpus, "generate", lambda *a, **k: most.append(k["max_new_tokens"]) or write(*a, **k))
    model = models.load("tiny")
    short, whole = (model_stories(model, "self", limit=2, tokens=tokens) for tokens in (9, None))
    assert most == [9, model.cfg.n_ctx - 1] and short.recipe != whole.recipe
    assert sum(map(len, whole)) > sum(map(len, short))


def test_another_model_and_a_spoilt_cache_are_written_anew(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "BLOCK", 2)
    first, other = models.load("tiny"), models.load("tiny")
    found = model_stories(first, limit=2)
    home = run.parents[1] / "cache" / "stories"
    (file,) = home.glob("*/0.json")
    file.write_text('["half')
    assert model_stories(first, limit=2) == found
    other.unembed.W_U.data[0, 0] += 1
    model_stories(other, limit=2)
    assert len(list(home.iterdir())) == 2
    monkeypatch.setenv("TSLENS_CACHE", str(run / "config.json"))  # a file: nothing can be kept there
    assert list(model_stories(first, limit=2)) == list(found)


def test_what_cannot_be_read_is_refused(run: Path, refused) -> None:
    model = models.load("tiny")
    with refused("tiny keeps no validation stories. Name the stories to read .*`self`"):
        model_stories(model, "validation")
    with refused("tiny keeps no validation stories.*only its entropy"):
        model_stories(model, self_written=False)
    Path("tales.txt").unlink()
    with refused("tiny was trained on tales.txt, which cannot be read here"):
        model_stories(model, "train")
    with refused("limit=0"):
        model_stories(model, limit=0)
    _saved("unknown", {})
    with refused("unknown has no record of what it was trained on"):
        model_stories(models.load("unknown"), "train")


@pytest.mark.parametrize(
    ("source", "remark"),
    [
        ("tales.txt@validation", ""),
        ("tales.txt", "trained on stories of tales.txt; those kept from training are tales.txt@validation."),
        ("./tales.txt@train", "trained on stories of ./tales.txt; those kept"),
        ("train", "trained on stories of tales.txt; those kept"),
        ("made@validation", "trained on tales.txt, not on made (validation) by that name."),
        ("made,tales.txt@train", "trained on stories of tales.txt; those kept"),
    ],
)
def test_how_stories_relate_to_the_training_is_said(run: Path, source: str, remark: str) -> None:
    found = model_stories(models.load("tiny"), source, limit=3)
    assert (remark in found.remark) if remark else not found.remark


def test_training_stories_are_known_from_another_folder(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _saved("tiny", {"data": {"source": "tales.txt", "read_from": "../.."}}).resolve()
    monkeypatch.setenv("TSLENS_RUNS", str(run.parent))
    (run.parents[1] / "other").mkdir()
    monkeypatch.chdir(run.parents[1] / "other")
    model = models.load("tiny")
    assert "trained on stories of ../tales.txt" in model_stories(model, "../tales.txt", limit=3).remark
    assert "trained on stories of ../tales.txt" in model_stories(model, "train", limit=3).remark
    monkeypatch.chdir(run.parents[1])
    assert "trained on stories of tales.txt" in model_stories(model, "train", limit=3).remark


def test_a_datasets_own_splits(run: Path) -> None:
    config = {"data": {"source": "owner/name@train"}}
    assert not corpus.relation(config, stories("owner/name@validation"))
    assert "was trained on stories of owner/name" in corpus.relation(config, stories("owner/name"))
    assert "not on other/name by that name" in corpus.relation(config, stories("other/name"))
    assert corpus.relation({}, stories("made")) == ""


def test_a_record_that_describes_its_stories_and_names_no_source() -> None:
    record = models.training_record(models.load("stories2M"))
    assert corpus.relation(record, stories("made")).endswith("whether these are among them is not known.")
