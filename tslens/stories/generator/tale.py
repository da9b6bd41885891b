"""Tales: plots, and the notation they are read from.

== a broken vase
cast: h m a=pet            roles, with the group that an animal or a stranger is drawn from
with: x=fragile            words bound for the whole tale
hero: child                child, beast or any
good: honesty              themes of the morals that fit the good end (and the twist); `bad:` those that fit the bad end
shows: Conflict            features that the tale always has
-- break                   a beat, its templates on the lines that follow; beats keep their order
| {H} ran through the room and ...
-- sign                    a sign early in the story >> its fulfilment at the end
-- end, twist, bad         the ways out
-- about, about end, about twist, about bad         the summary, and how it closes
"""
# ruff: noqa: E501

from dataclasses import dataclass, field

from tslens.stories.generator.nodes import TemplateError

ENDS = ("end", "twist", "bad")


@dataclass(eq=False)
class Tale:
    """A plot: its cast and bound words by group, its beats in order, and its special sections."""

    name: str
    head: dict[str, str] = field(default_factory=dict)
    beats: dict[str, list[str]] = field(default_factory=dict)
    special: dict[str, list[str]] = field(default_factory=dict)

    @property
    def cast(self) -> dict[str, str]:
        return dict(_pair(word) for word in self.head.get("cast", "h").split())

    @property
    def binds(self) -> dict[str, list[str]]:
        return {name: groups.split("/") for name, groups in map(_pair, self.head.get("with", "").split())}

    @property
    def templates(self) -> list[str]:
        """Every template of the tale; a sign and its fulfilment count as two."""
        lines = [line for section in (*self.beats.values(), *self.special.values()) for line in section]
        return [part.strip() for line in lines for part in line.split(">>")]


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value


def read(source: str) -> list[Tale]:
    """The tales of a text in the notation above; TemplateError for a line of no known kind."""
    tales: list[Tale] = []
    section: list[str] = []
    for line in filter(None, map(str.strip, source.splitlines())):
        mark, _, rest = line.partition(" ")
        if mark == "==":
            tales.append(Tale(rest))
        elif mark == "--":
            part = tales[-1].special if rest in ("sign", *ENDS) or rest.startswith("about") else tales[-1].beats
            section = part.setdefault(rest, [])
        elif mark == "|":
            section.append(rest.strip())
        elif mark.endswith(":"):
            tales[-1].head[mark[:-1]] = rest
        else:
            raise TemplateError(
                f"tale {tales[-1].name if tales else ''!r}: cannot read the line {line!r}; it begins with ==, --, | or a key and a colon"
            )
    return tales
