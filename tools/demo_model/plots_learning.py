"""Plots about learning: a new skill, a fear that is overcome, a race, a garden that needs time. (See plots_lost.py for the form.)"""

from plots_lost import PARAGRAPH

# what can be learned: (to do it, doing it, what goes wrong, the advice, what it looks like when it works)
_SKILLS = [
    ("swim", "swimming", "swallowed a lot of water and sank like a stone", "Do not fight the water. Let it carry you", "floated and then glided through the water"),
    ("fly a kite", "flying a kite", "ran in circles and the kite fell into a bush", "Wait for the wind, and then let the string go slowly", "watched the kite rise above the trees"),
    ("whistle", "whistling", "blew and blew, but only air came out", "Make your mouth small and think of a bird", "heard a clear, bright whistle ring through the air"),
    ("dance", "dancing", "stepped on everyone's toes and fell over", "Do not count the steps. Listen to the music", "turned and hopped in time with the music"),
    ("bake bread", "baking", "burned the first loaf until it was as black as coal", "Good bread needs time. Watch it, and do not hurry", "took a golden loaf out of the oven"),
    ("play the flute", "playing the flute", "made a noise that sent the birds away", "Breathe slowly, and start with one note", "played a little song without a mistake"),
    ("skate", "skating", "slipped and landed on [his] back", "Bend your knees and look ahead, not down", "slid across the ice like a leaf in the wind"),
    ("climb trees", "climbing", "slid down again and scratched [his] nose", "Look for the next branch only, and never look down", "sat on the highest branch and looked over the land"),
    ("paint", "painting", "spilled the colors and made one big brown spot", "First look for a long time. Then paint what you love", "painted a sunrise that glowed on the paper"),
    ("sing", "singing", "sang so badly that everyone covered their ears", "Do not shout. Sing as if you were telling a secret", "sang so sweetly that even the birds fell silent"),
    ("read", "reading", "mixed up all the letters", "Take one letter at a time, and then one word", "read a whole page out loud"),
    ("row a boat", "rowing", "went around in circles all afternoon", "Pull with both arms at the same time", "rowed straight across the water"),
    ("juggle", "juggling", "dropped every ball on [his] own head", "Start with one ball, then two, and only then three", "kept three balls in the air at once"),
    ("ride a bicycle", "riding", "wobbled and fell into a hedge", "Keep going and look far ahead, for slow wheels fall", "rode all the way down the road"),
    ("write poems", "writing", "could not think of a single rhyme", "Write down what you see, and the words will come", "wrote a poem that made everyone smile"),
    ("knit", "knitting", "made a knot as big as a pumpkin", "One loop after another, and never in a hurry", "held up a warm and beautiful scarf"),
]


def new_skill(s):
    s.add("F")
    skill = s.draw.one(_SKILLS)
    s.text.update(zip(("do", "doing", "fail", "advice", "success"), skill))
    return [
        ["More than anything else, [H] wanted to [do]. {[^he] thought about it every day|[^he] dreamed of it every night}. But [he] {had never learned how|did not know how}.",
         "There was one thing that [H] wished for: [he] wanted to {learn to [do]|[do]}. {All the others could do it|Everybody else made it look so easy}, but [H] could not."],
        PARAGRAPH,
        ["[day], [H] {went to|found a quiet place near} [n1] and {tried|began}. [^he] [fail]. {Some birds laughed|That was no fun}.",
         "[day], [he] {tried it for the first time|gave it a try}. It did not go well. [^he] [fail]."],
        ["[^he] tried again {the next day|after lunch|in the evening}, and again [he] [fail]. \"{I will never learn it|It is too hard for me|I give up},\" {sighed|said|groaned} [H]."],
        PARAGRAPH,
        ["[F.a] had {watched [him]|seen everything} from [n2]. \"{May I tell you something|Would you like some advice|Can I help you}?\" asked [F]. \"{I could not do it either, once|When I was learning, it took me a whole year}.\"",
         "[^he] was sitting sadly [s2] when [F.a] came by. \"{Why such a long face|What is wrong}?\" asked [F]. \"I cannot [do],\" said [H]. \"{No matter how hard I try|I have tried and tried}.\""],
        ["\"{Here is the secret|Listen},\" said [F]. \"[advice].\"", "[F] {sat down beside [him]|smiled}. \"{I will tell you a secret|This is what I have learned}: [advice].\""],
        ["So [H] tried once more. {The first time, it was a little better|It was still not perfect}. [F] {clapped|nodded}. \"{Again|Good, and now again},\" [F.he] said. They {practiced|worked} {every day|every afternoon} for {a week|two weeks|a whole month}.",
         "[H] {listened well|nodded}. [^he] {took a deep breath|closed [his] eyes for a moment} and tried again, {and again, and again|slowly this time}. {Every day|Each time}, it went a little better, and [F] never {lost patience|laughed at [him]}."],
        PARAGRAPH,
        ["And then, one {morning|afternoon}, it happened. [H] [success]! \"{I can do it|Look at me|I did it}!\" [he] {cried|shouted}. [F] {cheered|laughed and clapped}.",
         "Then came the day of the {summer|autumn|spring} {fair|feast}. Everyone [at] was there. [H] {was nervous|took a deep breath}. But then [he] [success], and everybody {cheered|clapped}!"],
        ["\"{I could not have done it without you|Thank you for believing in me},\" [H] said to [F]. \"{You did it yourself|All I did was to tell you not to give up},\" {answered|said} [F].",
         "\"{You see|I knew it},\" said [F]. \"{Nobody is born a master|It only takes time}.\""],
        ["From that day on, [H] {never said \"I cannot\" anymore|loved [doing] more than anything}. If something was hard, [he] {said|thought}: \"I cannot do it yet.\"",
         "And when [a_young] asked [H] how [he] had learned it, [he] {smiled and said|said}: \"{Fall seven times, get up eight times|Try once more than you fail}.\"",
         "[H] had learned that {practice makes perfect|nobody learns a thing in one day|everything is hard before it is easy}."],
    ]


new_skill.topics = ["learning to [do]", "learning something new", "never giving up", "practice", "trying again"]
new_skill.who = ["wants to [do]", "learns to [do]", "cannot [do]", "wants to learn to [do]"]
new_skill.avoid = ("lazy", "patient", "famous", "lonely")

# what can be feared: (it, what the hero does because of it, what happens to the friend, what the hero does about that, what is learned)
_FEARS = [
    ("the dark", "hid under the blanket as soon as the sun went down", "the sun went down, and [F] slipped and hurt [F.his] leg",
     "ran through the dark, all the way home, and came back with a lantern and with [E]", "the night was full of small, gentle lights"),
    ("thunder", "hid under the bed whenever a storm came", "a storm came up, and a falling branch hit [F] on the leg",
     "ran out under the rolling thunder and called [E]", "thunder was only the sky clearing its throat"),
    ("deep water", "never went near the water", "[F] slipped and fell into the deep water",
     "waded in, up to [his] chin, and pulled [F] out, just as [E] came running", "the water could carry [him] if [he] let it"),
    ("high places", "never climbed anything higher than a chair", "[F] climbed a tall tree, a branch broke, and now [F.he] was hanging high above the ground",
     "climbed up, branch by branch, and held [F] tight until [E] came with a ladder", "the world was beautiful from above"),
    ("strangers", "hid whenever someone new came by", "[F] fell and hurt [F.his] leg, and there were only strangers around",
     "walked up to a stranger and asked for help, and the stranger ran to fetch [E]", "a stranger could be a friend that one did not know yet"),
]


def fear(s):
    s.add("F")
    s.text.update(zip(("dread", "habit", "accident", "deed", "truth"), s.draw.one(_FEARS)))
    return [
        ["But there was one thing that nobody knew: [H] was afraid of [dread]. [^he] [habit].", "But [H] was afraid of [dread]. {Everyone knew it|The others sometimes laughed at [him]}. [^he] [habit]."],
        ["\"I wish I were brave,\" [H] said to [E]. \"{Being brave does not mean that you have no fear|You are braver than you think},\" said [E].",
         "[^E] told [him] {not to worry|that it would pass|that everyone is afraid of something}. But [H] {was ashamed|did not believe it}."],
        PARAGRAPH,
        ["[H] had a {good|dear} friend, [F.a]. [day], the two of them were {playing|sitting together} [s1]. Then {something terrible|it} happened: [accident].",
         "[day], [H] was {playing|sitting} [s1] with [his] friend [F], a [F.trait] [F.kind]. {Suddenly|Then} [accident]! \"Help!\" cried [F]."],
        ["Nobody else was {there|near} to help. To save [his] friend, [H] had to face what [he] feared most: [dread].",
         "[H] looked {left and right|around}. Nobody came. \"{I have to do something|It is up to me},\" [he] thought, but that meant facing [dread]."],
        ["[^his] knees {shook|trembled}, and [his] heart beat {like a drum|fast}. But then [he] {looked at|thought of} [F]. \"{My friend needs me|I can do this},\" [he] {whispered|said}.",
         "For a moment [he] {could not move|wanted to run away}. Then [he] {took a deep breath|closed [his] eyes and opened them again}. \"{I am afraid, but I will do it anyway|For [F]},\" [he] said."],
        PARAGRAPH,
        ["And [H] did it. [^he] [deed]. {It was not easy|Step by step, it became easier}.", "Then [he] [deed]. {With every step, [he] grew a little braver|It took all [his] courage}."],
        ["Together they {carried|brought} [F] home {safe and sound|on a soft bed of leaves}. {\"You saved me,\" said [F].|[F] smiled at [him]. \"You were so brave,\" [F.he] said.}",
         "It worked! [F] was {safe|saved}. \"You did that for me?\" asked [F]. \"{But you are afraid of [dread]|I know how afraid you were}.\""],
        PARAGRAPH,
        ["\"I was afraid {the whole time|all the way},\" said [H]. \"{That is what being brave means|Being brave means to be afraid and to do it anyway},\" said [E].",
         "[H] {thought about it|smiled}. [^he] had {found out|learned} that [truth]."],
        ["[evening], [H] {was not afraid anymore|was still a little afraid, but it did not matter}. [^he] fell asleep with a {smile|light heart}.",
         "From that day on, [H] was {less and less|hardly ever} afraid of [dread], and {nobody laughed at [him] anymore|everyone called [him] [H] the Brave}."],
    ]


fear.topics = ["being afraid of [dread]", "fear", "courage", "being brave", "bravery"]
fear.who = ["is afraid of [dread]", "learns to be brave", "is afraid"]
fear.avoid = ("brave", "adventurous", "strong", "famous", "lonely")


def race(s):
    s.add("F")
    s.add("T")
    s.text["prize"] = s.draw.one(("a golden cup", "a big cake", "a silver medal", "a basket full of [food]", "a [obj]"))
    return [
        ["Every {year|summer|spring}, there was a {great|big} race [at], from [n1] to [n2]. {The prize was [prize]|Whoever won would get [prize]}.",
         "[day], {a sign hung|there was a notice} near [n1]: \"{Great|Big} race from [n1] to [n2]! The prize is [prize].\""],
        ["[H] wanted to {win|take part} more than anything. [^he] {practiced every morning|ran up and down the hill every day|went to bed early and ate well}.",
         "\"I {want|am going} to win this race,\" said [H], and [he] {practiced|trained} {every day|from morning until night}."],
        ["[T], {the fastest [T.kind] around|a very proud [T.kind]}, {laughed|only smiled}. \"{You will never beat me|I always win|Nobody is faster than I am},\" [T.he] said.",
         "But [T], a [T.look] [T.kind], {laughed at [him]|shook [T.his] head}. \"You are much too slow,\" [T.he] said."],
        PARAGRAPH,
        ["On the day of the race, everyone came to {watch|cheer}. \"{Ready, steady, go|One, two, three, go}!\" called [E], and off they ran.",
         "At last the great day came. {The runners stood in a line|A whistle blew}. \"Go!\" {cried|called} [E], and they were off."],
        ["At first [T] was {far ahead|in front}. But [H] {did not give up|ran well}. {Little by little|At the bend}, [he] {came closer|caught up}, until {the two were side by side|[he] was in front}."],
        ["Then, [s3], [H] {saw|heard} [F.a], who {had fallen|was lying on the ground} and was {crying|holding [F.his] foot}. {All the others ran past|[T] ran right past [F.him]}.",
         "Near [n3], [F.a] had {stumbled|fallen} and could not get up. {[T] did not even look|The others just ran on}."],
        ["[H] {stopped|slowed down}. [^he] looked {toward|at} the finish line and then {back|down} at [F]. \"{A race is only a race|There will be other races},\" [he] thought, and [he] {went to help|turned back}.",
         "{For a moment [H] did not know what to do|[H] wanted to win so much}. But [he] could not leave [F.him] there. \"{Lean on me|Take my arm|I will help you},\" [he] said."],
        PARAGRAPH,
        ["Together they {walked|went} slowly {to the finish|the rest of the way}. They came in last. [T] had won {long ago|easily}.",
         "{Slowly, very slowly|Side by side}, the two crossed the finish line, {the last of all|long after the others}."],
        ["But {the crowd|everyone} {cheered louder for them|clapped and clapped}. \"[T] was the fastest,\" said [E], \"but [H] has {the biggest heart|shown us something more important}.\" And [E.he] gave [H] {a prize too: a crown of flowers|a crown of flowers}.",
         "Then {something surprising happened|everyone was quiet}. [T] came {up to [him]|forward}, with [prize] in [T.his] hands. \"{You should have won|I ran past, and you did not},\" [T.he] said {quietly|softly}. \"{Let us share it|This belongs to you}.\""],
        ["[F] {hugged [him]|thanked [him]}. \"{You gave up the race for me|I will never forget it},\" [F.he] said. \"{I would do it again|I won a friend, and that is better},\" {said|answered} [H].",
         "[H] {was [glad]|smiled from ear to ear}. [^he] had not won the race, but [he] had won {a friend|two friends}."],
        ["And if you ask anyone [at] about that race, they {do not remember who was first|will tell you about [H]}.",
         "From that day on, [H], [F] and [T] {ran together|went running together}, {just for fun|and nobody cared who was first}."],
    ]


race.topics = ["a race", "winning and losing", "a contest", "helping others", "fairness"]
race.who = ["wants to win a race", "takes part in a race", "stops to help a [F.kind]", "runs in a race"]
race.avoid = ("lazy", "fast", "greedy", "slow", "lonely")


def garden(s):
    s.add("F")
    return [
        ["[day], [E] gave [H] a tiny seed. \"{Take good care of it|Plant it and be patient},\" [E.he] said. \"{One day it will be a [flower]|There is a [flower] asleep inside}.\"",
         "[day], [H] found a {tiny|strange little} seed [s1]. \"That is the seed of a [flower],\" said [E]. \"Plant it, and you will see.\""],
        ["[H] {dug a small hole|made a small hole in the earth} [s2], {put|laid} the seed in it and {covered it|tucked it in} {with soft earth|carefully}. Then [he] gave it {some|a little} water.",
         "[H] planted it [s2], {where the sun was warm|in the best earth [he] could find}, and watered it."],
        PARAGRAPH,
        ["The next {day|morning}, [he] {ran to look|got up early to look}. Nothing. {The day after|On the third day}, still nothing. \"It does not grow,\" {said|sighed} [H].",
         "[H] {sat down and waited|waited for an hour}. Nothing happened. [^he] waited {all day|until evening}. {Nothing|Still nothing}. \"{Grow|Please grow}!\" [he] {said|shouted}, but the seed {did not listen|slept on}."],
        ["[F.a] {came by|looked over [his] shoulder} and {laughed kindly|smiled}. \"{You cannot hurry a seed|It needs time},\" [F.he] said. \"{Every seed knows when to wake up|First it grows down, and then it grows up}.\"",
         "\"What are you doing?\" asked [F.a]. \"I am waiting,\" said [H]. \"Then let us wait together,\" said [F]. \"Waiting is easier with a friend.\""],
        ["So {they waited|[H] waited}. {When it was dry, [he] brought water|[^he] watered it every morning}. {When it was cold, [he] covered it with leaves|[^he] pulled out the weeds}. And every {evening|day}, [F] {came and told a story|came to visit}.",
         "Day after day, [H] {brought water|took care of it}. [F] {helped [him]|came too}. The rain came and went, and {so did the sun|the days grew longer}."],
        PARAGRAPH,
        ["Then, one {morning|day}, {a small green tip|a tiny green leaf} {looked out of|was peeping out of} the earth. \"{It is alive|Look, it is here}!\" {cried|shouted} [H], and [he] and [F] {danced around it|[great_joy]}.",
         "And one {fine|quiet} morning, there it was: {a tiny green leaf|a little green shoot}! [H] {hardly dared to breathe|jumped for joy}."],
        ["It grew and grew, {a little every day|higher and higher}. {By the end of summer|When summer came}, it was {the most beautiful [flower] [at]|a big and beautiful [flower]}."],
        ["But then {a great storm came|came a night of wind and rain}. [H] and [F] ran out into the rain and tied it to a strong stick. {In the morning|When the sun came back}, it was still standing.",
         "Everyone came to see it. \"How did you do that?\" they asked. \"{With water, sun and patience|I waited, and I had help},\" said [H]."],
        PARAGRAPH,
        ["In autumn, it gave many new seeds. [H] kept one and gave {all the others away|the others to [his] friends}, and the first one went to [F].",
         "[H] {could have kept it for [himself]|did not want to keep it for [himself]}. [^he] invited {everyone|all the neighbors}, and they had a feast with [dish]."],
        ["The next year, {there were flowers all over [place]|[place] was full of flowers}, and it had all begun with {one tiny seed|a seed and a lot of patience}.",
         "[H] had learned that {good things take time|some things cannot be hurried|love and patience make things grow}."],
    ]


garden.topics = ["a garden", "a seed", "patience", "a [flower]", "waiting", "growing things"]
garden.who = ["plants a seed", "grows a [flower]", "learns to be patient", "cannot wait"]
garden.avoid = ("patient", "lonely")

PLOTS = [new_skill, fear, race, garden]
