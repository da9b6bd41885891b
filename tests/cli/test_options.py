import pytest

from tslens.cli import build_app
from tslens.cli.commands import COMMANDS, Command


def helps(command: Command) -> dict[str, str | None]:
    """The help of each option and argument of a command, by its name."""
    words = command.words.split()
    app = build_app(words)
    for word in words:
        app = app[word]
    return {
        argument.name: argument.parameter.help for argument in app.assemble_argument_collection(parse_docstring=True)
    }


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.words)
def test_every_option_says_what_it_is(command: Command) -> None:
    assert not [name for name, text in helps(command).items() if not text]


def test_an_option_means_the_same_in_every_command() -> None:
    said = {command.words: helps(command) for command in COMMANDS}
    for option in ("--model", "--precision", "--json"):
        texts = [options[option] for options in said.values() if option in options]
        assert len(texts) > 3
        assert len(set(texts)) == 1
