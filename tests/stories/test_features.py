"""Rules for dialogue and morals, by hand; `tests/evaluation/instruct/test_rules.py` has them on made stories."""

from tslens.stories.features import has_dialogue, has_moral


def test_speech_and_morals_by_hand() -> None:
    assert has_dialogue('"Run!" said Tom.') and has_dialogue("“Run,” he said.") and not has_dialogue('Tom "ran."'[:4])
    assert has_moral("Tom fell. He got up. He learned that haste hurts.")
    assert not has_moral("Tom learned to read. " + "He ran. " * 5) and not has_moral("They learned it together.")
