"""Frames of minimal pairs about what a text says, in the notation of `phenomena.texts`; and words of their own."""

GROUPS = {
    "feeling": "happy:sad brave:scared calm:angry glad:upset",
    "warmth": "hot:cold warm:cool",
    "state": "open:closed full:empty heavy:light clean:dirty",
    "look": "new:old big:small clean:dirty soft:hard",
    "relative": "mom dad grandma grandpa",
}

FRAMES: dict[str, tuple[str, tuple[str | tuple[str, ...], ...]]] = {
    "pronoun gender": (
        "consistency",
        (
            "One day, [{girl}|{boy}] went to the {outdoors}. <She|He> saw a(n) {size} {wild}.",
            "[{girl}|{boy}] had a(n) {color} {toy} and took it to the {outdoors}. Then <she|he> lost it.",
            "[{girl}|{boy}] could not find the {toy} in the {room}. <Her|His> {relative} helped to look for it.",
            "The little [girl|boy] had a(n) {size} {pet}. Every day, <she|he> played with it in the {outdoors}.",
            "[{girl}|{boy}] was very {sad}. The {pet} came and sat with <her|him>.",
        ),
    ),
    "pronoun reference": (
        "consistency",
        (
            "[{girl}|{boy}] gave [{boy}|{girl}] a(n) {toy}. [{boy}|{girl}] thanked <her|him>.",
            "[{girl}|{boy}] helped [{boy}|{girl}] find the {pet}. [{boy}|{girl}] gave <her|him> a big hug.",
            "[{girl}|{boy}] saw that [{boy}|{girl}] was {sad}. [{girl}|{boy}] gave <him|her> a(n) {toy}.",
            "[{girl}|{boy}] met [{boy}|{girl}] in the {outdoors}. [{girl}|{boy}] asked <him|her> to play.",
            '"Here is a(n) {toy} for you, [{boy}|{girl}]!" said [{girl}|{boy}]. <He|She> said, "Thank you!"',
            '"Can I have the {toy}, [{boy}|{girl}]?" asked [{girl}|{boy}]. <He|She> said, "Yes, you can."',
        ),
    ),
    "negation": (
        "consistency",
        (
            (
                "{child} was not [{feeling}|{feeling-}] in the {outdoors}. {child.He} was <{feeling-}|{feeling}>.",
                "{child} was [{feeling}|{feeling-}] in the {outdoors}. {child.He} was very <{feeling}|{feeling-}>.",
            ),
            (
                "{child}'s {drink} was not [{warmth}|{warmth-}]. It was <{warmth-}|{warmth}>.",
                "{child}'s {drink} was [{warmth}|{warmth-}]. It was too <{warmth}|{warmth-}>.",
            ),
            (
                "The {box} in the {room} was not [{state}|{state-}]. It was <{state-}|{state}>.",
                "The {box} in the {room} was [{state}|{state-}]. It was really <{state}|{state-}>.",
            ),
            (
                "The {toy} was not [{look}|{look-}], {child} said. It was <{look-}|{look}>.",
                "The {toy} was [{look}|{look-}], {child} said. It was so <{look}|{look-}>.",
            ),
        ),
    ),
    "quotes": (
        "consistency",
        (
            '{child} had a(n) {color} {toy}. "<You|I> have a(n) {color} {toy}," said [{child2}|{child}].',
            '{child} found a(n) {size} {pet}. "<You|I> found a(n) {pet}!" said [{child2}|{child}].',
            '"<{child}|{child2}>, can you help me with the {toy}?" asked [{child2}|{child}].',
            '"Look at the {wild}, <{child}|{child2}>!" said [{child2}|{child}] in the {outdoors}.',
            '"[Can we|We can] play with the {toy} in the {outdoors}[?|,]" <asked|said> {child}.',
            '"I like this {toy}," said {child}. => I like this {toy}, "said {child}."',
        ),
    ),
    "characters": (
        "consistency",
        (
            "[{child}|{child2}] and {child3} went to the {outdoors}. They saw a(n) {wild}. "
            '"Look!" said <{child}|{child2}>.',
            "One day, [{child}|{child2}] had a(n) {color} {toy}. {child3} wanted to play with it. "
            "<{child}|{child2}> gave it to {child3}.",
            '"Where is my {toy}?" asked {child3}. "I do not know," said [{child}|{child2}]. '
            "{child3} and <{child}|{child2}> looked for it.",
            "{child3} was playing with [{child}|{child2}] in the {room}. Then {relative} called, "
            '"{child3}! <{child}|{child2}>! Come and eat!"',
        ),
    ),
    "who has what": (
        "entities",
        (
            "{child} had a(n) [{toy}|{toy2}]. {child2} had a(n) [{toy2}|{toy}]. "
            "{child} loved to play with {child.his} <{toy}|{toy2}>.",
            "{child} had a(n) [{toy}|{toy2}]. {child2} had a(n) [{toy2}|{toy}]. "
            "{child2} loved to play with {child2.his} <{toy2}|{toy}>.",
            "{child} found a(n) [{fruit}|{fruit2}] and {child2} found a(n) [{fruit2}|{fruit}]. "
            "{child} ate {child.his} <{fruit}|{fruit2}>.",
            "{child} found a(n) [{fruit}|{fruit2}] and {child2} found a(n) [{fruit2}|{fruit}]. "
            "{child2} ate {child2.his} <{fruit2}|{fruit}>.",
            "{child} gave {child2} a(n) [{toy}|{toy2}] and {child3} a(n) [{toy2}|{toy}]. "
            "{child2} took the <{toy}|{toy2}> home.",
            "{child} gave {child2} a(n) [{toy}|{toy2}] and {child3} a(n) [{toy2}|{toy}]. "
            "{child3} took the <{toy2}|{toy}> home.",
        ),
    ),
    "where things are": (
        "entities",
        (
            "The [{toy}|{toy2}] was in the {box}. The [{toy2}|{toy}] was under the {furniture}. "
            "{child} opened the {box} and took the <{toy}|{toy2}>.",
            "The [{toy}|{toy2}] was in the {box}. The [{toy2}|{toy}] was under the {furniture}. "
            "{child} looked under the {furniture} and found the <{toy2}|{toy}>.",
            "The [{pet}|{pet2}] was in the {room}. The [{pet2}|{pet}] was in the {outdoors}. "
            "{child} went to the {room} to play with the <{pet}|{pet2}>.",
            "The [{pet}|{pet2}] was in the {room}. The [{pet2}|{pet}] was in the {outdoors}. "
            "{child} went to the {outdoors} to play with the <{pet2}|{pet}>.",
        ),
    ),
    "cause and feeling": (
        "plot",
        (
            "{child} [lost|found] {child.his} {toy} in the {outdoors}. {child.He} was very <{sad}|{happy}>.",
            "{child}'s {toy} was [broken|fixed] at last. {child.He} started to <cry|smile>.",
            '{child} [hurt|won] {child.his} [knee|race] in the {outdoors}. "<Ouch|Hooray>!" {child.he} said.',
            "{child} was very [hungry|thirsty] in the {outdoors}. {child.His} {relative} gave {child.him} some "
            "<{food}|{drink}>.",
            "It was very [late|early] and {child} was in bed. {child.He} <closed|opened> {child.his} eyes.",
            "The {vehicle} was too [slow|fast] for {child}. {child.He} wanted it to go <faster|slower>.",
            "The {box} was very [heavy|light]. {child} <could not|could> lift it.",
        ),
    ),
    "sentence order": (
        "order",
        (
            "One day, {child} found a(n) {box}. / {child.He} opened the {box}. / There was a(n) {color} {toy} in it. / "
            "{child.He} was very {happy}.",
            "{child} had a(n) {color} {toy}. / One day, {child.he} lost it in the {outdoors}. / "
            "{child.He} looked for it everywhere. / At last, {child.he} found it.",
            "{child} wanted to bake a(n) {baked}. / {child.He} went to the shop with {child.his} {relative}. / "
            "They bought some flour and {fruit+}. / The {baked} was very good.",
            "{child} saw a(n) {size} {pet} in the {outdoors}. / The {pet} was hungry. / "
            "So {child.he} gave it some {food}. / The {pet} was {happy}.",
            "{child} and {child2} went to the {outdoors}. / They wanted to climb a(n) {building}. / "
            "But the {building} was too tall. / They went home.",
            '{child} could not find {child.his} {toy}. / "Have you seen my {toy}?" {child.he} asked {child2}. / '
            '"Yes, it is under the {furniture}," said {child2}. / {child} was {happy}.',
            "It was a sunny day. / Then it started to rain. / {child} got very wet in the {outdoors}. / "
            "{child.He} went home and drank some {drink}.",
            "{child} was playing with a(n) {toy}. / {child.He} dropped it on the floor. / It broke into two pieces. / "
            "{child.His} {relative} fixed it.",
        ),
    ),
}
"""By phenomenon: its axis, and its frames."""
