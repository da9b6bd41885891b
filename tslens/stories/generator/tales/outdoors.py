"""Tales out of doors: storms, gardens, animals, ways that are lost and warnings that are not heard."""

TALES = """
== the storm
cast: h f m
with: x=building p=wild_place
hero: any
good: listening friendship courage
bad: listening
-- out
| {H} and {f} wanted to build a {x} near the {p}. {M} told {them} to be back before dark, and {they} promised.
| On a {fine_weather} afternoon, {h} and {f} went to the {p} to look for {nature+}. {They} walked farther/ADV than ever before.
| "m>hf: Come home when the wind gets strong," said {m}. "h>m: We will," called {h}, and {he} ran with {f} to the {p}.
| {They} had a secret hut near the {p}, and {h} wanted to show {f} the new roof. {M} looked at the sky and asked {them} to take the lantern. {They} forgot it.
-- dark
| Suddenly the sky turned gray. The wind pulled at {their} {garment+}, and the first drops/NOUN fell. {H} wanted to stay, but {f} was worried.
| After an hour, black clouds came over the {p}. The {bird+} stopped singing/VERB, and the trees began to bend.
| "f>h: Look at that cloud!" said {f}. "h>f: It is still far away," said {h}. But then there was a loud bang of thunder.
| The air grew still. No {bug} moved, and not one {bird} sang. Then, far away, somebody seemed to roll a heavy stone across the sky.
-- run
| Rain/NOUN poured down, and lightning flashed over the trees. {H} took {f} by the hand. {They} ran as fast as {they} could, but {they} could not see the path.
| The storm roared like a [lion|tiger|bear]. {They} held each other tight and looked for a dry place to hide.
| "f>h: I am scared!" cried {f}. "h>f: Hold on to me," shouted {h} through the noise. "h>f: We will find a dry place."
| In a moment, all the paths were rivers. {F} lost a [boot|shoe] in the mud. {H} shouted something, but the wind carried the words away.
-- sign
| That morning, the {s=farm+} had all lain down in the field, and the old people said that it meant rain. >> The {s+} in the field had known about the storm long before.
| A single/ADJ dark cloud hung far away over the {p}. >> It had all begun with the single/ADJ dark cloud.
-- end
| At last {they} found a little cave and sat close together until the rain was over. Then a rainbow stood over the {p}, and down the path came {m} with two dry [coats|jackets].
| {They} crept under a big rock and sang songs against the thunder. Soon somebody called {their} names. "m>hf: Here you are!" cried {m}, and {he m} wrapped {them} in a warm blanket.
| An old {cattle} stood by the path and did not seem to mind the rain. {H} and {f} held on to its neck/NOUN, and it led {them} straight/ADV to a barn. {M} was waiting at the door. There was hot [tea|milk|cocoa] and a dry bed.
-- twist
| {They} crept into a dark hole. Inside, something soft and warm/ADJ lay/VERB beside {them}, and {they} leaned on it all night. In the morning {they} saw what it was. It was a big, sleepy bear! It only yawned, and {they} tiptoed away.
| Through the rain {they} saw a huge dark figure/NOUN with a light. A monster! {They} screamed. But the monster had the voice/NOUN of {m}. It was {m}, in a long raincoat and with a lantern!
| {They} ran against a door and fell into a warm room. It was {h}'s own kitchen! In the dark {they} had run in a circle, and {m} had not even noticed that {they} were gone/ADJ.
-- bad
| A tree fell down, and a branch hit {h} on the leg. {F} had to carry {him} home. {H} lay in bed for {num} weeks.
| {They} came home late/ADV at night, wet and cold. The next day both were sick/ADJ. {They} lay in bed and could only look out at the {fine_weather} day.
| When the sky was clear again, the bridge was gone. {H} and {f} had to stay on the other side for {num} nights, with nothing to eat but {fruit+}, while {m} waited at home in tears.
-- about
| {H} and {f} are surprised/VERB by a storm near the {p}.
-- about end
| {They} find a safe place, and {m} brings {them} home.
-- about twist
| In the dark, {they} are not alone.
-- about bad
| {They} stay too long/ADV and have to pay for it.

== growing a plant
cast: h f m
with: x=plant
hero: any
good: patience trying
bad: patience neglect
-- seed
| {M} gave {him} a tiny {x} seed. {H} filled an old pot with dirt and pressed the seed into it.
| In spring, {h} found a little {color} seed in a {box}. {He} planted it in a {color} pot and showed it to {f}.
| "m>h: This is a {x} seed," said {m}. "m>h: Give it water/NOUN, sun and time." {H} planted it in a pot at once.
| {H} got a pot with a little dirt and one {x} seed from {m} for {his} birthday. {F} laughed and said that a {toy} would have been better.
-- wait
| Every morning, {h} ran out to look. One day passed, and then {num} more. There was nothing but dirt. {F} said that the seed was dead.
| {He} gave/VERB the seed water/NOUN each day, but nothing happened. A {bird} came and looked, a {bug} came and looked, but there was no {x}.
| "f>h: Nothing will ever grow in that pot," said {f}. "h>f: It only needs time," said {h}, but {he} was not so sure.
| {H} sang to the seed. {He} told it stories of {zoo+} and {fabled+}. The pot stood on the window and was as empty as before.
| By the fence, the {flower+} came up, one after the other. {H} said good morning to each of them/PRON, and then to the {x}, which was still asleep.
-- doubt
| {H} was tired of waiting. {He} wanted to dig the seed up and see what was wrong. {He} even took a spoon/NOUN.
| One {weather_adj} evening, {he} sat beside the pot and sighed. Maybe {f} was right/ADJ.
| "h>m: When will the {x} come?" asked {h}. "m>h: When it is ready/ADJ," {m} answered. "m>h: We cannot hurry a {x}."
| At school, the others talked about their/PRON [dogs/NOUN|rabbits]. {H} could only talk about a pot of mud. {He} nearly threw it out.
-- sign
| The {s=job} next door had said that seeds/NOUN have a will/NOUN of their/PRON own/ADJ. >> The {s} had been right/ADJ about seeds/NOUN and their/PRON will/NOUN.
-- end
| But {h} did not give up. And one morning, there was a tiny green leaf! The {x} grew and grew, until it was taller than {f}.
| Then, after a warm night, something green looked/VERB out of the dirt. "h>f: Come quickly!" {h} called. "f>h: I was wrong," said {f}, "f>h: it is the prettiest/ADJ {x} in the street."
| Then {f} came running. A green tip/NOUN, no bigger than a tooth! They/PRON moved the pot into the sun, and by summer {m} had to bring the ladder to water the {x}.
-- twist
| Then a plant/NOUN came up, but it was no {x}. It grew round and orange/ADJ and huge. It was a pumpkin! {M} had mixed up the seeds/NOUN. {H} and {f} cut a window into it and used it as a house for [mice|rabbits].
| One day, a {x} bloomed. But not in the pot! It stood in the garden next door, where a {bird} had dropped the seed. {H} laughed, and the neighbors had the prettiest/ADJ {x} of all.
| And then the {x} grew, but down! The root came out of the bottom of the pot, went through a crack in the wall and came up in {f}'s room. {F} woke up one morning beside a {x}.
-- bad
| So {h} dug in the dirt and pulled the seed out. It had just grown/VERB a tiny white root. Now the root was broken, and the {x} never grew.
| {H} forgot the pot and went to play. When {he} looked again, a small brown {x} hung over the edge. It had come, but without water it had died/VERB.
| {H} gave/VERB the seed all the water in the house, to make it faster. It was too much. The seed swam on top, turned soft and was eaten by a {bird}.
-- about
| {H} plants a {x} seed, and nothing seems to happen.
-- about end
| {He} waits, and at last it grows.
-- about twist
| What grows is not what {he} expected.
-- about bad
| {He} has no patience, and the plant/NOUN is lost.

== the lost pet
cast: h f a=furry
with: x=bait p=outdoors j=fur_color
hero: child
good: care trying
bad: care neglect
quarrel: 2
-- gone
| {H} had a {j} {a.kind} that {he} loved more than anything. One day, the gate stood open/ADJ, and the {a.kind} was gone.
| One morning, the bed of {h}'s {a.kind} was empty. {H} called and called, but no {a.kind} came.
| "h>f: My {a.kind} is gone!" cried {h}. "f>h: Do not cry, we will find it," said {f}.
| {H} and {his} {a.kind} slept in one bed and ate from one plate. But when {he} came home from school one Friday, nobody jumped up at {him}.
-- search
| {H} and {f} looked around the {p} and behind the {town_place}. {They} asked a {job} and a {job}, but nobody had seen a {j} {a.kind}.
| {They} painted pictures of the {a.kind} and hung them/PRON on every {tree} tree. Then {they} walked through the {p} with some {x}.
| "h>f: Let's put out some {x}," said {h}. "f>h: And let's look near/ADP the {p}," said {f}. {They} searched until {their} feet hurt.
| {They} looked under {num} cars and in {num} cellars/NOUN. {F} climbed up a {tree} tree and called from the top. The evening came, and their/PRON voices grew weak.
-- trail
| Then {f} found small footprints in the mud. They/PRON led along the {water} and stopped at an old {building}.
| At noon, {they} heard a soft sound. It came from the {p}. {H} and {f} ran there and held {their} breath.
| "f>h: Do you hear that?" whispered {f}. Something was scratching behind the {old} {building}.
| Near the {p}, a {j} bit of fur hung on the fence. A little farther/ADV there was another one/NUM. {H} and {f} followed the trail.
-- sign
| For days, the {a.kind} had looked out of the window again and again. >> So the {a.kind} had looked out of the window for a reason.
-- end
| There sat the {a.kind}, stuck/ADJ under a fallen fence! {H} lifted the wood, and {f} pulled. The {a.kind} was dirty and hungry, but it was safe, and {h} held it all the way home.
| "h>a: There you are!" {h} cried. The {a.kind} was caught in a net. {F} cut the net, and the {a.kind} jumped into {h}'s arms.
| There lay the {a.kind} in the sun, with its nose on {h}'s lost {clothes}. It had gone to find it! {H} did not know if {he} should scold or kiss it, so {he} did both.
-- twist
| There lay the {a.kind} on a soft bed of hay, and next to it lay {num} tiny babies! It had not been lost at all. It had only looked for a quiet place for its family.
| There was the {a.kind}. But it was not lost/ADJ. It was sitting beside a little lamb that had hurt its leg, and kept/VERB the lamb warm/ADJ. {H} and {f} took both of them/PRON home.
| {They} crawled through a hole in a hedge and stood in the garden of an old {job}. The {a.kind} sat at the table, with a napkin around its neck/NOUN! It turned out that it came there to eat every single day.
-- bad
| But then only a {wild} came out and ran away. The {a.kind} was not there. Every evening, {h} put some {x} at the door, but the {a.kind} never came back.
| It was only the wind in the [leaves|branches]. Night fell, and {they} had to go home. "h>f: I forgot to close the gate," {h} sobbed. "h>f: It was all because of me."
| But there was only the big/ADJ road. {H} stood there until the lights of the cars hurt {his} eyes. At home, {he} washed the empty bowl and put it away.
-- about
| {H}'s {a.kind} is gone/ADJ, and {f} helps {him} to look for it.
-- about end
| {They} find it and bring it home.
-- about twist
| {They} find it, but it was never lost/ADJ.
-- about bad
| {They} do not find it.

== the stubborn animal
cast: h e=elder a=cattle
with: p=town_place y=fruit
hero: child
good: kindness patience
bad: patience hurt
-- stuck
| An old {e.kind} had a {a.kind} that was very stubborn. One day, it stood in the middle of the road and would not move. {H} came by and wanted to help.
| On the way to the {p}, {h} met an old {e.kind} with a {a.kind}. The {a.kind} had sat down on the bridge, and nobody could pass.
| "e>h: My {a.kind} will not move," said an old {e.kind}, "e>h: and I must be at the {p} by noon." "h>e: Let me try," said {h}.
| It was market day, and the cart of an old {e.kind} was full of {vegetable+}. But the {a.kind} in front of it had fallen in love with a {flower} and would not leave it. {H} stopped to watch.
| There stood a {a.kind} in the middle of the road to the {p}, and no one could pass. It belonged to an old {e.kind}, who was very [sad|unhappy|upset/ADJ] about it. {H} had time, so {he} stayed.
| "e>h: It was such a good {a.kind} until today," said an old {e.kind} beside the road. The {a.kind} lay in the middle of a puddle and looked at the sky. {H} put down {his} {box} and came closer.
-- pull
| {H} pulled in front/NOUN, and the {e.kind} pushed from behind/ADV. The {a.kind} did not move. A {job} came and pulled too, but the {a.kind} only yawned.
| {H} and the {e.kind} tried it with a rope. They/PRON tried it with a drum. They/PRON even lit/VERB a lantern and shouted. The {a.kind} closed its eyes.
| "h>e: Pull harder!" called {h}. "e>h: I am pulling as hard/ADV as I can!" said the {e.kind}. The {a.kind} only shook its ears.
| The {e.kind} shouted until {his e} face was as red as a tomato. {H} blew a trumpet, and a {job} opened an umbrella/NOUN. The {a.kind} flicked/VERB its tail, and that was all.
| Soon half of the village was there, and everyone knew what to do. One sang to the {a.kind}, one shouted at it, and a {job} told it a joke. {H} and the {e.kind} pulled until they/PRON sat in the mud themselves/PRON.
| "e>h: One, two, three!" cried the {e.kind}, and they/PRON pulled. "h>e: I think that it moved," said {h}. But it was only the mud under {his} own feet.
-- think
| {H} sat down and looked at the {a.kind}. It looked back. Its eyes were [tired|sad]. Maybe it was not stubborn at all.
| Then {h} remembered that {he} did not like to be pushed/VERB either/ADV. So {he} patted the nose of the {a.kind}.
| "h>e: What does your {a.kind} like?" asked {h}. "e>h: I never asked it," said the {e.kind}, and {he e} scratched {his e} chin.
| In the end, everybody gave up. Only {h} stayed. {He} lay down in the grass, so that {he} could see the world as the {a.kind} saw it.
| It was quiet for a moment, and in the quiet {h} heard something. The {a.kind} sighed, just as {he} did when nobody listened to {him}.
| {H} walked around the {a.kind} three times and looked at it from every side. When {he} stood in front of it, {he} saw that it was looking at {his} {box}.
-- sign
| The {a.kind} had one ear up and one ear down, and people say that it means trouble. >> People are right/ADJ about one ear up and one ear down.
-- end
| {H} held out a {y} and sang softly. One step, two steps, and then the {a.kind} followed {him} all the way to the {p}. The {e.kind} could hardly believe it.
| "h>a: Come, my friend," said {h}, and {he} held out a {y}. The {a.kind} got up and walked beside {him}. "e>h: A kind word is stronger than a rope," laughed the {e.kind}.
| Then {he} saw what was wrong/ADJ. The rope was much too tight! {H} loosened/VERB it, and at once the {a.kind} shook itself and walked on. It even let {him} ride/VERB to the {p}.
-- twist
| At that moment there was a loud crack. The bridge in front of them/PRON broke and fell into the water! The {a.kind} had known it all the time. It had not been stubborn at all. It had saved them/PRON.
| Then the {a.kind} moved its foot, and under it lay a nest with {num} tiny eggs. It had only stood still to protect/VERB them/PRON! {H} and the {e.kind} carried the nest to a safe place, and the {a.kind} walked on as gently as a lamb.
| Then a bell rang from the {p}, and the {a.kind} set off by itself. It was noon! For ten years it had eaten its lunch at this place, and nobody had the right/NOUN to take that away.
-- bad
| But the {e.kind} lost {his e} patience and hit the {a.kind} with a stick. It kicked, broke the rope and ran away over the field. Nobody could catch it again.
| {H} pulled the tail of the {a.kind} to make it go. It did go, and it took/VERB the rope and {h} with it, right/ADV into the {water}.
| {H} made a fire behind the {a.kind}, as a {job} had told {him}. The {a.kind} ran away, and so did the fire, over the whole field. The {e.kind} wept.
-- about
| The {a.kind} of an old {e.kind} will not move, and {h} wants to help.
-- about end
| A {y}, some time and a kind word work/VERB better than a rope.
-- about twist
| But the animal is wiser/ADJ than they/PRON think.
-- about bad
| Without patience, it all goes wrong/ADJ.

== ignoring a warning
cast: h f e=elder
with: x=water y=toy
hero: any
good: listening
bad: listening
-- warning
| In winter, the {x} froze. An old {e.kind} told {h} and {f} that the ice was still thin. But it looked so smooth and shiny!
| One cold day, {h} and {f} came to the frozen {x}. On a sign was a warning/NOUN in big red letters/NOUN. An old {e.kind} by the shore warned {them} too/ADV.
| "e>hf: Stay off the ice," said an old {e.kind} by the {x}. "e>hf: It will not hold you." "h>e: We only want to look," said {h}.
| A red flag hung at the {x}, and everyone knew what it meant. An old {e.kind} had told {h} and {f} of a cow that had gone/VERB through the ice.
-- dare
| {F} wanted to go home. But {h} [laughed|would not listen] and put one foot on the ice. It held. Then {he} put/VERB the other/ADJ foot on it too/ADV.
| When the {e.kind} was gone/ADJ, {h} threw {his} {y} on the ice. It slid far out, and now {he} had to get it back.
| "h>f: I am not afraid of a little ice," said {h}. "f>h: Please do not go," begged {f}. But {h} was already on the ice.
| {H} could see the other side, and it was not far at all. It would save half an hour. {F} shook {his f} head and took/VERB the bridge.
| {They} threw a stone, and the stone did not go through. "h>f: You see?" said {h}. "f>h: You are not a stone," said {f}. But {h} was already standing on the edge.
-- crack
| {He} took three steps. Crack/NOUN! A long line ran through the ice, right/ADV between {his} feet.
| In the middle of the {x}, there was a strange noise. It sounded like a {bird} at first, and then like thunder.
| "f>h: Come back!" screamed {f}. Under {h}'s feet, the ice began to creak and to sing.
| All at once {his} left/ADJ foot was wet. Then there were more cracks/NOUN, as thin as the web/NOUN of a spider, and they/PRON came from all sides.
-- sign
| A {s=bird} landed on the ice, and a little water ran over its feet. >> The wet feet of the {s} had shown/VERB how thin the ice was.
| At home, {h} had poured water into a cup and seen how/ADV thin/ADJ the ice on it was. >> The ice outside/ADV had been just as thin as the ice in the cup at home.
-- end
| {H} lay down flat, as {he} had once learned, and crawled back to the shore. {F} held out a long branch and pulled. {They} were both safe, and {they} never laughed at the old {e.kind} again.
| "f>h: Lie/VERB down!" called {f}, and {he f} pushed a ladder over the ice. {H} held on to it, and {f} pulled {him} out. "h>f: You saved me," said {h}, white as/ADP snow.
-- twist
| The ice broke, and {h} fell in. But the water only came up to {his} knees! The old {e.kind} stood on the shore and shook with laughter/NOUN. "e>h: I said that it would not hold you," said the {e.kind}. "e>h: I did not say that it was deep/ADJ."
| Then the whole piece of ice came loose/ADJ and floated away with {h} on it. It floated around the corner and stopped right/ADV in front of {his} own house! {H} was so {afraid} that {he} did not even laugh/VERB.
| Something bumped against the ice from below, and {h} flew through the air and landed on the shore. A [fish|turtle] looked out of the hole, shook its head and went down again. From that day on, {h} read every sign twice.
-- bad
| The ice broke, and {h} fell into the cold water. {F} ran for help/NOUN, and the {e.kind} pulled {him} out with a rope. {H} was very ill, and {he} had to stay in bed until spring.
| The ice broke. {H} got out again, but the {y} that {he} loved so much sank to the bottom of the {x}. All winter long/ADV, {he} could see it under the ice.
| {He} got to the shore on {his} hands and knees, but {his} new {garment} was gone/ADJ, and so was the trust/NOUN of {f}, who had cried for {him} the whole time.
-- about
| {H} does not listen to a warning/NOUN and walks/VERB on the thin ice.
-- about end
| {F} saves {him}.
-- about twist
| It ends in a surprising/ADJ way.
-- about bad
| {He} pays for it.

== lost in the forest
cast: h f a=small
with: y=fruit
hero: any
good: kindness friendship courage
bad: caution
-- path
| {H} and {f} went into the forest to pick/VERB {y+}. {They} went from one bush to the next, and soon {they} were far from the path.
| In the forest, {h} saw a strange {bug} and ran after it. {F} ran after {h}. When {they} stopped, there was no path anymore.
| "f>h: Do you know the way back?" asked {f}, deep in the forest. "h>f: I thought/VERB you knew it," said {h}.
-- night
| The trees stood close together, and every {tree} tree looked like the next. It grew dark and [scary|cold]. Somewhere, an owl called.
| {They} walked to the left/NOUN, and {they} walked to the right/NOUN, and then {they} were back at the same [stone|log|stump|bush]. The sun went down.
| "h>f: We have been/AUX here before," said {h}, and {he} pointed at a [stone|log|stump|bush]. {F} sat down and began to cry. "f>h: We will never get home," {he f} said.
| The robins went to sleep, and other voices woke up. {F} counted the {y+} that were left. There were {num}. {H} put {his} [coat|jacket|scarf|sweater] around {him f}.
-- help
| Under a bush, a little {a.kind} was caught between two stones/NOUN. {H} and {f} were tired and cold, but {h} set it free, and {f} gave it the last {y}.
| Then {they} heard a thin cry. A {a.kind} had hurt its foot. {H} wrapped the foot in a big leaf/NOUN, and at once the {a.kind} stopped crying.
| "f>h: Look, a {a.kind}!" said {f}. It could not get out of a hole. "h>a: Do not be afraid," said {h}, and {he} lifted it out gently.
| Something was crying near a [stone|log|stump|bush]. It was a {a.kind} that had lost its mother, and it was no bigger than a cup. {H} and {f} forgot {their} own fear and warmed it in {their} hands.
-- sign
| The people of the village always said that the forest plays/VERB tricks/NOUN on children. >> The people were right/ADJ about the forest and its tricks/NOUN.
-- end
| The {a.kind} hopped a little way, stopped and looked back. {H} and {f} followed it from tree to tree, and suddenly {they} saw the lights of the village.
| "h>f: I think that the {a.kind} wants to show us something," {h} said. The {a.kind} led {them} to the path. "f>a: Thank you, little friend!" called {f}.
| In the morning, the {a.kind} sat up and sniffed. Then it ran ahead, as straight/ADV as a line, and {they} ran behind it until they/PRON smelled the smoke of the first chimney.
-- twist
| The {a.kind} led {them} around one last tree, and there was {h}'s house! {They} had been lost right/ADV behind {their} own garden all the time.
| The {a.kind} led {them} deeper/ADV into the forest, to a door in a hollow tree. There lived an old farmer who had also lost/VERB the way, many years ago. The farmer had stayed, because it was so beautiful there. But the {a.kind} showed all three of them/PRON the way home.
-- bad
| But the {a.kind} ran away, and {they} had nothing left to eat. {They} sat under a tree the whole night, cold and hungry, until the people of the village found {them}. After that, {h} and {f} were not allowed to go into the forest alone.
| But then it began to snow, and all the footprints disappeared. {H} and {f} were not found until the next day. {F} was so ill that {he f} did not speak to {h} for a long time.
| {They} followed the {a.kind}, but it only went home to its own hole. {They} stood before it and could not follow. Not until the third day did a {job} find {them}, thin and pale.
-- about
| {H} and {f} lose {their} way in the forest and help a {a.kind}.
-- about end
| It shows {them} the way home.
-- about twist
| The way home is not what {they} expect.
-- about bad
| {They} have to spend/VERB the night there.

"""
