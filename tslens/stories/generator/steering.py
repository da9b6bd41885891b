"""Steering of a story towards words that it must hold, in every choice of a template, an alternative or a lexeme."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from random import Random
from typing import TypeVar

from tslens.stories.generator import lexicon
from tslens.stories.generator.nodes import Choice, Draw, Node
from tslens.stories.generator.nodes import Word as Literal
from tslens.stories.generator.paraphrase import paraphrased
from tslens.stories.generator.template import compiled

T = TypeVar("T")
Word = tuple[str, str]
"""The base form of a noun, verb or adjective, and its tag."""
IGNORED = 0.1  # share of choices that are not steered, so that attempts differ
IN_VAIN = 0.3  # share of words that another template leads to as well: two words may need the same slot of the first


@cache
def bases_of() -> dict[Word, frozenset[str]]:
    """The base forms of each form and tag that an instruction may require: ("ran", "VERB") gives {"run"}."""
    found: dict[Word, set[str]] = {}
    make: dict[str, Callable[[str], Iterable[str]]] = {
        "NOUN": lambda word: {word} if word in _mass() else {word, lexicon.plural(word)},
        "VERB": lambda word: lexicon.verb(word).forms.values(),
        "ADJ": lambda word: {word},
    }
    for tag, words in lexicon.bases().items():
        for word in filter(str.islower, words):  # days of the week are names
            for form in make[tag](word):
                found.setdefault((form, tag), set()).add(word)
    return {key: frozenset(words) for key, words in found.items()}


@cache
def _mass() -> frozenset[str]:
    counted = {word for words in lexicon.NOUNS.values() for word in words.split()}
    return frozenset(word for words in lexicon.MASS.values() for word in words.split()) - counted


def words_of(text: str, tag: str) -> frozenset[Word]:
    """The words that a written form is of: none for a function word, two for the form of two verbs."""
    return frozenset((base, tag) for base in bases_of().get((text.lower().removesuffix("'s"), tag), ()))


@cache
def group_words(name: str) -> frozenset[Word]:
    """The words of a group of the lexicon."""
    return frozenset((lexeme.base, lexeme.tag) for lexeme in lexicon.groups()[name])


@cache
def reach(nodes: tuple[Node, ...]) -> frozenset[Word]:
    """The words that nodes may become, but for those that a tale binds and the kinds of its characters."""
    found: set[Word] = set()
    for node in nodes:
        if isinstance(node, Literal):
            found |= words_of(node.text, node.tag)
        elif isinstance(node, Choice):
            found.update(*map(reach, node.ways))
        elif isinstance(node, Draw) and (node.group or not node.bound):
            found |= group_words(node.group or node.name)
    return frozenset(found)


@cache
def template_words(source: str) -> frozenset[Word]:
    """The words that a template, its sign and its fulfilment may hold."""
    parts = [part.strip() for part in source.split(">>")]
    return frozenset[Word]().union(*(reach(compiled(paraphrased(part))) for part in parts))


class Steer:
    """The words that a story still lacks, and the options that lead to them."""

    def __init__(self, wanted: Iterable[frozenset[Word]], rng: Random, asides: Sequence[str] = ()) -> None:
        self.missing = set(wanted)  # each a set of words of which one is enough
        self.claimed: set[frozenset[Word]] = set()
        self.rng = rng
        self.asides = list(asides)  # templates of the opening

    def lead(self, options: Sequence[T], words: Callable[[T], frozenset[Word]], claimed: bool = True) -> Sequence[T]:
        """The options that may become the most of the missing words; all of them where none does."""
        open_ = self.missing if claimed else self.missing - self.claimed
        if not open_ or self.rng.random() < IGNORED:
            return options
        counts = [sum(not want.isdisjoint(found) for want in open_) for found in map(words, options)]
        most = max(counts, default=0)
        return [option for option, count in zip(options, counts, strict=True) if count == most] if most else options

    def template(self, pool: Sequence[str]) -> str:
        """A template of the pool that leads to words which no chosen template leads to yet."""
        chosen = self.rng.choice(self.lead(pool, template_words, claimed=False))
        led = [want for want in self.missing if not want.isdisjoint(template_words(chosen))]
        self.claimed |= {want for want in led if self.rng.random() > IN_VAIN}
        return chosen

    def templates(self, pool: Sequence[str], n: int) -> list[str]:
        """Different templates of the pool."""
        left, chosen = list(pool), []
        for _ in range(n):
            chosen.append(self.template(left))
            left.remove(chosen[-1])
        return chosen

    def note(self, text: str, tag: str) -> None:
        """A word was written."""
        if self.missing:
            found = words_of(text, tag)
            self.missing = {want for want in self.missing if want.isdisjoint(found)}
