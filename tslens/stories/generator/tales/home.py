"""Tales at home: what gets lost, broken, hidden, baked, feared and told."""

TALES = """
== the lost toy
cast: h m
with: x=toy/soft p=hideout
hero: child
place: in
good: care trying
bad: care
-- lose
| One [morning|afternoon|evening], {h} could not find {his} favorite {x}. {He} looked in every {box} and behind the {furniture}, but the {x} was gone.
| {H} loved {his} {color} {x} more than any other toy. But [one day|when {he} woke up], it was not on the {furniture} where {he} had left it.
| "h>m: Where is my {x}?" cried {h}. "h>m: It was [on the {furniture}|in the {box}] last night, and now it is gone!"
| "h>m: My {x} is lost!" {h} told {m}. "h>m: I cannot sleep without it."
-- search
| {H} [crawled under the {furniture}|emptied the {box} on the floor] and [peeked|looked] into the {room}. All {he} found was {num} {treasure+} and an old {clothes}. {M} helped {him} to look [upstairs|in the {room}], but they/PRON had no luck.
| {H} and {m} searched the whole house, from the {room} to the attic. They/PRON found a {treasure}, a {old} {kitchenware} and a lot of dust, but no {x}.
| "m>h: When did you play with it last?" asked {m}. {H} had to think. "h>m: Yesterday, near the {p}," {he} said [at last|finally].
| "m>h: Let's look together," said {m}. "m>h: You take the {room}, and I will take the garden." {H} wiped {his} [eyes|cheeks] and began to search.
-- sign
| That morning, {h} had felt that it would be a strange day. >> It had been a strange day indeed, just as {he} had felt in the morning.
| {M} always said that {h} would lose {his} own head one day. >> {M} had always known that something like this would happen.
-- end
| Then {h} saw something {color} behind the {p}. It was the {x}! It was a little {old}, but {he} hugged it and [danced|jumped] with joy/NOUN. 
| [At last|In the end], {he} looked behind the {p}, and there lay the {x}, safe and dry. {H} [put|carried] it back to its place and tidied the whole room.
| "h>m: Here it is!" {h} called. The {x} had fallen behind the {p}. {H} held it tight/ADV. "h>m: I will [always put it away|take better care/NOUN of it] now," {he} said.
-- twist
| {H} sat down sadly, and something poked {him}. {He} reached into the pocket of {his} own {clothes}, and out came the {x}! It had been with {him} all the time, and {m} had to laugh.
| Then {m} opened {his} old {box}, and {h} gasped. Inside lay the {x}, washed and mended like/ADP new. It had never been lost at all. {M} had taken it to fix it as/ADP a surprise.
| "m>h: What is that under your {clothes}?" asked {m}. {H} felt with {his} hand and blushed. It was the {x}! {He} had carried it around the whole time.
-- bad
| They/PRON looked until it was dark, but the {x} was never found. {H} had left it outside, and the {weather} had [ruined it|carried it away].
| In the end, {h} found the {x} in the garden. It lay in the mud, and it was broken in two. Nobody could fix it.
-- about
| {H} cannot find {his} {x} and looks for it with {m}.
| {H} loses {his} favorite {x}, and {m} helps {him} to search.
-- about end
| It is behind the {p}.
-- about twist
| The {x} was never really lost.
-- about bad
| It is lost or broken for good/NOUN.

== the broken thing
cast: h m a=furry
with: x=fragile y=toy
hero: child
place: in
good: honesty
bad: honesty
-- break
| {M} had a {looks} {x} that {he m} loved very much. One day, {h} played with a {y} in the house, and the {y} hit the {x}. It fell and broke into {num} pieces.
| {H} was not allowed to run in the house, but {he} [ran|raced] through the {room} with {his} {y}. Crash! {M}'s {x} fell from the {furniture} and broke.
| "m>h: Do not play with the {y} near my {x}," {m} had said. But {h} forgot. {He} threw the {y}, and down fell the {x} with a loud crash.
-- hide
| {H} was {afraid}. {He} [quickly|quietly] swept the pieces under the {furniture} and hoped that nobody would notice. Near the door, the family's {a.kind} was licking its paws.
| {H} looked at the pieces, and {his} heart beat/VERB fast. {He} hid them/PRON in a {box}. Only the {a.kind} of the family had seen it all.
| "h>: Oh no!" whispered {h}. {He} pushed the pieces behind the {furniture}. "h>a: You saw nothing," {he} told the family's {a.kind}.
-- ask
| When {m} came home, {he m} saw at once that the {x} was missing. {H} pointed at the {a.kind} and said nothing, but {his} face was red.
| Soon {m} came into the room and [looked for|missed] the {x}. {H} felt a lump/NOUN in {his} throat/NOUN. It would be so easy to blame/VERB the {a.kind}.
| "m>h: Who broke my {x}?" asked {m}. {H} looked at {his} feet. "h>m: It was the {a.kind}," {he} said in a small voice.
| "m>h: What happened to my {x}?" {m} asked. "h>m: I think that the {a.kind} jumped on the {furniture}," said {h}, and {his} cheeks grew hot.
-- sign
| The {x} stood very close to the edge of a shelf[, and it wobbled a little|]. >> It had stood too close to the edge, and everyone should have seen it.
| That morning, {h} had dreamed of a loud crash. >> The dream of the loud crash had come true.
-- end
| But {h} could not keep the secret. {He} told {m} the truth and cried. {M} was sad about the {x}, but {he m} hugged {h}, and they/PRON glued the pieces together again.
| "h>m: I lied," {h} said at last. "h>m: I broke it, and I am so sorry." {M} [hugged|kissed] {him}. "m>h: Thank you for the truth," {he m} said. "m>h: A {x} is only a thing." Then they/PRON [fixed|glued] it together.
-- twist
| Then {h} told the truth. To {his} surprise, {m} began to laugh. The {x} had been broken long before, and {m} had only put it there to see if {h} would be honest.
| "h>m: I broke it," {h} said at last. {M} smiled. "m>h: I know," {he m} said. "m>h: I was standing behind the door and saw everything. I only waited for you to say it."
-- bad
| {M} believed it and put the {a.kind} out in the {weather}. All night long, it cried at the door. {H} heard it and felt {sad}, but {he} did not dare/VERB to speak/VERB. In the morning, the {a.kind} was gone.
| Later, {m} found the pieces, and the truth came out. "m>h: I am not angry about the {x}," {m} said. "m>h: But I cannot trust you now." That hurt more/ADV than any scolding/NOUN.
-- about
| {H} breaks {m}'s {x} and lets the {a.kind} take the blame/NOUN.
| A {x} breaks when {h} plays with {his} {y} in the house, and {he} hides the pieces.
-- about end
| {He} tells the truth and is forgiven/VERB.
-- about twist
| But {m} knew more/ADJ than {he} thought.
-- about bad
| The lie ends/VERB badly.

== afraid of the dark
cast: h m
with: x=cuddly y=furniture
hero: any
place: in
good: courage
-- night
| {H} was {afraid} of the dark. [Every|Each] night, when the light went out, {he} pulled up {his} knees and held {his} {x} tight/ADV.
| When night came, {h} did not want to go to bed. In the dark, the {y} looked like a {fabled}, and the wind sounded like a [wolf|bear|lion|ghost].
| "h>m: Please leave the light on," said {h} every night. "h>m: There is a {fabled} in the dark!"
-- noise
| One night, there was a [strange|loud|scary] {sound} [near|behind] the {y}. {H} began to shake. {He} wanted to call {m}, but no sound came out of {his} mouth.
| One night, {he} heard something move behind the {y}. Tap, tap, tap, it went. Two {color} eyes seemed to shine in the dark.
| One night, something scratched behind the {y}. "h>: Who is there?" whispered {h}. Nobody answered, but the scratching/NOUN did not stop.
-- brave
| {M} had told {him} that brave people are afraid too/ADV. So {h} took {his} {x} and a flashlight, and step/NOUN by step {he} walked [closer|across the room].
| {H} remembered what {m} had said about courage. {He} counted to/ADP three and [tiptoed|crept] toward the sound with {his} {x} in {his} arms.
| "h>: I am brave," {h} told {himself}. "h>: I am as brave as a {zoo}." {He} took the flashlight and tiptoed closer.
-- sign
| That evening, a {s=bird} had called three times from the roof, and people say that it means a strange night. >> It had been a strange night, just as the {s} had said.
| All day, {h} had felt that something would happen that night. >> So {his} feeling of that day had been right/ADJ.
-- end
| The light fell on a [tiny|small] {small} that shook with fear/NOUN. It was even more afraid than {h}! {He} [gave it some {food}|stroked it] and carried it outside, and from that night on the dark was only dark/ADJ.
| {He} turned on the light, and there sat a little {small}, cold and lost. "h>: Do not be afraid/ADJ," {h} said. {He} laughed, for/SCONJ that was just what {m} always said to {him}.
-- twist
| {He} pulled the {y} aside, and there sat {m} on the floor, with {sweet+} and a candle! {M} had wanted to bring a secret snack for {h} and had lost a slipper in the dark.
| "m>h: Help, it is so dark in here!" said a voice. It was {m}! {He m} was afraid of the dark too/ADV and had come to sleep next to {h}.
-- bad
| But {he} did not see the {toy} on the floor. {H} slipped, hit {his} {bodyplace} on the {y} and cried in the dark. After that night, {he} was more afraid than ever.
| But the flashlight went out, and {h} screamed. {He} ran the wrong way and fell over the {y}. "h>: I will never be brave again," {he} sobbed.
-- about
| {H} is afraid of the dark and hears a strange sound at night.
| A sound in the night scares {h}, who takes a flashlight and goes to see what it is.
-- about end
| It is only a small animal, and {he} is not afraid anymore/ADV.
-- about twist
| It is {m}!
-- about bad
| {He} falls and is more afraid than before.

== baking
cast: h m f
with: x=sweet y=fruit
hero: any
place: in
good: trying friendship patience
bad: patience listening
-- plan
| [One day|On Sunday|One {weather_adj} afternoon], {h} and {f} wanted to bake {x+} with {y+}. {M} showed {them} how to mix flour, sugar and {food}.
| It was a {weather_adj} day, and {h} and {f} decided to bake {y} {x+} all by themselves/PRON. {They} put on {color} {clothes+} and washed {their} hands.
| "h>f: Let's bake {x+}!" said {h}. "f>h: With lots/NOUN of {y+}!" said {f}. {They} asked {m}, who said yes.
-- mix
| {H} stirred with a big {kitchenware}, and {f} cut the {y+}. Soon there was flour on the {furniture}, on the {furniture} and even on {their} noses.
| {F} read the list aloud/ADV, and {h} put everything into the pot. Some of the sugar landed on the floor, but {they} did not mind.
| "f>h: Is it two spoons/NOUN of sugar or ten?" asked {f}. "h>f: Ten is better than two," said {h}, and in it went.
-- wait
| Then the tray went into the hot oven, and {they} had to wait. {M} warned {them} not to open the oven too soon. The smell of {x+} filled the {room}.
| Now {they} only had to wait. It was hard, because the {room} began to smell so {taste}.
| "m>hf: Do not open the oven too soon," {m} warned. "h>m: We will wait," {h} promised, but waiting/VERB was very hard.
-- sign
| {H} had never baked anything without some trouble. >> There was always some trouble when {h} baked.
| The cook at school had warned {them} that {x+} are full of surprises/NOUN. >> The cook had been right/ADJ about the surprises/NOUN.
-- end
| At last, the {x+} were ready. They/PRON were [golden|brown] and {taste}, and there were enough for the neighbors too/ADV. {H} and {f} [were very proud|ate until {they} were full].
| When the {x+} came out, one was flat, one was crooked, and one looked like a {zoo}. But they/PRON tasted {quality}. "m>hf: These are the best {x+} in town," said {m}.
-- twist
| When {they} bit into the first {x}, {they} made a face. It was full of salt! But {m} tried a piece too and cheered. "m>hf: It is bad {x}, but it is {quality} glue!" said {m}, and together they/PRON made a {toy} of paper.
| When the oven was opened, it was empty! {H} and {f} stared at each other. Then {they} saw {m} at the door with the tray. {M} had taken out the {x+} long ago, just before they/PRON could burn.
-- bad
| But {h} and {f} began to play with a {toy} and forgot the time. Smoke came out of the oven. All the {x+} were black, and {they} had to throw them/PRON away.
| But {they} could not wait and opened the oven again and again. The {x+} stayed flat and wet. "f>h: We should have listened/VERB," said {f}, and nobody ate a bite.
-- about
| {H} and {f} bake {x+} with {y+}.
-- about end
| The {x+} are a success/NOUN.
-- about twist
| It does not go as {they} expect.
-- about bad
| {They} have no patience/NOUN, and the {x+} are spoiled/VERB.

== the surprise party
quarrel: no
cast: h f m
with: x=gift p=town_place
hero: any
good: friendship kindness
bad: kindness honesty
-- forgotten
| It was {h}'s birthday, but nobody said a word about it. At breakfast, {m} only [read a book|drank {drink}], and {f} did not come to play.
| {H} woke up early, because it was {his} birthday. But there was no cake, no {x} and no song. Everyone seemed to be busy.
| "h>m: Do you know what day it is?" asked {h} on the morning of {his} birthday. "m>h: Is it Monday?" said {m}, and {he m} went on reading.
-- alone
| {H} [went|walked] to the {p} all alone. {He} kicked a {nature} along the road and thought that {his} friends had forgotten {him}. 
| {H} looked for {f} at the {p}, but {f} was not there. {He} sat down on a bench and felt {sad}.
| "h>f: Can you come and play?" {h} asked at {f}'s door. "f>h: Not today, I have work to do," {f} said quickly and closed the door.
-- whisper
| On the way back, {h} saw {f} with a {box} full of {color} things/NOUN. {F} saw {him} too and ran away. What was going on?
| Later, {h} heard {m} and {f} whisper in the {room}. When {he} came in, they/PRON stopped at once.
| "f>m: Hide it, quick/ADV!" somebody whispered behind the door. {H} came closer, but then it was quiet.
-- sign
| That week, a big {box} with a {color} ribbon/NOUN had stood in the hall. >> Inside the big {box} with the ribbon/NOUN had been all that they/PRON needed.
| The day before, {m} had bought far too many {s=sweet+}. >> Now {h} knew why {m} had bought so many {s+}.
-- end
| When {h} opened the door, all the lights/NOUN went on. Everyone was there! There were {sweet+}, {color} balloons and a {x} from {f}. {H} had never been so {happy}.
| "f>h: Surprise!" shouted {f} and all the others/NOUN when {h} came in. There was a big cake with {fruit+}, and {f} gave {him} a {x}. "h>f: You did not forget me!" laughed {h}.
-- twist
| When {h} opened the door, the room was dark. Then everyone jumped up and cheered. But the song was for {m}! It was {m}'s birthday too/ADV, and {h} had forgotten it. So they/PRON all had a party for two.
| "f>h: Surprise!" called {f} behind the door. But {h} was not surprised at all. "h>f: Surprise!" {he} called too, and pulled a {x} out of {his} {box}. {He} had known everything from the start and had a gift for {f}.
-- bad
| {H} was so {angry} that {he} ran away and hid. {He} did not come home until late/ADV. There {he} found a dark room, a cake that nobody had eaten, and {f} asleep on the {furniture}. The party was over.
| "h>f: You are not my friend anymore/ADV!" {h} shouted at {f}, and {f} began to cry. There had been a party for {him}, but now nobody wanted to dance/VERB.
-- about
| {H} thinks that everyone has forgotten {his} birthday.
| {H} feels forgotten by {m} and {f} on {his} birthday.
-- about end
| But there is a surprise party for {him}.
-- about twist
| The party is not quite what it seems.
-- about bad
| {He} ruins/VERB {his} own surprise party.

== the messy room
cast: h m
with: x=treasure y=soft
hero: any
place: in
good: care
bad: care listening
-- mess
| {H}'s room was a mess. There were {toy+} on the bed, {clothes+} on the [chair|shelf|bench|desk] and {sweet} crumbs on the floor. {M} wanted {him} to clean it.
| {H} never tidied {his} room. One day, {he} could not even find {his} bed, because a huge pile of {clothes+}, {toy+} and {instrument+} lay on it.
| "m>h: Your room is a mess!" said {m}. "m>h: Please clean it before dinner." {H} looked at the {toy+} and the {clothes+} on the floor and sighed.
-- trick
| {H} did not want to clean. {He} pushed everything under the bed, pulled the blanket over it, and told {m} that {he} was done.
| But {h} was lazy. {He} put everything into the closet, one on top of the other, until the door would hardly/ADV close.
| "h>m: I am done!" {h} called after a minute/NOUN. In truth/NOUN, {he} had only pushed all the things/NOUN into the closet.
-- need
| Later, {h} wanted to show {his} {x} to a friend. But where was it? {He} pulled at one thing, then at another.
| At bedtime, {h} wanted {his} {y}. It had to be somewhere in the pile, so {he} began to pull.
| "m>h: Bring me the {x}, please," said {m} in the evening. {H} turned pale/ADJ. It was somewhere in that pile!
-- sign
| The door of the closet creaked as if it wanted to say something. >> The closet had creaked to warn {him}.
| A {s=bug} sat on the pile and seemed to wait for something to happen. >> Even the {s} on the pile had known it.
-- end
| Crash! Everything fell on {him}, and {m} had to dig {him} out. They/PRON laughed, and then {h} [really|truly] cleaned the room. Behind the last {clothes}, {he} found the {x}.
| With a loud crash, everything tumbled out. "h>m: I will do it right/ADV this time," {h} said. {He} worked for an hour, and the room looked {quality}.
-- twist
| Everything fell out at once, and in the pile sat the neighbor's {furry}! The whole street had looked for it for two days. So the mess had made a good hotel/NOUN, but {h} tidied it all the same/ADJ.
| Out of the pile fell something that {he} had never seen before. "m>h: My ring!" cried {m}. "m>h: I lost it {num} years ago!" For once/NOUN, {m} was thankful for the mess, but {h} had to clean it anyway.
-- bad
| Crack! The {x} broke under all the things/NOUN, and {h} had stepped on {his} {y} too/ADV. {He} had only {himself} to blame/VERB.
| {He} pulled too hard, and the whole pile fell. There was a cracking/VERB sound. "h>: My {x}!" {h} cried, but it was too late.
-- about
| {H} does not want to clean {his} room and hides the mess.
-- about end
| It all falls out, and {he} learns to be tidy/ADJ.
-- about twist
| But the mess holds a surprise.
-- about bad
| In the end, something that {he} loves breaks.
"""
