"""One name for every source: splits, limits and cleaning apply to all of them alike."""

import json
from pathlib import Path

import pytest

import tslens
from tslens.errors import InputError
from tslens.stories import Cleaner, CleaningReport, Stories, names_in, split_of, stories

TALES = [f"Tom met {n} cats." for n in range(100)]


def write(path: Path, tales: list[str]) -> str:
    path.write_text("".join(json.dumps({"text": tale}) + "\n" for tale in tales), encoding="utf-8")
    return str(path)


def test_the_package_is_the_function(tmp_path: Path) -> None:
    place = write(tmp_path / "a.jsonl", TALES)
    assert tslens.stories(place) == stories(place)
    assert isinstance(tslens.stories(place), Stories)


def test_a_file_with_a_comma_in_its_name_is_one_source(tmp_path: Path) -> None:
    place = write(tmp_path / "a,b.jsonl", TALES)
    assert list(stories(place)) == TALES and names_in("a, made") == ["a", "made"]
    with pytest.raises(InputError, match="no source of stories is named"):
        names_in(" ,")


def test_the_splits_are_all_and_share_nothing(tmp_path: Path) -> None:
    place = write(tmp_path / "a.jsonl", TALES * 2)
    train, held_out = (list(stories(place, split=name, clean=False)) for name in ("train", "validation"))
    assert sorted(train + held_out) == sorted(TALES * 2)
    assert held_out and not set(train) & set(held_out)
    assert all(split_of(tale) == "validation" for tale in held_out)


def test_sources_are_joined_and_their_duplicates_dropped(tmp_path: Path) -> None:
    places = write(tmp_path / "a.jsonl", TALES[:60]) + ", " + write(tmp_path / "b.jsonl", TALES[40:])
    found, cleaner = stories(places), Cleaner()
    assert list(found.counted(cleaner)) == TALES
    assert cleaner.report == CleaningReport(read=120, kept=100, duplicate=20)
    assert list(stories(places, clean=False)) == TALES[:60] + TALES[40:]
    assert found.n_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_a_limit_counts_what_is_left(tmp_path: Path) -> None:
    place = write(tmp_path / "a.jsonl", ["", *TALES])
    assert list(stories(place, limit=3)) == TALES[:3]
    assert stories(place, limit=3).n_bytes is None


def test_they_can_be_read_again(tmp_path: Path) -> None:
    found = stories(write(tmp_path / "a.jsonl", TALES))
    assert list(found) == list(found) == TALES


def test_made_stories_are_seeded_and_split() -> None:
    first = list(stories(limit=30))
    assert list(stories("made", limit=30)) == first
    assert list(stories("made", limit=30, seed=1)) != first
    assert list(stories("made", limit=20)) == first[:20]
    train = list(stories("made@train", limit=20))
    assert train == list(stories("made", split="train", limit=20))
    assert train == [tale for tale in first if split_of(tale) == "train"][:20]
    assert {split_of(tale) for tale in stories("made@validation", limit=1)} == {"validation"}
    assert stories("made@validation").name == "made (validation)"


def test_a_file_has_the_splits_that_the_hash_makes(tmp_path: Path) -> None:
    place = write(tmp_path / "a.jsonl", TALES)
    for split in ("train", "validation"):
        named = stories(f"{place}@{split}")
        assert list(named) == [tale for tale in TALES if split_of(tale) == split]
        assert named.name == f"{place} ({split})"
        assert list(stories(f"{place}@{split}:text")) == list(named)
    other = write(tmp_path / "b.jsonl", ["Ann ran home."])
    both = stories(f"{place}@validation,{other}")
    assert list(both) == [*stories(f"{place}@validation"), "Ann ran home."]
    assert both.name == f"{place}@validation,{other}"
    with pytest.raises(ValueError, match=r"a.jsonl has no split 'test': it has train and validation"):
        stories(f"{place}@test")
    with pytest.raises(ValueError, match=r"made has no split 'valid'"):
        stories("made@valid")
    with pytest.raises(ValueError, match="contradict each other"):
        stories(f"{place}@train", split="validation")


@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_split_alone_is_not_the_generator_in_disguise(split: str) -> None:
    with pytest.raises(
        InputError, match=rf"'{split}' is a split; .*'made@{split}' .*model_stories\(model, \"{split}\"\)"
    ):
        stories(split)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no split 'test'; give train or validation"):
        stories("made", split="test")
    with pytest.raises(ValueError, match="limit=0 leaves no story"):
        stories("made", limit=0)
    with pytest.raises(ValueError, match="no source of stories is named"):
        stories(" , ")
    with pytest.raises(FileNotFoundError, match="nearest there"):
        stories("made," + write(tmp_path / "a.jsonl", TALES) + "x.jsonl")
    with pytest.raises(ValueError, match=r"no story is left of .* 2 read · 0 kept .* 1 empty · 1 truncated"):
        list(stories(write(tmp_path / "b.jsonl", [" ", "Tom ran and"])))
