"""Plots about something or someone lost: a treasure, the way home, a stolen thing, a creature in trouble.

A plot sets its own keys on the story and returns its beats in order. A beat is a template, or a list of templates of which one
is told; PARAGRAPH starts a new paragraph. `topics` are the things that a request may say the story is about, `who` what the
hero does in it, `avoid` the traits that would contradict it.
"""

PARAGRAPH = "\n\n"


def lost_treasure(s):
    s.add("F")
    s.text["finds"] = s.draw.one(("a pile of dry leaves", "an empty nutshell", "a sleepy beetle", "two smooth pebbles", "an old piece of string",
                                  "a cracked cup", "a long gray feather", "a puddle", "a broken twig"))
    found = s.draw.one((
        ["There, [s3], something {shone|sparkled|peeped out} {in the light|in the sun|between the leaves}. It was the [obj]!",
         "\"Look!\" cried [F]. There it was: the [obj] was lying [s3], {just where [H] had sat the day before|a little dusty but not broken}."],
        ["At last they came to [n3]. A {tiny|baby} {bird|mouse|sparrow|beetle} was {sitting beside|sleeping next to|looking at} the [obj]. \"I found it in the grass,\" it said, \"and I did not know whose it was.\"",
         "[^s3], a {tiny|very small} {mouse|bird|frog} was guarding the [obj]. \"I kept it safe until its owner came back,\" said the little one."],
        ["A {black crow|young magpie|jackdaw} sat [s3] with the [obj] {in front of it|at its feet}. \"I am sorry,\" said the bird. \"It was so pretty that I could not leave it behind.\" And it gave the [thing] back."],
    ))
    return [
        ["[^his] {favorite|most precious|dearest} thing in the {whole|wide} world was a [obj]. [^E] had given it to [him] {on [his] birthday|when [he] was very small|last winter|for being so good}.",
         "[H] had a [obj]. It was a present from [E], and [he] {took it everywhere|loved it very much|never went anywhere without it}."],
        PARAGRAPH,
        ["[day], [H] {woke up|looked around|came back from a walk} and {could not find|noticed that something was wrong. [^he] could not find} the [thing]. It was {gone|not there|nowhere to be seen}!",
         "[day], [H] {wanted to play with|reached for|looked for} the [thing], but it was gone!"],
        ["\"Oh no!\" [he] {cried|said}. \"{Where can it be|Where is my [thing]|What shall I do}?\"",
         "[^he] {felt|was} [sorry]. \"I must find it,\" [he] {said|told [himself]}.",
         "[^his] heart {beat fast|sank}. \"{I have lost it|My [thing] is gone}!\" [he] {cried|said}."],
        ["[H] {looked|searched} [s1], but {all [he] found was|there was nothing but} [finds].",
         "First [he] {looked|searched} [s1]. There was only [finds].",
         "[^he] {ran|hurried|went} to [n1] and {looked|searched} everywhere, but [he] found only [finds]."],
        PARAGRAPH,
        ["[^s2], [H] met [F.a]. \"{Why are you so sad|What is the matter|What are you looking for}?\" asked [F].",
         "Then [F.a] came {along|by|walking down the path}. \"{You look sad|You look worried}, [H],\" said [F]. \"{Can I help you|What has happened}?\""],
        ["\"I have lost my [obj],\" {said|answered|sighed} [H]. \"{I have looked everywhere|I cannot find it anywhere}.\"",
         "\"My [obj] is gone,\" {said|answered|whispered} [H]. \"It was a present from [E.gift].\""],
        ["\"{Do not worry|Do not be sad|Cheer up},\" said [F]. \"{Two can look better than one|We will find it together|Four eyes see more than two}.\"",
         "[F] thought for a moment. \"{Where were you yesterday|Where did you see it last}?\" [F.he] asked. \"{Let us go back there|We should look there first}.\""],
        ["So the two of them {set off|went on} together. They {looked|searched} {high and low|in every corner|here and there}{|, and they did not give up}.",
         "Together they {walked|went} {all the way back|down the path|along the way}, looking {left and right|at every stone|at everything}."],
        found,
        PARAGRAPH,
        ["[H] {was [glad]|jumped for joy|could hardly believe [his] eyes}. {[^he] held the [thing] tight|[^he] hugged [F]|[^he] laughed out loud}. \"Thank you, [F]!\" [he] said. \"{Without you I would never have found it|You are a true friend|I could not have done it alone}.\"",
         "\"You found it!\" {cried|said} [H]. [^he] {hugged [F]|danced around|was [glad]}. \"{How can I thank you|What can I do for you}?\" \"{Just be my friend|You can play with me tomorrow|You would do the same for me},\" said [F]."],
        ["[evening], [H] put the [thing] {beside [his] bed|in a safe place|on the shelf}. [^he] had found [his] [thing], and {a new friend too|[he] had found a friend as well}.",
         "From that day on, [H] {took good care of|always knew where to find} the [obj], and [he] and [F] {met every day|were the best of friends}.",
         "[H] learned that {it is easier to find things with a friend|a good friend is worth more than any treasure}."],
    ]


lost_treasure.topics = ["a lost [thing]", "a [obj]", "losing something and finding it again", "finding a new friend"]
lost_treasure.who = ["loses [his] [thing]", "cannot find [his] [obj]", "looks for a lost [thing]"]
lost_treasure.avoid = ("careful", "lonely")


def lost_way(s):
    s.add("F")
    s.text["lure"] = s.draw.one(("a blue butterfly", "a strange song", "a shining light", "a golden leaf in the wind", "a bright red balloon",
                                 "the smell of [food]", "a trail of tiny footprints"))
    return [
        ["[^E] {always|often} {said|told [him]}: \"{Do not go too far|Stay on the path|Come home before dark}, [H].\" And [H] always {promised|nodded}.",
         "[H] lived near [n1], and [he] {knew every stone there|had never gone farther than [n2]}."],
        PARAGRAPH,
        ["[day], [H] {saw|noticed|found} [lure]. [^he] {followed it|ran after it|wanted to know where it would lead} past [n1], past [n2], and {farther and farther|on and on}.",
         "[day], [H] went out to {play|gather [food]|take a walk}. Then [he] {saw|noticed} [lure], and [he] followed it, farther than [he] had ever gone before."],
        ["After a while [he] stopped and looked around. {Nothing looked familiar|Everything looked strange|[^he] had never been here before}. The sun was {low|going down}, and the shadows were {long|growing longer}.",
         "Suddenly it was {gone|nowhere to be seen}, and so was the path. The sky {grew dark|turned gray}, and a cold wind blew."],
        ["\"{I am lost|I do not know the way home|How will I get home now}!\" {whispered|cried|said} [H]. {A tear ran down [his] cheek|[^his] knees shook|[^he] felt very small}.",
         "[H] {was afraid|began to cry|felt cold and alone}. \"I {should have listened|should not have gone so far},\" [he] {thought|said to [himself]}."],
        PARAGRAPH,
        ["[^he] sat down [s3]. {Then|After a while} [he] heard a {soft|kind|friendly} voice. \"{Why are you crying|Are you lost|What are you doing here all alone}?\" It was [F.a].",
         "Just then, [F.a] came {out of the shadows|along|around the corner}. \"{Hello there|Good evening},\" said [F]. \"{Are you lost|Is something wrong}?\""],
        ["\"I {followed|ran after} [lure],\" said [H], \"and now I cannot find the way home.\"",
         "\"Yes,\" {said|sobbed|whispered} [H]. \"I want to go home to [E.gift], but I do not know the way.\""],
        ["[F] {smiled|nodded|gave [him] some [food]}. \"{I know this place well|I know every path here|Do not be afraid},\" [F.he] said. \"{Come with me|Follow me}, and {stay close|we will be there soon|I will show you the way}.\"",
         "\"{Look up|Listen},\" said [F]. \"{The brightest star|The sound of the water|The smell of the smoke} will {show us the way|lead us home}. {I will go with you|Let us go together}.\""],
        ["So they walked {side by side|hand in hand|together} past [n2] {and over the hill|and through the dark}. [F] {told funny stories|sang a little song|talked about the stars}, and soon [H] {was not afraid anymore|forgot to be afraid|even laughed}.",
         "They went {slowly|step by step} {through the dark|past [n2]}. When [H] {was tired|grew tired}, [F] {waited for [him]|let [him] rest|told [him] not to give up}."],
        PARAGRAPH,
        ["At last [H] saw [n1]. {A light was shining in the window|There was the light of home}! [^E] {came running|was waiting at the door} and {took [him] in [E.his] arms|hugged [him]}. \"{I was so worried|There you are},\" [E.he] said.",
         "Then [H] {saw a light|heard a voice}. It was [E], who was {calling [his] name|looking for [him] everywhere}. \"{You are home|I am so glad that you are safe},\" said [E]."],
        ["\"[F] showed me the way,\" said [H]. [^E] {thanked|invited} [F] and {gave [F.him] [food]|made warm soup for everyone|asked [F.him] to stay for supper}.",
         "[^E] gave [F] [food] and thanked [F.him] {three times|with all [E.his] heart}."],
        ["From that day on, [H] {stayed on the path|never went too far alone|always told [E] where [he] was going}, but [he] often visited [F], {because now [he] knew the way|who was now [his] friend}.",
         "[H] {never forgot|always remembered} how [F] had helped [him]. And when someone was lost, [H] showed them the way home."],
    ]


lost_way.topics = ["getting lost", "finding the way home", "being lost and finding help", "coming home"]
lost_way.who = ["gets lost", "cannot find the way home", "goes too far from home"]
lost_way.avoid = ("careful", "wise", "timid", "lonely")


def rescue(s):
    s.add("F")
    s.text["trap"], s.text["tool"], s.text["freed"] = s.draw.one((
        ("stuck in a deep hole", "a long vine", "climbed up"), ("caught in a thorn bush", "a strong stick", "slipped out"),
        ("trapped under a fallen branch", "a heavy pole", "crawled out"), ("stuck in the mud", "a long rope", "came free"),
        ("caught in an old net", "a sharp stone", "wriggled free"), ("stuck between two rocks", "a strong stick", "slipped out"),
        ("trapped in an old well", "a long rope", "climbed up")))
    return [
        ["[day], [H] was {walking|on [his] way} to [n1] to {gather|look for} [food].", "[day], [H] was {playing|resting|sitting} [s1]. [sky]"],
        PARAGRAPH,
        ["Suddenly [he] heard {a cry|a small voice|someone calling}. \"Help! {Please help me|Is anybody there? Please come|Somebody help me}!\"",
         "Then [he] heard {a strange sound|a weak voice}. {Someone was crying|It sounded like someone calling for help}."],
        ["[H] {ran|hurried|followed the voice} to [n2]. There [he] saw [F.a], [trap]. \"{I cannot get out|I have been here since morning|It hurts},\" said [F].",
         "[^s2], [he] found [F.a]. [^F.he] was [trap] and could not get out. \"{Please do not leave me|I thought nobody would come},\" {said|whispered} [F]."],
        ["\"{Do not be afraid|Hold on|Stay calm},\" said [H]. \"{I will help you|I will get you out|I will not leave you alone}.\"",
         "\"{You poor thing|Do not worry},\" said [H]. \"I will {find a way|think of something}.\""],
        PARAGRAPH,
        ["[H] pulled {as hard as [he] could|with all [his] strength}, but {it was no use|nothing moved}. [^he] was too {small|weak} to do it {alone|that way}.",
         "First [H] {pulled|pushed}. It did not work. Then [he] tried {again|harder}, but {[F] did not move at all|that did not help either}."],
        ["[^he] {sat down and thought|looked around|thought hard}. Then [he] {had an idea|knew what to do}! [^he] ran to [n3] and {came back with|fetched|found} [tool].",
         "\"I need something {else|to help me},\" {thought|said} [H]. [^s3], [he] found [tool], and [he] {ran|hurried} back with it."],
        ["[^he] {worked and worked|pushed and pulled|tried once, twice, three times}. {Little by little|Slowly}, something moved. \"{Now|One more time}!\" {called|cried} [H], and at last [F] [freed]!",
         "\"Ready? One, two, three!\" {called|said} [H]. With the help of [tool], [F] [freed] {at last|safe and sound}."],
        PARAGRAPH,
        ["[F] {took a deep breath|shook off the dust|could hardly believe it}. \"You saved me!\" [F.he] said. \"{I will never forget this|One day I will help you too|I thank you with all my heart}.\"",
         "\"Thank you, thank you!\" {said|cried} [F]. \"{You are the bravest [kind] I know|Nobody else heard me|You did not give up}.\""],
        ["[H] {blushed|smiled}. \"{Anyone would have done the same|I am glad that you are safe|That is what friends are for},\" [he] said. Then they {ate [food] together|shared the [food]|went home together}.",
         "They sat [s1] and {ate [food]|shared some [food]} until {the sun went down|they were full}."],
        ["A few days later, [H] {fell into the water|lost [his] way in the fog|could not lift a heavy basket}. And who came to help? It was [F]! {\"Now we are even,\" [F.he] laughed.|From then on, they were friends for life.}",
         "From that day on, [H] and [F] {were always together|helped each other|were the best of friends}. And {nobody|no one} [at] was ever {left alone|without help} again.",
         "[evening], [H] {told [E] everything|went to bed tired and happy}. [^he] had learned that {you do not have to be big to do something great|a good idea can be stronger than strong arms}."],
    ]


rescue.topics = ["helping someone in trouble", "a rescue", "being brave", "kindness", "courage"]
rescue.who = ["saves a [F.kind]", "helps a [F.kind]", "rescues someone", "hears a cry for help"]
rescue.avoid = ("greedy", "strong", "lazy")


def missing_friend(s):
    s.add("F")
    s.text["why"] = s.draw.one(("had hurt [F.his] foot", "had fallen asleep in the sun", "had a bad cold", "was hiding because of the thunder"))
    return [
        ["[H] had a best friend, [F.a]. Every {day|morning}, the two {met|played} [s1].",
         "Every {morning|afternoon}, [H] met [his] friend [F], a [F.look] [F.kind], [s1]. They {played|laughed and sang|told stories} until {supper|it was dark}."],
        PARAGRAPH,
        ["[day], [H] came to [n1], but [F] was not there. [H] waited and waited. {The sun climbed higher|The hours passed}, and still [F] did not come.",
         "But [day.low], [F] did not come. [H] waited {for a long time|until noon} and {began to worry|felt uneasy}."],
        ["\"{Something must have happened|This is not like [F]},\" {thought|said} [H]. \"{I will look for [F.him]|I must find my friend}.\""],
        ["First [he] {went to|looked near} [n2]. {Nobody was there|No [F] there}. [^he] asked {a passing bird|an old toad|two ants|a busy bee}. \"{I saw [F.him] this morning|[^F.he] was walking} near [n3],\" was the answer.",
         "[^he] {called|shouted} [his] friend's name [s2]. \"[F]! [F]!\" But only the wind answered. Then [he] {saw|found} footprints that led to [n3]."],
        PARAGRAPH,
        ["[H] {ran|hurried} there {as fast as [he] could|with a beating heart}. And there was [F]! [^F.he] [why] and could not come.",
         "And there, [s3], [he] found [F]. [^F.he] [why]. \"{You came|I knew you would come}!\" {said|whispered} [F]."],
        ["\"{Do not worry|I am here now},\" said [H]. [^he] {sat down beside [F.him]|gave [F.him] some water|covered [F.him] with a leaf} and {stayed with [F.him]|took care of [F.him]}.",
         "[H] {brought|fetched} {water and [food]|[food] and a warm blanket}, and told [F.him] a funny story."],
        ["Soon [F] felt {better|much better}. {They walked home slowly|[H] helped [F.him] home}, {step by step|and the moon lit their way}.",
         "After a {little while|rest}, [F] {could smile again|felt better}, and [H] {brought|led} [F.him] home."],
        PARAGRAPH,
        ["\"{Thank you for looking for me|I was so lonely without you},\" said [F]. \"{That is what friends do|A friend always looks for a friend|I would look for you at the end of the world},\" said [H]."],
        ["The next {morning|day}, the two friends met [s1] again, and {everything was as before|they played until evening|they were [glad]}.",
         "And from that day on, if one of them was late, the other one {went to look|came to help}."],
    ]


missing_friend.topics = ["a missing friend", "true friendship", "two best friends", "friendship", "looking for a friend"]
missing_friend.who = ["looks for [his] friend", "has a best friend", "takes care of a sick friend"]
missing_friend.avoid = ("lonely", "lazy")

PLOTS = [lost_treasure, lost_way, rescue, missing_friend]
