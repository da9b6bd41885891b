"""Templates that all tales share: openings, details, quarrels, morals and closings."""
# ruff: noqa: E501  (one template a line)

OPEN_CHILD = """
[Once upon a time|Once], [there was|there lived] a [little|young|small|{nice}|{nice} little|{nice} young] {h.kind} [named|called] {h}.
{H} was a [little|{nice}|{nice} little|very {nice}] {h.kind} who lived [in a {size} {color} house|near a {wild_place}|by the {wild_place}|next to the {town_place}|on a [lovely|pretty|lonely] farm].
[In a [pretty|lovely|lonely] {color} house|In a small town|In a village near a {wild_place}|At the end of a [long|narrow|quiet] road] lived a {nice} {h.kind} [named|called] {h}.
[Long ago|Many years ago], a {h.kind} [named|called] {h} lived [in a village by the {wild_place}|in a [pretty|lovely|small] house with a {color} door|close to a {size} {wild_place}].
[One|On a] {weather_adj} morning, a {h.kind} named {h} [woke up early|looked out of the window|put on {his} {color} {garment}|ran out into the garden].
[Everyone|Everybody] [in the village|in town|at school] knew {h}. {He} was a {nice} {h.kind} with [{color} [boots|shoes|mittens|socks]|a [lovely|bright|pretty] smile|a {color} {garment}].
{H} was [five|six|seven|four] years old. {He} was a [very|] {nice} {h.kind}[, and {he} had a {looks} {color} {garment}|].
There/PRON [once was|was once] a {h.kind} [named|called] {h}, and everyone [in the village|at school|in the street] said that {he} was {nice}.
This is a story about a {nice} {h.kind} [named|called] {h} who lived [by the {wild_place}|near the {town_place}|in [a old|a broken|a lonely] house].
{H} lived [high up on a hill|between a {wild_place} and a {wild_place}|in the last house of the village|in a {color} house with {num} windows/NOUN]. {He} was a {nice} {h.kind}.
This is what happened to {h}, a {nice} {h.kind} from a [little|quiet|lovely|pretty] village. {He} lived [by the {wild_place}|near the {town_place}|in a {size} {color} house].
"""
OPEN_BEAST = """
[Once upon a time|Once], [there was|there lived] a [little|young|small|{nice}|{nice} little|{nice} young] {h.kind} [named|called] {h}.
{H} was a [little|{nice}|{nice} little|very {nice}] {h.kind} who lived [in a [warm|soft|hidden] nest under a {tree} tree|near a {wild_place}|by the {wild_place}|in a [warm|deep|dry|narrow] hole by a {tree} tree].
[Deep in the forest|In a [pretty|lovely|bright] meadow|Not far from the {wild_place}|Under a {size} {tree} tree] lived a {nice} {h.kind} [named|called] {h}.
[Long ago|Many years ago], a {nice} {h.kind} [named|called] {h} lived [by the {wild_place}|in [a old|a broken|a lonely] house under the ground|close to a {size} {wild_place}].
[All the animals|The {bird+} and the {bug+}] [in|of] the [forest|meadow|valley] knew {h}, the {nice} [little|young|] {h.kind}.
There/PRON [once was|was once] a {h.kind} [named|called] {h}, and everyone in the [forest|meadow|valley] said that {he} was {nice}.
This is a story about a {nice} {h.kind} [named|called] {h} who lived [by the {wild_place}|under a {size} {tree} tree|in [a old|a broken|a lonely] house].
{H} lived [high up on a hill|between a {wild_place} and a {wild_place}|behind a {old} fence]. {He} was a {nice} {h.kind}.
"""
FRIEND = """
{His} best friend was a {nice} {f.kind} [named|called] {f}.
{He} had a [good|dear|close] friend [named|called] {f}, [a {nice} {f.kind}|a {f.kind} with a {color} {garment}].
{He} and {his} friend {f} [did everything together|played together every day|liked the same games|were almost never apart|had known each other for years].
[Every day|On most days|After breakfast], {he} played with a {nice} {f.kind} [named|called] {f}.
A {nice} {f.kind} named {f} lived [next door|nearby|close by], and {they} were [good|best|great] friends.
The one who knew {him} best/ADV was {f}, a {nice} {f.kind}.
{H} had met {f} [at the {town_place}|near the {wild_place}|in the snow], and since then {they} had done/VERB everything together.
[Nobody|No one] laughed as much/ADV at {his} jokes as {f}, a {f.kind} from the [next house|same street|same village].
Together with {f}, a {nice} {f.kind}, {he} had [built a {building}|found {num} {treasure+}|learned to {hobby}].
Everything that {h} did, {f} did too. {F} was a {nice} {f.kind} with a {color} {garment}.
"""
"""Nothing here may contradict a tale: tastes, habits, meals, the kind of day."""
DETAIL = """
{He} [liked|loved] to {hobby} and to {hobby}, and [most/ADV|best/ADV] of all {he} liked {color} {flower+}.
{He} [liked|loved] {sweet+} [with honey|with jam|and {dish+}|and {fruit+}] and [hated|did not like] {vegetable+}.
{His} favorite color was {j=color}, [so|and] {he} [often|always] wore a {j} {garment}.
{He} [knew|could sing] a song about a {zoo} and a {bug}.
{He} wanted to be a {job} one day[, or perhaps a {job}|].
At night {he} [often|always|sometimes] dreamed of {zoo+} and {fabled+}.
{He} [kept|had] a {box} full of {color} {treasure+} under {his} bed.
[For breakfast, {he} always ate|For breakfast, {he} often ate|Before school, {he} ate] [some {food}|a {taste} {fruit}|two {sweet+}] and drank a cup of {drink}.
{He} could [draw|paint] a {fabled} and [count to/ADP a hundred|write {his} own name|spell/VERB ten words].
{He} was good at {subject}, but [not so good at|very bad at] {subject}.
Every morning, the {bird+} sang for {him} in the {tree} trees, and a {size} {flyer} danced around the {flower+}.
The air around {his} home smelled of {flower+} and [fresh|wet|warm] [grass|hay|wood].
From {his} window, {he} could see {num} {farm+} in the field and {num} {bird+} on the fence.
[Next to|Beside|Behind] {his} home, {color} {flower+} grew between the [stones|bushes|logs|leaves].
On {his} shelf, there was a {color} {kitchenware}, a [old|dusty|broken] {pipe} and {num} {treasure+}.
{His} [kitchen|room|house] always smelled of {food} and [warm|fresh] {sweet+}.
On {his} wall hung a picture of a {zoo} with a {color} {garment}.
The old {furniture} in {his} room creaked in the [wind|rain|storm], as if it were alive.
{He} was [a little/ADV|sometimes|often] afraid of {bug+}, but never of {zoo+} or {wild+}.
In summer {he} went to the {wild_place}, and in winter {he} made {zoo+} out of [snow|paper|clay|wood].
{He} had once [seen|met] a real {job} at the {town_place}, and {he} still talked about it.
{He} shared {his} bed with a [soft|fluffy|warm] {cuddly} and a {looks} {toy}.
{He} thought that/SCONJ {vegetable+} were [bad|dull|strange], that/SCONJ {fruit+} were {taste}, and that/SCONJ {drink} was the best of all.
{His} [room|home] was full of {color} {toy+} and {looks} {soft+}.
{He} slept under a {color} blanket with {num} {zoo+} on it.
On Sundays, {he} [baked {baked+}|ate {dish+}|went to the {town_place}] with {his} family, and {he} was always the first/ADJ to be ready/ADJ.
{He} had {num} {farm+} made of [wool|wood|paper], and each of them/PRON had a name.
When it rained, {he} [played the {instrument}|read a book about {fabled+}|built a tower out of {sweet+}].
When the sun shone, {he} [climbed {tree} trees|looked for {bug+}|picked/VERB {flower+}] until it was time for dinner.
Nobody could [run|jump|hop] like {h}, and nobody could {hobby} so badly.
{He} never went out without a {treasure} in {his} pocket.
Everyone in {his} family was a {job}, a {job} or a {job}, and {his} home always smelled of work.
"""
QUARREL = """
Soon {they} began to quarrel. "f>h: It is my turn to go first!" {f} shouted. "h>f: No, it is mine!" {h} shouted back, and {they} turned away from each other. >> Then {h} took a deep breath. "h>f: I am sorry that I shouted," {he} said. "f>h: I am sorry/ADJ too," said {f}, and [{they} were friends again|the quarrel was over].
But {h} and {f} could not agree on what to do. {H} wanted to [{hobby}|go to the {town_place}], and {f} wanted to [take a rest|go home]. {They} argued [loudly|for a long time], and {f} [said something mean|kicked a stone] in anger/NOUN. >> Little by little, [the two|{h} and {f}] stopped being angry. {F} said sorry first/ADV, {h} said sorry next/ADV, and then {they} had to laugh.
[Just then|Before long], {f} [bumped into {h}|stepped on {h}'s foot]. "h>f: You did that/PRON on purpose!" cried {h}. "f>h: I did not! You are always so {angry}!" said {f}. For a while, {they} did not [talk|say a word] to each other. >> {F} [looked|smiled] at {h}. "f>h: I do not want to fight with you," {he f} said. {H} [nodded|smiled back], and {they} hugged.
{F} laughed at the {color} {t=garment} that {h} wore, and {h} got angry. "h>f: You are mean!" {he} said. "f>h: And you are no fun!" said {f}. {They} [would not say a word|would not look at each other]. >> In the end, {f} said that the {t} was not so bad, and {h} gave {f} a {sweet}. The quarrel was forgotten/VERB.
{H} and {f} quarreled about a {color} {t=treasure} that {they} had found on the road. Each of them/PRON [said that it was theirs/PRON|pulled at it and would not let go]. >> {They} [gave|threw] the {t} away, because it was not worth/ADJ a quarrel, and [shook hands|hugged].
{H} and {f} both wanted to be the first/ADJ, and neither would let the other/ADJ go/VERB ahead. So {they} pushed and pulled until {f} fell over and {h} lost {his} {t=garment}. >> {H} held out a hand, and {f} held out the {t}. So {they} both went first/ADV, side by side.
Then {f} made a joke about {h}, and {he} did not like it. {He} turned {his} back and would not speak/VERB. {F} was {angry} too, and for a while it was very quiet. >> {F} said that it had been a bad joke, and {h} said that it had been a small quarrel. So {they} forgot both.
"h>f: You are too slow," said {h}. "f>h: And you talk too much/ADV," said {f}. Soon {they} were both angry, and {they} [yelled at each other|called each other {bad_trait} and {bad_trait}]. >> Later {h} said, "h>f: I like you even if you are slow." {F} laughed. "f>h: And I like you even if you talk," {he f} said.
"""
CLOSE_GOOD = """
That night, {h} [slept well|fell asleep with a smile] and dreamed of a {color} {zoo}.
It had been a {quality} day.
{H!} [drew|painted] a picture of that day and hung it [over {his} bed|on the wall], next to a {color} {fabled}.
[For a long time|All year/NOUN long/ADV], {h} [smiled|was {happy}] [whenever/SCONJ|every time] {he} thought of it.
[Everyone|Everybody] was {happy}, and they/PRON ate {sweet+} and drank {drink}.
The next day/NOUN, there were {dish+} with {vegetable+} for [dinner|supper], and nothing had ever tasted better/ADJ.
Even the {bird+} in the {tree} trees seemed to [sing|laugh] with joy.
{H!} told the story to every {job} in town, and to a {zoo} at the zoo.
That evening, {h} ate some {food} and slept like a {pet}.
And {h} [laughed|smiled|sang] the whole evening.
A week later, {h} [still laughed|still smiled|was still {happy}] when {he} [heard a {bird}|saw a {flower}|smelled {sweet+}].
"""
CLOSE_BAD = """
{H!} cried [softly|quietly|for a long time].
It was the [saddest/ADJ|worst] day of the [year|whole year].
{H!} was {sad} for a long, long time.
For {num} nights, {h} could not sleep. {He} [looked|stared] at the dark window and felt {sad}.
Not even {sweet+} with {food} could make {h} smile.
"""
MORALS = {
    "sharing": "[sharing makes/VERB|a shared/VERB thing makes/VERB] everyone happy;there is more fun in sharing/VERB than in keeping/VERB;it feels good to share with others/NOUN;joy grows/VERB when we/PRON share it",
    "honesty": "it is [best|better/ADJ] to tell the truth;a lie [only makes/VERB things worse|grows/VERB and grows/VERB];an honest word is worth/ADJ more/ADV than gold;it takes/VERB courage to be honest",
    "courage": "being/AUX brave means/VERB doing/VERB things/NOUN even when/SCONJ one/PRON is afraid;it is okay to be afraid, as/SCONJ long/ADV as/SCONJ one/PRON tries;a small heart can hold great/ADJ courage",
    "listening": "it is wise to listen to a warning/NOUN;those who listen stay safe/ADJ;a good warning/NOUN is a gift/NOUN;it is foolish to laugh at a warning/NOUN",
    "patience": "good things/NOUN take time;those who wait are [often|sometimes] rewarded;patience/NOUN is [stronger than hurry/NOUN|a quiet/ADJ kind/NOUN of magic/NOUN];it is better to go slowly/ADV than to fall/VERB",
    "kindness": "kindness/NOUN always [comes/VERB back|finds/VERB its way home/ADV];a small kind/ADJ deed/NOUN can change a whole day;it costs/VERB nothing to be kind/ADJ;a kind/ADJ heart makes/VERB many friends",
    "care": "we/PRON must take good care/NOUN of the things/NOUN we/PRON love;even small/ADJ things/NOUN need/VERB good care/NOUN",
    "neglect": "a thing/NOUN that is left/VERB alone is soon lost/ADJ;it is wise to be careful",
    "greed": "those who want too much/ADJ [may/AUX|often] lose everything;enough/ADJ is as/ADV good/ADJ as/ADP a feast/NOUN;it is better to be content/ADJ than greedy",
    "trying": "nobody should give up too soon;those who keep/VERB trying/VERB get there in the end;every mistake is a chance to learn",
    "friendship": "a good friend is the best treasure;friends/NOUN are there for each other;[everything is easier/ADJ|hard/ADJ things/NOUN are easier/ADJ] with a friend/NOUN",
    "welcome": "a friend/NOUN can be found/VERB in a strange/ADJ place/NOUN;everyone needs/VERB a friend/NOUN;[nobody|no/DET one/PRON] should have to be alone/ADJ",
    "lonely": "everyone needs/VERB a friend/NOUN;[nobody|no/DET one/PRON] should have to be alone/ADJ",
    "hurt": "it costs/VERB nothing to be kind/ADJ;it is easy/ADJ to hurt/VERB somebody and hard/ADJ to mend/VERB it;a kind/ADJ word can never be taken/VERB back/ADV, and neither/CCONJ can a bad/ADJ one/NOUN",
    "caution": "it is wise to be careful;it is better to look/VERB twice than to be sorry/ADJ;those who are careful stay/VERB safe/ADJ",
    "promise": "a promise/NOUN must be kept/VERB;a good helper/NOUN does/VERB not stop halfway;what/PRON one/PRON begins/VERB should be brought/VERB to an end/NOUN",
    "joking": "a joke is only good if everyone can laugh/VERB;it takes/VERB courage to say/VERB sorry/ADJ;those who play/VERB tricks/NOUN must be ready/ADJ for one/NUM",
    "pride": "it is not wise/ADJ to brag/VERB;those who brag/VERB too much often/ADV fall/VERB;it is better to do/VERB well/ADV than to talk/VERB big/ADV",
    "trust": "not everyone can be trusted/VERB;it is wise/ADJ to think/VERB before/SCONJ trading/VERB;what/PRON sounds/VERB too good is often a trick/NOUN",
}
SAY_MORAL = """
{H!} [learned|now knew|understood] that/SCONJ %s.
[From that day on|After that], {h} [remembered|never forgot] that/SCONJ %s.
The [moral/NOUN|lesson] of the story is that/SCONJ %s.
So {h} [learned|found out] that/SCONJ %s.
This story [teaches/VERB|tells/VERB] us/PRON that/SCONJ %s.
"""


def lines(pool: str) -> list[str]:
    """The templates of a pool."""
    return [line for line in pool.strip().splitlines() if line]


def morals(theme: str) -> list[str]:
    """The templates that state a theme."""
    return MORALS[theme].split(";")
