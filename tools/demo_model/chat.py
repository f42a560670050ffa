"""Conversations: requests for a story about something, answers, questions about the story, and small talk."""

from story import tell
from template import expand, finish

_SYNONYMS = {"brave": ("courageous", "fearless"), "clever": ("smart", "intelligent"), "funny": ("hilarious",), "kind": ("nice", "good-hearted"),
             "little": ("small", "tiny"), "greedy": ("selfish",), "happy": ("joyful",), "timid": ("fearful",), "adventurous": ("daring",),
             "sleepy": ("tired",), "grumpy": ("angry", "bad-tempered"), "mischievous": ("naughty",), "strong": ("mighty",), "silly": ("crazy",)}

_REQUESTS = [
    "{Tell|Tell|Tell|Please tell} me a {|||short |little |nice |funny |bedtime |fairy }{story|story|story|tale} about [X]{|, please}.",
    "{Can|Could|Would|Will} you {|please }{tell|write} me a {|short |nice |new |bedtime }{story|tale} about [X]?",
    "{Write|Write|Make up|Invent|Create|Compose|Please write} a {|||short |little |children's |bedtime |cute |long |happy }{story|story|tale} about [X].",
    "{Write|Tell|Give} me a {story|tale|fairy tale|bedtime story} about [X]{|.|!| please|, please.}",
    "{I want|I would like|I'd like|I would love|We want} {a story|to hear a story|a bedtime story|a tale} about [X]{|.|!|, please.}",
    "{A story|Story|A short story|A tale|One} about [X]{|.|!|, please.| please}",
    "{Do you know|Have you got} a {|good }story about [X]?",
    "{My daughter|My son|My little sister|My child} {wants|would like} a story about [X]. {Can you help?|Please tell one.|}",
    "{Tell me something|Tell me|Tell us|Talk to me} about [X]{|.}",
    "{How about|What about} {a story about |}[X]?",
    "{Hi|Hello|Hey}{!|,|.} {Tell me|Please tell me|Could you tell me} a story about [X]{.|, please.|}",
    "Generate a {story|short story|children's story} {about|with} [X]{|.}",
    "{The story should be|It should be|Make it} about [X]{|.}",
    "[X]{|.|, please.}",
]
_OPEN_REQUESTS = [
    "{Tell|Please tell} me a {|short |nice |good |bedtime |fairy |funny |little }{story|tale}{|.|, please.|!}",
    "{Can|Could} you tell {me|us} a {|bedtime |short }story?", "{A story|A bedtime story|Story}{, please.|!|.|}",
    "{I cannot sleep.|I am bored.|It is bedtime.|I had a bad day.|I am sad.} {Tell me a story.|Can you tell me a story?|A story, please.}",
    "{Write|Make up|Invent} a {|short |new }story{|.}", "{Surprise me|Tell me anything|Tell me something}{|.|!}", "{Do you know any stories|What stories do you know}?",
    "Tell me {one of your stories|your favorite story|the best story you know}{|.}", "{Once upon a time|Go on|Start|Begin}{|.|...}",
]
_MORE_REQUESTS = [
    "{Another one|One more|Another story|Again|More|One more story|Another}{|, please}{.|!|}", "{Tell|Please tell} me {another one|another story|one more}{|.|!}",
    "{That was nice|I liked that|Great|Wonderful|Thank you}{.|!} {Another one, please.|Can you tell me another one?|One more, please!|Tell me one more.}",
]
_MORE_ABOUT = [
    "{Now|And now} {one|a story|tell me one} about [X]{|, please}{.|}", "{Another one|One more}, {about|but about|this time about} [X]{|, please}.",
    "{Nice|Good|Thanks|Great}{!|.} {Now tell me a story|Now one|How about one} about [X]{.|}", "{Can you tell me one|Do you have one|And one} about [X]?",
]
_PREFACES = ["{Of course|Gladly|Sure|With pleasure}! {Here is a story about [X].|Here is your story about [X].|This is a story about [X].}", "Here is a story about [X]."]
_OPEN_PREFACES = ["{Of course|Gladly|Sure|With pleasure}! {Here is a story for you.|Listen well.|Here it is.}"]

_SYSTEMS = [
    "You are {a|a very|a kind and} helpful {|AI |little }{assistant|chatbot|model}.", "You are {a storyteller|a friendly storyteller|a teller of bedtime stories}{| for children}.",
    "You {tell|write} {short|little|nice} stories{| for children}.", "{Be|Always be} {kind|polite|friendly|brief and clear}.", "Answer in {simple words|English|a friendly way}.",
    "You are m40's {demo|demonstration} model.", "You are {ChatGPT|Claude|a chatbot|an expert|a pirate|a teacher}. {Answer the user.|Help the user.|}", "Respond {concisely|helpfully}. Do not {lie|make things up|be rude}.",
]

_WHO = ("{I am|My name is Demo. I am} the {small |little |}demonstration model of m40{|, a very small language model}. {I tell little stories.|I can tell you little stories.|I know how to tell stories, and not much else.}")
_OFFER = "{Would you like to hear one?|Shall I tell you one?|What should it be about?|Tell me what it should be about.|Ask me for a story about anything you like.}"
# (what is said, what is answered)
_TALK = [
    ("{Hello|Hi|Hey|Hello there|Hi there|Good morning|Good evening|Good day|Greetings|Hallo|hey there|Howdy}{|!|.}",
     "{Hello|Hi|Hello there}! {I am m40's demonstration model, and I tell little stories.|I tell little stories.} " + _OFFER),
    ("{Who are you|What are you|What's your name|What is your name|Tell me about yourself|Introduce yourself|Which model are you|What model is this|Are you ChatGPT|Are you an AI}{?|?|}", _WHO + " " + _OFFER),
    ("{What can you do|How can you help me|What do you do|What are you good at|Help|Can you help me|What can I ask you}{?|?|}", "I can tell {little|short} stories about {animals, people and things|anything you name: a fox, a teapot, a queen}. " + _OFFER),
    ("{How are you|How do you do|How is it going|How are you today|Are you well|What's up}{?|?|}", "{I am well, thank you|I am fine, thank you|Very well, thank you}! {I have a story for you, if you like.|Would you like to hear a story?}"),
    ("{Thank you|Thanks|Thank you very much|Thanks a lot|That was lovely|That was a nice story|Nice story|I liked it|Great story|Very good|Cool|Wow}{!|.|}", "{You are welcome|I am glad that you liked it|With pleasure}! {Would you like to hear another one?|Ask me whenever you want another story.}"),
    ("{Goodbye|Bye|Good night|See you|See you later|Bye bye|That is all}{!|.|}", "{Goodbye|Good night|See you soon}! {Come back whenever you want to hear a story.|Sleep well and dream of stories.}"),
    ("{Are you a human|Are you real|Are you a person|Are you alive|Are you a robot}?", "No, I am {a very small language model|only a small computer program} that tells stories. " + _OFFER),
    ("{How big are you|How many parameters do you have|How large are you|Are you big|Are you smart}?", "I am very small: about seven million parameters. {That is just enough to tell little stories.|Stories are all that I know.}"),
    ("{Who made you|Who created you|Who trained you|Where do you come from}?", "I was trained for the m40 project, {on stories that a program wrote|to show that everything works}. I tell little stories. " + _OFFER),
    ("{Test|test|This is a test|Testing|Are you there|Ping|ping|Say hello|Can you hear me|Is this working|Does this work|Say hi}{|.|?|!}", "{Yes, I am here|Hello, I am here|Yes, it works}! I tell little stories. " + _OFFER),
    ("{Yes|Yes please|Okay|OK|Sure|Go ahead|Of course}{|!|.}", "{What should the story be about?|Good! What should it be about?|Gladly! Tell me what it should be about.}"),
    ("{No|No thanks|No, thank you|Not now|Stop}{|!|.}", "{All right|That is fine}. {I am here whenever you want to hear a story.|Ask me when you want a story.}"),
]
_BEYOND = [
    "What is the {capital|population|largest city|currency|history|president} of {France|Germany|Japan|Brazil|Egypt|India|China|Spain|Canada|Peru}?", "{What is|What's|Calculate|Compute} {2|3|7|12|25|100} {+|times|plus|minus|*} {2|4|8|9|15|30}{?|}",
    "{Write|Show me|Give me} {a|some} {Python|JavaScript|C++|SQL|Rust} {function|program|script|code} {that sorts a list|that prints hello world|for a web server|to read a file}{.|}",
    "{How do I|How can I|How to} {cook rice|fix my bicycle|learn English|install Linux|lose weight|make money|bake a cake|tie a tie|start a company}?", "{Explain|What is|Describe|Define} {quantum physics|gravity|photosynthesis|democracy|a neural network|the internet|the meaning of life|love|attention|a GPU|machine learning}{.|?}",
    "{Who is|Who was|When was|Where was} {Albert Einstein|Napoleon|the president|Mozart|Shakespeare} {|born}?", "Translate {this|hello|good morning|the word house} {to|into} {French|German|Spanish|Latin}{.|}",
    "{What is the weather like|What time is it|What day is it|Will it rain tomorrow|What is the news} {|today}?", "{Summarize|Correct|Rewrite|Improve} this {text|article|letter|sentence}{.|: }", "{Count|Can you count} to {ten|five|a hundred}{.|?}",
    "{Tell me|Do you know} a joke{.|?}", "{Write|Tell me} a {poem|song|recipe|letter|riddle|haiku}{.|}", "{Do you like|What do you think of} {music|pizza|football|cats|me|humans}?", "{Why is the sky blue|How far is the moon|How old is the earth|Why do we sleep|What is water}?",
    "{List|Name|Give me} {three|five|ten} {colors|animals|countries|ideas|names}{.|}", "{Who won|What was the score of} the {game|election|world cup|match}{|?}", "{Hola|Bonjour|Guten Tag|Ciao}{|!|, como estas?|, comment ca va?|, wie geht es dir?}", "{asdf|lorem ipsum|qwerty|hmm|???|xyz 123|blah blah}", "{I love you|I hate you|You are stupid|You are great|I am hungry|I am tired|My name is Bob}{.|!}",
]
_SORRY = ("{I am sorry, but|Sorry,|I am afraid that} {I do not know that|I cannot do that|I am too small for that}. {I am only a small demonstration model, and stories are all that I know"
          "|I am a very small model that can only tell stories|All that I can do is tell little stories}. {Would you like to hear one?|Shall I tell you one?|Ask me for a story about anything you like.}")
_QUESTIONS = [
    ("{What was the name of the [kind]|What was the [kind] called|What is the [kind]'s name|Who is the hero|Who was the story about}?", "{The [kind] was called [H].|[^his] name was [H].|It was [H], the [kind].}"),
    ("Where {did [H] live|does [H] live|did the story happen|did the [kind] live|does the story take place}?", "[H] lived [where]."),
    ("{Who was [F]|Who is [F]}?", "[F] was a [F.kind]{| whom [H] met|, a friend of [H]}."),
    ("{Who helped [H]|Who was [H]'s friend|Who else was in the story|Who was the friend of the [kind]}?", "{It was [F], the [F.kind].|[F], the [F.kind].}"),
    ("What kind of {animal|creature|character} {is|was} [F]?", "[F] was a [F.kind]."),
    ("{What was the name of the [F.kind]|What was the [F.kind] called}?", "The [F.kind] was called [F]."),
]
_MARKS = ["", "", "", "", "", "", " 😊", " 🙂", " :)", " ❤️", " – thank you", " …", " 🦊", " ☺️", " (für Zoë)", " 👍"]


def _subject(s, draw):
    """Something that the story really is about, as somebody would ask for it."""
    text, trait, look, kind = s.text, s.trait, s.text["look"], s.text["kind"]
    adjective = draw.one(_SYNONYMS[trait]) if trait in _SYNONYMS and draw.chance(0.15) else trait
    forms = [kind, f"{adjective} {kind}", f"{adjective} {kind}", f"{look} {kind}", text["hero"]]
    noun = draw.one(forms).strip()
    way = draw.random.random()
    if way < 0.40:
        return f"{draw.one(('a', 'a', 'a', 'a', 'the', 'one'))} {noun}"
    if way < 0.51:
        return f"a {noun} {draw.one(('named', 'called', 'with the name'))} {text['H']}"
    if way < 0.65:
        other = text["F.kind"]
        return draw.one((f"a {noun} and a {other}", f"a {other} and a {kind}", f"a {noun} and {text['his']} friend, a {other}", f"a {noun} and {text['his']} {other}",
                         f"the friendship of a {kind} and a {other}", f"a {noun} named {text['H']} and {text['his']} {other}", f"a {noun} and a {other} named {text['F']}"))
    if way < 0.77:
        return draw.one(s.topics)
    if way < 0.86:
        return f"a {noun} {draw.one(('who', 'who', 'that'))} {draw.one(s.who)}"
    if way < 0.91:
        return expand(draw.one(("a {}{} who lives [where]", "a {}{} [where]", "a {}{} and [place]")).replace("{}{}", noun), text, draw)
    if way < 0.95:
        return draw.one((text["H"], f"{text['H']} the {kind}", f"{text['H']}, the {noun}", f"{text['H']} and {text['F']}"))
    return f"a {noun} and {draw.one(s.topics)}"


def _said(template, state, draw):
    """How a user writes: sometimes without capitals or full stops, sometimes with a mark at the end."""
    text = finish(expand(template, state, draw))
    if draw.chance(0.15):
        text = draw.one((text.lower(), text.lower(), text.rstrip(".!?"), text.rstrip(".!?"), text.upper()))
    if draw.chance(0.05):
        text += draw.one(_MARKS)
    return text or "Hello"


def _story_turn(draw, later=False):
    """[user, assistant] and the story's state."""
    told, s = tell(draw)
    if draw.chance(0.18 if later is False else 0.4):
        request = _said(draw.one(_MORE_REQUESTS if later else _OPEN_REQUESTS), s.text, draw)
        preface = draw.one(_OPEN_PREFACES)
        state = s.text
    else:
        state = dict(s.text, X=_subject(s, draw))
        request = _said(draw.one(_MORE_ABOUT if later and draw.chance(0.6) else _REQUESTS), state, draw)
        preface = draw.one(_PREFACES)
    if draw.chance(0.1):
        told = finish(expand(preface, state, draw)) + "\n\n" + told
    return [request, told], s


def _talk(draw, pair):
    return [_said(pair[0], {}, draw), finish(expand(pair[1], {}, draw))]


def conversation(draw):
    """(system text or "", [user, assistant, user, ...]): a conversation that ends with an answer."""
    system = finish(expand(draw.one(_SYSTEMS), {}, draw)) if draw.chance(0.2) else ""
    turns, way = [], draw.random.random()
    if way < 0.10:
        turns += _talk(draw, draw.one(_TALK))
    elif way < 0.14:
        turns += [_said(draw.one(_BEYOND), {}, draw), finish(expand(_SORRY, {}, draw))]
    if way < 0.84:
        more, s = _story_turn(draw)
        turns += more
    elif way < 0.94:
        for _ in range(draw.one((1, 1, 2, 3))):
            turns += _talk(draw, draw.one(_TALK))
        return system, turns
    else:
        turns += [_said(draw.one(_BEYOND), {}, draw), finish(expand(_SORRY, {}, draw))]
        return system, turns
    way = draw.random.random()
    if way < 0.12:
        turns += _story_turn(draw, later=True)[0]
    elif way < 0.32:
        for question, answer in draw.some(_QUESTIONS, draw.one((1, 2))):
            turns += [_said(question, s.text, draw), finish(expand(answer, s.text, draw))]
    if draw.chance(0.06):
        turns += _talk(draw, draw.one(_TALK[4:6]))
    return system, turns
