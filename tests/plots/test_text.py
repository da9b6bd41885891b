"""Tokens as text, each case worked out by hand."""

from tslens.plots import text


def test_a_token_in_a_list() -> None:
    assert [text.shown(piece) for piece in (" and", " ", "", " a b ", "so.\n")] == ["and", "␣", "␣", "a b", "so.↵"]
    assert [text.shown(piece) for piece in ("\n", " \n", "\n\n", "\t")] == ["newline", "newline", "newlines", "tab"]


def test_a_token_in_a_cell() -> None:
    assert text.in_cell("<|endoftext|>") == "<|endoftext…" and text.in_cell(" everything") == "everything"
    assert text.in_cell(" the") == "the" and text.in_cell(" ") == "␣" and text.in_cell("\n") == "↵"


def test_lists_of_tokens() -> None:
    pieces = [" a", " b", "\n"]
    assert text.listed([2, 0, 1], pieces, n=2) == "newline a"
    assert text.commonest([1, 0, 1, -1, 2], pieces) == "b×2 a newline"


def test_control_characters_are_written_out() -> None:
    assert text.printable("a\rb\x07é") == "a\\rb\\x07é"
