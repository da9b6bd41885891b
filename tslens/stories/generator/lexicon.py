"""Which words do the made stories know, what can be done with each, and how is it inflected?

Every group is a slot of the templates: `{toy}` draws a toy, `{toy+}` its plural, `{wander.ed}` a verb of wandering in the past.
A word may stand in several groups (an apple is a fruit and a gift); its forms and tags are the union of them.
"""

import re
from dataclasses import dataclass
from functools import cache

# Count nouns. A group says what its members are good for, so that a tale can only break what breaks.
NOUNS = {
    "toy": "ball doll kite drum puzzle robot truck train puppet whistle yoyo marble balloon bear car boat plane rocket "
    "castle top wagon scooter trumpet telescope game",
    "soft": "blanket pillow teddy bunny scarf doll puppet sweater",
    "treasure": "coin shell key ring feather pebble button map crystal bead necklace stone locket bell medal crown pearl compass",
    "fragile": "vase cup plate mug lamp mirror bowl jar teapot clock glass window pot",
    "fruit": "apple pear plum peach orange banana cherry grape lemon melon strawberry mango fig berry apricot",
    "vegetable": "carrot potato tomato onion pumpkin bean turnip radish cabbage pea cucumber pepper beet",
    "sweet": "cookie cupcake muffin pancake waffle pie cake donut candy lollipop brownie tart biscuit",
    "dish": "sandwich pizza salad omelet noodle meatball sausage burger dumpling",
    "clothes": "hat coat jacket shirt dress skirt sock boot shoe mitten glove scarf cap belt apron sweater vest raincoat "
    "cape slipper sandal",
    "box": "box basket bag bucket jar chest drawer sack trunk backpack suitcase purse crate",
    "openable": "box chest drawer door gate cupboard trunk suitcase closet",
    "furniture": "table chair bed sofa shelf desk stool bench couch rug lamp curtain cupboard closet clock mirror",
    "tool": "hammer shovel rope ladder saw brush broom bucket net rake needle nail hook lantern flashlight mop wheelbarrow hose",
    "kitchenware": "spoon fork pan pot bowl kettle tray plate knife napkin",
    "vehicle": "car bus truck train boat bike tractor van ship plane taxi wagon sled canoe cart",
    "ridden": "bike scooter pony sled skateboard",
    "magic": "lamp ring wand bell stone pot kettle key whistle",
    "dragon": "dragon",
    "big": "giant dragon troll monster",
    "instrument": "drum flute piano guitar violin horn harp trumpet fiddle",
    "gift": "book ball doll kite puzzle hat drum scarf necklace truck basket crayon cake robot flower camera",
    "pet": "dog cat rabbit hamster puppy kitten turtle parrot pony goldfish lizard",
    "furry": "dog cat rabbit puppy kitten hamster",
    "farm": "cow horse pig sheep goat hen duck rooster donkey lamb goose calf chick pony",
    "wild": "fox bear deer wolf owl squirrel rabbit mouse raccoon hedgehog badger beaver mole otter skunk",
    "small": "squirrel rabbit mouse hedgehog bird duckling kitten frog chipmunk turtle",
    "zoo": "lion tiger elephant monkey giraffe zebra hippo kangaroo panda camel crocodile penguin seal ostrich leopard koala",
    "bird": "robin owl crow sparrow pigeon dove parrot woodpecker blackbird finch",
    "cattle": "cow horse donkey goat pony",
    "lunchbox": "box basket bag backpack",
    "pipe": "flute violin horn trumpet fiddle drum guitar",
    "flyer": "butterfly bee moth fly ladybug dragonfly",
    "cuddly": "teddy bunny doll puppet bear pillow blanket",
    "hall": "theater school library market castle museum barn",
    "bug": "ant bee beetle butterfly spider ladybug snail worm cricket moth caterpillar grasshopper dragonfly fly",
    "sea": "fish crab whale dolphin shark octopus seal starfish lobster jellyfish",
    "fabled": "dragon fairy giant wizard mermaid troll elf unicorn ghost monster witch",
    "hero": "rabbit fox bear mouse squirrel hedgehog turtle duck owl kitten puppy frog otter beaver raccoon lamb mole penguin",
    "job": "farmer baker teacher doctor gardener sailor painter cook driver captain singer carpenter tailor nurse shopkeeper "
    "fisherman firefighter musician clown librarian",
    "elder": "farmer baker gardener sailor tailor carpenter shopkeeper painter fisherman",
    "tree": "oak pine apple plum willow maple cherry birch elm palm",
    "flower": "rose daisy tulip lily sunflower violet poppy daffodil",
    "plant": "sunflower tomato bean pumpkin rose tulip strawberry carrot daisy melon",
    "nature": "leaf stick stone flower feather acorn nut twig branch petal pinecone puddle root mushroom nest bush log",
    "wild place": "forest meadow lake river pond hill beach field valley stream cave island mountain swamp jungle desert",
    "outdoors": "park garden forest meadow beach field playground orchard farm yard valley",
    "water": "pond river lake stream pool",
    "town place": "shop school library market bakery museum station zoo church hospital theater farm circus bank office "
    "restaurant fair harbor castle tower",
    "room": "kitchen bedroom attic bathroom hall basement garage playroom",
    "shelter": "barn cabin tent hut cottage shed",
    "hideout": "bush bench log tree bridge rock fence stump wall hedge wagon bed sofa",
    "climbable": "tree hill ladder wall fence rock tower",
    "building": "house tower bridge wall castle fence shed cabin hut barn fort",
    "body": "nose ear hand foot knee finger toe arm leg head cheek elbow chin shoulder tail",
    "bodyplace": "hand arm knee shoulder head",
    "shape": "circle square star heart triangle moon flower line",
    "sport": "race contest match game",
    "job to do": "chore task job trick lesson",
    "picture": "picture drawing card painting letter poem song story",
    "sky": "sun moon star cloud rainbow sky",
    "sound": "sound noise squeak crash bang song knock voice splash whisper bark meow thump",
    "people": "child boy girl man woman baby lady friend kid twin king queen prince princess pirate knight explorer",
    "kin": "mom dad grandma grandpa aunt uncle sister brother mother father cousin parent family",
    "money": "coin penny dollar ticket",
    "machine": "machine engine camera radio phone computer bell light wheel motor clock",
    "spot": "corner edge middle side top bottom end floor roof door window gate path road street step stair trail track "
    "hole crack pile row trap line spot place shelf shade porch chimney cage village town city country home world land zoo",
    "bit": "piece bit drop slice crumb bite sip pinch handful bottle bunch",
    "time": "day morning afternoon evening night week month year hour minute moment summer winter spring autumn weekend "
    "birthday holiday bedtime Monday Tuesday Wednesday Thursday Friday Saturday Sunday noon midnight "
    "while season second",
    "thing": "thing idea plan way rule secret surprise mistake problem question answer word name reason promise lie truth "
    "trouble joke turn chance dream wish part team prize winner gift present toy fight quarrel lesson smell color nap bath hug kiss "
    "smile tear laugh voice sleep party picnic trip adventure ride walk swim visit storm fire wave shadow seed garden page paper "
    "pencil crayon pocket string wing paw fur beak shell nest egg collar leash wheel lock key kick guess hero friend pal helper "
    "stranger neighbor owner baby animal pet bug monster tool meal lunch dinner breakfast snack supper birthday cake candle crowd guest medal "
    "flag sign ticket bone stick tooth face eye mouth hair tummy heart back boss teacher leader partner list job trail magic footprint "
    "weather number letter window store thief treasure wand potion spell room house tree bird hope pride courage rest mind test step "
    "start finish line price stall deal penny coin pie slide swing seesaw sandbox fountain bench hat knot mess note slope "
    "mask costume stage show dance dancer speech sunset sunrise breeze raindrop snowflake icicle snowman ember lightning "
    "class classmate homework desk bell lie fact corner bike lap oar shore bank net visitor umbrella tune tip rust neck mail fever doorbell ditch cellar laughter lip sea calendar belly mood web well villager woods distance plenty earth feeling will will oven classroom stew breath people blame lump throat joy ribbon spoonful pocketful hotel kindness patience hurry feast deed friendship moral success fear ground front poster dam thorn stove purpose life handkerchief figure danger course cork bargain anger lesson letter gust might strength cross pain soap cloth guide patch soup field rock jump bump cut scratch bandage "
    "half lot kind pair sort noise parade band world board vine stem bud sprout dust clue detective pile heap shout cry cheer care fun luck",
}
# Mass nouns: no "a", no plural.
MASS = {
    "food": "bread cheese soup rice honey butter jam pasta toast cereal popcorn chocolate yogurt pudding corn chicken porridge",
    "drink": "milk juice water tea lemonade cocoa",
    "stuff": "sand mud snow grass wood paper clay glue paint water wool hay dirt ice",
    "weather": "rain snow wind fog thunder sunshine ice hail",
    "subject": "music reading counting drawing singing dancing writing baking cooking painting",
    "mass thing": "help love fun time air work dust smoke sugar salt flour money gold silver fur hair magic advice luck courage care "
    "trash lightning furniture homework school dinner lunch breakfast supper bedtime sleep light dark darkness spring glass everyone stuff",
}
VERBS = {
    "wander": "walk run skip hop stroll march hurry race wander jog rush tiptoe",
    "play": "jump run climb slide swing dance sing dig splash paint draw read hide chase juggle",
    "hobby": "swim paint sing dance draw read bake climb fish cook run skate write knit garden sew camp sail hike",
    "say": "say",
    "cry": "shout yell cry call scream",
    "whisper": "whisper murmur mumble sigh",
    "smile": "smile grin giggle laugh chuckle beam",
    "hurt": "ache sting hurt burn itch",
    "look": "look stare peek gaze glance",
    "touch": "touch pat hug hold stroke tickle rub squeeze kiss",
    "clean": "wash wipe scrub sweep dust tidy polish",
    "carry": "carry bring pull push drag",
    "make": "make build fix mend",
    "move": "turn bend stretch twist spin roll slip fall drop wobble tumble crawl shake shiver bounce bump trip float fly "
    "sink creep sneak climb kick throw catch toss pick lift lower reach point wave nod bow kneel clap lie sit stand rest lean land dive ride drive row",
    "weather verb": "rain snow shine blow freeze melt rise pour flash rumble howl roar sparkle glow",
    "sound verb": "bark meow quack moo chirp buzz hum growl roar squeak snore sniff sneeze cough knock ring crash whistle tap snap creak rattle hiss pop honk",
    "mind": "think know see hear feel want need like love hate hope wish plan dream remember forget learn guess wonder worry "
    "notice believe decide choose agree trust miss care mind fear understand expect listen watch pretend promise imagine",
    "more": "warm trot stamp sign part loosen fetch carve oil flick knit lay vanish disappear long spot shriek burst discover place return flee breathe beat wink spend shrink shoot seek rustle rake raise moan die bang bury cross juggle pour weed dry name allow gasp blush hit glue scratch dare blame speak nibble stammer spoil forgive sulk ruin roll kneel boil wrap rattle prepare "
    "knit pack whine vote copy clear tame sail frighten promise stare repeat snatch pinch knock slam shut squeal swear sniffle limp lead nap zip hatch peck sprout wilt bloom ",
    "talk": "say tell ask answer shout whisper explain call cheer thank greet beg reply argue quarrel complain warn admit invite apologize talk joke tease teach brag boast scold praise fight lie laugh cry sob weep",
    "do": "do go come get give take put keep leave find lose bring buy sell pay win try help use open close shut lock break tear cut "
    "fill empty cook bake stir eat drink bite chew swallow taste lick smell feed grow plant water pick dig cover hide show share "
    "send wait stay stop start begin finish end work play live sleep wake dream follow meet join visit leave return search save "
    "steal grab hold wear tie wrap sew paint draw write read count spell sing dance build mend fix clean tidy mix pack unpack hang "
    "throw clap hug kiss nap bathe brush comb blow light burn happen change become seem look sound let make hurt heal fit match "
    "belong turn pass move cross enter land arrive disappear appear vanish escape chase catch trick scare surprise please cheer "
    "comfort calm protect guard warn trade lend borrow owe offer accept refuse deserve reward practice improve repair crack split spill drip leak "
    "collect gather pile decorate celebrate perform measure drop ruin spoil waste crunch munch nibble sip peel slice pour pet drift check explore "
    "fold hand head last lead mean nod own point rescue run set settle shrug stick stumble tap tremble wag wrinkle yawn blink hop spread step feel tug grip float "
    "add cost shop obey earn fail charm drown poke squeak test rule stretch swing",
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
    "color": "red blue green yellow orange purple pink white black brown gray golden silver",
    "size": "big small little tiny huge tall short long large",
    "nice": "kind gentle friendly brave clever cheerful polite honest patient curious playful helpful quiet shy smart lively thoughtful funny careful caring",
    "bad trait": "greedy lazy selfish grumpy bossy careless proud mean stubborn rude naughty jealous noisy",
    "happy": "happy glad proud cheerful excited joyful pleased delighted thankful",
    "sad": "sad unhappy upset gloomy lonely miserable",
    "afraid": "afraid scared nervous frightened worried",
    "angry": "angry mad cross furious grumpy",
    "texture": "soft smooth rough fuzzy shiny sticky fluffy bumpy hard slippery furry silky",
    "look": "pretty lovely beautiful bright shiny colorful plain fancy neat strange striped",
    "old": "old dusty rusty broken dirty ragged worn ancient faded muddy",
    "quality": "nice good great wonderful special perfect fine amazing super splendid",
    "weather adj": "sunny windy cloudy warm cold foggy snowy rainy chilly cool frosty",
    "fine weather": "sunny warm bright clear lovely fine mild",
    "taste": "sweet tasty yummy fresh delicious juicy ripe crunchy creamy",
    "ugly": "dark deep scary gloomy spooky creepy",
    "tired": "tired sleepy weak exhausted",
    "more": "sour salty spicy hungry thirsty sick hurt safe lost empty full open wet dry hot warm loud silent fast slow easy hard heavy light strong weak high low "
    "thin thick fat round flat sharp straight deep wide narrow different same new young real true wrong right ready alone alive dead asleep awake "
    "late early busy free rich poor wise silly foolish crazy magic gone sorry fair unfair own favorite whole other last next first     "
    " important possible dangerous bare "
    "calm still sure able famous useful bored surprised confused ashamed embarrassed hopeless lucky unlucky clean torn burnt frozen stuck enough many few much "
    "several wooden paper bitter cozy crooked dim dizzy forgotten ill missing nearby ordinary royal secret steep tight wild wonderful hidden "
    "single third fourth such quick loose unexpected sore odd faint dull cheap alike cracked other second painted surprising tiny sad weird terrible steady oldest loudest deepest brighter coldest entire starving filthy weary following sudden dear bad usual gold married fallen content tidy pale useless grown shared worth careless clumsy handsome hollow grand fierce gooey icy blank closed good old poor",
    "compared": "better best bigger smaller faster slower stronger biggest smallest taller tallest fastest older warmer softer sweeter kinder happier braver louder "
    "brightest harder safer hardest saddest happiest heavier lighter prettiest hotter deeper worst worse wiser hungrier highest funniest darker lowest fewer loneliest easier farther",
}
ADVERBS = {
    "gladly": "happily gladly cheerfully proudly joyfully merrily",
    "softly": "softly quietly gently slowly carefully silently",
    "quickly": "quickly fast suddenly hurriedly",
    "sadly": "sadly slowly quietly",
    "kindly": "kindly softly gently warmly politely",
    "more": "very too so really just only even still again already almost always never often sometimes once twice soon later then now here there "
    "away back home outside inside together apart alone far near everywhere somewhere nowhere anywhere not maybe perhaps finally luckily sadly suddenly "
    "quite yet ever also first instead well better best hard high low late early long deep upstairs downstairs forward "
    "around aside tightly loudly brightly nicely badly truly nearly exactly safely angrily bravely nervously happily aloud hardly anymore upside else enough ago away "
    "straight right much more most less least forever indoors outdoors overhead when where why how surely anyway easily honestly secretly neatly greedily "
    "closer",
}
FUNCTION = {
    "DET": "a an the this that these those every each some any no all both another which what",
    "PROPN": "Grandma Grandpa Mom Dad",
    "ADP": "beneath of in on at by with from for into onto under over behind beside between across through along around near about up down off out "
    "without inside outside past toward above below like after before until during against among as than to besides since upon except",
    "NOUN": "food others times left right grandpa ones tears",
    "ADV": "rather helplessly nearer deeply longer indeed deeper farther fairly either ahead halfway later yesterday today tomorrow tonight whenever",
    "AUX": "cannot was were is are am be been being would could should will can must might may shall do does did had has have",
    "PRON": "neither theirs whoever i me my mine myself you your yours yourself we us our ours ourselves it its itself he she him her his hers himself herself they them "
    "their theirs themselves who what whom this that these those there everyone everything nobody nothing someone something anyone "
    "anything everybody somebody anybody none which each all both whose",
    "CCONJ": "yet and or but nor",
    "SCONJ": "whenever for because if when while that as before after until since so than though although whether once",
    "PART": "to not",
    "VERB": "having lied lying glued",
    "NUM": "one two three four five six seven eight nine ten hundred twenty",
    "INTJ": "yes no oh hello hi please goodbye wow hooray hey ouch sorry thanks okay well ha yum bye welcome",
    "CONTRACTION": "",
}
CONTRACTIONS = {
    **dict.fromkeys("don't didn't doesn't can't couldn't won't wasn't weren't isn't aren't shouldn't wouldn't".split(), "AUX"),
    **dict.fromkeys("I'm I'll it's that's you're you'll we're we'll I've there's what's it'll".split(), "PRON"),
    "let's": "VERB",
}
GIRLS = (
    "Lily Mia Anna Ella Sara Lucy Emma Zoe Nora Ruby Molly Amy Kate Rosie Jane Clara Ivy Maya Sofia Hazel Tina Penny Polly Wendy "
    "Nina Greta Tess Ada Bella Cora Dina Edith Freya Gina Hana Ida Julia Kira Lena Mina Olga Pia Rita Stella Tara Una Vera Willa Yara"
)
BOYS = (
    "Tom Ben Max Sam Tim Leo Jack Finn Noah Adam Luke Peter Oscar Hugo Owen Eli Toby Jake Paul Ryan Theo Felix Simon Billy Henry Ned "
    "Omar Carl Dan Emil Fred Glen Hal Ian Joe Kai Liam Mark Nick Otto Pablo Rob Seth Ted Victor Will Yusuf Zack"
)
BEASTS = (
    "Rusty Pip Nibbles Fluffy Bramble Hazelnut Dusty Button Ginger Pebble Whiskers Bobo Coco Tuffy Waffle Biscuit Patch Clover "
    "Sunny Bubble Mango Pickle Tumble Fuzz Maple Twig Sandy Snowy Pepper Dot"
)
PLURALS = dict(
    pair.split(":")
    for pair in "mouse:mice goose:geese child:children man:men woman:women foot:feet tooth:teeth sheep:sheep fish:fish deer:deer leaf:leaves "
    "wolf:wolves scarf:scarves shelf:shelves knife:knives half:halves elf:elves calf:calves thief:thieves potato:potatoes tomato:tomatoes mango:mangoes "
    "goldfish:goldfish starfish:starfish jellyfish:jellyfish fisherman:fishermen octopus:octopuses piano:pianos hero:heroes snowman:snowmen "
    "family:families clothes:clothes".split()
)
# Words that nobody would ask a story for.
DULL = frozenset("lot such single second last first next same other own half kind able many few much several more most left do".split())
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
    if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]|begin|forget|admit|unzip", verb) or re.fullmatch(r"qu[aeiou][^aeiouwxy]", verb):
        return verb + verb[-1]
    if vowel == "i" and verb.endswith("ie"):
        return verb[:-2] + "y"
    if verb.endswith("e") and not (vowel == "i" and verb.endswith("ee")):
        return verb[:-1]
    return verb[:-1] + "i" if vowel == "e" and re.search(r"[^aeiou]y$", verb) else verb


@cache
def noun(word: str, mass: bool = False) -> Lexeme:
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
    made |= {clash.get(n, n): tuple(Lexeme("ADJ", {"": w}) for w in ws.split()) for n, ws in ADJECTIVES.items() if n not in ("more", "compared")}
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
def headwords() -> frozenset[str]:
    """The lexicon: every distinct headword, lower-cased, names included."""
    tables = (NOUNS, MASS, VERBS, ADJECTIVES, ADVERBS, FUNCTION)
    words = {w.lower() for table in tables for line in table.values() for w in line.split()}
    return frozenset(words | {w.lower() for line in (GIRLS, BOYS, BEASTS) for w in line.split()} | {w.lower() for w in CONTRACTIONS})


@cache
def base_verbs() -> frozenset[str]:
    return frozenset(w for line in VERBS.values() for w in line.split()) | {"be", "have", "do"}


@cache
def participles() -> frozenset[str]:
    return frozenset(verb(w).forms["en"] for line in VERBS.values() for w in line.split()) | {"been", "had"}


def article(word: str) -> str:
    """'a' or 'an' by the sound of the next word."""
    low = word.lower()
    return "an" if low in AN or (low[0] in "aeiou" and low not in NOT_AN) else "a"


@cache
def bases() -> dict[str, frozenset[str]]:
    """The base forms of nouns, verbs and adjectives that a story may be asked for."""
    listed = {"NOUN": (*NOUNS.values(), *MASS.values()), "VERB": VERBS.values(), "ADJ": (words for name, words in ADJECTIVES.items() if name != "compared")}
    return {tag: frozenset(w for line in lines for w in line.split()) - DULL for tag, lines in listed.items()}
