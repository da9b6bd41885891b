"""Tales of friends: sharing, quarrels, races, tricks, strangers who become friends."""

TALES = """
== a new friend
cast: h f
later: f
with: x=outdoors y=toy
hero: any
good: welcome kindness
bad: lonely
-- alone
| {H} had no one to play with. Every day {he} [sat|stood] alone in the {x} with {his} {y} and watched the others/NOUN.
| When {h} moved to a new town, {he} did not know anybody there. {He} took {his} {y} to the {x} and played alone.
| "h>: I wish I had a friend," said {h} one day, alone in the {x} with {his} {y}.
| At lunch, all the others sat in pairs. {H} ate {his} {sweet} alone in the {x} and talked to {his} {y}.
| The {x} was full of laughing/VERB and singing/VERB, but nobody ever called for {h}. {He} built a house for {his} {y} and pretended not to hear.
-- meet
| One day, a {nice} {f.kind} named {f} came to the {x}. {F} was alone too/ADV, and {he f} looked [{sad}|{afraid}]. {H} wanted to say hello, but {he} was too shy.
| Then {he} saw a {f.kind} behind a {tree} tree. {His f} name was {f}. {He f} peeked out, hid again and peeked out once/ADV more/ADV.
| "f>h: May I play too?" asked somebody. It was a {f.kind} with a {color} {garment}. "f>h: My name is {f}," {he f} said. {H} did not know what to say.
| Then there was a splash. A {f.kind} named {f} had slipped and sat in a puddle, with mud up to the ears. The others laughed/VERB. {H} did not laugh.
-- try
| At last, {h} took all {his} courage and held out the {y}. {F} smiled. Together {they} played [until noon|for hours], and {they} laughed about every little thing.
| {H} went over and shared a {sweet} with {him f} in the grass. {F} knew a lot about {zoo+}, and {h} knew a lot about {bug+}.
| "h>f: This is my {y}," {h} said. "h>f: You can have the first turn." {F} beamed. "f>h: Thank you! You are so [kind|nice|good]," {he f} said.
| {H} took {him f} by the hand and showed {him f} the whole {x}. For a while, {they} said nothing. Then both began to talk at the same time, and {they} did not stop until the sun went down.
-- sign
| That morning, a {color} {s=bug} had landed on {h}'s hand, and people say that it means a visit. >> So the {s} had told the truth about the visit.
| In a dream, {h} had seen a {f.kind} in the {x}. >> It was all as it had been in {his} dream.
-- end
| From that day on, {h} was never alone. {He} and {f} met in the {x} every afternoon, and {they} built a {building} out of {nature+}.
| "f>h: Will you come back tomorrow?" asked {f}. "h>f: Tomorrow, and every/DET day after that," said {h}. And so it was.
| The bench in the {x} had room for two. {H} painted a {color} boat on it, and {f} painted a {flower}, so that everyone could see to whom it belonged.
-- twist
| When it got late, {they} walked home the same way, along the same road, to the same street. {F} lived right/ADV next door! All that time, there had only been a {tree} hedge between {them}.
| "f>h: I have to tell you something," said {f}. "f>h: I saw you here every day from my window. I only came because you looked so lonely." {H} was {happy}, for {he} had thought that {f} was the lonely one.
| Only later, {h} asked {f} about the place {he f} came from. It was the very same house that {h} had lived in years before! On the wall of the {room}, {f} had found {h}'s name and had come to look for {him}.
-- bad
| But then the others/NOUN called {f}, and {f} ran to them/PRON with the {y}. {He f} did not come back. {H} sat alone in the {x} once more, and now {he} had no {y}.
| But the next day, {f} was gone. {His f} family had moved away in the night. {H} waited for {him f} in the {x} every day, but {f} never came back.
| Then {f} had to take the bus. {He f} waved, and {h} waved back. Not until evening/NOUN did {h} see that {he} did not know where {f} lived. {He} never found out.
-- about
| {H} is lonely and meets {f} in the {x}.
| A lonely {h.kind} named {h} plays in the {x} until {f} comes along.
-- about end
| {They} become the best of friends.
-- about twist
| {They} find out that {they} have been close all the time.
-- about bad
| But {h} is left/VERB alone again.

== sharing
cast: h f
with: x=toy y=treat
hero: any
shows: Conflict
good: sharing
bad: greed sharing
-- have
| {H} got a new {color} {x} for {his} birthday. {F} wanted to play with it too, but {h} held it tight/ADV and shook {his} head.
| One day, {h} brought {his} new {x} to show it to {f}. It was {color} and {looks}. But when {f} reached for it, {h} pulled it away.
| "f>h: May I play with your new {x}?" asked {f}. "h>f: No! It is mine, all mine," said {h}.
| {H} had saved {his} coins for {num} weeks, and at last {he} could buy the {x}. {F} came to see it. But {h} put/VERB it behind {his} back.
| There was only one {x} in the room, and both of {them} wanted it. {H} got there first/ADV and sat on it.
-- fight
| {F} got {angry} and pulled at the {x}. {H} pulled back. {They} pushed and yelled, and {f} began to cry.
| {F} grabbed the {x} and ran. {H} chased {him f} around the [table|bed|sofa], and soon {they} both shouted [at the same time|as loud/ADV as {they} could].
| "f>h: You are {bad_trait}!" {f} yelled. "h>f: And you are a baby!" {h} yelled back. {They} pulled at the {x} from both sides.
| {F} called {him} {bad_trait} and stamped/VERB {his f} foot. {H} called {him f} a thief. A lamp fell over, and still neither let go.
-- alone
| {F} went away, and {h} had the {x} to {himself}. But soon {he} grew bored. It was no fun to play alone.
| After that, {h} sat in one corner with the {x}, and {f} sat in the other with nothing. The {x} did not seem so {quality} anymore.
| "f>h: Then play alone!" said {f}, and {he f} went to the window and looked out. {H} tried to play, but it was not the same.
| Later it was very quiet. {H} moved the {x} to the left, and {he} moved it to the right/NOUN. Then {he} looked at the door.
| So {h} had what {he} wanted. {He} put the {x} on the {furniture}, and then {he} put it on the floor. There was nobody to show it to.
| "f>h: Keep it," said {f}, and {he f} did not sound angry anymore, only {sad}. {H} kept it. But {he} did not feel {happy} at all.
-- sign
| The old people say that every new toy brings tears/NOUN first/ADV. >> The old people were right/ADJ about the tears/NOUN.
| {F} kept {num} {y+} in {his f} pocket for later. >> The {y+} in {f}'s pocket had been meant for two.
-- end
| So {h} went to {f} and put the {x} in {his f} hands. {F} smiled and took two {y+} out of {his f} pocket, one for each of them/PRON. They/PRON took turns, and the afternoon flew by.
| "h>f: I am sorry," said {h}. "h>f: You can have it first/ADV." {F} hugged {him}. "f>h: Let's play together," {he f} said, and that was the best game of all.
| {H} tore/VERB a paper in two and wrote/VERB a list. One day for {f}, one day for {him}, and Sunday for both. {F} read it, laughed and painted/VERB a {fruit} under it.
-- twist
| Then {f} came back with a [box|bag|basket]. In it was another {x}, just the same, but {color}. It was a gift for {h}! {F} had only wanted/VERB to see if the two were alike/ADJ. {H} turned red and shared everything from then/ADV on/ADP.
| {H} looked at the bottom of the {x} and found a note. It said that it was for {h} and {f}. The {x} had been for both of {them} from the start! {H} ran to {f} at once.
| {H} looked for {f} everywhere. {F} sat in the {room} and was busy. {He f} was making/VERB a [house|box|bed] for the {x}, with {h}'s name on it. It had been meant as a present all the time.
-- bad
| {They} began to pull at the {x} again, and then there was a loud crack. The {x} broke in two. Now nobody had a {x}, and nobody had a friend.
| When {h} looked up, {f} was gone. {F} had found somebody else to play with, who had {y+} and shared/VERB them/PRON. {H} sat there with {his} {x} and cried.
| In the night, rain/NOUN came through the roof, and in the morning the {x} was ruined. {F} would have kept it dry under the bed, but {he f} did not come anymore.
-- about
| {H} does not want to share {his} {x} with {f}, and {they} quarrel.
-- about end
| Then {he} shares it, and {they} have fun together.
-- about twist
| Then {he} finds out that {he} was wrong about it.
-- about bad
| In the end, {he} is left/VERB with nothing.

== the race
cast: h f
with: x=water p=outdoors
hero: any
good: pride trying
bad: pride
-- boast
| {H} was [fast|the fastest in the village], and {he} never forgot to say so. {He} laughed at {f}, who was much slower. So {they} agreed to have a race from the {p} to the {x}.
| There was going to be a race from the {p} to the {x}. {H} told everybody that {he} would win. {F} said nothing and practiced every morning.
| "h>f: Nobody is faster than I am!" {h} bragged. "f>h: Then let's have a race to the {x}," said {f}. "h>f: You? That is funny," laughed {h}.
| On {h}'s wall hung {num} medals, and each visitor/NOUN had to look at all of them/PRON. {F} looked politely and then asked for a race to the {x}.
| {H} ran everywhere, even to bed. {F} liked to walk and look at the {flower+}. When the village planned a race to the {x}, everyone knew who would win.
-- start
| On the day of the race, all the {hero+} and {bird+} of the {p} came to watch. {H} shot/VERB away like the wind, and soon {f} was far behind.
| A {bird} gave/VERB the sign, and off {they} went. {H} was so far ahead/ADV that {he} could not even see {f}.
| "f>h: One, two, three, go!" called {f}. {H} ran so fast/ADV that the dust rose/VERB behind {him}.
| The line was drawn in the sand. A {job} rang a bell, and {h} was gone/ADJ before the sound had ended. {F} took {his f} first slow steps.
-- rest
| Halfway/ADV there, {h} looked back and saw nobody. {He} lay down under a {tree} tree to eat some {fruit+}, and the sun was so warm that {he} fell asleep.
| After a while, {h} saw a {nature} that {he} liked. {He} stopped to look at it, then {he} stopped to drink, and then {he} stopped to chase a {bug}. There was so much time!
| "h>: I have all/DET the time in/ADP the world," {h} said to {himself}. {He} sat down, ate a {fruit} and closed {his} eyes.
| Halfway to the {x}, some children asked {h} to show how fast/ADJ {he} was. {He} ran in circles for them/PRON, again and again, until {his} legs were like water.
-- sign
| An old turtle by the road had looked at {h} and shaken its head. >> The old turtle by the road nodded, for it had seen all this before.
| {H} had forgotten that long races/NOUN are not won at the start. >> Long races/NOUN are not won at the start, and {h} knew it now.
-- end
| When {h} looked up again, {f} was almost at the {x}. {H} ran as fast as {he} could, but it was too late/ADJ. {F} had won, and {h} was the first to clap for {him f}.
| Step/NOUN by step, {f} went on and reached the {x} first/ADV. "h>f: You won," said {h}, out of breath. "h>f: I will never brag again." {They} [shared|split] the prize, a {taste} {sweet}.
| Then there was a great noise from the {x}. {F} had arrived, slow and steady/ADJ, and was already eating a {fruit}. {H} came last. {He} bowed and said that it was well done.
-- twist
| {H} ran to the {x} and was sure that {f} had won. But {f} was not there. {F} had stopped to help a {small} with a hurt leg. So {h} ran back and helped too, and {they} crossed the line together, last/ADJ and {happy}.
| At the {x}, {f} was waiting with the prize. But {he f} did not keep it. "f>h: I only wanted you to wait for me once," said {f}. "f>h: The prize is for you." {H} did not know what to say.
| When {h} came to the {x}, the people were cheering for a third one. A little {small} had followed {f} from the start and had run between {his f} feet across the line! {H} and {f} carried the winner home on {their} shoulders.
-- bad
| {H} heard people cheer/VERB and went on as fast as {he} could. {He} did not look down, tripped over {his} own feet and fell into a puddle. {F} won the race, and everyone laughed at {h}.
| {H} stayed too long/ADV, and when {he} went on, it was dark. The race was over, and all had gone home without {him}. {He} had a cold, wet walk back.
| {H} took a short way through the bushes to save time. The thorns held {him} tight, and {he} tore {his} best {garment}. By the time {he} was free, the prize was gone.
-- about
| {H} brags that {he} is faster than {f}, and {they} have a race.
-- about end
| {He} rests too long/ADV, and {f} wins.
-- about twist
| It ends in a way that nobody expected.
-- about bad
| {He} loses and is ashamed.

== the trick
cast: h f
with: x=bug y=lunchbox
hero: any
quarrel: no
good: joking
bad: hurt
-- idea
| {H} loved to play tricks. One day, {he} put a {color} {x} of paper into {f}'s {y}, where {he f} kept {his f} lunch.
| {H} had a [funny|naughty] idea. {He} hid under the [table|bed|desk] with a blanket over {his} head and waited for {f}.
| "h>f: Come and look, I have a gift for you," said {h} to {f}. In the {y} was no gift, but a big {x} made of {color} wool.
| {H} painted a {x} on the window, as big as a {pet}. From inside, it looked alive. Then {he} called {f} and hid behind the door.
-- scare
| When {f} came, {he f} screamed and dropped {his f} {drink} on the floor. {H} laughed until {his} tummy hurt. But {f} did not laugh at all.
| {F} jumped so high/ADV that {he f} bumped {his f} head. Then {he f} [ran away|began to cry]. {H} [giggled|grinned], but not for long/ADV.
| "f>h: Help/VERB!" cried {f}, and {he f} jumped onto a [table|chair|bench]. "h>f: It was only a joke!" laughed {h}. "f>h: It was not funny," said {f}, with tears/NOUN in {his f} eyes.
| There was a scream/NOUN and a crash. {F} had run into the {furniture} and held {his f} [arm|knee|shoulder|head]. {H} rolled on the floor with laughter/NOUN.
| {F} did not scream. {He f} only turned white/ADJ, sat down on the floor and said nothing for a long/ADJ while. {H} had to laugh alone, and that was not much/ADV fun.
-- think
| That night, {h} thought of {f}'s face. How would {he} like it if somebody scared {him} so much? It did not seem funny anymore.
| {H} felt bad. A joke should make everyone laugh, and this one/NOUN had not. {He} thought about it the whole way home.
| "h>: Maybe it was not such a good joke," {h} mumbled. {He} went to bed and could not sleep.
| On the way home, {h} tried to laugh once more, but no laugh came. {He} saw the wide eyes of {f} before {him}, and {his} {sweet} tasted like paper.
-- sign
| The teacher had once said that a joke is only good if everyone can laugh/VERB. >> The teacher had been right/ADJ about jokes.
-- end
| The next day, {h} baked {sweet+} and brought them/PRON to {f}. There was no trick in them/PRON this time. {F} looked twice, took a bite and laughed. All was well/ADJ again.
| "h>f: I am sorry that I scared you," {h} said the next morning. "f>h: Then show me how it works/VERB," said {f}. Together {they} made the funniest/ADJ {x} in the world, and they/PRON scared nobody with it but a {wild}.
| {H} went to {f} with a {flower} and a {color} {treasure}. {He} let {f} paint a {bug} on {his} nose, and so {he} walked through the whole town. Now they/PRON were even/ADJ.
-- twist
| The next morning, {h} opened {his} own {box}, and out jumped a huge {x}! {H} fell over in fear, and behind the door {f} was laughing. {He f} had not been sad at all. {F} had only planned the better trick.
| When {h} went to say sorry, {f} opened the door with a smile/NOUN. "f>h: I knew about your trick all the time," {he f} said. "f>h: I only cried to trick you!" Then {they} both laughed.
| {H} went over to say sorry. In {f}'s room stood {num} boxes, and each had a different {bug} in it, a living/ADJ one. {F} loved them/PRON! {He f} had only screamed because {he f} thought that {h} had hurt one.
-- bad
| When {h} went to say sorry, nobody opened the door. {F} did not trust {him} anymore. At school, {f} sat next to somebody else, and {h} ate {his} lunch alone.
| A week later, {h} fell into a hole and called for help/NOUN. {F} heard it, but {he f} thought that it was a trick again and walked on. {H} sat in the hole until dark/NOUN.
| On Monday, {f} told all the others what had happened. They/PRON played the same trick on {h}, once, twice, ten times. Nobody helped {him}, not even {f}.
-- about
| {H} plays a trick on {f}, and {f} does not find it funny.
-- about end
| {He} says sorry, and {they} laugh together.
-- about twist
| But {f} has a trick of {his f} own/ADJ.
-- about bad
| {He} loses the trust/NOUN of a friend.

== the lonely stranger
cast: h f e=elder
with: x=dish y=nature
hero: child
good: kindness welcome
bad: hurt
-- house
| At the end of the road lived an old {e.kind} who never [smiled|spoke to anyone]. The children said that {he e} was {bad_trait}, and they/PRON ran past {his e} house.
| {H} and {f} were afraid of the old {e.kind} next door, who wore a {color} {garment} and never said hello.
| "f>h: Do not go near that house," said {f}. "f>h: An old {e.kind} lives there, and {he e} is {bad_trait} and {angry}."
| Nobody had ever seen the old {e.kind} next door without the {color} {garment}. {He e} bought {food} on Mondays, spoke to no one and never opened a window.
-- ball
| One day, {h} threw a {color} ball too far, and it flew right/ADV into the garden of the {e.kind}. {H} and {f} looked over the fence. The ball lay between the {flower+}.
| One {weather_adj} day, {h} saw the {e.kind} slip on the wet road. {His e} {box} fell down, and {vegetable+} rolled everywhere. {H} and {f} ran away, but {h} could not forget it.
| "h>f: Our ball!" cried {h}. It had landed in the garden of the {e.kind}. "f>h: We will never get it back," said {f}.
| It was the night of the [great/ADJ storm|first/ADJ snow]. In all the houses the lights were on, but the house of the {e.kind} stayed dark/ADJ. {H} saw it from {his} bed and told {f}.
-- knock
| {H} took a deep breath, went up to the door and asked if {he} could help/VERB. {F} waited behind a {tree} tree and did not dare to breathe/VERB.
| {H} knocked at the door with a {looks} {flower} in {his} hand. It opened slowly. {F} hid behind {him}.
| "h>e: Hello," said {h} in a small voice. "h>e: Can we help you?" The {e.kind} looked at {him} for a long time/NOUN.
| {They} packed a {lunchbox} with [bread|cheese] and {fruit+} and walked up the long path. {H} rang the bell. Slow steps came closer.
-- sign
| Every evening, a sad song came from the old house. >> It was clear now why the song from the old house was so sad.
| In the window of the old house stood a little {s=toy}. >> The little {s} in the window had been waiting for children all along/ADV.
-- end
| Then the {e.kind} smiled. {He e} gave {them} a warm {x} and told {them} funny stories of {his e} time as a young {job}. From then/ADV on/ADP, {h} and {f} came every week.
| "e>hf: Nobody has visited me for years," said the {e.kind}. "e>hf: Come in, there are {x+} and {drink} for all of us." From then/ADV on/ADP, {h} and {f} had a new friend.
| The {e.kind} looked at the card that {they} had drawn, and {his e} hands began to shake. Then {he e} put on the kettle. On Sunday, there were three coats in the hall, one big and two small ones.
-- twist
| The {e.kind} began to laugh. {He e} had worked in the circus for {num} years, and {his e} house was full of {color} masks/NOUN and drums! {He e} never spoke only because {he e} was so shy.
| "e>hf: Are you not afraid of me?" asked the {e.kind}. "e>hf: I have always been afraid of you, because children laugh/VERB at me." {H} and {f} looked at each other, and then all three had to laugh.
| Inside, the walls were covered with pictures of children. One of them/PRON was {h} as a baby! The {e.kind} had once been a friend of the family and had knitted/VERB {his} first {garment}.
-- bad
| But {f} shouted, threw a stone at the window and ran away. The glass broke. The {e.kind} closed the door without a word, and {h} never got a chance to say sorry.
| But the door closed again. The {e.kind} had been laughed/VERB at too often to trust anyone. {H} looked at the {color} door for a while and went home.
| But {f} began to laugh, and the {e.kind} closed the door. The next week, a truck stood in front of the house. A {job} said that the {e.kind} had moved away, because it was too lonely there. {H} had come too late/ADV.
-- about
| {H} and {f} are afraid of an old {e.kind}, until {h} dares/VERB to be kind.
-- about end
| The {e.kind} becomes a friend.
-- about twist
| {He e} is not at all what {they} thought.
-- about bad
| But it is too late/ADJ.

== the talent show
cast: h f m
with: x=pipe y=garment p=hall
hero: any
good: courage friendship trying
bad: trying
-- plan
| There was going to be a big show in the {p}. {H} wanted to play the {x}, and {f} wanted to dance in a {color} {y}.
| {H} played the {x} in secret, because {he} was too shy to play for others/NOUN. Only {f} knew. So {f} wrote both {their} names/NOUN on the list for the show.
| "f>h: There is a show at the {p}!" said {f}. "f>h: You can play the {x}, and I will dance/VERB." {H} turned pale.
| {M} had found the {x} in the attic and cleaned it for {him}. In {num} weeks there would be a show at the {p}, and {f} had told everyone that {h} would play.
-- practice
| Every evening, {h} practiced, and {m} listened at the door. At first it sounded like a sick cow. But day by day it got better.
| {They} practiced day after day. {F} never forgot a step, but {h} often got stuck in the middle and had to start again.
| "h>m: I will never learn it," said {h}. "m>h: Try it once more, but slowly," said {m}. And so {he} did.
| {He} played for the {farm+}, and they/PRON ran away. {He} played for the {bird+}, and they/PRON flew off. But {f} stayed and clapped.
-- night
| On the night of the show, the {p} was full of people. {H} looked at the crowd, and {his} knees began to shake.
| Then the great/ADJ day came. {H} stood behind the curtain in a {color} {y}, and {his} heart beat/VERB like a drum.
| "h>f: I cannot do it," whispered {h} behind the curtain. "f>h: Yes, you can," {f} whispered back. "f>h: Just look at me."
| A {job} called {h}'s name. The way to the middle of the stage had never been so long/ADJ. {His} hands were as cold as ice.
-- sign
| {H} felt in {his} tummy that something would happen on that stage. >> {His} tummy had known that something would happen.
-- end
| {H} closed {his} eyes, thought of {m} and began to play. The song was soft at first/ADJ, and then it filled the whole {p}. At the end, everyone stood up and cheered.
| {He} played, and {f} danced. There was one wrong note, but nobody minded. "m>hf: I am so proud of you!" called {m} from the first row.
| Somewhere in the dark, {f} coughed three times. It was their/PRON sign. {H} had to smile, and with a smile in it the song went by itself. People threw {flower+}.
-- twist
| {H} played the first note, and at that moment all the lights went out! Nobody could see {him}, and so {he} was not afraid at all. {He} played better than ever, and when the light came back, the whole crowd was dancing.
| Just then, {f} came to {him} in tears. The one who was really too afraid to go on was {f}! "h>f: Then we will go together," said {h}. {He} took {his f} hand, and {they} both forgot {their} fear.
| {H} lifted the {x}, and a cricket jumped out of it! It danced over the stage, and {h} played after its steps. Everybody thought that it was part/NOUN of the show, and they/PRON got the first prize.
-- bad
| {H} played one single note, dropped the {x} and ran out of the {p}. {F} had to stand on the stage alone, and nobody clapped.
| In the middle of the song, the {x} broke with a bang. Some people laughed. {H} threw it down and never played again.
| Not a single note came out. {H} looked at {m}, {he} looked at {f}, and then {he} walked off the stage. On the way home, {he} left the {x} on a bench.
-- about
| {H} wants to play the {x} in a show, but {he} is afraid.
-- about end
| {He} plays, and everyone cheers/VERB.
-- about twist
| Something unexpected/ADJ takes {his} fear away.
-- about bad
| The show goes wrong/ADJ for {him}.

== the picnic
cast: h f a=crawler
with: x=fruit y=dish p=outdoors
hero: any
good: sharing friendship
bad: caution
-- pack
| One {fine_weather} day, {h} and {f} packed a {lunchbox} with {y+}, {x+} and a bottle of {drink}. Then {they} walked to the {p}.
| {They} wanted to have a picnic in the {p}. {H} carried the {y+}, and {f} carried a {color} blanket and the {x+}.
| "h>f: What a {fine_weather} day! Let's have a picnic," said {h}. "f>h: I will bring {x+}," said {f}, "f>h: and you can bring {y+}."
| {H} knew a place in the {p} where the grass was as soft as a bed. {F} brought {y+}, and {h} had a {lunchbox} full of {x+}.
-- spread
| {They} spread a blanket under a {size} {tree} tree. But before {they} ate, {they} wanted/VERB to play. {They} hid behind the trees and chased each other until {they} were hungry.
| In the shade of a {tree} tree, {they} put everything on a blanket. It looked/VERB so [good|yummy|delicious]! Then {h} saw a [small|pretty|strange] {bird}, and {they} ran after it.
| "f>h: Let's play first and eat later," said {f}. "h>f: Then we will be even hungrier/ADJ," {h} agreed. {They} left the food on a blanket and ran to the {water}.
| There {they} lay, with {their} feet in the sun. {F} told a story about a {zoo}, and {h} closed {his} eyes. Neither thought of the food.
-- gone
| But soon one {y} was missing. Then another! {H} and {f} looked at each other. Who had taken it?
| But when {they} wanted to eat, half of the {x+} were gone, and there were tiny crumbs everywhere. Something was moving in the grass.
| "h>f: Did you eat my {y}?" asked {h}. "f>h: No, did you eat my {x}?" asked {f}. Somebody else must have been there.
| When {h} reached for another {x}, {his} hand found only crumbs. {F} had not eaten it. Something was moving in the bushes.
-- sign
| As {they} walked, something rustled in the grass behind {them}. >> Something had followed {them} the whole way.
| A {s=bird} called three times from a tree, as if it wanted to warn {them}. >> The {s} had tried to warn {them}.
-- end
| Then {they} saw a little {a.kind} with a crumb as big as itself. Behind it came a hundred more/ADJ! {H} laughed and made a small pile of crumbs for them/PRON, and there was still enough for everyone.
| "f>h: Look there!" said {f}. A long line of {a.kind+} carried away the crumbs. "h>f: They/PRON are having a picnic too/ADV," laughed {h}. So {they} shared.
| {They} followed a trail of crumbs to a small hill, and the hill was full of life. {A.kind+} ran in and out, each with a crumb on its back. {H} put down the last {sweet}, and {they} watched until sunset.
-- twist
| {They} followed a trail of crumbs behind the hedge. There sat a tiny {small} with five hungry babies! {H} and {f} gave them/PRON all the rest and went home with empty tummies/NOUN and full hearts.
| {They} hid behind a bush and waited. And who came on tiptoe/NOUN? It was an old {job}, who had lost the way and had not eaten all day! {H} and {f} invited the poor thing to sit down, and it became the best picnic ever.
| Behind the hedge sat {f}'s own {pet}, as round as a ball! It had followed {them} from home and had eaten everything. It was so full that {they} had to carry it back.
-- bad
| Then the bees came, more and more of them/PRON, and they/PRON stung. {H} and {f} ran away and left everything behind. All that was left of the picnic was an empty blanket.
| Then dark/ADJ clouds came, and it began to pour. The rest of the food turned to mud, and {h} and {f} ran home wet and hungry, without a word.
| {H} was sure that it had been {f}, and {f} was sure that it had been {h}. {They} walked home on two different roads, and nobody ate the rest.
-- about
| {H} and {f} have a picnic, and the food disappears.
-- about end
| The thieves are very small, and {they} share with them/PRON.
-- about twist
| The thief is somebody {they} did not expect.
-- about bad
| The picnic is spoiled.
"""
