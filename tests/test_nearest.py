from tslens.nearest import did_you_mean


def test_the_nearest_are_named_nearest_first() -> None:
    known = ["validation", "train", "trail"]
    assert did_you_mean("trainn", known) == " Did you mean 'train'?"
    assert did_you_mean("trainn", known, 2) == " Did you mean 'train' or 'trail'?"
    assert did_you_mean("zzz", known) == did_you_mean("x", []) == ""
