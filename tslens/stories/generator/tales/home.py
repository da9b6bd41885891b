"""Tales at home: what gets lost, broken, hidden, baked, feared and told."""

TALES = """
== the lost toy
cast: h m
with: x=toy/soft p=hideout
hero: child
good: care trying
bad: care neglect
-- lose
| One [morning|afternoon|evening], {h} could not find {his} favorite {x}. {He} looked in every {box} and behind the {furniture}, but the {x} was gone.
| {H} loved {his} {j=color} {x} more than any other toy. But [one day|when {he} woke up], it was not on the {furniture} where {he} had left it.
| "h>m: Where is my {x}?" cried {h}. "h>m: It was [on the {furniture}|in the {box}] last night, and now it is gone!"
| "h>m: My {x} is lost!" {h} told {m}. "h>m: I cannot sleep without it."
| After school, {h} ran to the {room} to play with {his} {x}. The place where it used to lie was empty.
| Nothing could make {h} sleep but {his} dear old {x}. One night, it was not in {his} bed.
-- search
| {H} [crawled under the {furniture}|emptied the {box} on the floor] and [peeked|looked] into the {room}. All {he} found was {num} {treasure+} and an old {clothes}. {M} helped {him} to look in the {room}, but they/PRON had no luck.
| {H} and {m} searched the whole house, from the [kitchen|basement|garage|bedroom] to the attic. They/PRON found a {treasure}, a {old} {kitchenware} and a lot of dust, but no {x}.
| "m>h: When did you play with it last/ADV?" asked {m}. {H} had to think. "h>m: Yesterday, near the {p}," {he} said at last.
| "m>h: Let's look together," said {m}. "m>h: You take the {room}, and I will take the garden." {H} wiped {his} [eyes|cheeks] and began to search.
| {H} and {m} turned the {room} upside/ADV down. Out came {num} {clothes+}, a [hard|soft] {fruit} and even a {bug}.
| {M} lit a candle and looked into every corner. {H} asked the {pet} next door, which did not answer.
-- sign
| That morning, {h} had felt that it would be a strange day. >> It had been a strange day indeed, just as {he} had felt in the morning.
| {M} always said that {he} would lose {his} own head one day. >> {M} had always known that something like this would happen.
-- end
| Then {h} saw something {j=color} behind the {p}. It was the {x}! It was a little/ADV [dirty|dusty|wet], but {he} hugged it and [danced|jumped] with joy/NOUN.
| [At last|In the end], {he} looked behind the {p}, and there lay the {x}, safe and dry. {H} [put it back in|carried it back to] its place and tidied the whole room.
| "h>m: Here it is!" {h} called. The {x} had fallen behind the {p}. {H} held it tight/ADV. "h>m: I will [always put/VERB it away|take better care/NOUN of it] now," {he} said.
| On the third day, it rained, and {h} went past the {p} to fetch a {tool}. There was the {x}, half hidden/ADJ under a {nature}! {He} danced through the puddles all the way to {m}.
-- twist
| {H} sat down sadly on {his} backpack, and something poked {him}. {He} reached into the backpack, and out came the {x}! It had been with {him} all the time, and {m} had to laugh.
| Then {m} opened an old {box}, and {h} gasped. Inside lay the {x}, cleaned/VERB and mended like/ADP new. It had never been lost at all. {M} had taken it to fix it as/ADP a surprise.
| "m>h: What is that under your [coat|jacket]?" asked {m}. {H} felt with {his} hand and blushed. It was the {x}! {He} had carried it around the whole time.
| In the evening, the bell rang. A little child from the next street held out the {x}. It had been left at the {town_place}, and the child had cleaned it and even tied a {color} ribbon/NOUN around it.
-- bad
| {H} and {m} looked until it was dark, but the {x} was never found. {H} had left it outside, and the [wind|rain] had carried it away.
| In the end, {h} found the {x} in the garden. It lay in the mud, and it was broken in two. Nobody could fix it.
| Winter came and went. In spring, {m} found a few {j=color} pieces near the {p}. That was all that was left of the {x}, and {h} buried them/PRON under a {tree} tree.
-- about
| {H} cannot find {his} {x} and looks for it with {m}.
| {H} loses {his} favorite {x}, and {m} helps {him} to search.
-- about end
| It is behind the {p}.
-- about twist
| The {x} was never really lost/VERB.
-- about bad
| It is lost/ADJ or broken/ADJ for good/NOUN.

== the broken thing
cast: h m a=furry
with: x=fragile y=toy
hero: child
good: honesty
bad: honesty
-- break
| {M} had a {looks} {x} that {he m} loved very much. One day, {h} played with a {y} in the house, and the {y} hit the {x}. It fell and broke into {num} pieces.
| {H} was not allowed to run in the house, but {he} [ran|raced] through the {room} with {his} {y}. Crash/NOUN! {M}'s {x} fell from the {furniture} and broke.
| "m>h: Do not play with the {y} near my {x}," {m} had said. But {h} forgot. {He} threw the {y}, and down fell the {x} with a loud crash.
| The {x} stood on a shelf, {color} and {looks}. {H} reached for a {sweet} beside it, and {his} elbow did the rest. There was a terrible noise.
| It happened on a {weather_adj} afternoon. {H} swung/VERB {his} {y} around like a knight, and suddenly the {x} lay on the floor.
-- hide
| {H} was {afraid}. {He} [quickly|quietly] swept the pieces under the {furniture} and hoped that nobody would notice. Near the door, the family's {a.kind} was licking its paws.
| {H} looked at the pieces, and {his} heart beat/VERB fast. {He} hid them/PRON in a {box}. Only the {a.kind} of the family had seen it all.
| "h>: Oh no!" whispered {h}. {He} pushed the pieces behind the {furniture}. "h>a: You saw nothing," {he} told the family's {a.kind}.
| What now? {H} wrapped the pieces in an old {garment} and pushed them/PRON deep/ADV under the {furniture}. Only the sleepy {a.kind} by the window opened one eye.
| {He} carried the pieces out to the {outdoors} and buried them/PRON under a {tree} tree. The {a.kind} of the house trotted/VERB after {him} and watched.
| {H} did not think at all. In went the pieces, into the {t=box}, and the {t} went under the bed. When {he} turned around, the {a.kind} of the family sat at the door.
-- ask
| When {m} came home, {he m} saw at once that the {x} was missing. {H} pointed at the {a.kind} and said nothing, but {his} face was red.
| Soon {m} came into the room and looked for the {x}. {H} felt a lump/NOUN in {his} throat/NOUN. It was so easy to point at the {a.kind}, and {he} did it.
| "m>h: Who broke my {x}?" asked {m}. {H} looked at {his} feet. "h>m: It was the {a.kind}," {he} said in a small voice.
| "m>h: What happened to my {x}?" {m} asked. "h>m: I think that the {a.kind} jumped on the {furniture}," said {h}, and {his} cheeks grew hot.
| At dinner, {m} stopped eating and looked at the empty place. {H} said that the {a.kind} had been near it. The words tasted bitter.
-- sign
| The {x} had stood very close/ADV to the edge[, and it had often wobbled a little|]. >> The {x} had stood too close/ADV to the edge, and everyone should have seen it.
| That morning, {h} had dreamed of a loud crash. >> The dream of the loud crash had come true.
-- end
| But {h} could not keep the secret. {He} told {m} the truth and cried. {M} was sad about the {x}, but {he m} hugged {h}, and they/PRON glued the pieces together again.
| "h>m: I lied," {h} said at last. "h>m: I broke it, and I am so sorry." {M} [hugged|kissed] {him}. "m>h: Thank you for the truth," {he m} said. "m>h: A {x} is only a thing." Then they/PRON [fixed|glued] it together.
| In bed, {h} heard {his} own heart. {He} got up, woke {m} and said it all in one breath. They/PRON drank {drink} together, and the next day {h} sold {his} {y} to pay for a new {x}.
-- twist
| Then {h} told the truth. To {his} surprise, {m} began to laugh. The {x} had been broken/VERB long/ADV before, and {m} had only put it there to see if {h} would be honest.
| "h>m: I broke it," {h} said at last. {M} smiled. "m>h: I know," {he m} said. "m>h: I was standing behind the door and saw everything. I only waited for you to say it."
| {H} went to {m} to say it all. But there on the shelf stood the {x}, without a scratch! {M} had bought a second one long ago, because {he m} knew {h} so well.
-- bad
| {M} believed it and put/VERB the {a.kind} out in the [rain|snow|cold/NOUN]. All night long, it cried at the door. {H} heard it and felt {sad}, but {he} did not dare/VERB to speak/VERB. In the morning, the {a.kind} was gone.
| Later, {m} found the pieces, and the truth came out. "m>h: I am not angry about the {x}," {m} said. "m>h: But I cannot trust you now." That hurt/VERB more/ADV than any scolding/NOUN.
| So {m} gave/VERB the {a.kind} away to a farm. {H} never said a word, and each day the empty basket by the window made {him} {sad}.
-- about
| {H} breaks {m}'s {x} and lets the {a.kind} take the blame/NOUN.
| A {x} breaks because {h} is not careful, and {he} hides the pieces.
-- about end
| {He} tells the truth and is forgiven/VERB.
-- about twist
| But {m} knew more/ADJ than {he} thought.
-- about bad
| The lie ends/VERB badly.

== afraid of the dark
cast: h m
with: x=cuddly y=looming
hero: any
good: courage
-- night
| {H} was afraid of the dark. [Every|Each] night, when the light went out, {he} pulled up {his} knees and held {his} {x} tight/ADV.
| When night came, {h} did not want to go to bed. In the dark, the {y} looked like a {fabled}, and the wind sounded like a [wolf|bear|lion|ghost].
| "h>m: Please leave the light on," said {h} every night. "h>m: There is a {fabled} in the dark!"
| By day, {h} climbed the highest trees. But at night, when the moon hid, {he} [pulled|drew] the blanket over {his} ears and counted {farm+} until morning.
| There was one thing that {h} did not like at all, and that was the night. Every branch in front of the window became a hand, and every wind had a voice.
| {H} had a rule. Before {he} slept, {he} looked under the bed, behind the curtain and into the {box}. And even then {he} kept one eye open.
| "m>h: It is only the night," said {m} each evening. "h>m: That is what I am afraid of," said {h} and held {his} {x} in front of {his} face.
-- noise
| One night, there was a [strange|loud|scary] [sound|noise|bang|knock/NOUN] [near|behind] the {y}. {H} began to shake. {He} wanted to call {m}, but no sound came out of {his} mouth.
| One night, {he} heard something move behind the {y}. Tap/NOUN, tap/NOUN, tap/NOUN, it went. Two {color} eyes seemed to shine in the dark.
| One night, something scratched behind the {y}. "h>: Who is there?" whispered {h}. Nobody answered, but the scratching/NOUN did not stop.
| Then came the night of the [great|terrible] noise. It seemed to come from the {y}, and it did not stop.
| At midnight, {h} woke up. The {y} creaked, but nobody was near it. A thin shadow ran along the floor.
| That night, {he} had just closed {his} eyes when the {y} began to shake. Something went up one side and down the other.
| "h>: Was that/PRON the wind?" {h} asked {his} {x} in the middle of the night. The {x} did not answer, but the [sound|noise] behind the {y} came again.
-- brave
| {M} had told {him} that brave people are afraid too/ADV. So {h} took {his} {x} and a flashlight, and step/NOUN by step {he} walked [closer|across the room].
| {H} remembered what {m} had said about courage. {He} counted to/ADP three and [tiptoed|crept] toward the sound with {his} {x} in {his} arms.
| "h>: I am brave," {h} told {himself}. "h>: I am as brave as a {zoo}." {He} took a flashlight and tiptoed closer.
| {He} could stay under the blanket, or {he} could go and see. {H} bit {his} lip, tied {his} {x} to {his} belt and put one foot on the cold floor.
| {H} was too {afraid} to stay and too {afraid} to run. So {he} did what was left/VERB, and sat up. Then {he} put/VERB {his} {x} under {his} arm and walked toward the {y}.
-- sign
| That evening, a {s=bird} had called three times from the roof, and people say that it means a strange night. >> It had been a strange night, just as the {s} had said.
| All day, {h} had felt that something would happen that night. >> So {his} feeling of that day had been right/ADJ.
-- end
| The light of the moon fell on a [tiny|small] {small} that shook with fear/NOUN. It was even more afraid than {h}! {He} [gave it some {food}|stroked it] and carried it outside, and from that night on the dark was only dark/ADJ.
| {He} turned on the light, and there sat a little {small}, cold and lost. "h>: Do not be afraid/ADJ," {h} said. {He} laughed, for/SCONJ that was just what {m} always said to {him}.
| Behind the {y} was just a {small} which had lost its way! It had eaten half of a {sweet} and now it wanted to get out. {H} opened the window, and they/PRON parted/VERB as friends.
-- twist
| {He} pulled the {y} aside, and there sat {m} on the floor, with {sweet+} and a candle! {M} had wanted to bring a secret snack for {h} and had lost a slipper in the dark.
| "m>h: Help/VERB, it is so dark in here!" said a voice. It was {m}! {He m} was afraid of the dark too/ADV and had come to sleep next to {h}.
| {H} looked behind the {y}. The whole family was sitting there in the dark, with {num} {toy+} and a {sweet}! In the morning it would be {his} birthday, and they/PRON had wanted to be quiet.
-- bad
| But {he} did not see the {toy} on the floor. {H} slipped, hit {his} {bodyplace} on the {y} and cried in the dark. After that night, {he} was more afraid than ever.
| But something moved in the dark, and {h} screamed. {He} ran the wrong way and fell over the {y}. "h>: I will never be brave again," {he} sobbed.
| The closer {he} came, the louder it got. Then something cold touched {his} {bodyplace}. {H} ran and hid in the closet, where {m} found {him} asleep the next day. {He} never dared it again.
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
with: x=baked y=fruit
hero: any
good: trying friendship patience
bad: patience listening
-- plan
| [One day|On Sunday|One {weather_adj} afternoon], {h} and {f} wanted to bake {x+} with {y+}. {M} showed {them} how to mix flour, sugar and butter.
| It was a {weather_adj} day, and {h} and {f} decided to bake {y} {x+} all by {themselves}. {They} put on {color} [hats|caps] and washed {their} hands.
| "h>f: Let's bake {x+}!" said {h}. "f>h: With lots/NOUN of {y+}!" said {f}. {They} asked {m}, who said yes.
| The school needed {x+} for the fair, and {h} and {f} had said that {they} would make some with {y+}. {They} had never done it before.
| Rain/NOUN ran down the windows, and {h} and {f} had nothing to do. Then {m} found an old page with the secret of the best {y} {x+}.
-- mix
| {H} stirred with a big spoon/NOUN, and {f} cut the {y+}. Soon there was flour on the [table|chair|stool], on the [shelf|floor|bench] and even on {their} noses.
| {F} read the list aloud/ADV, and {h} put everything into the pot. Some of the sugar landed on the floor, but {they} did not mind.
| "f>h: Is it two spoons/NOUN of sugar or ten?" asked {f}. "h>f: Ten is better than two," said {h}, and in it went.
| Eggs, sugar, {y+}! {H} beat with the left/ADJ hand/NOUN and {f} with the right one. It was so thick that the spoon/NOUN stood up by itself.
| {They} took turns. One held the bowl, and the other stirred until {their} arms were weak. A {furry} licked up what fell on the floor.
-- wait
| Then the tray went into the hot oven, and {they} had to wait. {M} warned {them} not to open the oven too soon. The smell of {x+} filled the whole house.
| Now {they} only had to wait. It was hard, because the kitchen began to smell so {taste}.
| "m>hf: Do not open the oven too soon," {m} warned. "h>m: We will wait," {h} promised, but waiting/VERB was very hard/ADJ.
| {M} set the clock and closed the oven. It would take an hour, and not one minute less. {H} and {f} sat down in front of it and stared through the glass.
-- sign
| {H} had never baked anything without some trouble. >> There was always some trouble when {h} baked.
| The cook at school had warned {them} that {x+} are full of surprises/NOUN. >> The cook had been right/ADJ about the surprises/NOUN.
-- end
| At last, the {x+} were ready. They/PRON were [golden|brown] and {taste}, and there were enough for the neighbors too/ADV. {H} and {f} [were very proud|ate until {they} were full].
| When the {x+} came out, one was flat, one was crooked, and one looked like a {zoo}. But they/PRON tasted [good|great|wonderful]. "m>hf: These are the best {x+} in town," said {m}.
| At last, the tray came out of the oven. How the {x+} shone! By evening/NOUN they/PRON were all gone/ADJ, and {m} got the last one/NUM.
-- twist
| When {they} bit into the first {x}, {they} made a face. It was full of salt! But {m} tried a piece too and cheered. "m>hf: It is a bad {x}, but it is {quality} glue!" said {m}, and together they/PRON made a {toy} of paper.
| When the oven was opened, it was empty! {H} and {f} stared at each other. Then {they} saw {m} at the door with the tray. {M} had taken out the {x+} long ago, just before they/PRON could burn.
| But nobody could eat the {x+}, for they/PRON were as hard/ADJ as stones. {H} and {f} were {sad}, until {they} saw the {s=bird+} in the yard. The {s+} loved them/PRON! All winter long/ADV, {they} baked for the {s+}.
-- bad
| But {h} and {f} began to play with a {toy} and forgot the time. Smoke came out of the oven. All the {x+} were black, and {they} had to throw them/PRON away.
| But {they} could not wait and opened the oven again and again. The {x+} stayed flat and wet. "f>h: We should have listened/VERB," said {f}, and nobody ate a bite.
| There was a knock at the door, and {they} ran out to play. An hour later, the house smelled of smoke. {M} threw the black {x+} into the trash, and nobody said a word.
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
bad: patience
-- forgotten
| It was {h}'s birthday, but nobody said a word about it. At breakfast, {m} only [read a book|drank {drink}], and {f} did not come to play.
| {H} woke up early, because it was {his} birthday. But there was no cake, no {x} and no song. Everyone seemed to be busy.
| "h>m: Do you know what day it is?" asked {h} on the morning of {his} birthday. "m>h: Is it Monday?" said {m}, and {he m} went on reading.
| On the calendar/NOUN hung a red heart, because it was {h}'s birthday. {He} waited for a kiss, a song or a {x}. {M} only asked {him} to take out the trash.
| The birthday of {h} began like any other day. {M} swept the floor, the rain fell, and the mail/NOUN brought no letter.
-- alone
| {H} [went|walked] to the {p} all alone. {He} kicked a {nature} along the road and thought that {his} friends had forgotten {him}.
| {H} looked for {f} at the {p}, but {f} was not there. {He} sat down on a bench and felt {sad}.
| "h>f: Can you come and play?" {h} asked at {f}'s door. "f>h: Not today, I have work/NOUN to do," {f} said quickly and closed the door.
| So {h} went out by {himself}. At the {p} {he} bought one single {sweet}, put a {nature} on it as a candle and sang softly for {himself}.
| {He} walked past the {p} and the {town_place}. All the windows were dark. Even {f} had no time for {him}.
-- whisper
| On the way back, {h} saw {f} with a {box} full of {color} things/NOUN. {F} saw {him} too and ran away. What was going on?
| Later, {h} heard {m} and {f} whisper in the {room}. When {he} came in, they/PRON stopped at once.
| "f>m: Hide it, quick/ADV!" somebody whispered behind the door. {H} came closer, but then it was quiet.
| In the afternoon, {he} saw a {color} balloon fly/VERB over the roof. A moment later somebody laughed, and a door was shut quickly.
-- sign
| That week, a big {s=box} with a {color} ribbon/NOUN had stood in the hall. >> Inside the {s} with the ribbon/NOUN had been all that they/PRON needed.
| The day before, {m} had bought far too many {s=sweet+}. >> Now {h} knew why {m} had bought so many {s+}.
-- end
| When {h} opened the door, all the lights/NOUN went on. Everyone was there! There were {sweet+}, {color} balloons and a {x} from {f}. {H} had never been so {happy}.
| "f>h: Surprise/NOUN!" shouted {f} and all the others/NOUN when {h} came in. There was a big cake with {fruit+}, and {f} gave {him} a {x}. "h>f: You did not forget me!" laughed {h}.
| The light went on, and {h} stood in a rain of {color} paper. {F} played the {instrument}, {m} carried in a {sweet} as tall as a {pet}, and on the table lay a {x}.
-- twist
| When {h} opened the door, the room was dark. Then everyone jumped up and cheered. But the song was for {m}! It was {m}'s birthday too/ADV, and {h} had forgotten it. So it became a party for two.
| "f>h: Surprise/NOUN!" called {f} behind the door. But {h} was not surprised/ADJ at all. "h>f: Surprise/NOUN!" {he} called too, and pulled a {x} out of {his} {box}. {He} had known everything from the start and had a gift for {f}.
| Everyone shouted and threw {color} paper. Then a {job} came in and looked around. They/PRON had all gone/VERB to the wrong house! So the whole party moved next door, with {h} at the head, and it was twice as funny.
-- bad
| {H} was so {angry} that {he} ran away and hid. {He} did not come home until late/ADV. There {he} found a dark room, a cake that nobody had eaten, and/CCONJ {f} asleep on the [sofa|couch|bench]. The party was over.
| "h>f: You are not my friend anymore/ADV!" {h} shouted at {f}, and {f} began to cry. Behind the door, everything was ready for a party, but now nobody wanted to dance/VERB.
| {H} packed a {box} and went to the next town to be with {his} cousin. Behind {him}, in the dark {room}, {m} and {f} waited with a {x} until the candles went out.
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
with: x=precious y=soft
hero: any
good: care
bad: care
-- mess
| {H}'s room was a mess. There were {toy+} on the bed, {clothes+} on the [chair|shelf|bench|desk] and {sweet} crumbs on the floor. {M} wanted {him} to clean it.
| {H} never tidied {his} room. One day, {he} could not even find {his} bed, because a huge pile of {clothes+}, {toy+} and {soft+} lay on it.
| "m>h: Your room is a mess!" said {m}. "m>h: Please clean it before dinner." {H} looked at the {toy+} and the {clothes+} on the floor and sighed.
| {H} had to climb over {clothes+}, {toy+} and a {vehicle} of paper to get to {his} bed. {M} stepped on a {treasure} and said that it was enough.
| Guests were coming, but {h}'s room looked as if a {zoo} lived in it. {M} gave/VERB {him} a [broom|brush|bucket] and one hour.
-- trick
| {H} did not want to clean. {He} pushed everything under the bed, pulled the blanket over it, and told {m} that {he} was done.
| But {h} was lazy. {He} put everything into the closet, one on top of the other, until the door would hardly/ADV close/VERB.
| "h>m: I am done!" {h} called after a minute/NOUN. In truth/NOUN, {he} had only pushed all the things/NOUN into the closet.
| {He} looked at the clock, and {he} looked at the {toy+}. Then {he} took a big {color} blanket and spread it over everything. Now it was a mountain, and mountains do not need to be clean.
-- need
| Later, {h} wanted to show {his} {x} to a friend. But where was it? {He} pulled at one thing, then at another.
| At bedtime, {h} wanted {his} {x}. It had to be somewhere in the pile, so {he} began to pull.
| "m>h: Bring me the {x}, please," said {m} in the evening. {H} turned pale/ADJ. It was somewhere in that pile!
| Before dinner, {h} looked for {his} {x}, which {he} wanted to take along. It was nowhere. It could only be at the very bottom.
-- sign
| The door of the closet creaked as if it wanted to say something. >> The closet had creaked to warn {him}.
| A {s=bug} sat in the middle of the mess and seemed to wait for something to happen. >> Even the {s} in the middle of the mess had known it.
-- end
| Crash/NOUN! Everything fell on {him}, and {m} had to dig {him} out. They/PRON laughed, and then {h} really cleaned the room. Behind the last {clothes}, {he} found the {x}.
| With a loud crash, everything tumbled out. "h>m: I will do it right/ADV this time," {h} said. {He} worked for an hour, and the room looked {quality}.
| The pile slid like a mountain of snow, and {h} sat in the middle. {He} began to laugh, and then {he} began to sort. When the guests came, everything had its own place, and {he} had found the {x} and {num} lost {clothes+}.
-- twist
| Everything fell out at once, and in the pile sat the neighbor's {furry}! The whole street had looked for it for two days. So the mess had made a good hotel/NOUN, but {h} tidied it all the same/ADJ.
| Out of the pile fell something that {he} had never seen before. "m>h: My ring!" cried {m}. "m>h: I lost it {num} years ago!" For once, {m} was thankful for the mess, but {h} had to clean it anyway.
| But when {he} looked again, the floor was clean and empty. {M} had tidied everything while {he} was out! On the pillow lay a note with one single word on it, and the word was "h>: please". {H} was so ashamed that {he} never made a mess again.
-- bad
| Crack/NOUN! The {x} broke under all the things/NOUN, and {h} had stepped on {his} {y} too/ADV. {He} had only {himself} to blame/VERB.
| {He} pulled too hard/ADV, and the whole pile fell. There was a terrible sound. "h>: My {x}!" {h} cried, but it was too late/ADJ.
| {He} dug and threw things behind {him}, and one of them/PRON flew out of the open window. It was the {x}. It fell into the river, and {he} could only watch.
-- about
| {H} does not want to clean {his} room and hides the mess.
-- about end
| It all falls out, and {he} learns to be tidy/ADJ.
-- about twist
| But the mess holds a surprise.
-- about bad
| In the end, something that {he} loves breaks.
"""
