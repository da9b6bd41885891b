"""Frames of minimal pairs about the form of sentences, in the notation of `phenomena.texts`; and words of their own."""

GROUPS = {
    "vowel": "apple orange onion egg umbrella ant elephant owl",
    "consonant": "ball pear cat dog hat book bird cake flower",
    "vowel_look": "old ugly orange empty icy odd",
    "consonant_look": "new pretty red big shiny small",
    "parent": "mom dad grandma grandpa",
    "place": "park garden forest school shop beach farm lake",
    "seen": "found saw carried hugged washed held liked helped",
    "faced": "smiled:smile grinned:grin laughed:laugh giggled:giggle looked:look stared:stare",
    "degree": "big:bigger small:smaller tall:taller fast:faster slow:slower strong:stronger old:older loud:louder "
    "soft:softer dark:darker hard:harder bright:brighter",
    "versus": "bigger:smaller taller:shorter faster:slower stronger:weaker older:younger louder:quieter",
}
"""Groups that the lexicon does not have; `one:other` are two forms, the second behind a minus sign."""

FRAMES: dict[str, tuple[str, tuple[str | tuple[str, ...], ...]]] = {
    "agreement": (
        "grammar",
        (
            "The {size} [{pet}|{pet+}] <was|were> very {happy}.",
            "The [{wild}|{wild+}] <is|are> in the {outdoors}.",
            "The {color} [{bird}|{bird+}] <has|have> a nest in the {tree}.",
            "The {nice} [{job}|{job+}] <likes|like> to {hobby}.",
            '"My [{toy}|{toy+}] <is|are> {color}," said {child}.',
            '"Where <is|are> the [{fruit}|{fruit+}]?" asked {child}.',
            "There <was|were> [one {flower}|two {flower+}] near the {place}.",
        ),
    ),
    "agreement across a phrase": (
        "grammar",
        (
            "The [{pet}|{pet+}] near the {size} {tree+} <was|were> {afraid}.",
            "The [{pet}|{pet+}] near the {size} {tree} <was|were> {afraid}.",
            "The [{toy}|{toy+}] under the {furniture+} <was|were> {old}.",
            "The [{toy}|{toy+}] under the {furniture} <was|were> {color}.",
            "The [{wild}|{wild+}] that {child} saw in the {outdoors} <was|were> very {size}.",
            "The [{fruit}|{fruit+}] in the {color} {box+} <was|were> very {taste}.",
            "The [{job}|{job+}] with the {color} {vehicle} <is|are> very {nice}.",
        ),
    ),
    "articles": (
        "grammar",
        (
            "{child} saw <an|a> [{vowel}|{consonant}] in the {outdoors}.",
            "{child} wanted to have <an|a> [{vowel_look}|{consonant_look}] {toy}.",
            '"Look, it is <an|a> [{vowel}|{consonant}]!" said {child}.',
            "One day, {child} found <an|a> [{vowel_look}|{consonant_look}] {box} near the {place}.",
        ),
    ),
    "reflexives": (
        "grammar",
        (
            "[{girl}|{boy}] wore a(n) {color} {clothes} and looked at <herself|himself> in the mirror.",
            "[{girl}|{boy}] hid <herself|himself> behind the {furniture} in the {room}.",
            "[{girl}|{boy}] fell off the {ridden} in the {outdoors} and hurt <herself|himself>.",
            "[{girl}|{boy}] made <herself|himself> a(n) {size} {dish} with {food}.",
            "[{girl}|{boy}] could {hobby} well and was very proud of <herself|himself>.",
            '"I must find my {toy}!" [{girl}|{boy}] said to <herself|himself>.',
        ),
    ),
    "tense": (
        "grammar",
        (
            "<Yesterday|Tomorrow>, {child} [{play.ed}|will {play}] in the {outdoors}.",
            "<Last night|Tomorrow night>, {child} [ate|will eat] {food} with {child.his} {parent}.",
            "{child} [took|takes] the {toy} and <showed|shows> it to {child2}.",
            "{child} [went|goes] to the {place} and <saw|sees> a(n) {wild} there.",
            "When {child} [saw|sees] the {pet}, {child.he} <was|is> very {happy}.",
            "{child} [opened|opens] the {box} and <found|finds> a(n) {toy} in it.",
        ),
    ),
    "verb forms": (
        "grammar",
        (
            "{child} [did not|had not] <find|found> the {toy} in the {room}.",
            "{child} [could not|had not] <take|taken> the {toy} to the {place}.",
            "{child} [wanted to|was] <{play}|{play.ing}> in the {outdoors}.",
            "The {pet} [will|has] <eat|eaten> the {food} in the {room}.",
            "{child} [tried to|had] <open|opened> the {color} {box}.",
            "{child} [began to|kept] <{hobby}|{hobby.ing}>, and {child2} was {happy}.",
        ),
    ),
    "something and anything": (
        "grammar",
        (
            "{child} [did not see|saw] <anything|something> in the {box} near the {furniture}.",
            "{child} [did not have|had] <any|some> {fruit+} in {child.his} {box}.",
            "There [was not|was] <anything|something> under the {color} {furniture}.",
            "{child} [did not tell|told] {child2} <anything|something> about the {toy}.",
            "{child} [did not give|gave] the {pet} <any|some> {food}.",
        ),
    ),
    "plural": (
        "grammar",
        (
            "{child} saw [one|three] {size} <{wild}|{wild+}> in the {outdoors}.",
            "{child} ate [one|many] {taste} <{fruit}|{fruit+}> in the {room}.",
            '"Please put [this|these] {color} <{toy}|{toy+}> in the {box}," said {child}.',
            "[Every|All the] {size} <{pet}|{pet+}> in the {outdoors} ran to {child}.",
            "{child} had [a|two] very {old} <{clothes}|{clothes+}>.",
        ),
    ),
    "comparatives": (
        "grammar",
        (
            "The {zoo} was [as|much] <{degree}|{degree-}> [as|than] the {pet}.",
            "{child} was [as|even] <{degree}|{degree-}> [as|than] {child2}.",
            "The {toy} was [very|much] <{degree}|{degree-}>[| than the other one].",
            "{child} was [{versus}|{versus-}] than {child2}. {child2} was <{versus-}|{versus}> than {child}.",
        ),
    ),
    "verb frames": (
        "grammar",
        (
            "{child} <{seen}|{faced}> [the|at the] {size} {pet}.",
            "{child} <told|said> [{child2}|to {child2}] that the {pet} was {happy}.",
            "{child} <let|asked> {child2} [{play}|to {play}] in the {outdoors}.",
            "{child} <wanted|enjoyed> [to {hobby}|{hobby.ing}] in the {outdoors}.",
            "{child} <listened|heard> [to the|the] {bird} in the {tree}.",
            "{child} <made|wanted> {child2} [{hobby}|to {hobby}] with the {pet}.",
        ),
    ),
    "word order": (
        "grammar",
        (
            "The {size} {pet} ran to the {outdoors}. => The {pet} {size} ran to the {outdoors}.",
            "{child} was very {happy} with the {toy}. => {child} was {happy} very with the {toy}.",
            "{child} gave the {toy} to {child2}. => {child} gave the {toy} {child2} to.",
            "{child} did not like the {food}. => {child} did like not the {food}.",
            "The {pet} sat on the {color} {furniture}. => The {pet} sat the on {color} {furniture}.",
            '"Can you see the {bird}?" asked {child}. => "Can see you the {bird}?" asked {child}.',
        ),
    ),
}
"""By phenomenon: its axis, and its frames."""
