"""Plots about how to be with others: sharing, quarrels, the truth, somebody new. (See plots_lost.py for the form.)"""

from plots_lost import PARAGRAPH


def sharing(s):
    s.add("F")
    return [
        ["[day], [H] {found|was given|came home with} a {big|whole} basket of [food]. {It smelled wonderful|There was enough for many days}. \"{These are all mine|I will eat them all myself},\" [he] said.",
         "[H] had a {big|whole} basket of [food], {the best [at]|a present from [E]}. [^he] {hid it|kept it} [s1], so that nobody would {see it|ask for any}."],
        PARAGRAPH,
        ["{Soon|After a while}, [F.a] came by. \"{Those look good|That smells wonderful},\" said [F]. \"{May I have one|Could you give me one}? I have not eaten {since yesterday|all day}.\"",
         "Then [F.a] knocked at the door. \"{I am so hungry|I have nothing to eat},\" [F.he] said. \"{Could you share a little|Would you give me a few} of your [food]?\""],
        ["\"No,\" said [H]. \"{They are mine|I found them|I need them myself}.\" [F] {lowered [F.his] head|looked sad} and {went away|walked away slowly}.",
         "[H] {shook [his] head|closed the lid}. \"{I do not have enough|I cannot give you any},\" [he] said, though it was not true. [F] {said nothing|only nodded} and {left|went on}."],
        ["[H] sat down alone and ate. {But somehow|The strange thing was that} the [food] did not taste as good as [he] had {hoped|thought}. It was {very quiet|so quiet} {in the house|all around}.",
         "[H] ate and ate until [his] stomach {hurt|ached}. But [he] was not happy. {[^he] kept thinking of [F]|[F]'s sad eyes would not leave [his] mind}."],
        PARAGRAPH,
        ["That {night|afternoon}, {a storm blew|a great wind came} and {carried off [his] roof|broke [his] door}. [H] stood {in the rain|outside}, {cold and wet|all alone}. And who came {running|with a light}? It was [F]! \"{Come to my house|You can stay with me},\" said [F].",
         "The next day, [H] {fell ill|had a fever} and {could not get up|had to stay in bed}. Nobody came. Then there was a {soft|quiet} knock, and there stood [F] with a pot of warm soup. \"I heard that you were {ill|sick},\" [F.he] said."],
        ["\"{Why are you so kind to me|Why do you help me}?\" asked [H]. \"I {gave you nothing|would not share with you}.\" \"{You needed help|Because you need it},\" said [F]. \"{That is enough|I do not need another reason}.\"",
         "[H] {felt ashamed|turned red}. \"I {was selfish|was wrong},\" [he] said. \"{I am sorry|Please forgive me}.\" \"{It is all right|That is all forgotten},\" said [F]."],
        ["Then [H] {fetched|brought out} the basket of [food] and {put it on the table|set it between them}. \"{Let us eat together|Half of it is yours|Take as many as you like},\" [he] said. They {ate, talked and laughed|talked and laughed} until {late at night|the candle burned down}.",
         "[H] {gave|handed} [F] the basket. \"These are for both of us,\" [he] said. And now, {shared with a friend|eaten together}, the [food] {tasted sweeter than ever|were the best in the world}."],
        PARAGRAPH,
        ["The next day, [H] invited {everyone|all the neighbors}. {Each one|Everybody} brought something: {bread, cheese and [dish]|[food2], bread and [dish]}. It was the {best|merriest} {feast|party} that [place] had ever seen.",
         "From that day on, [H] {shared everything|never ate alone}. And the strange thing was that there was always enough."],
        ["[H] had learned that {a joy that is shared is twice as big|things taste best when they are shared|those who give are never poor}.",
         "\"{It is funny|How strange},\" said [H] to [F]. \"{The more I give away, the richer I feel|I have less now, and I am happier}.\""],
    ]


sharing.topics = ["sharing", "being selfish", "a basket of [food]", "generosity", "[food]"]
sharing.who = ["does not want to share", "learns to share", "finds a basket of [food]", "keeps everything for [himself]"]
sharing.avoid = ("kind", "generous", "helpful", "thoughtful", "polite", "wise", "gentle", "friendly", "lonely")


def quarrel(s):
    s.add("F")
    return [
        ["[H] had a {best|good|dear} friend, [F.a]. The two {did everything together|had never quarreled|met every day [s1]}.",
         "[^his] best friend was [F.a]. You never saw one without the other."],
        PARAGRAPH,
        ["[day], they {found|discovered} a [obj] [s2]. \"{It is mine|I saw it first}!\" {cried|said} [H]. \"No, {it is mine|I saw it first|I want it}!\" {cried|said} [F].",
         "But [day.low], something {shiny|bright} lay [s2]. It was a [obj]. Both of them {grabbed it|wanted it} at the same time. \"{Let go|Give it to me}!\" said [H]. \"{No, you let go|Never}!\" {said|shouted} [F]."],
        ["They {pulled|tugged} {this way and that way|back and forth}, {harder and harder|until their faces were red}. Then there was a {loud|sharp} crack, and the [thing] broke in two.",
         "They {shouted|argued} so loudly that the birds flew away. They pulled until, crack, the [thing] broke in two."],
        ["\"{Now look what you have done|That is your fault|I do not want to be your friend anymore}!\" {shouted|said} [H]. [F] {turned around|said not a word} and {went home|walked away}.",
         "\"{That was your fault|You broke it}!\" said [F]. \"{No, it was yours|I never want to see you again}!\" said [H]. And they went {home|away}, one to the left and one to the right."],
        PARAGRAPH,
        ["The next day was {very long|long and gray}. [H] {had nobody to play with|did not know what to do}. [^he] sat alone [s4]. {Nothing was fun|It was not the same} without [F].",
         "[H] {tried to play alone|went for a walk}, but {it was no fun|it was boring}. {At night, [he] could not sleep|[^he] missed [F] very much}."],
        ["\"Why are you so quiet?\" asked [E]. [H] told [E.him] {everything|what had happened}. \"{What is worth more|Which one do you miss more}, the [thing] or your friend?\" asked [E].",
         "[^he] {talked to|asked} [E]. \"Things break and can be mended,\" said [E], \"but {a friend is not so easily found|a friendship is worth more than any [thing]}.\""],
        ["[H] {knew the answer at once|thought about it all night}. [^he] {picked up|took} the two halves of the [thing] and {glued them together|mended it with great care}. Then [he] {ran|went} to [F]'s {house|door}.",
         "The next morning, [H] {set out|got up early}. [^he] had {mended|fixed} the [thing] {as well as [he] could|with string and glue}, and [he] wanted to {bring|give} it to [F]."],
        PARAGRAPH,
        ["Halfway there, [he] met [F], who was {on the way to [him]|coming the other way}. \"{I am sorry|I was wrong},\" they both said {at the same time|together}, and then they had to laugh.",
         "[F] opened the door. {For a moment nobody spoke|They looked at each other}. \"I am sorry,\" said [H]. \"{You can have it|It is yours}.\" \"I am sorry too,\" said [F]. \"{I do not need it|I only want my friend back}.\""],
        ["They {decided|agreed} to share the [thing]: one day it {was|would be} with [H], and the next day with [F]. {It had a crack now|You could still see the crack}, but they {liked it even more|did not mind}.",
         "They {hung|put} the [thing] [s3], where {it belonged to both of them|both of them could see it every day}."],
        ["And whenever they {were about to quarrel|began to argue}, they looked at {the crack|the [thing]} and {laughed|smiled}.",
         "From that day on, they {never let a thing come between them again|were better friends than before}.",
         "[H] had learned that {saying sorry is the shortest way back to a friend|no treasure is worth a friend}."],
    ]


quarrel.topics = ["a quarrel", "two friends who fight over a [obj]", "saying sorry", "forgiveness", "friendship", "a broken [thing]"]
quarrel.who = ["quarrels with [his] best friend", "learns to say sorry", "fights over a [obj]"]
quarrel.avoid = ("lonely", "gentle", "polite", "patient", "generous", "wise")


def truth(s):
    s.add("F")
    s.text["precious"] = s.draw.one(("blue vase", "big mirror", "painted bowl", "old clock", "white teapot", "glass lamp", "crystal bowl", "flowerpot"))
    return [
        ["[day], [H] was {playing|running around|dancing} {in the house|indoors}, although [E] had {told [him]|asked [him]} not to. {Crash|Bang}! The [precious] of [E] {fell down and broke|was broken} into {a hundred|many} pieces.",
         "[day], [H] {threw a ball|was jumping up and down} where [he] should not have. {There was a loud crash|Crash}! The [precious] that belonged to [E] lay {on the ground|there} in {a hundred|many} pieces."],
        ["[H] {stood very still|looked around}. Nobody had seen it. {Quickly|With shaking hands}, [he] {hid|swept} the pieces {under the carpet|behind the door|into a box}.",
         "\"{Oh no|What have I done},\" {whispered|thought} [H]. Nobody was there. So [he] {gathered|picked up} the pieces and hid them [s1]."],
        PARAGRAPH,
        ["{Soon|In the evening} [E] came {home|back}. \"{Where is my [precious]|What happened to my [precious]}?\" [E.he] asked. [H] {looked at the floor|turned red}. \"{I do not know|It must have been the wind},\" [he] said.",
         "When [E] {saw that it was gone|noticed it}, [E.he] asked: \"[H], do you know who broke my [precious]?\" \"{No|Not me},\" said [H], \"{it must have been the wind|I saw nothing}.\""],
        ["{The lie felt like a stone in [his] stomach|The words tasted bitter}. At supper, [he] {could not eat|ate nothing}, not even {the [dish]|a slice of bread}.",
         "That night, [H] could not {sleep|close [his] eyes}. {[^he] turned from one side to the other|The moon seemed to look at [him]}."],
        ["The next {day|morning}, [he] {met|went to see} [his] friend [F], a [F.trait] [F.kind]. \"You look {tired|sad},\" said [F]. [H] told [F.him] {everything|the whole story}.",
         "In the morning, [he] {sat|was sitting} [s2] when [his] friend [F], a [F.look] [F.kind], came by. \"You look so sad,\" said [F], and so [H] told [F.him] {everything|the truth}."],
        ["[F] {listened quietly|thought for a while}. \"{A lie is heavy, and you have to carry it|The truth is hard only once, but a lie is hard every day},\" [F.he] said. \"I will come with you.\"",
         "\"A [precious] can break,\" said [F]. \"It is worse when trust breaks. {Go and tell [E.him]|Be brave}.\""],
        PARAGRAPH,
        ["So [H] {went to|stood before} [E]. {[^his] voice shook|[^his] heart beat fast}. \"It was me,\" [he] said. \"I broke the [precious], and then I lied. I am {so|very} sorry.\"",
         "[H] {took a deep breath|gathered all [his] courage} and went to [E]. \"I {have to tell you something|did not tell you the truth},\" [he] {said|began}. \"I broke your [precious]. {I was afraid|I am sorry}.\""],
        ["[^E] {was quiet for a moment|looked at [him] for a long time}. Then [E.he] {smiled|took [him] in [E.his] arms}. \"I {was sad about|liked} the [precious],\" said [E], \"but {I am proud of you|I am glad that you told me}. {It takes courage to tell the truth|That was brave}.\"",
         "\"{I knew it|I found the pieces this morning},\" said [E] {softly|gently}. \"{I was waiting for you to tell me|I hoped that you would tell me}. {Thank you|Now everything is all right}.\""],
        ["{Together|Then all three of them}, they {glued the pieces together|put the pieces back together}. It {was not as beautiful as before|had many cracks}, but [E] {liked it even more|said that it had a story now}.",
         "To make up for it, [H] {helped in the garden for a week|washed the dishes for a week|saved [his] pennies and bought a new one}. It took a while, but [his] heart was light."],
        ["[evening], [H] slept {like a stone|deeply and well}. [^he] had learned that {the truth makes the heart light|telling the truth is the best way}.",
         "From that day on, [H] {always told the truth|never hid a thing again}, even when it was {hard|not easy}. And [E] {always believed [him]|knew that [he] could be trusted}."],
    ]


truth.topics = ["telling the truth", "a lie", "honesty", "a broken [precious]", "being honest"]
truth.who = ["tells a lie", "breaks a [precious]", "learns to tell the truth", "does not tell the truth"]
truth.avoid = ("honest", "careful", "wise", "quiet", "lonely", "slow")


def newcomer(s):
    s.add("F")
    s.text["strange"], s.text["gift"] = s.draw.one((
        ("had a very loud voice", "[F.his] loud voice could be heard from far away, and it led them all home through the fog"),
        ("had very big feet", "with [F.his] big feet, [F.he] stamped a path through the deep snow for everyone"),
        ("glowed a little in the dark", "[F.his] soft glow lit the way home in the darkest night"),
        ("spoke with a funny accent", "[F.he] knew songs and games from far away that nobody had ever heard"),
        ("was so much smaller than the others", "[F.he] was small enough to crawl into the hole and fetch the key that had fallen in"),
        ("was covered with strange spots", "[F.he] could hide so well that [F.he] won every game of hide-and-seek"),
        ("was much taller than the others", "[F.he] could reach the fruit on the highest branches and gave some to everyone"),
        ("always carried a big bag", "in [F.his] bag [F.he] had everything they needed to mend the broken bridge")))
    return [
        ["[day], somebody new came to [place]: [F.a]. [^F.he] [strange]{|, and nobody had ever seen anyone like [F.him]}.",
         "[day], [F.a] moved {into the empty house|to [place]}. [^F.he] came from far away, and [F.he] [strange]."],
        ["The others {whispered|stared}. \"{How strange|Look at that},\" they said. \"{We do not play with strangers|That one does not belong here}.\" And {nobody|not one of them} {spoke to [F]|wanted to play with [F.him]}.",
         "\"What a strange [F.kind],\" {said|whispered} the others, and they {laughed|turned away}. So [F] {sat alone|ate [F.his] lunch alone} [s1]."],
        PARAGRAPH,
        ["[H] saw {it|how sad [F] was}. {[^he] knew how it feels to be alone|\"How would I feel in a new place?\" [he] thought}. So [he] walked over. \"Hello,\" [he] said. \"I am [H]. {Would you like some [food]|Do you want to play}?\"",
         "[H] {watched [F.him] for a while|could not stop thinking about it}. \"{That is not right|Nobody should be alone},\" [he] thought. [^he] {took some [food]|picked a flower} and {went to [F.him]|sat down beside [F.him]}. \"This is for you,\" [he] said. \"My name is [H].\""],
        ["[F] looked up {in surprise|with big eyes}. \"{For me|You are talking to me}?\" [F.he] asked. {A smile spread over [F.his] face|And for the first time, [F] smiled}.",
         "\"I am [F],\" said [F] {shyly|softly}. \"{You are the first one who has spoken to me|Thank you. Nobody else has said hello}.\""],
        ["They {played|talked} all {afternoon|day}. [F] {knew wonderful stories|could tell the best jokes}, and [H] {laughed until [his] stomach hurt|had not had so much fun in a long time}.",
         "[H] showed [F.him] {everything|the best places}: [n2], [n3] and the secret path to [n4]. {[F] was [glad]|They laughed a lot}."],
        ["\"Why do you play with that one?\" the others asked. \"{Because [F] is my friend|You do not know what you are missing},\" {said|answered} [H]."],
        PARAGRAPH,
        ["Then {came a day|one day there was trouble} when {everyone|the others} needed help. And it was [F] who {saved the day|knew what to do}: [gift].",
         "A few {days|weeks} later, {something happened|they all saw what [F] could do}: [gift]."],
        ["The others {were amazed|could hardly believe it}. {\"We were wrong about you,\" they said.|They came up to [F] and hung their heads.} \"{Will you forgive us|Can you forgive us}?\" [F] {looked at [H]|smiled}. \"{Of course|Gladly},\" [F.he] said.",
         "\"{Thank you, [F]|Hurrah for [F]}!\" {cried|shouted} the others. \"{We are sorry|We should have been kinder}. Please come and play with us.\""],
        PARAGRAPH,
        ["From that day on, [F] was never alone again. But [F.his] best friend was {always|still} [H], who had {said hello first|been the first to say hello}.",
         "[evening], there was a {big|merry} party with [dish], and [F] {sat in the middle|danced with everyone}. \"{It all began with one hello|You were the first to be kind},\" [F.he] said to [H]."],
        ["And whenever somebody new came to [place], {everyone went to say hello|they were welcomed with [food] and songs}.",
         "[H] had learned that {a stranger can become the best friend of all|it is good to be different|one kind word can change everything}."],
    ]


newcomer.topics = ["a new neighbor", "being different", "making a new friend", "welcoming a stranger", "friendship"]
newcomer.who = ["meets a strange [F.kind]", "makes a new friend", "is kind to a stranger", "befriends a [F.kind]"]
newcomer.avoid = ("grumpy", "greedy", "proud", "lonely", "famous", "mischievous")

PLOTS = [sharing, quarrel, truth, newcomer]
