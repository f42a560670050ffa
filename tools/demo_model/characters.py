"""Who is in a story and where it happens: the state that templates refer to."""

from words import (ANIMAL_GROUPS, BOY_NAMES, DISHES, FLOWERS, FOODS, GIRL_NAMES, HUMAN_GROUPS, KINDS, LOOKS, PET_NAMES, SETTINGS,
                   TRAITS, TREASURE_LOOKS, TREASURES, YOUNG_KINDS)

_PRONOUNS = {
    "he": {"he": "he", "him": "him", "his": "his", "himself": "himself"},
    "she": {"he": "she", "him": "her", "his": "her", "himself": "herself"},
}
_ONSETS = "b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sc sh sk sl sm sn sp st t th tr tw v w wh y z".split() + [""]
_VOWELS = "a a a e e e i i i o o o u u ai ea ee ie oo ou oa au y".split()
_CODAS = "n l r m s t d p ck b g x sh nt st rd ll ss nk mp ng ble der ter ster tle on er ie y".split() + [""] * 12

# how the old ones are called who give advice: (as others name them, pronoun, do only the young have them?)
_ELDERS = [("[his] mother", "she", True), ("[his] father", "he", True), ("[his] grandmother", "she", True),
           ("[his] grandfather", "he", True), ("[his] aunt", "she", True), ("[his] uncle", "he", True),
           ("the old owl", "he", False), ("the wise old turtle", "she", False), ("old Mrs. Maple", "she", False),
           ("old Mr. Finch", "he", False), ("the old gardener", "he", False), ("the old goose", "she", False),
           ("old Mrs. Brook", "she", False), ("the wise old raven", "he", False), ("the oldest toad", "she", False)]

# what every template may use
_PHRASES = {
    "day": "{One|One|One sunny|One warm|One bright|One cool|One beautiful|One windy|One misty|One spring|One summer|One autumn}"
           " {morning|afternoon|day|day|morning}",
    "evening": "{That evening|That night|When evening came|When the sun went down|When the stars came out|As the moon rose}",
    "glad": "{so happy|very happy|full of joy|so glad|happier than ever before|as happy as could be}",
    "sorry": "{very sad|so sad|full of sorrow|close to tears|sad and worried}",
    "away": "{at once|right away|without waiting|as fast as [he] could}",
    "proudly": "{proudly|happily|with a big smile|with shining eyes|cheerfully}",
    "softly": "{softly|quietly|gently|in a small voice|in a low voice}",
    "great_joy": "{hugged each other|laughed and danced|jumped for joy|laughed until their sides hurt|smiled at each other}",
    "sky": "{The sun was shining|The sky was blue|A soft wind was blowing|White clouds sailed across the sky|The air smelled of flowers}"
           "{| and the birds were singing|, and the world was bright}.",
}


_RUDE = ("fuc", "fuk", "shit", "dic", "dik", "cun", "kun", "nig", "fag", "coc", "cok", "tit", "sex", "slut", "rap", "drunk", "ass", "cum", "pis", "whor",
         "por", "naz", "kil", "pus", "gay", "jew", "turd", "crap", "hel", "dam")


def made_up_word(draw):
    """A word that nobody knows, so that the model learns to repeat what it is given."""
    random = draw.random
    while True:
        word = "".join(random.choice(_ONSETS) + random.choice(_VOWELS) + random.choice(_CODAS) for _ in range(draw.one((1, 2, 2, 3))))
        if len(word) > 2 and not any(rude in word for rude in _RUDE):
            return word


def _typical(word, options):
    """The option that goes with a word more often than others do. Clear favourites make for good greedy text."""
    return options[(sum(ord(char) * (index + 3) for index, char in enumerate(word))) % len(options)]


def _name(draw, group, kind, pronoun, taken):
    if draw.chance(0.04):
        return made_up_word(draw).capitalize()
    names = (GIRL_NAMES if pronoun == "she" else BOY_NAMES) if group in HUMAN_GROUPS or draw.chance(0.25) else PET_NAMES
    free = lambda name: all(name[0] != other[0] for other in taken)
    name = _typical(kind + pronoun, names)
    if draw.chance(0.75) or not free(name):
        name = draw.one(names)
        while not free(name):
            name = draw.one(names)
    return name


def _kind(draw, groups, taken):
    """(group, kind): a new one, drawn at random or the one that goes with the last of `taken`."""
    while True:
        group = draw.one(groups)
        if draw.chance(0.15):
            kind = _typical(taken[-1], KINDS[group]) if taken else KINDS[group][0]
        else:
            kind = made_up_word(draw) if draw.chance(0.06 if not taken else 0.03) else draw.one(KINDS[group])
        if kind not in taken:
            return group, kind


class Story:
    """The state of one story: text by key, and the facts that a request may ask for."""

    def __init__(self, draw):
        self.draw = draw
        self.text = dict(_PHRASES)
        self.names, self.kinds = [], []
        self.setting = SETTINGS[0] if draw.chance(0.1) else draw.one(SETTINGS)
        self.text["where"], self.text["place"], self.text["at"] = self.setting.where, self.setting.the, self.setting.at
        for number, (near, spot) in enumerate(draw.some(self.setting.spots, 6), 1):
            self.text[f"s{number}"], self.text[f"n{number}"] = f"{near} {spot}", spot
        self.hero_group = self._character("H", short="", groups=self._groups(hero=True))
        self.text["h"] = f"the {self.text['kind']}"
        self._traits()
        self.text["H?"] = "{[H]|[H]|[he]}"
        young = self.hero_group in ANIMAL_GROUPS or self.text["kind"] in YOUNG_KINDS
        elder, pronoun, _ = draw.one([elder for elder in _ELDERS if young or not elder[2]])
        self.text["E"] = elder
        self.text.update({f"E.{key}": word for key, word in _PRONOUNS[pronoun].items()})
        self.text["obj"] = f"{draw.one(TREASURE_LOOKS)} {draw.one(TREASURES)}"
        self.text["thing"] = self.text["obj"].split(" ")[-1]
        self.text["food"], self.text["food2"] = draw.some(FOODS, 2)
        self.text["dish"], self.text["ingredient"] = draw.one(DISHES)
        self.text["flower"] = draw.one(FLOWERS)

    def _groups(self, hero):
        own = self.setting.groups
        if hero and self.draw.chance(0.2):
            return ("thing", "fantasy", "he", "she", "person")
        return own if self.draw.chance(0.8) else ("forest", "farm", "bird", "bug", "fantasy")

    def _character(self, key, short, groups):
        """Adds a character: `[key]` is the name; pronouns are [he] for the hero, [F.he] for the others."""
        draw, text = self.draw, self.text
        group, kind = _kind(draw, groups, self.kinds)
        usual = _typical(kind, ("he", "she"))
        pronoun = group if group in ("he", "she") else usual if draw.chance(0.3) else draw.one(("he", "she"))
        name = _name(draw, group, kind, pronoun, self.names)
        self.names.append(name)
        self.kinds.append(kind)
        text[key] = name
        text[f"{short}kind"] = kind
        text.update({f"{short}{word}": value for word, value in _PRONOUNS[pronoun].items()})
        family = "animal" if group in ANIMAL_GROUPS else "human" if group in HUMAN_GROUPS else "thing" if group == "thing" else "any"
        look = draw.one(LOOKS[family if draw.chance(0.5) else "any"])
        if look in kind or (look in ("young", "old", "tall", "big") and any(age in kind for age in ("old", "young", "baby", "grand", "cub", "giant"))):
            look = "little"
        text[f"{short}look"] = look
        text[f"{short}group"] = group
        return group

    def add(self, key):
        """A further character, F (friend) or T (third): [F] the name, [F.the] "the mouse", [F.a] "a brown mouse named ...\""""
        self._character(key, short=f"{key}.", groups=self._groups(hero=False))
        text = self.text
        text[f"{key}.the"] = f"the {text[f'{key}.kind']}"
        text[f"{key}.trait"] = self.draw.one(("kind", "clever", "cheerful", "friendly", "wise", "gentle", "funny", "helpful", "merry", "polite"))
        text[f"{key}.a"] = self.draw.one((f"a {text[f'{key}.look']} {text[f'{key}.kind']} named [{key}]",
                                          f"a {text[f'{key}.trait']} {text[f'{key}.kind']} named [{key}]",
                                          f"a {text[f'{key}.trait']} {text[f'{key}.look']} {text[f'{key}.kind']} called [{key}]"))
        text[f"{key}?"] = f"{{[{key}]|[{key}]|[{key}.the]}}"

    def _traits(self):
        draw = self.draw
        self.trait = draw.one(sorted(TRAITS)) if draw.chance(0.75) else ""
        self.text["trait"] = self.trait
        look, kind, trait = self.text["look"], self.text["kind"], self.trait
        forms = [f"{look} {kind}"] if not trait else [f"{trait} {look} {kind}", f"{trait} {kind}", f"{trait} {look} {kind}"]
        if trait in ("happy", "sad", "famous", "fast", "slow", "strong", "beautiful", "magical"):
            forms = [f"{trait} {kind}", f"{trait} {look} {kind}"]
        self.text["hero"] = draw.one(forms)
