"""Tales of wonders: magic things, giants and dragons, maps, wishes and secret doors."""

TALES = """
== the magic object
cast: h f
with: x=magic y=pourable
hero: any
good: greed sharing
bad: greed listening
-- find
| In the [dusty|dark|old] attic, {h} found a {j=color} {x}. When {he} rubbed it, it began to glow, and a bowl of {y} stood in front of {him}.
| An old woman gave {h} a {x}, because {he} had carried a heavy {box} up the hill. It was a magic {x}. It could make anything/PRON that one/PRON asked for.
| "h>f: Look what I found by the {wild_place}!" said {h}. It was a {j=color} {x}. "f>h: I wish that we had some {y}," said {f}, and there it was.
| In the sand lay a {x}, half hidden/ADJ under {nature+}. {F} wanted to leave it there. {H} held it to {his} ear, and it asked {him} what {he} would like.
-- wish
| First {h} wished for {num} {sweet+}, and then for a {toy}. {F} wished for a {color} {pet}. Everything came out of the {x} with a soft pop/NOUN.
| Soon the whole {room} was full. There were {toy+}, {clothes+}, bells/NOUN and a {zoo} that could dance. {H} and {f} clapped {their} hands.
| "h>f: I want a {toy}, and a {vehicle}, and a {zoo}!" called {h}. "f>h: Not so many," said {f}, but the {x} was already at work.
| By noon {they} had a house of {sweet+}, and by evening a {zoo} to guard it. {F} could fly, but only a little.
-- warn
| With each wish, the {x} grew a little hotter/ADJ and a little darker/ADJ. {F} thought that it was time to stop, but {h} wanted one more.
| Then a voice came out of the {x}. It said that only one wish was left, and that {he} should use it well.
| "f>h: It says that greedy hands will lose everything," said {f}, who read the tiny words on the {x}. "h>f: Just one more," said {h}.
| Then {f} noticed that with each wish something was lost. First it was the {bird+}, then the color of the {flower+}, then the taste/NOUN of the {y}.
-- sign
| On one side of the {x} was a crack as thin as a hair. >> The crack that was as thin as a hair had grown with every wish.
| All morning, a {s=bird} on the roof had called as if it wanted to warn somebody. >> Now {h} knew what the {s} on the roof had meant.
-- end
| {H} thought for a long time. Then {he} wished that everyone in the village might/AUX have enough {y}. The {x} turned cold and still, but nobody was hungry that winter.
| "h>f: I have all I need," said {h} at last. {He} gave the {x} to {f}, and {f} wished for rain, because the fields were dry. It rained for {num} days, and the whole village danced.
| {H} looked around and felt {sad}. With the last wish, {he} gave back all that the {x} had made, and then {he} dropped it into the deepest well/NOUN. In the morning, a {bird} sang.
-- twist
| {H} made the last wish. There was a bright flash/NOUN, and {he} woke up in {his} bed. It had all been a dream! But under the pillow lay a small {j=color} {x}.
| {H} wished for {num} more/ADJ wishes/NOUN. The {x} laughed, and now it was {h} who had to do what/PRON others/NOUN wished! "f>h: Then I wish that all is as it was before," said {f} quickly. And so it was.
| {H} rubbed the {x} for the last time, and out climbed a tired old {fabled}. It asked if somebody could wish something for it too. {F} wished it a long sleep, and it smiled and was gone/ADJ, with the {x} and all.
-- bad
| {H} wished for all the gold in the world. There was a crash, and the {x} broke. All that it had made turned to dust/NOUN, and {h} had nothing.
| {H} made one wish more/ADV. At once, everything that {he} touched turned to stone/NOUN, the {toy+}, the {sweet+} and even {his} dinner.
| {H} wished that the {x} would never stop. And it did not stop. {Y} ran out of the door, down the road and over the whole village, and {they} had to leave {their} home forever.
-- about
| {H} finds a {x} that makes wishes/NOUN come/VERB true.
-- about end
| {He} uses it for others/NOUN.
-- about twist
| The last wish brings a surprise.
-- about bad
| {He} wants too much and loses it all.

== the giant
cast: h f g=big
with: x=sweet p=wild_place
hero: any
good: kindness courage welcome
bad: hurt
-- fear
| A {g.kind} lived near the {p}, and all the people were afraid of {him g}. At night they/PRON heard {him g} roar. {H} and {f} wanted to know why.
| Everybody said that a {g.kind} by the {p} ate {farm+} and children. But nobody had ever been near {him g}. {H} decided to go and look, and {f} came too.
| "f>h: A {g.kind} lives there," said {f}, and {he f} pointed at the {p}. "h>f: I am not afraid," said {h}. "h>f: Come with me."
| On a hill by the {p} lived a {g.kind}. When {he g} sneezed, the windows broke. The people wanted to drive {him g} away with fire. {H} and {f} asked them/PRON to wait for one day.
-- go
| With a {box} full of {x+}, {they} set out. The way was long and steep. {They} passed {num} burnt trees and a house without a roof.
| One night, {they} crept to the {p}. The ground shook, and a roar/NOUN filled the air. {F} held on to {h}'s {garment}.
| "f>h: Do you hear that?" whispered {f}. There was a roar/NOUN, so loud that the leaves/NOUN fell from the trees. "h>f: It sounds {sad}," said {h}.
| {They} followed footprints as long/ADJ as a bus. In one of them/PRON stood so much rain that/SCONJ {f} had to swim.
-- meet
| Then {they} saw the {g.kind}. {He g} was as tall as a tower, and big tears ran down {his g} cheeks.
| The {g.kind} sat on a rock with {his g} head in {his g} hands. {His g} feet were as big as boats, and a large thorn/NOUN was stuck in one of them/PRON.
| "h>g: Why do you roar so loudly?" called {h}. The {g.kind} turned {his g} huge head. "g>h: Because I have a bad tooth/NOUN," said the {g.kind}.
| Behind the last hill lay the {g.kind} on {his g} back. {He g} blew soft clouds at the moon and sighed so deeply that the trees shook.
-- sign
| It was strange that the {s=farm+} near the {p} were not afraid at all. >> It was no wonder/NOUN that/SCONJ the {s+} had not been afraid.
-- end
| {H} found what/PRON hurt/VERB the {g.kind} and pulled with all {his} strength, and {f} pulled too. Pop/NOUN! The {g.kind} smiled for the first time in years. They/PRON ate {x+} together, and nobody in the village had to be afraid anymore.
| "h>g: Hold still," said {h}, and with one pull/NOUN the pain/NOUN was gone/ADJ. "g>hf: Thank you, little friends," said the {g.kind}. After that, {he g} carried {them} to school on {his g} shoulders.
| {H} sang a song for {him g}, and {f} beat the time on a log. The {g.kind} wept with joy, for {he g} had been alone for a hundred years. Now the village has the loudest band in the land.
-- twist
| "g>h: Please do not hurt me!" cried the {g.kind}. {He g} was afraid of {them}! {He g} had heard that children were wild and ate everything. {H} laughed and gave {him g} a {x}.
| Then the {g.kind} bowed {his g} head and became smaller/ADJ and smaller/ADJ, until {he g} was no taller than {h}. A spell had made/VERB {him g} big, and only a friend could break it.
| {H} asked {him g} how old {he g} was. The {g.kind} held up {num} fingers. {He g} was only a child, who had lost the way home! Far away, something much, much bigger called a name.
-- bad
| But {f} was so {afraid} that {he f} threw a stone. The {g.kind} got up without a word and walked away over the mountains/NOUN. Nobody ever knew how kind {he g} was.
| But the people of the village had followed {them} with sticks/NOUN. They/PRON shouted and threw stones/NOUN, and the {g.kind} fled/VERB into the {wild_place}. {H} cried, for {he} knew that {he g} had done nothing wrong.
| {H} called up to {him g}, but the {g.kind} did not hear well. {He g} stood up to look, and with one foot {he g} stepped on the bridge, the barn and the {town_place}.
-- about
| {H} and {f} visit a {g.kind} that everyone is afraid of.
-- about end
| {They} help {him g} and become friends.
-- about twist
| But the {g.kind} is quite different from what {they} thought.
-- about bad
| But the {g.kind} is driven/VERB away.

== the treasure map
cast: h f
with: x=coffer y=riches p=wild_place
hero: any
good: trying friendship sharing
bad: caution
-- map
| Behind an old {furniture}, {h} found a map. A red line led to the {p}, and at its end was a cross/NOUN. {He} ran to {f} at once.
| A bottle was floating/VERB on the {water}. {H} pulled out the cork/NOUN, and inside was a map of the {p}.
| "h>f: It is a real treasure map!" said {h}. "f>h: Then what are we waiting for?" asked {f}, and {he f} got a shovel.
| Between two pages of a book lay a thin piece of paper. {F} held it over a candle, and slowly a line came out. It went to the {p}.
-- way
| {They} counted {num} steps from the biggest {tree} tree, turned at a round rock and crawled under a fallen log. {H} lost a [boot|shoe|sock], and {f} got stuck twice.
| The way led through a {ugly} cave and over a small bridge. A {wild} watched {them}, and {bug+} danced around {their} heads.
| "f>h: Ten steps to the left/NOUN," {f} read. "h>f: But there is water/NOUN on the left," said {h}. Then {they} turned the map around and laughed.
| {They} had to wait until the shadow of a {tree} tree touched a stone, and then go where the {bird+} flew. {F} fell into a hole, but it was the right one.
-- dig
| At the place on the map, {they} began to dig. {They} dug until the sun was low. Then {h}'s shovel hit something hard/ADJ. It was an old {x}!
| At last {they} found the place. Under a flat stone was a hole, and in the hole stood a {old} {x}. {H} and {f} held {their} breath.
| "h>f: I found something!" shouted {h}. "f>h: A {x}!" cried {f}. {They} lifted it out of the ground with {their} last strength/NOUN.
| {H} dug, and {f} carried the dirt away. A worm came, a root came, an old {clothes} came. And then, deep down, there was the corner of a {x}.
-- sign
| On the map, somebody had drawn a face, and it was hard to say if it laughed/VERB or cried. >> Now {they} knew why the face on the map both/CCONJ laughed/VERB and cried.
-- end
| Inside were {treasure+} and {treasure+} of all colors/NOUN. {H} and {f} shared them/PRON fairly/ADV, and each of {them} kept one/NOUN as a lucky charm/NOUN.
| "f>h: It is full of {y+}!" said {f}. "h>f: One for you and one for me," said {h}, until the {x} was empty. {They} had never been so {happy}.
| The {x} opened with a sigh/NOUN. There was no gold, but {num} {y+} that shone like little moons. {H} hung one over {f}'s bed, so that {f} never had to be in the dark again.
-- twist
| In the {x} lay a letter. It came from the old teacher of the village, who had hidden it as a child. It said that whoever/PRON found it must hide something too. So {they} put in a {y} and hid the {x} again for others/NOUN to find.
| {They} opened the {x}. There was nothing in it but a mirror! {H} saw {himself}, and beside {him} {he} saw {f}. "f>h: I see the treasure," said {f}, and {they} both had to laugh.
| Inside was another {x}, and in it another one/NUM, and so on, down to the smallest. And in the smallest lay/VERB a {sweet}, wrapped in {color} paper. {H} and {f} bit it in two, and it was still good.
-- bad
| {They} opened the {x}, and it was full of {y+}. But {they} could not agree who should have the biggest. {They} pulled, and everything fell into a deep hole.
| But the {x} was empty. {They} had talked too loudly about the map, and somebody had been there before {them}. {They} walked home in the dark with {their} heads down, and nobody said a word.
| A {job} had followed {them} without a sound. While {they} danced for joy, the {x} rolled away on a cart. All that {they} got for it was a sore back.
-- about
| {H} and {f} follow a map to the {p} and dig for a treasure.
-- about end
| {They} find it and share it.
-- about twist
| What {they} find is not what {they} expected.
-- about bad
| But {they} come home with nothing.

== the three wishes
cast: h a=pond
with: x=water y=toy
hero: any
good: kindness greed
bad: greed
-- catch
| {H} sat by the {x} with a net. Suddenly it was very heavy. A golden {a.kind} lay in it and begged {him} to let it go.
| By the {x}, {h} found a little golden {a.kind} on the dry sand. It could hardly move, and it looked at {him} with big eyes.
| "a>h: Please put me back into the water," said a small voice by the {x}. {H} looked down and saw a golden {a.kind}. It could talk!
| After the storm, the {x} was wild. On the shore lay a golden {a.kind}, caught in an old net. {H} cut {his} fingers on the ropes, but {he} did not stop.
| {H} threw stones into the {x}, one after the other. "a>h: Oh no!" cried a golden {a.kind} that lay on the dry sand. One of the stones had hit it right/ADV on the nose.
| One {weather_adj} evening, something golden jumped out of the {x} and landed in {h}'s {box}. It was a {a.kind}, and it asked politely if it might/AUX go home again.
| Some children had caught a golden {a.kind} in the {x}. {H} gave them/PRON {his} best {toy} for it and hid the {a.kind} under {his} [coat|jacket].
-- free
| {H} felt sorry for the {a.kind} and carried it back to the water. The {a.kind} swam in a circle and promised {him} three wishes.
| Gently {h} put/VERB the {a.kind} into the {x}. It shone like the sun. Because {he} was so kind, {he} could have three wishes, it said.
| "h>a: There you go," said {h}. "a>h: You are kind," said the {a.kind}. "a>h: You may wish for three things."
| In the water, the {a.kind} turned around three times, and each time it grew brighter. Whoever saved a {a.kind} like this/PRON, it said, had three wishes, and not one more.
| {H} took the {a.kind} in {his} arms, walked into the {x} and let it slip into the deep. It came up again and said that a good deed/NOUN was worth/ADJ three wishes.
| "a>h: Nobody was ever so good to me," said the {a.kind} when it was back in the {x}. "a>h: Tell me three things/NOUN that you want, and you shall have them/PRON."
| As soon as the {a.kind} was free, it jumped out of the water, once, twice, three times. That was one/NUM for each wish that {h} now had.
-- wish
| {His} first wish was a {y}. It stood there at once, {color} and shiny/ADJ. {His} second/ADJ wish was a hundred {sweet+}, and they/PRON rained/VERB from the sky.
| First {h} wished for a {color} {vehicle}. Then {he} wished that {he} could fly like a {bird}, and up {he} went over the {wild_place}.
| "h>a: I want a {y} and a mountain of {sweet+}," said {h}. "a>h: So be it," said the {a.kind}. "a>h: Now only one wish is left/VERB."
| {H} wished that the {y} of {his} dreams would stand at the door. Then {he} wished for a bed that could walk, because {he} did not like to get up.
| At first, {he} only wanted/VERB to see if it was true. So {he} asked for a {fruit} as big as a house, and then for a knife/NOUN to cut it.
| {He} wished that {he} would never have to eat {vegetable+} again. After that, {he} wished for a {zoo} to ride on, and it stood before {him} and bowed its head.
-- sign
| That morning, three {s=bird+} had sat in a row on the window. >> Three {s+} in the morning, and three wishes/NOUN by night!
-- end
| At last, {h} wished that the {a.kind} would be free and safe forever. A happy song rose/VERB from the water, and from that day on, no net ever came to the {x} again.
| "h>a: I wish that my friends may have as much as I have," said {h}. "a>h: That was the best of the three," said the {a.kind}, and it dived into the deep.
| {H} kept the third wish in {his} pocket for {num} years. When {his} village was ill, {he} took it out. The next morning, even the oldest were dancing in the street.
-- twist
| The third wish was the hardest. {H} wished that somebody would play with {him}. At once the {a.kind} turned into a little child! It had been under a spell, and only a kind wish could break it.
| Before {h} could speak, {he} sneezed. "h>: I wish I had a handkerchief/NOUN!" {he} said. And there it was, a big {color} one/NOUN. {H} looked at it and laughed until {he} cried. It was the best handkerchief/NOUN in the world.
| {H} thought and thought, and at last {he} wished that {he} had never met the {a.kind}. There was a flash/NOUN, and {he} was walking along the {x} again. Something golden called for help. {H} smiled, and this time {he} asked for nothing.
-- bad
| At last, {h} wished to rule over the {x} and everything in it. The water rose/VERB, the sky turned black, and all {his} wishes were gone.
| "h>a: I wish for a hundred more/ADJ wishes!" cried {h}. "a>h: Then you shall have none," said the {a.kind}. Everything disappeared, and {h} stood there with empty hands.
| Then somebody laughed at {him}, and in anger {h} wished everything to the bottom of the {x}. It was all gone/ADJ before {he} could shut {his} mouth.
-- about
| {H} saves a golden {a.kind} and gets three wishes.
-- about end
| {He} gives the last one/NOUN away.
-- about twist
| The last one/NOUN brings a surprise.
-- about bad
| {He} wants too much and loses everything.

== the baby dragon
cast: h m a=dragon
with: x=fruit p=wild_place
hero: child
good: welcome
bad: caution
-- egg
| Near the {p}, {h} found a huge {color} egg. {He} took it home and kept/VERB it warm/ADJ under {his} [blanket|pillow|sweater]. {M} did not know about it.
| One day, a strange [smooth|shiny] egg lay in the hay. It was as big as a pumpkin. {H} hid it in {his} [basket|bag|box] and told nobody, not even {m}.
| "h>m: What kind of egg is as big as a ball?" asked {h}. "m>h: There is no such/ADJ egg," said {m}. But {h} had one under {his} bed.
| The thing by the {p} was not a stone, for stones are not warm/ADJ. {H} rolled it home and put it between {his} blanket and {his} pillow. {M} was asleep.
| A {s=bird} had lost an egg, {h} thought, when {he} saw it in the grass by the {p}. But what kind/NOUN of bird/NOUN has an egg that sings/VERB? {He} hid it in {his} [basket|bag|box] and did not tell {m}.
-- hatch
| In the night there was a crack. Out came a tiny dragon with {color} wings. It sneezed, and a little fire burned/VERB a hole in the {furniture}.
| After {num} days, the shell broke. A baby dragon looked at {h}, ate {num} {x+} and fell asleep on {his} pillow.
| "h>: Oh!" said {h} when the shell broke. It was a dragon, a very small one/NOUN, and it was hungry. "h>a: Do you like {x+}?" whispered/VERB {h}.
| Something knocked three times inside the egg. Then a {color} nose came out, and a pair of wet wings. The baby dragon took {h} for its mother.
| One night, {h} woke up because the bed was shaking. There was a crack in the egg. A tail came through it, and then a whole little dragon. It yawned and crawled under the blanket.
-- grow
| The dragon grew and grew. Soon it was as big as a {zoo}, and its tail hung out of the window. How long/ADV could {h} keep it secret/ADJ?
| Every day the dragon ate more/ADV. It ate the {x+}, the {clothes+} and half of a {furniture}. {M} began to wonder.
| "m>h: What is that noise in your room?" asked {m}. "h>m: Only the wind," said {h}. But the wind did not have a tail/NOUN.
| First the dragon slept in a cup, then in a bucket, then in the bath. {H} told {m} that {he} was very clean these days.
| By spring, the dragon could fly as far as the {wild_place} and back. By summer, {h} had to sleep on the floor, because it needed the bed. {M} often asked where all the {x+} went.
-- sign
| Old stories say that/SCONJ such an egg changes/VERB a house forever. >> The old stories were right/ADJ, and the house was never the same/ADJ again.
-- end
| One cold day, the stove/NOUN in the house went out, and there was no dry wood. Then the dragon blew softly into the stove/NOUN, and the house was warm. {M} was {afraid} at first, but then {he m} gave the dragon a whole {box} of {x+}.
| "h>m: I have to show you something," {h} said at last. {M} looked at the dragon, and the dragon looked at {m}. "m>h: It needs a bigger bed," said {m}, and they/PRON built one/NUM together.
| On the coldest day of the year, {m} found the whole family of {bird+} in {his} room, around a warm {color} belly/NOUN. {M} sat down beside them/PRON and took off {his m} gloves. Nobody spoke about moving/VERB out.
-- twist
| When {h} told the truth at last, {m} laughed and led {him} to the barn. There slept an even bigger dragon! {M} had raised/VERB it from an egg when {he m} was a child.
| "m>h: I know what is in your room," said {m} at dinner. "m>h: Who do you think put/VERB the egg there?" {M} had found it first/ADV and had wanted a friend for {h}.
| When {m} opened the door, {he} closed {his} eyes. But {m} only called a name, and the dragon came at once. They/PRON had played with each other every morning while {h} was at school!
-- bad
| One evening, the dragon sneezed again, and this time the whole barn burned/VERB down. The people drove it away, and {h} never saw it again.
| {H} forgot to close the window. The dragon flew out to see the world, and it did not find the way back. {H} left the window open/ADJ all {his} life/NOUN.
| {H} told just one friend, and that friend told just one more. In the evening, the street was full of people with ropes. {H} never learned where the people took the dragon.
-- about
| {H} finds an egg, and a baby dragon hatches/VERB from it.
-- about end
| {M} finds out about it and lets/VERB it stay.
-- about twist
| But {h} is not the only one with a secret.
-- about bad
| In the end, {he} loses it.

== the secret door
cast: h f
with: x=furniture y=sweet z=zoo r=chamber
hero: any
good: courage friendship
bad: greed
quarrel: 2
-- find
| Behind the {x} in the {r}, {h} found a little {color} door. It had never been there before. {He} called {f}, and {they} opened it.
| While {they} played hide and seek/VERB, {f} leaned on the wall behind a {x}, and it opened! There was a small door with a golden key in it.
| "f>h: Was that door always there?" asked {f}, and {he f} pointed behind the {x}. "h>f: No," said {h}, "h>f: but I want to know where it goes."
| {H} lost a {treasure}, and it rolled under the {x} and did not stop rolling/VERB. {F} lay down on the floor to look. There was a door, just as high/ADJ as a cat.
-- in
| On the other side was a land where everything was upside/ADV down. {Y+} grew on the trees, and a {z} in a {garment} walked on its hands.
| {They} crept through and came to a street made of {y+}. A {z} sat on a {furniture} and read a book. It lifted its hat and greeted {them}.
| "f>h: Look, the river is made of [milk|juice|lemonade|cocoa|tea]!" cried {f} when {they} came through the door. A {z} with a {color} {garment} bowed. "h>f: Am I dreaming?" asked {h}.
| Behind the door it was evening, and it was always evening. Lanterns/NOUN grew on the trees. A {z} sold {y+} and wanted to be paid with jokes.
-- late
| {They} ate {y+}, rode on a {color} {bug} and danced with the {z}. But then a bell rang, and the door began to shrink/VERB!
| The {z} showed {them} everything, from the {color} {wild_place} to the drums that played all by themselves/PRON. {H} and {f} forgot the time, and the door grew smaller and smaller.
| "f>h: The door gets smaller/ADJ with every minute/NOUN!" cried {f}. "h>f: We have to run," said {h}. But the way was long.
| {F} told {num} jokes, and {h} ate {num} {y+}. When {they} looked around, the lights/NOUN went out, one after the other, and the last one hung above/ADP the door.
-- sign
| Small letters/NOUN on the door said that it would close at noon. >> It had all been written on the door in small letters/NOUN.
| For a week, {h} had heard faint/ADJ music at night. >> And now {h} knew where the music at night came from.
-- end
| {They} ran as fast as {they} could and slipped through the tiny door at the last moment. Behind {them} it turned into a plain wall. Only a {y} in {h}'s pocket showed that it had been real/ADJ.
| "f>h: Jump/VERB!" called {f}, and {they} jumped. {They} landed on the floor of the {r}. "h>f: We will never tell anyone," said {h}, and {they} shook hands on it.
| {H} took a lantern from a tree and ran with it. Behind {them} came the dark, but it was not fast/ADJ enough. The lantern still stands behind the {x} and shines when somebody tells a good joke.
-- twist
| {They} came too late/ADV. The door was gone! {They} cried, but the {z} smiled and lifted a curtain. Behind it was the {r}. {They} had been home the whole time, and the {z} was only {f}'s brother in a costume.
| {They} slipped through just in time. But the {r} on the other side was not theirs/PRON. The {x} was {color}, and at the table sat another {h} and another {f}! All four began to laugh and ate {y+} together.
| {They} crawled back and called for help. But the {r} was much too large, the {x} stood there like a tower, and even the {bug+} looked down on {them}. {They} had become small/ADJ! It took {num} days until {they} were as tall as before.
-- bad
| {H} got through with {his} pockets full of {y+}, but {f} was too late/ADJ. The door closed, and {h} knocked on the bare wall all night long/ADV.
| {They} got through with {their} arms full of {y+}, but when {they} turned around, the door was gone. Again and again {they} looked behind the {x}. The door never came back.
| {They} got through, but {h} had stopped to fill {his} pockets with {y+}. On this side they/PRON were only stones/NOUN, and the door was gone.
-- about
| {H} and {f} find a secret door behind a {x}.
-- about end
| {They} see a strange land and come back just in time.
-- about twist
| But the way back is full of surprises/NOUN.
-- about bad
| It does not end well.

== the talking animal
cast: h m a=wild
with: x=food y=soft p=water
hero: child
good: kindness listening courage
bad: listening
-- hear
| In the forest, {h} met a {a.kind} that could talk. It was so surprised that {h} could understand it that it fell off a log.
| One morning, a {a.kind} sat on {h}'s bed and said hello. {H} rubbed {his} eyes. Nobody had ever told {him} that animals could talk.
| "a>h: Do not be afraid," said somebody in the garden. {H} turned around. There was only a {a.kind}. "a>h: Yes, it is me," said the {a.kind}.
| {H} said good morning to a {a.kind}, as {he} always did. This time it said good morning too. Then it looked around, as if it had made a mistake.
| {H} was looking for {fruit+} when somebody behind {him} said that they/PRON were still too green. It was a {a.kind}, and it took one and made a face.
-- tell
| The {a.kind} said that the village was in danger/NOUN. The big dam/NOUN was cracked/ADJ, and soon the water would come. Nobody listens/VERB to a {a.kind}, but perhaps they/PRON would listen to {h}.
| The {a.kind} had come a long way to warn the village. There was a crack in the dam/NOUN above/ADP the valley, and the rain did not stop.
| "a>h: The water will come tonight," the {a.kind} went on/ADV. "a>h: You have to warn them/PRON all." "h>a: But who will believe me?" asked {h}.
| The {a.kind} had put its ear to the ground at the {p}. Under the grass the water was already walking, it said, and it was not in a good mood/NOUN.
| "a>h: I can feel it in my feet," the {a.kind} went on/ADV. "a>h: The water is coming, and it will be as high/ADJ as the roofs/NOUN. Run and tell them/PRON!"
-- warn
| {H} ran home and told {m} everything. {M} did not believe a word. A {a.kind} that could talk! But {h} did not give up.
| {H} ran from door to door, and {his} [hair|shoes|feet] got wet in the rain. Most people laughed. Then {he} came to {m} and begged {him m} to look at the {p}.
| "h>m: The water is coming! The {a.kind} told me so," {h} told {m}. "m>h: Animals cannot talk," said {m}. "h>m: Then only look at the {p}, please," begged {h}.
| {H} told everything to {m}, to a {job} and to a {job}. One gave {him} tea, one gave {him} a {sweet}, and/CCONJ {m} felt {his} head for fever/NOUN.
| In school, {h} stood up and told everyone. The teacher sent {him} home with a letter. {M} read it, looked at {him} for a while, and then looked at the {p}.
-- sign
| All the {s=bird+} had left the valley the day before. >> That was why all the {s+} had left the valley.
| The water in the {p} was brown that day, and nobody asked why. >> The brown water should have told them/PRON everything.
-- end
| {M} went to look, and it was true! They/PRON rang the big bell, and everyone ran up the hill. When the water came, nobody was hurt. The {a.kind} got a bowl of {x} for many years.
| "m>h: You were right/ADJ," said {m} with a white face. They/PRON woke the whole village and stopped the water with bags/NOUN of sand. In the morning, {h} looked for the {a.kind}, but it only winked/VERB at {him} and was gone/ADJ.
| So {h} did the only thing that was left. {He} took {m}'s {food} and {his} {y} and carried them/PRON up the hill. {M} ran after {him} to get them/PRON back, and all the others came to watch. Then the water came, and the hill was full.
-- twist
| At last, {m} sighed. "m>h: I know," {he m} said. "m>h: It told me too, but I thought that I was dreaming." All the people had heard it, and nobody had dared to say so! Then they/PRON all went up the hill together.
| In the end, all the people went to look at the {p}, and nothing was wrong/ADJ at all. But on the way back/ADV, they/PRON saw smoke over the village. While nobody was home, a fire had burned/VERB {h}'s house down. The {a.kind} had saved them/PRON after all.
| In the evening, {m} and all the neighbors went up the hill, just to please {him}. From the hill they/PRON saw the water come, and it ran/VERB around the village. A hundred mice had dug a ditch/NOUN in the night.
-- bad
| Nobody listened. In the night, the water came and carried away the houses/NOUN, the {farm+} and the bridge. The people all sat on the roofs/NOUN until morning, wet and sorry.
| {H} got tired of being/AUX laughed/VERB at, and {he} went to bed. The water came in the night. {His} {y} floated out of the window, and the garden was gone.
| Only {h} went up the hill, with {his} {y} under {his} arm. From there {he} saw the lights go out, one by one. {He} would rather/ADV have been wrong.
-- about
| A {a.kind} that can talk warns/VERB {h} of the water.
-- about end
| {H} warns/VERB the village in time.
-- about twist
| Nothing is as it seems.
-- about bad
| Nobody listens/VERB.
"""
