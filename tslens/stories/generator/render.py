"""Renders templates as text, with the tag of every word and the owner of every pronoun."""
# ruff: noqa: E501

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tslens.stories.generator import lexicon
from tslens.stories.generator.nodes import Choice, Draw, Node, Pronoun, Punct, Refer, Space, Word
from tslens.stories.generator.paraphrase import paraphrased
from tslens.stories.generator.steering import Steer, reach
from tslens.stories.generator.template import compiled

FORMS = {
    "he": ("he", "him", "his", "himself"),
    "she": ("she", "her", "her", "herself"),
    "it": ("it", "it", "its", "itself"),
    "they": ("they", "them", "their", "themselves"),
}


@dataclass(frozen=True)
class Character:
    """A character of a story: name, kind (girl, baker, fox) and pronoun (she, he, it or they)."""

    name: str
    kind: str
    pronoun: str


@dataclass(frozen=True, slots=True)
class Part:
    """A role of the cast: its character, and how the text refers to it, by 'name' (Lily), 'kin' (her mom) or 'noun' (the baker)."""

    index: int
    character: Character
    way: str


@dataclass
class Renderer:
    """Renders templates in sequence; keeps track of the words drawn and the characters mentioned."""

    rng: Random
    cast: dict[str, Part]
    bound: dict[str, lexicon.Lexeme]
    free: bool = True  # whether phrases may be exchanged for their equals
    steer: Steer | None = None  # towards words that the story must hold
    out: list[str] = field(default_factory=list)
    tags: list[tuple[int, int, str]] = field(default_factory=list)
    pronouns: list[tuple[int, int, int]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    length: int = 0
    starts: bool = True  # the next word begins a sentence
    space: bool = False
    fresh: bool = True  # nothing stands in this paragraph yet
    gap: bool = False  # whether that article follows a space
    held: str = ""  # an article that waits for the sound of the next word
    last: dict[str, tuple[int, int]] = field(default_factory=dict)  # pronoun -> (part, sentence) mentioned last
    rivals: dict[int, int] = field(default_factory=dict)  # part -> sentence of its last mention
    sentence: int = 0
    begun: int = 0  # the first sentence since a template was added anew

    @property
    def text(self) -> str:
        return "".join(self.out)

    def add(self, source: str, anew: bool = True) -> None:
        """Append a rendered template or a paraphrase of it, after a space unless a paragraph just began.

        With `anew`, everybody is named again before a pronoun stands for them.
        """
        if anew:
            self.begun = self.sentence
        self.space = not self.fresh
        self.fresh = False
        self._run(compiled(paraphrased(source) if self.free else source))

    def paragraph(self) -> None:
        """Begin a new paragraph."""
        if self.length:
            self.out.append("\n\n")
            self.length += 2
        self.fresh = self.starts = True

    def _run(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, Word):
                self._word(node.text, node.tag, node.who)
            elif isinstance(node, Space):
                self.space = True
            elif isinstance(node, Punct):
                self._punct(node.text, node.opens)
            elif isinstance(node, Choice):
                ways = node.ways if self.steer is None else self.steer.lead(node.ways, reach)
                self._run(ways[int(self.rng.random() * len(ways))])
            elif isinstance(node, Draw):
                self._draw(node)
            elif isinstance(node, Refer):
                self._refer(node.role, node.how, node.capital)
            elif isinstance(node, Pronoun):
                self._pronoun(node)
            else:
                self._own()

    def _put(self, text: str) -> int:
        """Append text, after a space if needed; returns where the text starts."""
        if self.space and self.length:
            self.out.append(" ")
            self.length += 1
        self.space = False
        start = self.length
        self.out.append(text)
        self.length += len(text)
        return start

    def _word(self, text: str, tag: str, who: str = "", capital: bool = False) -> None:
        if text in ("a", "an", "A", "An") and tag == "DET":
            self.held = "A" if self.starts or text[0] == "A" else "a"
            self.gap, self.space, self.starts = self.space, False, False
            return
        if self.held:
            article = self.held + lexicon.article(text)[1:]
            self.held, self.space = "", self.gap
            start = self._put(article)
            self.tags.append((start, self.length, "DET"))
            self.space = True
        if self.starts or capital:
            text = text[0].upper() + text[1:]
            self.starts = False
        start = self._put(text)
        self.tags.append((start, self.length, tag))
        if self.steer is not None:
            self.steer.note(text, tag)
        for role in who:
            stem = text.split("'")[0]
            self.pronouns.append((start, start + len(stem), self.cast[role].index))

    def _punct(self, text: str, opens: bool) -> None:
        if text == '"' and opens:
            start = self._put(text)
        else:
            self.space = False
            start = self._put(text)
            if text in ".!?":
                self.starts = True
                self.sentence += 1
            elif text == '"' and self.out[-2] in ("!", "?", ","):
                self.starts = False
        self.tags.append((start, self.length, "PUNCT"))

    def _own(self) -> None:
        self.out.append("'s")
        start, _, tag = self.tags[-1]
        self.length += 2
        self.tags[-1] = (start, self.length, tag)

    def draw(self, group: str) -> lexicon.Lexeme:
        """A word of the group that this story has not drawn yet, if there is one."""
        members = lexicon.groups()[group]
        fresh: Sequence[lexicon.Lexeme] = [x for x in members if x.base not in self.used] or members
        if self.steer is not None:
            fresh = self.steer.lead(fresh, lambda lexeme: frozenset({(lexeme.base, lexeme.tag)}))
        lexeme = fresh[int(self.rng.random() * len(fresh))]
        self.used.add(lexeme.base)
        return lexeme

    def _draw(self, node: Draw) -> None:
        if not node.bound:
            lexeme = self.draw(node.name)
        elif node.group and node.name not in self.bound:
            lexeme = self.bound[node.name] = self.draw(node.group)
        else:
            lexeme = self.bound[node.name]
        self._word(lexeme.forms[node.form], lexeme.tag, capital=node.capital)

    def _mention(self, part: Part) -> None:
        self.last[part.character.pronoun] = (part.index, self.sentence)
        self.rivals[part.index] = self.sentence

    def _refer(self, role: str, how: str, capital: bool) -> None:
        part = self.cast[role]
        who = part.character
        if how.startswith("kind"):
            self._word(lexicon.plural(who.kind) if how == "kind+" else who.kind, "NOUN", capital=capital)
        elif part.way == "name" or how == "!":
            for name in who.name.split():
                self._word(name, "PROPN")
                self.space = True
            self.space = False
        elif part.way == "kin":
            self._pronoun(Pronoun(2, "h", capital))
            self.space = True
            self._word(who.kind, "NOUN")
        else:
            self._word("The" if capital else "the", "DET")
            self.space = True
            self._word(who.kind, "NOUN")
        self._mention(part)

    def _clear(self, part: Part) -> bool:
        """Whether a pronoun can refer to this character here unambiguously.

        The character must have been mentioned since a template was last added anew, at most two sentences ago, and nobody else of the
        same pronoun since then, nor in the sentence before unless the character is mentioned in this one. A stranger (the baker), whose
        pronoun the reader does not know yet, counts as somebody of the same pronoun until the character is mentioned in this sentence.
        """
        if self.rivals.get(part.index, -1) < max(self.begun, self.sentence - 2):
            return False
        mine = self.last[part.character.pronoun][0] == part.index
        just_now = self.rivals[part.index] == self.sentence
        return mine and all(
            self.rivals.get(p.index, -9) < self.sentence - (not just_now)
            for p in self.cast.values()
            if p.index != part.index
            and (
                p.character.pronoun == part.character.pronoun
                or (p.way == "noun" and p.character.pronoun != "it" and not just_now)
            )
        )

    def _pronoun(self, node: Pronoun) -> None:
        if len(node.roles) > 1 and node.case == 0 and self.starts and self.sentence == self.begun:
            self._run(compiled(" and ".join(f"{{{role}}}" for role in node.roles)))
            return
        if len(node.roles) > 1:
            form = FORMS["they"][node.case]
        else:
            part = self.cast[node.roles]
            if node.case != 3 and not self._clear(part):
                self._refer(node.roles, "", node.capital)
                if node.case == 2:
                    self._own()
                return
            form = FORMS[part.character.pronoun][node.case]
            self._mention(part)
        self._word(form, "PRON", node.roles, node.capital)
