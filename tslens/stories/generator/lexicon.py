"""Words of the made stories: their groups, their inflections and their tags.

Every group is a slot of the templates: `{toy}` draws a toy, `{toy+}` its plural, `{wander.ed}` a verb of wandering in the past.
A word may stand in several groups (an apple is a fruit and a gift); its forms and tags are the union of them. Caches keep lexemes and sets of words made from the tables below; none holds a memory map.
"""

import re
from dataclasses import dataclass
from functools import cache

# Count nouns. A group says what its members are good for, so that a tale can only break what breaks.
NOUNS = {
    "toy": "ball doll kite drum puzzle robot truck train puppet",
    "soft": "blanket pillow teddy bunny scarf doll puppet sweater",
    "treasure": "coin shell key ring feather pebble button crystal",
    "precious": "shell crystal necklace whistle kite",
    "baked": "cookie cupcake muffin pie cake",
    "treat": "cookie candy muffin donut",
    "charm": "bell shell pebble whistle crystal",
    "riches": "pearl ring crystal bell",
    "coffer": "box chest trunk",
    "looming": "desk shelf table sofa couch chair",
    "crawler": "ant beetle cricket ladybug",
    "pond": "fish turtle frog",
    "chamber": "bedroom attic hall playroom basement",
    "market place": "market fair",
    "garden tool": "shovel rake",
    "fragile": "vase cup plate mug lamp mirror bowl jar teapot",
    "fruit": "apple pear plum peach orange banana cherry grape lemon",
    "vegetable": "carrot potato tomato onion pumpkin bean turnip radish cabbage",
    "sweet": "cookie cupcake muffin pancake waffle pie cake donut candy",
    "dish": "sandwich pizza omelet meatball sausage burger dumpling",
    "clothes": "hat coat jacket shirt sock boot shoe mitten scarf cap",
    "garment": "hat coat jacket shirt scarf cap sweater",
    "box": "box basket bag bucket jar sack",
    "openable": "door gate",
    "furniture": "table chair bed sofa shelf desk stool bench couch",
    "tool": "shovel rope ladder saw brush broom bucket net",
    "kitchenware": "spoon fork pan pot bowl kettle tray plate knife",
    "vehicle": "car bus truck train boat bike",
    "ridden": "bike scooter skateboard",
    "magic": "lamp ring wand bell stone pot kettle key whistle",
    "dragon": "dragon",
    "big": "giant dragon troll monster",
    "instrument": "drum flute piano guitar violin horn harp trumpet fiddle",
    "gift": "book ball doll kite puzzle hat drum scarf necklace",
    "pet": "dog cat rabbit hamster puppy kitten turtle parrot pony",
    "furry": "dog cat rabbit puppy kitten hamster",
    "farm": "cow horse pig sheep goat hen duck rooster donkey",
    "wild": "fox bear deer wolf owl squirrel rabbit mouse raccoon",
    "small": "squirrel rabbit mouse hedgehog bird duckling kitten frog chipmunk",
    "zoo": "lion tiger elephant monkey giraffe zebra hippo kangaroo panda",
    "bird": "robin crow sparrow pigeon dove parrot woodpecker blackbird",
    "cattle": "cow horse donkey goat pony",
    "lunchbox": "box basket bag backpack",
    "pipe": "flute violin horn trumpet fiddle drum guitar",
    "flyer": "butterfly bee moth ladybug dragonfly",
    "cuddly": "teddy bunny doll puppet bear",
    "hall": "theater school library market castle museum barn",
    "bug": "ant bee beetle butterfly spider ladybug snail worm cricket",
    "sea": "fish seal turtle dolphin",
    "flock": "sheep goat goose lamb",
    "fabled": "dragon fairy giant wizard mermaid troll elf unicorn ghost",
    "hero": "rabbit fox bear mouse squirrel hedgehog turtle duck owl",
    "job": "farmer baker teacher doctor gardener sailor painter cook driver",
    "elder": "farmer baker gardener sailor tailor carpenter shopkeeper painter fisherman",
    "tree": "oak pine apple plum willow maple cherry birch elm",
    "flower": "rose daisy tulip lily sunflower violet poppy daffodil",
    "plant": "sunflower tomato bean rose tulip daisy poppy lily",
    "nature": "leaf stick stone flower feather acorn branch",
    "wild place": "forest meadow lake river pond hill beach field",
    "outdoors": "park garden forest meadow field playground orchard",
    "water": "pond river lake stream",
    "town place": "shop school library market bakery museum station zoo church",
    "room": "kitchen bedroom attic bathroom hall basement garage playroom",
    "hideout": "bush bench log tree bridge rock fence stump wall",
    "building": "house tower bridge wall castle fence shed cabin hut",
    "body": "nose ear foot finger leg cheek elbow chin tail",
    "bodyplace": "hand arm knee shoulder head",
    "shape": "circle heart moon line",
    "sport": "race game",
    "job to do": "job trick lesson",
    "picture": "picture card letter story",
    "sky": "sun cloud rainbow sky",
    "sound": "sound noise squeak crash bang song knock voice splash",
    "people": "child woman baby friend kid knight",
    "kin": "brother mother cousin family",
    "money": "penny ticket",
    "machine": "light",
    "spot": "corner edge middle side top bottom end floor roof path road street step trail hole crack pile row "
    "place shade chimney valley map village town city home world land",
    "bit": "piece bit drop crumb bite sip bottle",
    "time": "day morning afternoon evening night week month year hour minute moment summer winter spring birthday "
    "bedtime Monday Tuesday Wednesday Thursday Friday Saturday Sunday noon midnight while second",
    "thing": "thing idea plan way rule secret surprise mistake answer word name reason promise lie truth trouble "
    "joke turn chance dream wish part prize winner gift present toy fight quarrel smell color bath hug "
    "kiss smile tear laugh sleep party picnic trip ride walk swim visit storm fire wave shadow seed page "
    "paper pocket wing paw fur nest egg helper stranger neighbor owner animal lunch dinner breakfast "
    "snack supper candle crowd guest medal flag sign tooth face eye mouth hair tummy back list magic "
    "footprint thief treasure spell room courage rest mind start mess note mask costume stage show dance "
    "sunset sunrise lightning shore visitor umbrella tune tip rust neck mail fever doorbell ditch cellar "
    "laughter lip sea calendar belly mood web well villager woods distance plenty earth feeling will oven "
    "breath people blame lump throat joy ribbon hotel kindness patience hurry feast deed moral success "
    "fear ground front dam thorn stove purpose life handkerchief figure danger course cork bargain anger "
    "might strength cross pain soap cloth soup jump bump cut scratch bandage half lot kind pair sort "
    "parade band dust shout cry cheer care fun luck raincoat slipper flashlight cart fair balloon glass "
    "window glove belt purse curtain closet lantern puddle root cave mountain circus clock napkin lamb "
    "yard hedge whisper farm",
}
# Mass nouns: no "a", no plural.
MASS = {
    "food": "bread cheese soup rice honey porridge jam pasta toast",
    "drink": "milk juice water tea lemonade cocoa",
    "stuff": "sand mud grass wood paper clay glue paint wool hay dirt",
    "bait": "bread cheese toast",
    "pourable": "soup rice honey porridge jam",
    "sold": "juice tea lemonade cocoa",
    "weather": "rain snow wind fog thunder ice hail",
    "subject": "music reading counting drawing singing dancing writing baking cooking",
    "mass thing": "butter help love fun time air work dust smoke sugar salt flour money gold fur hair magic luck courage care "
    "trash lightning school dinner lunch breakfast supper bedtime sleep light dark spring glass everyone",
}
VERBS = {
    "wander": "walk skip hop stroll march hurry race wander rush tiptoe",
    "play": "jump slide swing dig splash hide chase juggle",
    "hobby": "swim paint sing dance draw read bake climb fish",
    "say": "say",
    "cry": "shout yell cry call scream",
    "whisper": "whisper murmur mumble sigh",
    "smile": "smile grin giggle laugh chuckle beam",
    "hurt": "sting hurt burn",
    "look": "look stare peek gaze glance",
    "touch": "touch pat hug hold stroke rub kiss",
    "clean": "wash wipe sweep dust tidy polish",
    "carry": "carry bring pull push",
    "make": "make build fix mend",
    "move": "turn bend roll slip fall drop wobble tumble crawl shake bump trip float fly sink creep kick throw "
    "catch pick lift reach point wave nod bow clap lie sit stand rest lean land dive ride drive row",
    "weather verb": "rain snow shine blow freeze melt rise pour flash roar sparkle glow",
    "sound verb": "bark sniff sneeze cough knock ring crash tap creak pop",
    "mind": "think know see hear feel want need like love hate hope wish plan dream remember forget learn wonder "
    "worry notice believe decide agree trust miss care mind fear understand expect listen watch pretend "
    "promise",
    "more": "warm press trot stamp sign part loosen fetch carve oil flick lay vanish disappear long shriek burst "
    "discover place return flee breathe beat wink spend shrink shoot seek rustle rake raise moan die bang "
    "bury cross weed dry name allow gasp blush hit glue scratch dare blame speak spoil forgive ruin wrap "
    "pack clear frighten shut lead hatch bloom garden run write knit cook",
    "talk": "tell ask answer cheer thank greet beg argue quarrel warn invite talk joke teach brag boast scold "
    "praise fight sob weep",
    "do": "do go come get give take put keep leave find lose buy sell pay win try help use open close break "
    "tear cut fill empty stir eat drink bite taste lick smell feed grow plant water cover show share send "
    "wait stay stop start begin end work play live sleep wake follow meet visit search save grab wear tie "
    "sew count spell clean mix hang light happen change become seem sound let belong pass move arrive "
    "trick scare surprise please protect guard trade borrow offer deserve reward practice crack split "
    "pile sip hand head last mean own set stick stumble wag yawn spread step tug add cost shop charm poke "
    "rule sort",
}
# base past participle, where the rule does not give them
IRREGULAR = """
do did done;burst burst burst;lay laid laid;flee fled fled;beat beat beaten;spend spent spent;shrink shrank shrunk;shoot shot shot;seek sought sought;speak spoke spoken;hide hid hidden;forgive forgave forgiven;swear swore sworn;go went gone;come came come;get got got;give gave given;take took taken;put put put;keep kept kept;leave left left;find found found;lose lost lost
bring brought brought;buy bought bought;sell sold sold;pay paid paid;win won won;shut shut shut;break broke broken;tear tore torn;cut cut cut
eat ate eaten;drink drank drunk;bite bit bitten;feed fed fed;grow grew grown;dig dug dug;hide hid hidden;show showed shown;send sent sent
begin began begun;sleep slept slept;wake woke woken;meet met met;steal stole stolen;hold held held;wear wore worn;sew sewed sewn;draw drew drawn
write wrote written;read read read;sing sang sung;build built built;hang hung hung;throw threw thrown;blow blew blown;light lit lit;become became become
let let let;make made made;hurt hurt hurt;catch caught caught;lend lent lent;split split split;run ran run;say said said;tell told told
think thought thought;know knew known;see saw seen;hear heard heard;feel felt felt;forget forgot forgotten;choose chose chosen;understand understood understood
swim swam swum;sting stung stung;sweep swept swept;bend bent bent;spin spun spun;fall fell fallen;shake shook shaken;fly flew flown;sink sank sunk
creep crept crept;lie lay lain;sit sat sat;stand stood stood;ride rode ridden;drive drove driven;shine shone shone;freeze froze frozen;rise rose risen
ring rang rung;fight fought fought;weep wept wept;swing swung swung;slide slid slid;lead led led;mean meant meant;set set set;stick stuck stuck;fit fit fit
spread spread spread;cost cost cost;teach taught taught;hit hit hit
"""
ADJECTIVES = {
    "color": "red blue green yellow orange purple pink white black",
    "fur color": "black white brown gray",
    "size": "big small little tiny huge large",
    "nice": "kind gentle friendly brave clever cheerful polite honest patient",
    "bad trait": "greedy lazy selfish grumpy bossy careless proud mean stubborn",
    "happy": "happy glad proud cheerful excited joyful pleased delighted thankful",
    "sad": "sad unhappy upset gloomy miserable",
    "afraid": "afraid scared nervous frightened worried",
    "angry": "angry mad cross furious grumpy",
    "texture": "soft smooth fuzzy shiny sticky fluffy hard",
    "look": "pretty lovely beautiful bright shiny fancy neat",
    "old": "old dusty broken dirty worn ancient",
    "quality": "nice good great wonderful perfect fine",
    "weather adj": "sunny windy cloudy warm cold foggy rainy chilly",
    "fine weather": "sunny warm bright clear lovely fine mild",
    "taste": "sweet tasty yummy fresh delicious",
    "ugly": "dark scary gloomy",
    "spare": "short tall long deep smooth narrow tired sleepy weak",
    "more": "lonely plain sour ripe hungry thirsty sick hurt safe lost empty full open wet dry hot loud fast slow easy heavy "
    "light strong high low thin thick round flat sharp straight wide narrow different same new young real "
    "true wrong right ready alone alive dead asleep awake late early busy free poor wise silly foolish "
    "magic gone sorry fair own favorite whole other last next first bare still sure bored surprised "
    "ashamed lucky clean burnt frozen stuck enough many few much paper bitter crooked forgotten ill "
    "missing nearby secret steep tight wild hidden single third such quick loose unexpected sore odd "
    "faint dull cheap alike cracked second painted surprising weird terrible steady oldest loudest "
    "deepest brighter coldest entire starving filthy weary following sudden dear bad gold fallen content "
    "tidy pale useless grown shared worth hollow closed funny careful gray golden quiet shy naughty noisy "
    "brown curious strange muddy",
    "compared": "better best bigger smaller faster slower stronger biggest smallest taller fastest braver louder "
    "harder hardest saddest prettiest hotter deeper worst worse wiser hungrier highest funniest darker "
    "fewer easier farther",
    "both ways": "close",
}
ADVERBS = {
    "gladly": "happily proudly joyfully",
    "softly": "softly quietly gently slowly carefully silently",
    "quickly": "quickly fast suddenly",
    "sadly": "sadly",
    "kindly": "politely",
    "more": "very too so really just only even still again already almost always never often sometimes once twice "
    "soon later then now here there away back home outside inside together apart alone far near "
    "everywhere somewhere nowhere not maybe perhaps finally quite yet ever also first instead well better "
    "best hard high low late early long deep upstairs around aside loudly badly truly nearly aloud hardly "
    "anymore upside else enough ago straight right much more most less forever when where why how anyway "
    "closer last close nearby harder",
}
FUNCTION = {
    "DET": "a an the this that these those every each some any no all both another which what",
    "ADP": "beneath of in on at by with from for into onto under over behind beside between across through along "
    "around near about up down off out without inside outside past toward above below like after before "
    "until during against as than to since upon",
    "NOUN": "food others times left right ones tears",
    "ADV": "rather nearer deeply indeed deeper farther fairly either ahead halfway later yesterday today "
    "tomorrow tonight whenever",
    "AUX": "cannot was were is are am be been being would could should will can must might may shall do does did "
    "had has have",
    "PRON": "neither theirs whoever i me my mine you your yours we us our it its itself they them their "
    "themselves who what whom this that these those there everyone everything nobody nothing someone "
    "something anyone anything everybody somebody anybody none which each all both",
    "CCONJ": "yet and or but",
    "SCONJ": "whenever for because if when while that as before after until since so than although once",
    "PART": "to not",
    "VERB": "having lied glued",
    "NUM": "one two three four five six seven ten hundred",
    "INTJ": "yes no oh hello please sorry thanks okay well",
}
CONTRACTIONS = {
    **dict.fromkeys(
        "don't didn't doesn't can't couldn't won't wasn't weren't isn't aren't shouldn't wouldn't".split(), "AUX"
    ),
    **dict.fromkeys("I'm I'll it's that's you're you'll we're we'll I've there's what's it'll".split(), "PRON"),
    "let's": "VERB",
}
GIRLS = (
    "Lily Mia Anna Ella Sara Lucy Emma Zoe Nora Ruby Molly Amy Kate Rosie Jane Clara Ivy Maya Sofia Hazel Tina Penny"
)
BOYS = "Tom Ben Max Sam Tim Leo Jack Finn Noah Adam Luke Peter Oscar Hugo Owen Eli Toby Jake Paul Ryan Theo Felix"
BEASTS = (
    "Rusty Pip Nibbles Fluffy Bramble Hazelnut Dusty Button Ginger Pebble Whiskers Bobo Coco Tuffy Waffle "
    "Biscuit Patch Clover Sunny Bubble"
)
PLURALS = dict(
    pair.split(":")
    for pair in "mouse:mice goose:geese child:children man:men woman:women foot:feet tooth:teeth sheep:sheep fish:fish deer:deer leaf:leaves "
    "wolf:wolves scarf:scarves shelf:shelves knife:knives half:halves elf:elves calf:calves thief:thieves potato:potatoes tomato:tomatoes mango:mangoes "
    "goldfish:goldfish starfish:starfish jellyfish:jellyfish fisherman:fishermen octopus:octopuses piano:pianos hero:heroes snowman:snowmen "
    "family:families clothes:clothes".split()
)
# Words that nobody would ask a story for.
DULL = frozenset(
    "lot such single second last first next same other own half kind able many few much several more most left do".split()
)
AN = {"hour", "honest", "honestly"}
NOT_AN = {"unicorn", "useful", "uniform", "one", "once", "una"}


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A word with its part of speech and its forms: '' base, '+' plural, 's', 'ed' past, 'en' participle, 'ing'."""

    tag: str
    forms: dict[str, str]

    @property
    def base(self) -> str:
        return self.forms[""]

    def __hash__(self) -> int:
        return hash((self.tag, self.base))


def plural(word: str) -> str:
    """The plural of a noun, or the third person of a verb: 'fox' gives 'foxes', 'berry' 'berries', 'leaf' 'leaves'."""
    if word in PLURALS:
        return PLURALS[word]
    if re.search(r"(s|x|z|ch|sh)$", word) or word in ("go", "do"):
        return word + "es"
    return word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + "s"


def _stem(verb: str, vowel: str) -> str:
    """The verb before '-ed' or '-ing': 'hop' gives 'hopp', 'bake' 'bak', 'cry' 'cri' before -ed only."""
    if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]|begin|forget|admit|unzip", verb) or re.fullmatch(
        r"qu[aeiou][^aeiouwxy]", verb
    ):
        return verb + verb[-1]
    if vowel == "i" and verb.endswith("ie"):
        return verb[:-2] + "y"
    if verb.endswith("e") and not (vowel == "i" and verb.endswith("ee")):
        return verb[:-1]
    return verb[:-1] + "i" if vowel == "e" and re.search(r"[^aeiou]y$", verb) else verb


@cache
def noun(word: str, mass: bool = False) -> Lexeme:
    """A noun with its plural, unless it is a mass noun."""
    return Lexeme("NOUN", {"": word} if mass else {"": word, "+": plural(word)})


@cache
def verb(word: str) -> Lexeme:
    """A verb with its five forms."""
    regular = _stem(word, "e") + "ed"
    past, participle = _irregular().get(word, (regular, regular))
    return Lexeme("VERB", {"": word, "s": _third(word), "ed": past, "en": participle, "ing": _stem(word, "i") + "ing"})


def _third(word: str) -> str:
    return word + "s" if word in PLURALS else plural(word)


@cache
def _irregular() -> dict[str, tuple[str, str]]:
    rows = [row.split() for line in IRREGULAR.strip().splitlines() for row in line.split(";") if row]
    return {base: (past, participle) for base, past, participle in rows}


@cache
def groups() -> dict[str, tuple[Lexeme, ...]]:
    """Every group by its slot name (spaces become '_'); members in the order written."""
    made = {name: tuple(noun(w) for w in words.split()) for name, words in NOUNS.items()}
    made |= {name: tuple(noun(w, True) for w in words.split()) for name, words in MASS.items()}
    made |= {name: tuple(verb(w) for w in words.split()) for name, words in VERBS.items() if name not in ("do",)}
    clash = {"look": "looks"}
    made |= {
        clash.get(n, n): tuple(Lexeme("ADJ", {"": w}) for w in ws.split())
        for n, ws in ADJECTIVES.items()
        if n not in ("more", "compared")
    }
    made |= {n: tuple(Lexeme("ADV", {"": w}) for w in ws.split()) for n, ws in ADVERBS.items() if n != "more"}
    made["num"] = tuple(Lexeme("NUM", {"": w}) for w in "two three four five six seven".split())
    return {name.replace(" ", "_"): members for name, members in made.items()}


@cache
def tags_of() -> dict[str, frozenset[str]]:
    """Every lower-case form that a template may use literally, with the tags it can bear."""
    found: dict[str, set[str]] = {}

    def note(form: str, tag: str) -> None:
        found.setdefault(form.lower(), set()).add(tag)

    for table, make in ((NOUNS, noun), (VERBS, verb)):
        for words in table.values():
            for word in words.split():
                for form in make(word).forms.values():
                    note(form, "PROPN" if word.endswith("day") and word[0].isupper() else make(word).tag)
    for table, tag in ((MASS, "NOUN"), (ADJECTIVES, "ADJ"), (ADVERBS, "ADV"), (FUNCTION, "")):
        for group, words in table.items():
            for word in words.split():
                note(word, tag or group)
    for word, tag in CONTRACTIONS.items():
        note(word, tag)
    for word in ("everyone",):
        found[word] = {"PRON"}
    return {form: frozenset(tags) for form, tags in found.items()}


@cache
def base_verbs() -> frozenset[str]:
    """Every verb in its base form, and be, have and do."""
    return frozenset(w for line in VERBS.values() for w in line.split()) | {"be", "have", "do"}


@cache
def participles() -> frozenset[str]:
    """Every past participle."""
    return frozenset(verb(w).forms["en"] for line in VERBS.values() for w in line.split()) | {"been", "had"}


@cache
def pasts() -> frozenset[str]:
    """Every past tense."""
    return frozenset(verb(w).forms["ed"] for line in VERBS.values() for w in line.split())


@cache
def comparatives() -> frozenset[str]:
    """Comparative adjectives and adverbs, as in a little farther."""
    return frozenset(w for w in ADJECTIVES["compared"].split() if w.endswith("er")) | set(
        "more farther nearer later closer too".split()
    )


def article(word: str) -> str:
    """'a' or 'an' by the sound of the next word."""
    low = word.lower()
    return "an" if low in AN or (low[0] in "aeiou" and low not in NOT_AN) else "a"


@cache
def bases() -> dict[str, frozenset[str]]:
    """The base forms of nouns, verbs and adjectives that an instruction may require.

    Excludes verbs that are also the past of another: `lay` is not required in the sense of "the ball lay there".
    """
    others = {form for line in VERBS.values() for w in line.split() for form in verb(w).forms.values() if form != w}
    listed = {
        "NOUN": (*NOUNS.values(), *MASS.values()),
        "VERB": VERBS.values(),
        "ADJ": (words for name, words in ADJECTIVES.items() if name != "compared"),
    }
    found = {tag: frozenset(w for line in lines for w in line.split()) - DULL for tag, lines in listed.items()}
    return found | {"VERB": found["VERB"] - others}
