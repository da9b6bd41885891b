"""Tales of deeds: work and help, bargains and lies, money and mistakes."""

TALES = """
== the lie about a wolf
cast: h e=elder
with: x=flock y=fruit
hero: child
good: honesty
bad: honesty
-- watch
| Every day, {h} had to watch the {x+} of an old {e.kind} on a hill. It was dull/ADJ work, and {he} was often bored.
| An old {e.kind} gave {h} a job. {He} was to watch the {x+} on the hill and to call if a wolf came.
| "e>h: Watch my {x+} on the hill, and call me if you see a wolf," said an old {e.kind}. "h>e: I will," said {h}.
| From the hill one could see the whole valley, and in all the valley nothing ever moved. {H} counted the {x+}, and then {he} counted them/PRON again. An old {e.kind} paid {him} a coin a day for it.
| The {x+} belonged to an old {e.kind}, but it was {h} who took them/PRON up the hill each morning. The grass was green, the sky was blue, and nobody was there to talk to.
| "h>e: What if a wolf comes?" asked {h} on {his} first day on the hill with the {x+} of an old {e.kind}. "e>h: Then call, and we will all run," said the {e.kind}.
-- cry
| One day, {h} wanted to have some fun. {He} shouted that a wolf was there. The {e.kind} came running/VERB with a {tool}, but there was no wolf. {H} laughed.
| Nothing happened all morning. So {h} screamed as loud/ADV as {he} could. Everyone ran up the hill, out of breath, and found only {h}, who was eating a {y}.
| "h>e: Wolf! Wolf!" cried {h}, just for fun. The {e.kind} dropped {his e} {tool} and ran up the hill. "h>e: I only wanted/VERB to see how fast/ADJ you are," laughed {h}.
| On the third day, {h} made two big eyes/NOUN and ran to the edge of the hill. {He} cried that the wolf had a {x} in its mouth. The {e.kind} let {his e} dinner burn and came without shoes. {H} pointed at {him e} and giggled.
| {H} wanted to know what would happen if {he} called. So {he} called. A {job} came with a {tool}, a {job} came with a {kitchenware}, and the {e.kind} came last, holding/VERB {his e} back. There was nothing there but {x+}.
-- again
| The next day, {he} did it again. Again everyone came, and again there was no wolf. The {e.kind} was {angry} and said that {he e} would not come a third/ADJ time.
| {He} did the same/ADJ thing on the next day, and on the day after that. Fewer/ADJ and fewer/ADJ people came each time.
| "e>h: That was not funny," said the {e.kind}. "e>h: Who will believe you when the wolf is really there?" But {h} did not listen.
| It worked so well that {he} did it on Tuesday, on Thursday and twice on Saturday. The {e.kind} climbed the hill more slowly each time, and in the end {he e} only waved from below.
| "h>e: Help/VERB, it is back!" cried {h} that evening. The {e.kind} ran up once more and found {him} rolling/VERB in the grass with joy. "e>h: Now I have heard it twice," said the {e.kind}, "e>h: and twice is enough."
| That was so much fun that {h} could not sleep, and in the morning {he} tried it once more. This time only half of the people came, and none/PRON of them/PRON laughed with {him}.
-- sign
| At night, two yellow eyes shone at the edge of the forest. >> The two yellow eyes from the forest were never forgotten in the village.
| The dogs/NOUN in the village would not stop barking that week. >> The dogs/NOUN had smelled it long/ADV before.
-- end
| Then a real wolf came out of the forest! {H} called and called, but no one came. So {he} banged/VERB on a pot and threw {y+} until the wolf ran off. After that {he} went to the {e.kind} and said sorry, and {he} never lied again.
| "h>e: Wolf!" {h} called the next evening, and this time there were tears/NOUN on {his} face. The {e.kind} looked at {him} for a long time, and then {he e} came. They/PRON drove the wolf away together. "h>e: I will never lie again," said {h}.
| Then it came, gray and thin, and its teeth were real. {H} did not shout, for {he} knew that it was useless. {He} drove the {x+} into the barn, one by one, and closed the door with {his} back. That night, {he} told the {e.kind} everything.
-- twist
| Then a gray animal came out of the forest. {H} shook with fear and called for help/NOUN, and nobody came. The animal came closer, wagged its tail and licked {his} hand. It was only the big old dog of the {e.kind}! But {h} never lied again.
| The next time, a wolf really came. {H} called, and nobody answered. But the {x+} put down their/PRON heads and ran at the wolf, and the wolf fled/VERB! "e>h: My {x+} are braver than you," laughed the {e.kind}.
| At last there was a wolf. But it was old and had no teeth, and it only wanted to lie in the sun with the {x+}. {H} told the {e.kind} about it, and for once it was the truth.
-- bad
| Then a real wolf came. {H} screamed for help/NOUN, but everyone thought that it was another lie. The wolf took/VERB the smallest of the {x+} and was gone/ADJ.
| When the wolf came, nobody believed {h}. In the morning, the hill was empty. Not one of the {x+} was left, and it was all because of a lie.
| On Sunday, {h} ran down the hill with a white face. The people sat at dinner. They/PRON winked at each other and passed the {food}. Up on the hill, it was soon very quiet.
-- about
| {H} watches the {x+} of an old {e.kind} and cries/VERB wolf for fun.
-- about end
| When a wolf really comes, {he} learns to tell the truth.
-- about twist
| Then something comes out of the forest.
-- about bad
| When a wolf really comes, nobody believes {him}.

== a bad bargain
cast: h m e=job
with: x=cattle y=charm p=market_place
hero: child
good: trust
bad: trust greed
-- send
| {M} sent {him} to the {p} to sell the old {x}. {He} was to come home with enough money for the winter.
| {H}'s family was poor, and they/PRON had to sell their/PRON last {x}. So {h} led it along the road to the {p}.
| "m>h: Take the {x} to the {p} and sell it well," said {m}. "m>h: And do not talk to strangers." {H} nodded and set off.
| The roof had a hole, and there was no more {food}. {M} kissed the old {x} on the nose and put/VERB the rope into {his} hand. {He} was to sell it at the {p}.
| "m>h: We cannot feed the {x} anymore," said {m}, and {he m} looked away. "m>h: Bring it to the {p}, and bring home what they/PRON pay you." {H} promised to do it well/ADV.
| That year, the field gave no {vegetable+}, and even the {x} went hungry. So {h} was sent to sell it at the {p}, with a bit of {food} in {his} pocket.
-- meet
| On the road, {h} met a {e.kind} with a big {color} hat. The {e.kind} had a shiny {y} and said that it was magic.
| Halfway/ADV there, a {e.kind} stopped {him}. {He e} praised the {x} and showed {him} a {y} that sparkled in the sun.
| "e>h: What a fine {x}," said a {e.kind} on the road. "e>h: I will give you this magic {y} for it."
| Under a {tree} tree sat a {e.kind} and polished a {y}. {He e} said that it would grow by night, and that/SCONJ its owner would never be hungry again.
| {H} sat down to eat, and when {he} looked up, a {e.kind} sat beside {him}. {He e} knew many stories, and the best of them/PRON was about a magic {y} that {he e} happened to have with {him e}.
| "e>h: You look tired," said a {e.kind} on the bridge. "e>h: My {y} could carry you home in a moment, if it were yours." It shone in {his e} hand like the sun.
-- trade
| {H} looked at the {y}. It was so [pretty|shiny|lovely|beautiful]! {He} did not think twice, and the {x} went away with the {e.kind}.
| A magic {y}, just for {him}! {H} gave away the {x}, took the {y} and ran all the way home.
| "h>e: Is that {y} really magic/ADJ?" asked {h}. "e>h: As sure as I stand here," said the {e.kind} and grinned. So they/PRON shook hands.
| {H} thought of a warm house. {He} thought of full plates. Before {he} knew it, the {e.kind} had the rope, and {h} held the {y}.
| {H} held the {y} to {his} ear and was sure that it sang/VERB. {He} said yes before the {e.kind} had asked/VERB, and the {x} looked back at {him} all the way down the road.
| "e>h: Only today, and only for you," said the {e.kind}. "h>e: Then take the {x}," said {h} quickly, before {he e} could think again.
-- sign
| That morning, a {s=bird} in a tree had laughed three times. >> The {s} in the tree had known why it laughed/VERB.
-- end
| {M} was upset when {he m} saw the {y}. But {h} did not give up. {He} worked for a {job} all summer, saved every coin and bought the {x} back.
| "m>h: This is only a plain {y}!" said {m}. {H} ran back to the {p} and told everyone about the trick. They/PRON caught the {e.kind}, and {h} got the {x} back.
| That night, the {y} did nothing at all. {H} did not cry. {He} put it on a table at the {p} with a sign, told the story for a penny, and so many came to hear it that the {x} was back by spring.
-- twist
| At home, {m} looked at the {y} and turned pale. It was made of real/ADJ gold! The {e.kind} had thought that it was a cheap/ADJ thing, and had tricked only {himself e}.
| In the night, there was a noise at the door. The {x} had bitten/VERB through the rope and come home all by itself! So the family had the {x} and the {y}, and the {e.kind} had nothing.
| At night, the {y} rolled off the table and broke open/ADJ. Inside was an old map, and on the map was the garden of {h}! {M} dug where the cross/NOUN was. There was a {box} full of gold in the ground, more/ADJ than enough to buy the {x} back.
-- bad
| At home, the {y} fell on the floor and broke. It was only painted/ADJ clay. Now the family had no {x} and no money, and the winter was long.
| "m>h: What have you done?" cried {m}. The {y} was worth nothing. {H} ran back to the road, but the {e.kind} and the {x} were gone.
| {H} put the {y} under {his} pillow. In the morning, it was just the same/ADJ as before, and the rain came through the roof on {him}, on {m} and on the {y}.
-- about
| {H} gives away the {x} of the family for a {y}.
-- about end
| {He} works/VERB hard to make it good/ADJ again.
-- about twist
| But the bargain is not what it seems.
-- about bad
| It was a trick, and the family has nothing left.

== the found purse
cast: h f e=elder
with: x=toy p=town_place
hero: child
good: honesty
bad: honesty greed
-- find
| On the way to the {p}, {h} saw a {color} purse on the road. It was full of coins. There was nobody near/ADV.
| {H} and {f} were playing near the {p} when {f} kicked against something. It was a purse, and there was a lot of money in it.
| "f>h: Look what is here!" called {f}. It was a {color} purse. "h>f: There must be a hundred coins in it," said {h}.
| The snow had melted, and on the way to the {p} something {color} lay/VERB in the grass. {F} picked it up. It was a purse, heavy and wet, and it rang.
| It had rained all night, and {h} and {f} jumped from puddle to puddle on the way to the {p}. In the last one/NOUN lay a {color} purse. {They} could hear that/SCONJ it was not empty/ADJ.
| "f>h: You lost something," said {f} and pointed at the road behind {h}. But it was not {h}'s. It was a purse full of gold, and nobody from the {p} to the hill had such/ADJ a thing.
-- want
| {H} thought of the {x} in the window of the shop. With so much money, {he} could buy it, and {sweet+} for {f} as well/ADV.
| All the things that {they} could buy! A {x}, a {toy}, a mountain of {sweet+}. {F} already began to count.
| "f>h: We could buy the {x}," said {f}, "f>h: and nobody would ever know." "h>f: I would know," said {h}.
| {They} sat down behind the {town_place} and made a list. One {x}, {num} {sweet+}, a {pet}, a trip to the sea/NOUN. The list grew long, but {h} grew quiet.
| {H} counted the coins once, and {f} counted them/PRON twice. It was enough for a {x}, for a {pet} and for {sweet+} until summer. {H} and {f} sat very still, as if the purse could hear them/PRON.
-- look
| Then {h} saw an old {e.kind} who walked up and down the street with {his e} eyes on the ground. {He e} looked very {sad}.
| But inside the purse was also a picture of a baby. It must be dear to somebody. Just then, an old {e.kind} came along the road and searched behind every bush.
| "e>h: Have you seen a purse?" asked an old {e.kind}. "e>h: It was all that I had." {F} looked at {h}, and {h} looked at {f}.
| On a {tree} tree by the {p} hung a piece of paper. An old {e.kind} had lost {his e} purse, and with it all the money for the winter.
| On the steps/NOUN of the {p} sat an old {e.kind} with {his e} face in {his e} hands. People walked by and did not ask what was wrong. {H} stopped, and {f} stopped too.
-- sign
| The teacher had once said that money shows/VERB what is in a heart. >> So money really shows/VERB what is in a heart.
-- end
| {H} brought the purse to the {e.kind}, who had tears in {his e} eyes. {He e} thanked {them} again and again and bought each of {them} a big {sweet}.
| "h>e: Here it is," said {h}. "e>h: There are still honest children in the world!" said the {e.kind}. "e>hf: Come, I want to give you something." And {h} got the {x} after all.
| {They} rang the bell of the {e.kind}. {He e} counted the coins, and not one was missing. Then {he e} made {them} a {sweet} with {fruit+}, and it was the best that {they} had ever eaten.
-- twist
| {H} gave the purse back. The {e.kind} laughed and took off {his e} hat. {He e} was the owner/NOUN of the shop that sold/VERB the {x}! {He e} had put the purse there to find an honest helper, and now {h} and {f} could work there and play with everything.
| "h>e: It is yours," said {h}. The {e.kind} opened it and took out only an old picture. "e>hf: This is all that I want," said the {e.kind}. "e>hf: The money is for you."
| {They} ran to the {e.kind}. But {he e} shook {his e} head, because it was not {his e} purse at all! {He e} laughed and pulled {his e} own out of {his e} boot, where it had been all week. The other one is still waiting at the {p}.
-- bad
| {They} said nothing and kept/VERB the money. {H} bought the {x}, but it was no fun. Whenever/SCONJ {he} saw the old {e.kind}, {he} had to look away.
| {They} hid the purse behind a bush. But when {they} came back to get it, somebody else had taken it. The {e.kind} never got {his e} money back, and {they} had nothing.
| {They} said that {they} would bring it back tomorrow. But the next day {they} spent a little, and the day after that a little more/ADV. When {they} met the {e.kind} in {his e} thin coat, {they} ran.
-- about
| {H} and {f} find a purse full of money.
-- about end
| {They} give it back to the old {e.kind}.
-- about twist
| {They} give it back, and the {e.kind} surprises {them}.
-- about bad
| {They} keep it, and nothing good comes of it.

== helping a neighbour
cast: h f e=elder
with: x=vegetable y=garden_tool
hero: child
good: kindness
bad: promise
quarrel: 2
-- ill
| The old {e.kind} next door was ill and could not work in the garden. The {x+} were dry, and the {flower+} hung their/PRON heads.
| One day, {h} saw that the gate of the old {e.kind} did not open anymore. The {e.kind} had hurt {his e} leg and could not even carry/VERB wood.
| "e>h: My leg hurts so much," said the old {e.kind} next door. "e>h: Who will water my {x+} now?" {H} had an idea.
| {H} noticed that the old {e.kind} did not wave from the window anymore. There were {bug+} on the {x+}, and the path was covered with leaves.
-- work
| {H} called {f}. Together {they} watered the {x+}, swept the yard and carried in the wood. By the evening, {their} hands were sore/ADJ.
| Every morning before school, {h} and {f} came with a {y} and a basket. {They} dug and raked/VERB and pulled out weeds/NOUN.
| "f>h: Why should we work for nothing?" asked {f}. "h>f: Because {he e} is our neighbor," said {h} and gave {f} a {y}.
| {H} borrowed a {y} from a {job}, and {f} brought {his f} own. {They} made a plan, drew it in the sand and began at the gate.
-- week
| A week passed. {F} grew tired and wanted/VERB to play, but {h} did not stop. The {e.kind} watched {them} from the window and smiled.
| The days were {weather_adj}, and the work was hard. But the {x+} grew as big as [balls|drums|kettles], and even the {bird+} came back.
| "e>hf: You must be tired," said the {e.kind}. "h>e: Only a little," said {h}, and {he} wiped the dirt from {his} {bodyplace}.
| Every day had its own trouble. On Monday it was {bug+}, on Tuesday hail, on Wednesday a hungry goat. But on Thursday the first {x+} were ripe.
-- sign
| The {e.kind} had once said that a garden never forgets/VERB. >> The garden had not forgotten/VERB, as the {e.kind} had said.
-- end
| When the {e.kind} was well again, {he e} cooked a big soup with the {x+}. The whole street came to eat, and {h} and {f} got the biggest bowls/NOUN.
| "e>hf: How can I thank you?" asked the {e.kind}. "h>e: Tell us a story," said {h}. So every Sunday, {they} sat at the fire and listened.
| One morning, the {e.kind} stood at the gate, on {his e} own two feet. {He e} had carved/VERB a little {zoo} out of wood for each of {them}, and {they} kept them/PRON forever.
-- twist
| On the last day, {h}'s {y} hit something hard/ADJ in the ground. It was a {box} full of {treasure+}! The {e.kind} had buried/VERB it as a child and forgotten it. {He e} shared it with {them}.
| When the garden was done/ADJ, the {e.kind} jumped up and danced. {He e} had been well for days! {He e} had only been so lonely, and it was so nice to have {h} and {f} there.
| On the last evening, the {e.kind} put a letter into {h}'s hand. It said that half of the garden was theirs/PRON now! All that time, {they} had worked for {themselves} and not known/VERB it.
-- bad
| But one day, {they} wanted/VERB to play and did not come. That night it froze, and nobody had covered the {x+}. In the morning, they/PRON were all black, and the {e.kind} wept.
| But {f} broke the {y} and was too proud to say it. {He f} threw it behind a bush and never came back. Alone, {h} could not do all the work, and the garden dried/VERB up.
| Then {h} and {f} fought over the best {y}, and it flew through the window of the {e.kind}. {He e} did not scold. {He e} only asked {them} not to come again.
-- about
| {H} and {f} help an old {e.kind} with the garden.
-- about end
| The {e.kind} gets well and thanks {them}.
-- about twist
| And then there is a surprise.
-- about bad
| But {they} do not help to the end.

== the lemonade stand
cast: h f
with: x=sold y=toy
hero: any
good: trying sharing friendship
bad: greed
-- want
| {H} and {f} wanted to buy a {y}, but {they} had no money. So {they} put a table by the road and sold/VERB {x} for one coin a cup.
| In the shop window stood a {color} {y}. {H} and {f} counted {their} coins. It was not enough, so {they} decided to sell {x} by the road.
| "h>f: If we sell {x}, we can buy the {y}!" said {h}. "f>h: And we can drink the rest," said {f}. {They} painted a big sign.
| At the fair stood a {y} that could be won/VERB or bought. {H} turned {his} pockets inside/ADV out, and {f} did too. All {they} had was a pot of {x} and an idea.
-- slow
| At first, nobody came. A {job} walked by, then a {job} with a {pet}. They/PRON all looked at the cups and walked on.
| The sun was hot, and {they} waited. The first to come was a {size} {bug}, and it did not pay.
| "f>h: Nobody wants our {x}," said {f} after an hour. "h>f: Maybe it is not sweet enough," said {h}. {They} added some honey.
| The first cup was bought by {f}, and the second by {h}. That made two coins, and both had been theirs before.
-- more
| Then a {job} stopped, took a sip and called all the neighbors. Soon there was a long line at the table.
| In the afternoon, it got hotter/ADJ, and everyone was thirsty. One cup after/ADP the other was sold, and the {box} filled with coins.
| "f>h: More cups, quick/ADV!" called {f}. "h>f: I am running!" called {h}. {They} poured and sold until {their} arms hurt.
| {F} climbed on a [table|bench|stool] and sang, and {h} beat a drum. That helped! A {job} came, a {job} came, and then a whole bus.
-- sign
| That morning, {h} had found a coin on the road, and people say that it brings a strange day. >> So the coin on the road had really brought a strange day.
-- end
| In the evening, {they} counted the money. It was enough for the {y} and even for two {sweet+}. {They} were so {happy}.
| "h>f: We did it!" said {h}. {They} ran to the shop, hand/NOUN in hand/NOUN, and the {y} was theirs/PRON. {They} took turns with it all the way home.
| The last cup was sold at sunset. {They} ran so fast/ADV that the coins jumped in the {box}. The shop was still open/ADJ, and the {y} was still there.
-- twist
| On the way to the shop, {they} met a little child who cried for a lost {soft}. {H} and {f} looked at each other, and then {they} spent/VERB all {their} coins on a new one/NOUN. It was much better/ADJ than a {y}.
| In the evening, somebody from the circus drank the last cup and forgot to pay. But there were {num} tickets/NOUN under the cup! So {they} had no {y}, but {they} saw/VERB a {zoo} that could juggle/VERB.
| {They} brought the money to the shop. But the {y} had been sold an hour before/ADV. {H} could have cried. But at home it stood on the table, with a note. {Their} families/NOUN had bought it for {them}, and the coins were for next summer.
-- bad
| Then {h} wanted more/ADJ and put water into the {x}. People made a face and went away. Soon nobody came back, and {they} could not buy the {y}.
| But {h} wanted even/ADV more/ADJ and piled {num} boxes/NOUN of cups on one end of the table. It fell over. All the {x} ran into the grass, and the coins rolled into the {water}.
| {They} were so thirsty {themselves} that {they} drank a cup, and then another, and by noon there was nothing left to sell. The {y} went to somebody else.
-- about
| {H} and {f} sell {x} to buy a {y}.
-- about end
| {They} work hard and can buy it.
-- about twist
| But {they} do something else with the money.
-- about bad
| In the end, {they} cannot buy it.

== learning to ride
cast: h m
with: x=ridden p=outdoors
hero: any
good: trying courage patience
bad: pride
-- want
| {H} got a {color} {x} for {his} birthday. But {he} did not know how to ride it. The other/ADJ children rode/VERB past {him} and waved.
| All {h}'s friends could ride a {x}. {H} could not. {He} looked at the new {color} {x} in the yard and was {afraid}.
| "h>m: Will you teach me to ride my {x}?" asked {h}. "m>h: Of course/NOUN," said {m}. "m>h: But you will fall a few times."
| In the shed stood an old {x}. {M} had oiled/VERB it and painted it {color}. Now it only needed somebody who was not afraid, and {h} was not that one/NOUN yet/ADV.
| There was a hill behind the house, and on the hill the other/ADJ children rode/VERB up and down on Sundays. {H} only watched, because {he} had a {x}, but no courage.
| For a whole year, {h} had saved every coin, and now the {x} was {his} own/ADJ. It was {color}, it was fast, and it did not do what {he} wanted.
-- fall
| {M} held {him} and ran beside {him}. When {he m} let go, {h} fell into a bush. {He} had scratches/NOUN on {his} knees and elbows/NOUN.
| On the first day, {h} fell {num} times. On the second/ADJ day, {he} rolled into a bush and lost a shoe.
| "h>m: Do not let go!" cried {h}. But {m} let go, and down {he} went. "h>m: I will never do that/PRON again!" {he} said.
| To the left/NOUN, bump/NOUN. To the right/NOUN, bump/NOUN. By evening/NOUN {h} knew every stone of the {p} by name, and {m} had run out of bandages.
| {H} sat up straight and counted to/ADP five. At two, {he} was in the {flower+}. At five, {he} was in the {water}, and {m} held out a hand.
| "m>h: Look at the road, not at your feet," said {m}. {H} looked at the road. It came/VERB closer and closer, and then {he} lay on it.
-- give_up
| {H} threw the {x} on the grass and went away. But {he} heard the other/ADJ children laugh/VERB and race/VERB, and it made {him} {sad}.
| At night, {he} lay awake and thought of the {x}. In {his} dream, {he} flew through the {p} as fast as the wind.
| "m>h: When I was little, I fell into a pond," said {m}. {H} had to laugh. "h>m: Really? Then let's try once more," {he} said.
| {H} hid the {x} behind the {furniture} and said that {he} liked to walk anyway. {M} said nothing, but {he m} left the door open.
| {H} said that {his} knee hurt. It was true, but the other/ADJ children had sore knees/NOUN too, and they/PRON still laughed. That evening, {he} did not want any supper.
| {He} kicked the {x} and called it {bad_trait}. Then {he} felt sorry and wiped the mud off with {his} own {garment}.
-- sign
| A tiny {s=bird} tried to fly from the fence and fell into the grass. >> And on the fence, the tiny {s} opened its wings and flew.
-- end
| The next morning, {he} tried again. One push/NOUN, two pushes/NOUN, and then {he} was riding all by {himself}! {He} rode around the {p}, and {m} cheered.
| The next day, {h} tried once more. "m>h: You are doing it!" called {m} from far behind/ADV. {H} looked back. {M} had let go long ago, and {he} had not noticed it!
| {H} got up before sunrise, when nobody could see {him}. {He} did not look at the ground this time. {He} looked at the {tree} tree far away, and suddenly it was near. {He} rode until breakfast.
-- twist
| The next day, {he} asked {m} to show {him} how to ride. {M} got on the {x}, wobbled and fell into the mud! {He m} had never learned it {himself m}. So they/PRON learned it together.
| At last {h} could ride. But then {he} met {num} other/ADJ children who could not. So {he} did not race with the fast ones/NOUN. {He} became the best teacher in the {p}.
| One night, {m} had to get the doctor, and there was no other way. {H} jumped on the {x} and rode through the dark without thinking/VERB. Only when {he} came back did {he} see that {he} could do it.
-- bad
| {H} did not wait for {m}. {He} went up the highest/ADJ hill and rode down. {He} could not stop! Crash/NOUN! The {x} hit a {tree} tree, and {h} broke {his} arm.
| But {h} was too proud to fall one more/ADJ time. The {x} stood in the {room} until it was [old|dusty|broken], and each summer {he} watched the other/ADJ children ride/VERB away.
| {H} told everyone that {he} could ride well. They/PRON asked {him} to lead the parade. {He} rode three feet, and then {he} rode into the drums.
-- about
| {H} wants to ride a {x}, but {he} falls again and again.
-- about end
| {He} tries once more, and then {he} can ride.
-- about twist
| It turns out in a surprising/ADJ way.
-- about bad
| It ends badly.

== too many sweets
cast: h f m
with: x=baked y=lunchbox
hero: any
good: greed
bad: greed listening
-- find
| {M} had baked {x+} for the party and put them/PRON in a {y} on the top shelf. {H} was allowed to have one, and no more.
| It was the day before the party. In the kitchen stood a {y} full of {x+}. {H} and {f} could smell them/PRON through the closed/ADJ door.
| "m>hf: Take one {x} each/DET from the {y}, and leave the rest," said {m}. "h>m: Only one?" asked {h}. "m>h: Only one," said {m}.
| The whole house smelled of {x+}. {M} had filled a {y} with them/PRON for the party and had to go to the {town_place}. {He m} looked at {h} for a long time before {he m} left.
-- eat
| But the {x+} were so {taste}. {H} climbed on the [table|chair|stool] and took one/NUM, and then another. {F} warned {him}, but {he} did not listen.
| When {m} was gone/ADJ, {he} opened the {y}. One {x}, two {x+}, three {x+}. {He} ate and ate, and {f} only watched.
| "f>h: Stop it, that is enough," said {f}. "h>f: Nobody will count them/PRON," said {h} with a full mouth.
| {H} only wanted/VERB to see if the {x+} were all the same. One was a little better/ADJ, so {he} had to try the next. {F} said that this was how a mountain becomes a valley.
-- sick
| After a while, the {y} was empty. {H} felt strange. {His} tummy was as round as a ball, and {his} face turned green.
| Then {his} tummy began to hurt. {He} lay down on the [bed|sofa|couch] and could not move. {F} did not know what to do.
| "h>f: Oh, my tummy!" {h} moaned/VERB. "f>h: I told you so," said {f}, and {he f} put a wet cloth/NOUN on {his} head.
| The room began to turn. {H} saw {x+} with legs and {x+} with wings. {F} got a bucket just in time.
-- sign
| On the {y} was a little note, but {h} did not read/VERB it. >> If only {h} had read/VERB the little note!
| The night before, {h} had dreamed that {he} was as round as a pumpkin. >> The dream of the night before/ADV had come true.
-- end
| {H} told {m} everything. {M} made {him} some tea, and when {he} was well again, {h} and {f} baked new {x+} for the party all by {themselves}. {H} did not eat a single/ADJ one/NOUN.
| "h>m: I ate all the {x+}," said {h}, "h>m: and I am sorry." "m>h: I think your tummy has taught/VERB you enough," said {m}. The next day, {h} shared {his} own snack with all the guests.
| {H} did not wait to be asked. {He} wrote a letter to {m} and put it into the empty {y}, with all {his} coins. {M} read it twice, and then they/PRON bought {fruit+} for the party instead.
-- twist
| {M} came in and looked into the {y}. "m>h: Oh no, those were the ones/NOUN that I made with soap/NOUN by mistake!" {he m} said. "m>h: The good {x+} are in the {box}." {H} never ate in secret/NOUN again.
| When {m} saw the empty {y}, {he m} only smiled. The {x+} in it had been made with {vegetable+}, to see if {h} would like them/PRON. The real {x+} were still in the {room}, but now {h} was too full to eat even one.
| But {m} came back with a second {y}, twice as big. {He m} had counted on {h} all along/ADV! The first one had only been there to keep {him} away from the other.
-- bad
| The next day was the party. Everyone danced and laughed, but {h} lay in bed with a bucket beside {him}. And there were no {x+} for anybody.
| {M} was so {angry}. There was no time to bake new {x+}, and all the guests went home hungry. No one wanted to talk to {h}.
| Since that day, {h} cannot even look at a {x}. At each birthday {he} sits in front of an empty plate, while the others eat.
-- about
| {H} eats all the {x+} that {m} baked for the party.
-- about end
| {He} is sick and sorry, and {he} makes it good/ADJ again.
-- about twist
| But they/PRON were not what {he} thought.
-- about bad
| {He} spoils the party for everyone.
"""
