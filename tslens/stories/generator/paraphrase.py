"""Paraphrases of a template: phrases replaced by a choice among synonymous ones.

Caches keep the table of phrases and each template's paraphrase: text, no memory map.
"""
# ruff: noqa: E501

import re
from functools import cache

# One family per line: its first phrase may be replaced by any of them; or phrases, =>, and their replacements.
# A capital matters: it marks the beginning of a sentence.
FAMILIES = """
began to cry|started to cry|burst into tears/NOUN
began to laugh|started to laugh|had to laugh|burst out laughing/VERB
began to|started to
At last, & Finally, & In the end, => At last,|Finally,|In the end,|After a long time,
After a while, & Before long, => Soon|Before long,|After a while,|A little later,|After some time,
Suddenly, & Just then, & At that moment, => Suddenly,|Just then,|At that moment,|All at once,
The next day, & The next morning, => The next day,|The next morning,|On the following day,|A day later,
Then the|After that, the|And then the|Now the
Then a|After that, a|And then a
Then {h}|After that, {h}|And then {h}|Next/ADV, {h}|Now {h}
Then {he}|After that, {he}|And then {he}
Then {they}|After that, {they}|And then {they}|Next/ADV, {they}
But {h}|Yet/ADV {h}
But {he}|Yet/ADV {he}|Yet/ADV {he}
But the|Yet/ADV the|But the
nobody|no one
Nobody|No one
everyone|everybody
Everyone|Everybody
again and again|over/ADV and over/ADV|time and time again
was gone & had disappeared => was gone|had disappeared|had vanished
were gone|had disappeared|had vanished
full of|filled/VERB with
a lot of|lots/NOUN of
ran away => ran away|hurried away|rushed away|raced away
walked to|strolled to|wandered to|marched to
walked home|went home
ran home|hurried home|rushed home
ran after|raced after|hurried after
looked at each other|stared at each other
came back|returned
put the|placed the|set the|laid the
put it on|placed it on|set it on|laid it on
found a|discovered a|came upon/ADP a
a big|a large|a huge
a strange|an odd|a curious
In the night|Late at night
One morning,|Early one morning,|One {weather_adj} morning,|On Monday morning,|On Saturday morning,
One day,|One {weather_adj} day,|Then one day,|One Monday,|One Tuesday,|One Wednesday,|One Thursday,|One Friday,|On a {weather_adj} day,
That night,|On the same night,
Every evening,|Each evening,|Evening after evening,
Every morning,|Each morning,|Morning after morning,
every day => every day|each day|day after day
could not|couldn't
did not|didn't
was not|wasn't
were not|weren't
would not|wouldn't
do not|don't
Do not|Don't
It is a|It's a
I am so|I'm so|I am very
I am not|I'm not
I am sorry|I'm sorry|I am so sorry
I will|I'll
We will|We'll
will not|won't
cannot|can't
Let's|We should|We could
was very|was really
hugged {him}|held {him} tight/ADV
hugged.|held each other tight/ADV.|hugged each other.
wanted to play|hoped to play|longed to play
wanted to buy|hoped to buy|wished to buy
wanted to help|hoped to help|wished to help
smiled.|grinned.|beamed.
smiled and|grinned and|beamed and
laughed.|giggled.|chuckled.
laughed and|giggled and|chuckled and
whispered|murmured
screamed|yelled
as fast as {he} could|as quickly/ADV as {he} could|with all {his} strength
as fast as {they} could|as quickly/ADV as {they} could|with all {their} strength
next to the|beside the
under the|beneath the
near the|close/ADV to/ADP the|not far from the
took a deep breath|breathed in deeply
shook {his} head|said no
looked so|seemed so
was {afraid}|was so {afraid}|felt {afraid}
afraid of|scared of|frightened of
thought that|believed that|was sure that
had thought that|had believed that|had been sure that
had found a|had discovered a|had come upon/ADP a
had told {m} everything|had hidden nothing from {m}
told {m} everything|told {m} the whole truth|hid nothing from {m}
all the time|the whole time
in the world|on earth
right/ADV next door|in the next house
the sun was low|it grew dark
looked at|gazed at|stared at|looked at
looked out|gazed out|looked out
saw a|noticed a
saw that|noticed that|could see that
came by|passed by|walked by
went away|walked away|hurried away
gave {him} a|handed {him} a
gave the|handed the
took the|grabbed the|picked/VERB up the
pulled at|tugged at
fell into|tumbled into
tiny & small => small|tiny|little
as big as|as big as|as large as
big|big|large|huge
the big day => the big day|the great day
strange|odd|weird
In the evening,|At sunset,|At the end of the day,|That evening,
the whole|the entire
the people of the village|the people of the town
in the forest|in the woods
into the forest|into the woods
out of the forest|out of the woods
children|children|kids
coins|coins|pennies
all by {himself}|all alone|without any help/NOUN
once more|again|one more time
said that|said
knew that|knew
thought that|believed that|was sure that|thought
told {him} that|told {him}
people say that it|people say it|old people say that it|it is said that it
, and {he}|. {He}
, and {they}|. {They}
, and {h}|. {H}
, and {f}|. {F}
, and {m}|. {M}
, but {he}|. But {he}|. Still, {he}|, yet/CCONJ {he}
, but {h}|. But {h}|. Yet/ADV {h}
, but {they}|. But {they}|. Still, {they}
, but it|. But it|, yet/CCONJ it
, but the|. But the|, yet/CCONJ the
{h} and {f}|{f} and {h}
the {e.kind}|the {e.kind}|the old {e.kind}
The {e.kind}|The {e.kind}|The old {e.kind}
the {g.kind}|the {g.kind}|the big {g.kind}|the poor {g.kind}
The {g.kind}|The {g.kind}|The big {g.kind}|The poor {g.kind}
the little|the tiny|the small|the little
and began|and started
ran to|hurried to|rushed to|raced to
wanted to go|hoped to go|longed to go
wanted to see|hoped to see|longed to see
came closer|drew near
a piece of|a bit of
was tired of|had had enough/ADJ of
did not move|stayed where it was|did not move at all
came back|returned
was over|had ended
every week|each week
{H} and {f}|{F} and {h}|{H} and {f}|The two friends
{They}|{They}|{They}|{H} and {f}|The friends
{H}|{H}|{H}|{He}
{M}|{M}|{He m}
{F}|{F}|{He f}
"""
# The one who speaks may stand before or after the verb.
SPEECH = re.compile(
    r'(?P<end>[,!?])" (?P<verb>said|asked|cried|called|shouted|laughed|whispered) \{(?P<who>[hfmega])\}(?P<rest>[.,])(?! who)'
)
VERBS = {
    "said": {",": "said", "!": "[said|called]", "?": "[said|asked]"},
    "asked": {"?": "[asked|asked|said]"},
    "cried": {"!": "[cried|shouted|called|yelled]"},
    "called": {"!": "[called|cried|shouted]"},
    "shouted": {"!": "[shouted|yelled|cried]"},
}


@cache
def _table() -> tuple[re.Pattern[str], dict[str, str]]:
    ways: dict[str, str] = {}
    for line in FAMILIES.strip().splitlines():
        keys, _, family = line.rpartition(" => ")
        for key in keys.split(" & ") if keys else family.split("|")[:1]:
            ways[key] = f"[{family}]"
    phrases = sorted(ways, key=len, reverse=True)
    # A short form never stands last: "We will," does not become "We'll,".
    body = "|".join(re.escape(p) + (r"(?![,.!?])" if "'ll" in ways[p] or "'m" in ways[p] else "") for p in phrases)
    return re.compile(rf"(?<![\w/'{{])(?:{body})(?![\w/'])"), ways


def _speaker(match: re.Match[str]) -> str:
    end, verb, who, rest = match["end"], match["verb"], match["who"], match["rest"]
    verb = VERBS.get(verb, {}).get(end, verb)
    name, pronoun = f"{{{who}}}", f"{{he {who}}}"
    return f'{end}" [{verb} {name}|{name} {verb}|{pronoun} {verb}]{rest}'


@cache
def paraphrased(source: str) -> str:
    """The template with every phrase that has synonyms replaced by a choice among them."""
    pattern, ways = _table()
    spoken = SPEECH.sub(_speaker, source)
    return pattern.sub(lambda match: ways[match[0]], spoken)
