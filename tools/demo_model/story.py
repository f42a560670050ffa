"""A whole story: an opening, a plot, an end; and the facts in it that somebody may have asked for."""

import plots_heart
import plots_learning
import plots_lost
import plots_wonder
from characters import Story
from plots_lost import PARAGRAPH
from template import Draw, expand, finish
from words import TRAITS

PLOTS = plots_lost.PLOTS + plots_learning.PLOTS + plots_heart.PLOTS + plots_wonder.PLOTS

# the plots that go with a trait or a setting: told more often then, so that different requests get different stories
_BY_TRAIT = {
    "brave": "rescue mystery", "kind": "newcomer rescue", "curious": "mystery lost_way", "clever": "journey storm", "shy": "newcomer new_skill",
    "lazy": "wish quarrel", "cheerful": "surprise", "gentle": "garden", "quiet": "mystery", "noisy": "truth", "forgetful": "lost_treasure",
    "patient": "storm", "proud": "race", "stubborn": "quarrel new_skill", "lonely": "lonely_star", "silly": "lost_way", "careful": "rescue",
    "polite": "newcomer", "grumpy": "sharing quarrel", "greedy": "sharing wish", "helpful": "rescue storm", "honest": "race", "hungry": "sharing",
    "sleepy": "lost_way", "playful": "lost_treasure quarrel", "dreamy": "wish lonely_star", "funny": "surprise", "messy": "lost_treasure",
    "nervous": "fear", "friendly": "newcomer missing_friend", "generous": "surprise", "hopeful": "garden lonely_star", "hardworking": "storm",
    "thoughtful": "surprise missing_friend", "clumsy": "new_skill truth", "happy": "surprise", "sad": "lonely_star", "wise": "journey",
    "adventurous": "journey lost_way", "mischievous": "truth", "magical": "wish", "merry": "missing_friend", "timid": "fear",
    "lucky": "lost_treasure", "strong": "storm", "fast": "lost_way", "slow": "new_skill", "beautiful": "garden", "famous": "quarrel",
}
_BY_SETTING = {
    "the forest": "lost_treasure", "the meadow": "garden", "the farm": "sharing", "the village": "truth", "the town": "surprise",
    "the valley": "storm", "the mountain": "journey", "the lake": "fear", "the seaside": "rescue", "the island": "wish", "the jungle": "newcomer",
    "the savanna": "race", "the kingdom": "journey", "the enchanted wood": "wish", "the garden": "garden", "the attic": "mystery",
    "the toy shop": "newcomer", "the North Pole": "lonely_star", "the riverbank": "new_skill", "the hills": "lost_way",
}

_OPENINGS = [
    "Once upon a time, there was a [hero] named [H]. [^he] lived [where].",
    "Once upon a time, there was a [hero] named [H] who lived [where].",
    "Once upon a time, there was a [hero] called [H], and [he] lived [where].",
    "Once upon a time, [where], there lived a [hero] named [H].",
    "Once upon a time, a [hero] named [H] lived [where].",
    "Once upon a time, there lived a [hero] [where]. [^his] name was [H].",
    "Once there was a [hero] named [H] who lived [where].",
    "Long ago, [where], there lived a [hero] {named|called} [H].",
    "A long time ago, a [hero] named [H] lived [where].",
    "[^where], there lived a [hero] {named|called} [H].",
    "There once was a [hero] named [H]. [^he] lived [where].",
    "[H] was a [hero]. [^he] lived [where].",
    "[H] was a [hero] who lived [where].",
    "Not so long ago, there was a [hero] {named|called} [H], who lived [where].",
    "The [hero] was called [H], and [he] lived [where].",
    "Far away, [where], there was a [hero] named [H].",
    "This is the story of [H], a [hero] who lived [where].",
]
_HOMES = [
    "[^his] {house|home} was {small|little} but {warm|bright|cozy}, and it stood {not far from|near} [n5].",
    "[^he] had a {cozy|small|snug|cozy little|warm little} home near [n5].",
    "Every {morning|day}, [he] {walked|went} to [n5] to {look at the sky|greet the sun|listen to the wind}.",
]
_ENDS = ["The end.", "And they all lived happily ever after.", "And if you listen well, you can still hear them laugh.",
         "And that is the end of the story.", "{Sleep well, and dream of [H] and [F].|And so they lived happily [where].}"]
_RIDDLES = {
    "What has teeth but cannot bite": "a comb", "What has hands but cannot clap": "a clock",
    "What gets wetter the more it dries": "a towel", "What can you break without touching it": "a promise",
}


def tell(draw):
    """(text, Story): one story, and its state with `plot` and `topics` and `who` expanded."""
    s = Story(draw)
    text = s.text
    plot = _plot(draw, s)
    text["E.gift"] = text["E"].replace("[his]", "my")
    text["E.short"] = text["E"].split(" ")[-1]
    text["day.low"] = "one {sunny|warm|cool|bright|windy|} {morning|afternoon|day}"
    text["a_young"] = draw.one(("a little mouse", "a young neighbor", "the children", "somebody"))
    beats = plot(s)
    opening = expand(draw.one(_OPENINGS), text, draw)
    if s.trait and draw.chance(0.75):
        opening += " " + expand(draw.one(TRAITS[s.trait]), text, draw)
    if draw.chance(0.3):
        opening += " " + expand(draw.one(_HOMES), text, draw)
    paragraphs, sentences = [], [opening]
    for beat in beats:
        if beat is PARAGRAPH:
            paragraphs.append(sentences)
            sentences = []
        elif plot is plots_wonder.journey and len(beat) == 1 and beat[0].endswith("[riddle]"):
            sentences.append(_riddle(draw, text))
        else:
            sentences.append(expand(beat if isinstance(beat, str) else draw.one(beat), text, draw))
    if draw.chance(0.35):
        sentences.append(expand(draw.one(_ENDS), text, draw))
    paragraphs.append(sentences)
    s.plot = plot
    s.topics = [expand(topic, text, draw) for topic in plot.topics]
    s.who = [expand(who, text, draw) for who in plot.who]
    return PARAGRAPH.join(finish(" ".join(part)) for part in paragraphs), s


def _plot(draw, s):
    by_name = {plot.__name__: plot for plot in PLOTS if s.trait not in plot.avoid}
    fitting = [name for name in _BY_TRAIT.get(s.trait, "").split() if name in by_name]
    if fitting and draw.chance(0.45):
        return by_name[draw.one(fitting)]
    if _BY_SETTING[s.setting.the] in by_name and draw.chance(0.2):
        return by_name[_BY_SETTING[s.setting.the]]
    return by_name[draw.one(sorted(by_name))]


def _riddle(draw, text):
    question = draw.one(sorted(_RIDDLES))
    template = draw.one((
        f"\"{question}?\" asked [T]. [H] and [F] thought {{hard|for a long time}}. \"{{I know|I have it}}!\" said {{[H]|[F]}} at last. \"It is {_RIDDLES[question]}.\" [T] {{laughed|nodded}} and let them pass.",
        f"The riddle was: \"{question}?\" [H] {{scratched [his] head|closed [his] eyes and thought}}. \"It is {_RIDDLES[question]},\" [he] said. \"{{That is right|You are clever}},\" said [T], and [T.he] {{stepped aside|opened the way}}.",
    ))
    return expand(template, text, draw)


def story(seed):
    """The text of the story with this seed."""
    return tell(Draw(seed))[0]
