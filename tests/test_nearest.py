from tslens.nearest import did_you_mean


def test_the_nearest_are_named_nearest_first() -> None:
    known = ["validation", "train", "trail"]
    assert did_you_mean("trainn", known) == " Did you mean 'train'?"
    assert did_you_mean("trainn", known, 2) == " Did you mean 'train' or 'trail'?"
    assert did_you_mean("zzz", known) == did_you_mean("x", []) == ""


def test_names_are_compared_without_case_and_the_given_one_is_no_suggestion() -> None:
    assert did_you_mean("STORIES2M", ["stories2M", "other"]) == " Did you mean 'stories2M'?"
    assert did_you_mean("hook_q", ["Hook_q", "hook_Q"], 2) == " Did you mean 'Hook_q' or 'hook_Q'?"
    assert did_you_mean("loop", ["loop"]) == ""
