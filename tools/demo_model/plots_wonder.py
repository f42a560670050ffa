"""Plots with a wonder in them: a mystery, a storm, a surprise, a wish, a journey, a star. (See plots_lost.py for the form.)"""

from plots_lost import PARAGRAPH


def mystery(s):
    s.add("F")
    s.add("T")
    s.text["sound"], s.text["cause"] = s.draw.one((
        ("a strange humming", "was humming in [T.his] sleep"), ("a soft knocking", "was building a tiny house and hammering all night"),
        ("a long, sad howl", "was practicing a song, and singing was not easy for [T.him]"), ("a strange light", "was reading a book by the light of a lantern"),
        ("a deep rumbling", "was hungry, and it was [T.his] empty stomach that rumbled"), ("a quiet sobbing", "was crying because nobody ever came to visit"),
        ("a strange tapping", "was tapping on a stone to find out what was inside"), ("a thin whistling", "was trying out a new flute")))
    return [
        ["One night, [H] noticed [sound]. It came from [n1]. {The next night, it was there again|It went on all night long}.",
         "For three nights, [H] had not been able to sleep. Every night there was [sound] that came from {the direction of|somewhere near} [n1]."],
        ["\"{It is a ghost|It must be a monster},\" {said|whispered} the neighbors, and they {locked their doors|stayed inside}. But [H] wanted to know {the truth|what it was}.",
         "Nobody knew what it was. Some said it was a {ghost|monster}, {and others said it was the wind|and they were all afraid}. \"I will find out,\" said [H]."],
        ["[^he] {asked|went to} [his] friend [F], {a [F.trait] [F.kind]|a [F.look] [F.kind]}. \"{Will you come with me|Are you coming}?\" \"{I am a little afraid|I do not like it},\" said [F], \"but {I will not let you go alone|two are braver than one}.\""],
        PARAGRAPH,
        ["That night, they {crept|tiptoed} past [n2] with a small lantern. {An owl called|A branch cracked}, and both of them jumped. \"{Shh|Quiet},\" whispered [H]. \"{It is only the wind|We are almost there}.\"",
         "When it was dark, the two friends set out. {They held on to each other|They walked very close together}. [^s2], they stopped {to listen|and listened}. There it was again!"],
        ["{Closer and closer they came|Step by step, they came closer}. Something moved [s1]! {[H]'s heart stood still|[F] held [F.his] breath}. \"Who {is there|are you}?\" {called|asked} [H], and [he] lifted the lantern.",
         "[H] {pushed aside the leaves|looked around the corner}. A big shadow {moved|rose} {on the ground|in the moonlight}. \"{Run|A monster}!\" {cried|said} [F]. But [H] {stayed|did not run}, and [he] lifted the lantern."],
        ["And what did they see? It was no {ghost|monster} at all. It was only [T.a], who [cause].",
         "There, {in the light|blinking in the light}, sat [T.a]. [^T.he] [cause]. That was all."],
        PARAGRAPH,
        ["\"Oh!\" said [T]. \"{Please do not be angry|I am sorry}. {I did not want to frighten anyone|I did not know that anyone could hear me}.\"",
         "[T] was {even more frightened than they were|just as frightened}. \"{Please do not hurt me|I did not do anything wrong},\" [T.he] {said|whispered}."],
        ["[H] {began to laugh|laughed with relief}. \"And we thought that you were a {monster|ghost}!\" Then [F] laughed too, and {at last|in the end} even [T] {smiled|joined in}.",
         "\"{Do not be afraid|We are not angry},\" said [H]. \"{We only wanted to know who you are|We thought you were a ghost}.\" And then all three of them {laughed|had to laugh}."],
        ["They sat down together and shared some [food]. \"{You should come and visit us|Come and play with us tomorrow},\" said [H]. [T]'s eyes {shone|lit up}. \"{Nobody has ever invited me before|I would love to},\" [T.he] said.",
         "[T] {showed them [T.his] home|gave them some [food]}, and they {talked|told stories} until {the sun came up|the moon went down}."],
        ["The next {morning|day}, [H] {told everyone|took [T] to meet the others}. {They were all a little ashamed|How they all laughed}. And from then on, {nobody was afraid anymore|everybody slept well}.",
         "From that day on, the three of them were {good|the best of} friends. And if {a strange sound|something strange} {woke [H]|came} in the night, [he] {only smiled|smiled and went back to sleep}."],
        ["[H] had learned that {most monsters are only friends we have not met|things look bigger in the dark|one should look before one is afraid}."],
    ]


mystery.topics = ["a mystery", "[sound] in the night", "a ghost", "a secret", "strange things at night", "an adventure"]
mystery.who = ["solves a mystery", "notices [sound]", "is not afraid of the night"]
mystery.avoid = ("timid", "nervous", "lonely", "lazy")


def storm(s):
    s.add("F")
    s.text["built"] = s.draw.one(("bridge", "house", "roof", "boat", "barn", "well", "fence", "tower"))
    return [
        ["[day], {dark clouds|big black clouds} {came up|gathered} over [place]. The wind {howled|roared}, {the thunder rolled|the rain fell in sheets}, and everyone {ran home|hid}.",
         "One night, a {terrible|great} storm came. {The wind howled|The rain beat against the windows}, and {the thunder was so loud that nobody could sleep|the trees bent to the ground}."],
        ["In the morning, {the sky was blue again|all was quiet}. But {what a sight|oh dear}: the old [built] near [n1] was {broken|gone|destroyed}!",
         "When the sun rose, [H] {went out to look|opened the door}. The storm had {broken|destroyed} the [built] near [n1], {and all that was left was a heap of wood|which everybody needed}."],
        ["\"{What shall we do now|How can we live without it}?\" {asked|cried} the neighbors. {Some wept|Everyone talked at once}. \"{It cannot be mended|It will take a year},\" they said.",
         "{All the neighbors stood there|Everyone came} and {shook their heads|looked sad}. \"{There is nothing we can do|We will never manage it},\" they said."],
        PARAGRAPH,
        ["But [H] {did not think so|had an idea}. \"We can build a new one,\" [he] said. The others {laughed|looked at [him]}. \"You are only a [kind]!\"",
         "\"{Then we will build a new one|Let us build it again},\" said [H]. \"{That is too much work|It is too hard},\" said the others, and they went home."],
        ["So [H] began alone. [^he] {carried one piece of wood|brought one stone}, and then another. {It was hard work|[^his] back ached}, but [he] {did not stop|kept on}.",
         "[H] {rolled up [his] sleeves|did not wait}. [^he] {gathered wood|collected boards and nails} [s2], {piece by piece|all by [himself]}."],
        ["{Soon|Around noon}, [F.a] came by. \"That looks heavy,\" said [F]. {[^F.he] watched for a while, and then [F.he] took hold of the other end|[^F.he] put down [F.his] bag and took the other end}.",
         "Then somebody stood beside [him]. It was [F.a]. \"{I cannot do much|I am not very strong}, but I can {hold the ladder|carry small things|hand you the nails},\" [F.he] said."],
        PARAGRAPH,
        ["When the others saw the two of them {working|hard at work}, they {were ashamed|came out of their houses}. {One brought a hammer|The baker brought bread}, {another brought a rope|the next one brought boards}, and soon everyone {was working|was helping}.",
         "The next {morning|day}, there were three helpers, then five, then ten. {The big ones carried, and the small ones handed nails|Some sawed, some hammered, and some cooked [dish]}. {They sang as they worked|And everybody sang}."],
        ["After {three days|a week}, {it was done|the last nail was in}: the new [built] was {stronger and more beautiful|even better} than the old one.",
         "{Before the week was over|On the seventh day}, the new [built] stood there, {straight and strong|shining in the sun}."],
        ["\"{Hurrah for [H]|Three cheers for [H]}!\" {cried|shouted} the neighbors. \"{You began when nobody else dared|Without you, we would still be crying}.\" \"{I only carried the first piece|We did it together},\" said [H].",
         "[^E] {shook [H]'s hand|patted [H] on the back}. \"{We said that it could not be done|We were wrong},\" said [E]. \"{It takes only one to begin|You showed us how}.\""],
        PARAGRAPH,
        ["[evening], they all {celebrated|had a feast} with [dish] and [food]. [H] and [F] sat {side by side|together} and {looked at|admired} the new [built]. {They were tired, but very happy.|\"We did it,\" said [F].}",
         "To this day, the [built] stands near [n1]. {And if you look closely, you can find two names on it: [H] and [F]|[H] and [F] still sit there on warm evenings}."],
        ["[H] had learned that {many hands make light work|even the biggest work begins with one small step|together we are strong}."],
    ]


storm.topics = ["a storm", "working together", "building a [built]", "a broken [built]", "thunder and rain", "helping each other"]
storm.who = ["builds a [built]", "does not give up", "mends what the storm has broken"]
storm.avoid = ("lazy", "lonely", "timid", "grumpy")


def surprise(s):
    s.add("F")
    s.add("T")
    return [
        ["[day], [H] {remembered something important|looked at the calendar}: tomorrow was the birthday of [his] {best|dear} friend [F], {a [F.trait] [F.kind]|a [F.look] [F.kind]}. \"I {want to|will} {give [F.him] a surprise|make a party for [F.him]},\" [he] said.",
         "[^his] best friend was [F.a]. Soon it would be [F]'s birthday, and [H] wanted to {give a party|bake a cake} for [F.him]. \"But it must be a surprise,\" [he] {thought|said}."],
        PARAGRAPH,
        ["[H] wanted to make [dish], but [he] {had no [ingredient]|needed [ingredient]}. So [he] went to [T.a], who lived near [n1]. \"{Could you give me some|Do you have any} [ingredient]?\" [he] asked. \"It is for [F]'s birthday.\"",
         "For the [dish], [he] needed [ingredient]. {There were none in the house|The jar was empty}. So [he] {walked|went} to [n1] and asked [T.a]: \"May I have {some|a few} [ingredient]? I {want|need} to make [dish] for [F].\""],
        ["\"{Gladly|Of course},\" said [T], \"but {first you must help me|I need your help first}. My fence is broken.\" So [H] {helped|worked with} [T.him] {all morning|until noon}, and then {got|was given} the [ingredient].",
         "\"Take as many as you like,\" said [T]. \"I will come too. {I love birthdays|I can bring music}!\" So now they were two."],
        ["On the way {home|back}, {it began to rain|the wind grew strong}, and [H] {hid the [ingredient] under [his] coat|held the basket tight}. Then [he] {slipped|stumbled}, and {half of it|some of it} fell into the mud! \"{Oh no|What now},\" [he] said. But there was just enough left.",
         "All evening, [H] {mixed and stirred|cooked and baked}. There was {flour|sugar} {on [his] nose|everywhere}. {It smelled wonderful|At midnight, it was done}."],
        PARAGRAPH,
        ["Meanwhile, [F] was {sad|sitting alone}. \"{Nobody has remembered my birthday|Even [H] has forgotten me},\" [F.he] {thought|sighed}. {All day long, nobody had come|[^F.he] looked out of the window}.",
         "The next day, [F] waited. {Nobody came|Nobody said a word}. \"{Has everyone forgotten my birthday|Does nobody remember}?\" [F.he] {thought|asked [F.himself]}, and {a tear|one small tear} ran down [F.his] cheek."],
        ["In the evening, {there was a knock at the door|a small light moved outside}. [F] opened the door. \"{Surprise|Happy birthday}!\" {cried|shouted} [H] and [T] and all the {neighbors|friends}.",
         "Then [H] came. \"{Come with me|Close your eyes},\" [he] said, and [he] led [F] to [n2]. There were {lanterns in the trees|candles and flowers everywhere}, and everyone was there. \"Happy birthday, [F]!\" they {sang|shouted}."],
        ["[F] {could not say a word|laughed and cried at the same time}. \"{I thought that you had all forgotten|You did this for me},\" [F.he] said {at last|softly}. \"We would never forget you,\" said [H].",
         "[F]'s eyes {grew big|shone like two stars}. \"{All this is for me|Is this really for me}?\" [F.he] asked. \"{All of it|Every bit of it},\" {said|laughed} [H]."],
        PARAGRAPH,
        ["They ate [dish], {played games|sang songs} and danced {until the moon was high|until midnight}. The [dish] was a little burned, but {nobody minded|it was the best one in the world}.",
         "[H] gave [F.him] a [obj], {wrapped in a leaf|tied with a ribbon}. \"{This is the best birthday of my life|I will keep it forever},\" said [F]."],
        ["And when [H] went home {that night|under the stars}, [he] was even happier than [F], {for giving makes the heart warm|because making others happy is the best present}.",
         "\"{When is your birthday|And when is yours}?\" [F] asked [H] {the next day|later}. \"{In a week|Next month},\" said [H]. [F] {smiled a secret smile|smiled and said nothing}."],
    ]


surprise.topics = ["a birthday", "a birthday party", "a surprise", "a party", "a birthday cake", "a present"]
surprise.who = ["plans a surprise party", "makes a birthday party", "bakes for a friend"]
surprise.avoid = ("greedy", "lazy", "lonely", "forgetful")


def wish(s):
    s.add("F")
    s.text["magic"] = s.draw.one(("a golden fish", "a tiny fairy", "an old lamp with a spirit in it", "a talking stone", "a shooting star", "a magic ring"))
    s.text["want"], s.text["trouble"] = s.draw.one((
        ("to be as big as a mountain", "[he] could not get into [his] own house, and nobody could hear [him] up there"),
        ("to be able to fly", "[he] flew so high that [he] was all alone with the clouds, cold and dizzy"),
        ("to have all the gold in the world", "everything [he] touched was hard and cold, and [he] could not eat gold"),
        ("never to have to sleep", "the nights were long and lonely, for everyone else was asleep"),
        ("to be invisible", "nobody could see [him], and nobody said hello to [him] anymore"),
        ("to have sunshine every day", "the flowers hung their heads and the stream ran dry"),
        ("to eat only [dish]", "after three days, [he] could not even look at it"),
        ("to be the strongest of all", "[he] broke every cup and every door that [he] touched, and the others were afraid of [him]")))
    return [
        ["But [H] was not content. \"{If only my life were different|I wish that something special would happen},\" [he] said to [his] friend [F], a [F.trait] [F.kind].",
         "[H] had a good home and a good friend, [F.a]. And yet [he] always wanted {something more|more than [he] had}."],
        PARAGRAPH,
        ["[day], [H] {found|met|came upon} [magic] [s1]. \"You may have one wish,\" {said|whispered} a voice, \"but {think well|choose with care}.\"",
         "[day], [H] {was walking|took a walk} near [n1] when [he] {saw|discovered} [magic]. \"Because you found me, you may {have|make} one wish,\" said a {silvery|soft} voice."],
        ["[H] did not {think|have to think} long. \"I wish [want]!\" [he] {cried|said}. There was a {flash of light|sound like a bell}, and {it was done|the wish came true}.",
         "\"Think about it first,\" said [F], who {had come along|was with [him]}. But [H] had already {said it|spoken}: \"I wish [want]!\" And {at once|in the same moment}, it came true."],
        ["At first it was {wonderful|great fun}. [H] {laughed|was [glad]}. \"{Look at me|This is the best wish ever}!\" [he] {called|shouted}.",
         "\"{It worked|Hurrah}!\" {cried|shouted} [H]. For {a whole day|one day}, [he] was the happiest [kind] [at]."],
        ["But soon {there was trouble|things went wrong}: [trouble].", "But it did not last. [trouble]."],
        PARAGRAPH,
        ["[H] {sat down|stood} [s2] and {wept|was [sorry]}. \"{What have I done|I did not want this},\" [he] {said|sighed}. \"{I want everything to be as it was before|I was happy before, and I did not know it}.\"",
         "\"{This is not what I wanted|I was so foolish},\" said [H] to [F]. \"{Now I see how good my life was|I want to be myself again}.\""],
        ["[F] {stayed with [him]|did not leave [him]}. \"{Let us go back|Let us ask for help},\" [F.he] said. \"{Maybe there is a way|We will find a way}.\" So they {went back|returned} to [n1] and {called|waited} {all night|until dawn}.",
         "\"{Do not lose hope|I will help you},\" said [F]. And [F.he] {ran|went} back to [n1] and {called|asked} until the voice {answered|spoke} again."],
        ["\"{I gave only one wish|Your wish is used up},\" said the voice, \"but {a friend may make one too|your friend has one wish too}.\" [F] could have wished for {anything|gold or a castle}. But [F.he] said: \"I wish that [H] could be {as before|happy again}.\"",
         "Then the voice asked [F]: \"{And you|What do you wish for}? You have one wish too.\" [F] did not {wait|think twice}. \"{Give me my friend back as before|I wish that everything were as before},\" [F.he] said."],
        PARAGRAPH,
        ["And so it was. [H] {rubbed [his] eyes|looked at [himself]}. {Everything was as it had been|The spell was broken}. [^he] {hugged [F]|fell into [F]'s arms}. \"You gave your wish for me,\" [he] said. \"{You are worth more than any wish|I will never forget it}.\"",
         "There was {a flash|a soft sound}, and {everything was as before|the spell was gone}. \"{Thank you, [F]|You could have wished for anything},\" said [H]. \"{I already have what I want|I only wanted my friend},\" {answered|said} [F]."],
        ["From that day on, [H] {was content|enjoyed every day}. {A warm bed, some [food] and a good friend|The sun in the morning and a friend in the evening}: what more could one wish for?",
         "[H] had learned to {be careful with wishes|be happy with what [he] had}. {And when [he] saw a shooting star, [he] only said thank you|And that was the best magic of all}."],
    ]


wish.topics = ["a wish", "magic", "[magic]", "being content", "a wish that goes wrong", "being happy with what you have"]
wish.who = ["makes a wish", "finds [magic]", "wishes [want]", "has one wish"]
wish.avoid = ("wise", "happy", "careful", "cheerful", "patient", "sad", "merry", "lonely", "thoughtful")


def journey(s):
    s.add("F")
    s.add("T")
    s.text["cure"] = s.draw.one(("a blue moonflower", "a drop of water from the silver spring", "a leaf of the golden tree", "honey of the mountain bees", "a sunstone"))
    return [
        ["[day], [E] {fell ill|became very sick}. [^E.he] lay in bed and {grew weaker every day|could not even lift [E.his] head}. \"Only [cure] can help,\" said the doctor, \"but {it is far away|nobody has ever found it}.\"",
         "One winter, [E] {lay ill in bed|was very sick}, and {no medicine helped|nobody could help}. \"There is only one cure,\" said the doctor. \"{Somebody must fetch|You need} [cure].\""],
        ["\"I will {find|fetch} it,\" said [H]. [^he] {packed some [food] and a warm coat|filled [his] bag with [food]} and set out {before the sun was up|the very same day}.",
         "[H] {did not think twice|stood up at once}. \"I will go,\" [he] said. [^he] {put some [food] in a bag|took [his] bag}, and {off [he] went|said goodbye}."],
        PARAGRAPH,
        ["First [he] came to a {wide|wild} river. There was no bridge. [^F.a] was sitting on the bank. \"{I am so hungry|I have had no food for days},\" said [F]. [H] gave [F.him] {half of|some of} [his] [food]. \"{You are kind|Thank you},\" said [F]. \"I know {a place where the water is low|where there is a boat}. I will {come with you|show you}.\"",
         "After a {day|long walk}, the way was blocked by a {deep|wide} river. \"How can I get across?\" {said|sighed} [H]. \"{I can help you|I know how},\" said [F.a]. \"{Come, there is an old boat|Come, there are stepping stones}. And I will go with you, {for two are safer than one|because I have always wanted to see the world}.\""],
        ["Then they came to {a dark cave|a steep cliff|a wall of thorns}. In front of it {sat|stood} [T.a]. \"{Nobody may pass|You shall not pass},\" said [T], \"unless you answer my riddle.\"",
         "On the second day, they came to a {high gate|narrow bridge}, and there {stood|sat} [T.a]. \"{Stop|Halt},\" said [T]. \"If you want to pass, you must {solve|answer} my riddle.\""],
        ["\"{What has teeth but cannot bite|What has hands but cannot clap|What gets wetter the more it dries|What can you break without touching it}?\" [riddle]",],
        PARAGRAPH,
        ["At last, {high up in the mountains|at the end of the path}, they {found|saw} it: [cure]! It {shone|glowed} in the {morning light|moonlight}. [H] {took it|wrapped it in a cloth} {with great care|carefully}, and they {hurried|ran} {all the way home|back}.",
         "And there, {behind the last hill|where the path ended}, was what they were looking for: [cure]. [H] {could hardly believe it|was [glad]}. They {turned back at once|did not rest}, and {day and night they walked|soon they were on the way home}."],
        ["[H] {ran|hurried} to [E]'s bed and gave [E.him] the {cure|medicine}. {They waited all night|An hour passed, and then another}. In the morning, [E] opened [E.his] eyes. \"{I feel better|I am hungry},\" [E.he] said, and {everyone laughed with joy|[H] wept with joy}.",
         "When [E] had {taken the cure|tasted it}, [E.his] cheeks {turned pink again|grew warm}. \"{You went so far for me|My brave [H]},\" [E.he] said {and smiled|softly}. {Soon [E.he] was well again|In a week, [E.he] was up and about}."],
        PARAGRAPH,
        ["\"I did not do it alone,\" said [H]. \"[F] {took me across|showed me the way over} the river, and [T] let us pass.\" So [E] {invited them both|gave a feast for all of them}, with [dish] and {songs|music}.",
         "[H] never forgot [his] journey, and [he] never forgot [F] and [T]. {Every year, they met|Every spring, the three of them met} [s1] and {told the story again|talked about the old days}."],
        ["{And so the long journey came to a happy end|That is how the journey ended}. [H] had learned that {love can cross any river|kindness opens every gate|no way is too far if you go it for someone you love}."],
    ]


journey.topics = ["a journey", "an adventure", "a long journey", "a quest", "[cure]", "a riddle", "a sick [E.short]"]
journey.who = ["goes on a journey", "looks for [cure]", "sets out to find [cure]", "answers a riddle"]
journey.avoid = ("lazy", "lonely", "timid", "greedy", "proud")


def lonely_star(s):
    s.add("F")
    s.text["visitor"] = s.draw.one([it for it in ("star", "cloud", "snowflake", "raindrop", "moonbeam") if it not in s.kinds])
    return [
        ["Every {evening|night}, [H] sat [s1] and looked up at the sky. \"{I wish I had a friend|I wonder if someone up there sees me},\" [he] {said|whispered}.",
         "[H] {did not have|had not found} a friend yet. In the evenings, [he] sat [s1] and talked to {the stars|the sky}."],
        PARAGRAPH,
        ["One night, {something fell from the sky|a small light came down}. [H] {ran|hurried} to [n2]. There lay a {little|tiny} [visitor], {shivering|trembling}. \"{I have fallen down|I lost my hold},\" it said, \"and I want to go home.\"",
         "One night, there was a soft {sound|thump} near [n2]. [H] {went to look|took a lantern}. A {tiny|little} [visitor] had fallen down from the sky. \"{Please help me|I am so far from home},\" it {said|whispered}."],
        ["\"{Do not cry|Do not worry},\" said [H]. \"{I will help you get home|I will bring you back to the sky}.\" [^he] {wrapped it in a soft leaf|put it gently in a basket} and {set off|began to think}."],
        ["First [he] {climbed|went up} the highest tree {near|behind} [n3]. It was not high enough. Then [he] {threw a rope|built a ladder}, but {the sky was too far|it did not reach the clouds}.",
         "[^he] {climbed|walked} to the top of the hill, but the sky was still {too high|far away}. [^he] {jumped|stretched}, but it did not help."],
        PARAGRAPH,
        ["[^F.a] had {seen the light|watched them}. \"You look like you need help,\" said [F]. [H] {told [F.him] everything|explained it}. \"{I have an idea|I know what to do},\" said [F]. \"{We will make the biggest kite of all|We will build a kite}.\"",
         "Then [F.a] came along. \"{The wind can help you|Ask the wind},\" said [F]. \"{I have paper and string|I will bring paper and string}. {Let us make a kite|We can make a kite}.\""],
        ["So they {cut and glued|worked} all night. {[F] held the paper, and [H] tied the knots|[H] made the tail, and [F] made the wings}. At dawn, the kite was {ready|finished}, and the [visitor] sat on top of it.",
         "The two of them worked {side by side|together}, and they {talked|laughed} so much that {the time flew|the night was short}. Before the sun came up, the kite was {done|ready}."],
        ["{A strong wind came|Then the wind blew}. Up, up, up went the kite, {higher than the trees, higher than the hills|until it was only a small dot}. \"{Thank you, my friends|I will never forget you}!\" {called|cried} the [visitor], and it {was home again|hopped back into the sky}.",
         "They ran {down the hill|as fast as they could}, and the kite {rose|climbed} {into the sky|above the clouds}. \"{I can see my home|I am home}!\" {called|cried} the [visitor]. \"Thank you!\""],
        PARAGRAPH,
        ["[H] {looked up for a long time|watched until it was gone}. \"{Now I am alone again|I will miss it},\" [he] {said|sighed}. \"You are not alone,\" said [F]. \"{I am here|We can make another kite tomorrow}.\" And [H] {smiled|laughed}.",
         "Then [H] turned around, and there {was|stood} [F], {smiling|who was still holding the string}. \"{Shall we have breakfast|Would you like some [food]}?\" [F.he] asked. [H] {nodded|smiled}. [^he] had {helped someone to go home, and [he] had found a friend|wished for a friend, and here one was}."],
        ["From that day on, the two friends {looked at the sky together|met every evening [s1]}. And sometimes, {high above|far up there}, a little [visitor] {winked|waved} at them.",
         "[H] was never lonely again. And if you look up {tonight|at the sky}, you may see {a little [visitor] that is smiling|a small kite dancing}."],
    ]


lonely_star.topics = ["a [visitor]", "the sky", "a [visitor] that fell from the sky", "being lonely", "finding a friend", "the night", "a kite"]
lonely_star.who = ["finds a [visitor]", "is lonely", "has no friends", "wants a friend", "looks at the sky"]
lonely_star.avoid = ("famous", "friendly", "merry", "noisy", "grumpy", "proud")

PLOTS = [mystery, storm, surprise, wish, journey, lonely_star]
