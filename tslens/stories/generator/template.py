"""Templates: their notation, and their nodes with every word tagged.

    Literal words stand as they are; a/an is written `a` and follows the sound of the next word.
    word/TAG          the tag, where the neighbours do not settle it
    [one|another|]    alternatives, chosen at random; they nest and may be empty
    {toy} {toy+}      a word drawn from a group of the lexicon, its plural; {wander.ed} {wander.ing} forms of verbs
    {x} {x+}          the word that this tale bound to x: the same one each time; {s=bird} binds on first use (an adjective to j)
    {h} {m} {m!}      a character by role; with ! as one calls them; {f.kind} what they are ("boy")
    {he} {him} {his} {himself} [role]     the pronoun of a character (the hero without a role), in the right gender
    {they} {them} {their} [roles]         the pronoun of several (hero and friend without roles)
    "h>f: Come here!"  speech of h to f, so that I, you and we are known; a capital in a slot's name asks for a capital

A word that may bear several tags gets one from its neighbours (`tagging`), or is refused. The nodes of each template are kept; no memory map.
"""
# ruff: noqa: E501

from collections.abc import Sequence
from functools import cache

from tslens.stories.generator import lexicon
from tslens.stories.generator.context import Neighbour
from tslens.stories.generator.nodes import (
    Choice,
    Draw,
    Node,
    Own,
    Parsed,
    Pronoun,
    Punct,
    Refer,
    Space,
    TemplateError,
    Untagged,
    Word,
)
from tslens.stories.generator.parser import Parser
from tslens.stories.generator.tagging import tag_of


def _near(node: Parsed) -> Neighbour:
    """A node as its neighbours see it."""
    if isinstance(node, (Untagged, Word)):
        tags = lexicon.tags_of().get(node.text.lower(), frozenset())
        return Neighbour(
            node.text.lower(), node.tag or (next(iter(tags)) if len(tags) == 1 else "?" + "".join(sorted(tags)))
        )
    if isinstance(node, Punct):
        return Neighbour("" if node.text == '"' else node.text, "OPEN" if node.opens else "PUNCT")
    if isinstance(node, Refer):
        return Neighbour("", "NOUN" if node.how.startswith("kind") else "NAME")
    if isinstance(node, Pronoun):
        return Neighbour("", ("SUBJ", "OBJ", "POSS", "OBJ")[node.case])
    if isinstance(node, Draw):
        name = node.group or node.name
        return Neighbour("", "ADJ" if name == "j" else "NOUN" if len(name) == 1 else lexicon.groups()[name][0].tag)
    assert isinstance(node, Own), node
    return Neighbour("", "POSS")


def _edges(nodes: Sequence[Parsed], last: bool, beyond: list[Neighbour]) -> list[Neighbour]:
    """The nodes that may come first, or last, in a sequence; if it may be empty, also those next to it."""
    found: list[Neighbour] = []
    for node in reversed(nodes) if last else nodes:
        if isinstance(node, (list, Choice)):
            ways = node.ways if isinstance(node, Choice) else node
            void = Neighbour("", "VOID")
            edges = [edge for way in ways for edge in _edges(way, last, [void])]
            found += [edge for edge in edges if edge != void]
            if void not in edges:
                return found
        elif not isinstance(node, Space):
            return [*found, _near(node)]
    return found + beyond


def _tagged(nodes: Sequence[Parsed], prev: list[Neighbour], nxt: list[Neighbour], source: str) -> tuple[Node, ...]:
    """The nodes with every literal word tagged. TemplateError for a word whose tag depends on the alternatives."""
    done: list[Node] = []
    for i, node in enumerate(nodes):
        after = _edges(nodes[i + 1 :], False, nxt)
        before = _edges(done, True, prev)
        if isinstance(node, list):
            done.append(Choice(tuple(_tagged(way, before, after, source) for way in node)))
        elif isinstance(node, Untagged):
            try:
                tags = {node.tag} if node.tag else {tag_of(node.text, p, n, node.rest) for p in before for n in after}
                _check_capital(node.text, before)
                if len(tags) > 1:
                    raise TemplateError(
                        f"{node.text!r} would be {' or '.join(sorted(tags))}, which depends on the alternatives around it"
                    )
            except TemplateError as error:
                raise TemplateError(f"template {source!r}: {error}; write {node.text}/TAG") from None
            done.append(Word(node.text, tags.pop(), node.who))
        else:
            done.append(node)
    return tuple(done)


def _check_capital(text: str, before: list[Neighbour]) -> None:
    named = "PROPN" in lexicon.tags_of().get(text.lower(), ()) or text in ("I", "I'm", "I'll", "I've")
    if text[0].isupper() and not named and any(near.low.isalpha() for near in before):
        raise TemplateError(f"capital inside a sentence: {text!r} after {before[0].low!r}")


@cache
def compiled(source: str) -> tuple[Node, ...]:
    """The nodes of a template; TemplateError if it is malformed, or has a word that is unknown or has no certain tag."""
    parser = Parser(source)
    nodes = parser.sequence(False)
    if parser.open:
        raise parser.fail("a quotation is never closed")
    return _tagged(nodes, [Neighbour()], [Neighbour()], source)
