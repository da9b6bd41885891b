"""Asides: sentences of an opening that hold one word, for words that no plot needs."""
# ruff: noqa: E501

from tslens.stories.generator import lexicon

ALONE = frozenset(
    "walk skip hop stroll march hurry race wander rush tiptoe jump slide swing dig splash hide swim paint sing dance draw "
    "read bake climb shout yell cry scream whisper murmur mumble sigh smile grin giggle laugh chuckle beam bark sniff "
    "sneeze cough stare peek gaze roll fall tumble crawl float fly dive creep wave nod bow clap sit stand rest ride "
    "drive row think hope worry wonder dream wish plan listen watch pretend trot blush moan breathe wink gasp cook knit "
    "write run fight weep sob brag boast argue quarrel joke beg talk eat sleep wait work play help win yawn shop wobble "
    "sparkle glow shine freeze shriek vanish disappear rule tidy spell grow sew juggle chase fish agree answer arrive bloom "
    "blow come crash decide drink glance go knock land lean live look melt practice roar rise search sink slip speak stay "
    "step stumble trip turn wake flee lie shrink bump".split()
)
"""Verbs that need no object."""
THINGS = frozenset(
    "touch pat hug hold stroke rub kiss wash wipe sweep dust polish carry bring pull push make build fix mend bend drop "
    "shake throw kick catch pick lift reach find lose buy sell use open close break tear cut fill empty stir taste lick "
    "smell feed plant water cover show share send visit save grab wear tie count clean mix hang change move trade borrow "
    "offer split crack add sort pack bury forget notice see hear know want need like love hate learn believe trust miss "
    "fear understand discover return seek loosen press fetch carve oil spoil wrap rake stamp shoot rustle raise ruin shut "
    "scratch hit glue remember get give take put keep leave try start stop begin end protect guard pile stick spread tug "
    "poke light follow say tell ask teach "
    "name place dry warm tap flick pass promise clear pour bite expect".split()
)
"""Verbs of what one does to things."""
NEVER_SAID_OF = frozenset(
    "many few much enough own other whole entire favorite third second following sudden single paper magic gold such last "
    "next nearby missing fair ready sure bare still".split()
)
"""Adjectives that are not said of an animal, or need a complement."""


def aside(word: str, tag: str) -> str | None:
    """A template of one sentence that holds a word; None for a word that fits none."""
    if word[0].isupper():  # a day of the week
        return None
    if tag == "NOUN":
        counted = any(word in words.split() for words in lexicon.NOUNS.values())
        return (
            f"{{He}} [once|often] dreamed of a {word}/NOUN." if counted else f"{{He}} liked to talk about {word}/NOUN."
        )
    if tag == "ADJ":
        return None if word in NEVER_SAID_OF else f"{{He}} knew a song about a {{zoo}} that/PRON was {word}/ADJ."
    if word in ALONE:
        return f"Nobody could {word}/VERB like/ADP {{h}}."
    return f"Nobody could {word}/VERB things/NOUN like/ADP {{h}}." if word in THINGS else None
