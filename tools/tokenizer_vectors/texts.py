"""Random texts in which tokenizers tend to differ; the same for the same seed.

Only characters that have been in Unicode for long: programs differ in the version that they know.
"""

import random

SCRIPTS = {
    "latin": "abcdefghijklmnopqrstuvwxyz",
    "capital": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "accented": "àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿāăąćčďđēęěğįıłńňőœřśşšťůűźżžſßÀÉÎÕÜŠŽİŁØÆŒ",
    "titlecase": "ǅǈǋǲ",
    "modifier": "ʰʲʷʹˈˑªºʻ",
    "greek": "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώΑΒΓΔΕΣΩΪ",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяёАБВГДЕЖЗЇЄІҐ",
    "armenian": "աբգդեզէըթժիլԱԲԳ",
    "georgian": "აბგდევზთიკლმნოპ",
    "hebrew": "אבגדהוזחטיכלמנסעפצקרשת",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأ",
    "devanagari": "अआइईउऊएऐओकखगघचछजझटठडतथदधनपफबभमयरलवशषसह",
    "bengali": "অআইঈউকখগঘচছজটঠডতথদধনপফবভমযরলশষসহ",
    "tamil": "அஆஇஈஉஊஎஏகஙசஞடணதநபமயரலவழளறன",
    "thai": "กขคงจชซญดตถทนบปผฝพฟมยรลวศสหอฮะาเแโใไ",
    "ethiopic": "ሀለሐመሠረሰሸቀበተኀነኘአከ",
    "hangul": "가나다라마바사아자차카타파하한글말은는이를",
    "jamo": "ㄱㄴㄷㅏㅑㅓ",
    "hiragana": "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほをんがぎ",
    "katakana": "アイウエオカキクケコサシスセソタチツテトナニヌネノｱｲｳｴｵー",
    "han": "的一是不了人我在有他这中大来上国个到说们為時學漢字語水火木金土日月",
    "rare_han": "𠀀𠀁𪚥㐀㒨豈更﨎龜",
    "fullwidth": "ＡＢＣａｂｃ",
    "mathematical": "𝐀𝑏𝒞𝔡𝕖",
    "deseret": "𐐀𐐁𐐨𐐩",
}
DIGITS = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "０１２３", "²³¹", "½¾", "ⅧⅫⅷ", "①⑳", "๐๑๒๓", "〇", "𝟘𝟙"]
CONTRACTIONS = ["s", "t", "re", "ve", "m", "ll", "d", "S", "T", "RE", "VE", "M", "LL", "D", "Re", "lL", "ſ", "x", "n't"]
APOSTROPHES = ["'", "'", "'", "\u2019", "\u02bc", "`"]
SPACES = [" ", " ", " ", "  ", "   ", "     ", "\t", "\t\t", "\n", "\n\n", "\n\n\n", "\r\n", "\r", " \n", "\n ", " \n \n  ", "\u00a0",
          "\u0085", "\u3000", "\u2003", "\u2009", "\u2028", "\u2029", "\u202f", "\u1680", "\x0b", "\x0c", " \t "]
INVISIBLE = ["\ufeff", "\u200b", "\u200c", "\u200d", "\u00ad", "\u2060", "\u200e", "\x00", "\x01", "\x1c", "\x1f", "\x7f", "\ue000"]
ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
PUNCTUATION = "¡¿«»§¶·–—‘’“”…‹›、。〈〉「」【】・！，．：；？｡।॥؟،׃፡"
SYMBOLS = "¢£¤¥€₽©®™°±×÷→⇒∀∂∑√∞≈≠≤≥⊕□■▲▁░█☃♥♫✓❤¨¯´¸˚^`¬¦"
MARKS = ["\u0300", "\u0301", "\u0308", "\u0327", "\u0338", "\u20dd", "\u093e", "\u093f", "\u0940", "\u094d", "\u0902", "\u0e31",
         "\u0e49", "\u0e4c", "\u064b", "\u064e", "\u0651", "\u05b0", "\u05bc", "\u3099", "\u309a", "\u0bbf", "\u0bcd", "\u09be", "\ufe0f"]
EMOJI = ["😀", "🎉", "🦙", "👍🏽", "👨‍👩‍👧", "👩🏿‍🚀", "🇩🇪", "🇫🇷", "🇩", "1️⃣", "❤️", "🏳️‍🌈", "✌🏻", "☺️", "🏿", "⌚"]
CODE = ["def f(x):\n    return x", "if (a != b) {\n\t", "}\n\n", "x += 1;", "https://a.b/c?d=1", "foo_bar", "camelCase", "HTTPServer", "...", "!!!",
        "***", "---", "//", "/*", "*/", "::", "->", "<br/>", "\\n", "[0]", "()", "\"'", "'\"", "&nbsp;", "$x", "#!/", "@user", "50%", "1,000.50", "a.b.c",
        "3.14", "1e-9", "0xFF", "v2", "x86_64", "COVID-19", "I'm", "DON'T", "we'Ll", "o’clock", "rock'n'roll", "..\n", "//\n", ".\r\n", " '", "' "]


class Texts:
    """An endless stream of random texts."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.scripts = list(SCRIPTS.values())

    def word(self):
        r = self.random
        letters = SCRIPTS["latin"] if r.random() < 0.35 else r.choice(self.scripts)
        word = "".join(r.choice(letters) for _ in range(r.randint(1, 7)))
        kind = r.random()
        if kind < 0.1: word = word.upper()
        elif kind < 0.25: word = word[:1].upper() + word[1:]
        elif kind < 0.3: word += r.choice(SCRIPTS["capital"]) + r.choice(SCRIPTS["latin"])
        elif kind < 0.4: word += r.choice(MARKS)
        elif kind < 0.43: word = word[:1] + r.choice(MARKS) * r.randint(1, 3) + word[1:]
        return word

    def fragment(self):
        r = self.random
        kind = r.random()
        if kind < 0.34: return self.word()
        if kind < 0.44: return "".join(r.choice(r.choice(DIGITS[:1] * 8 + DIGITS)) for _ in range(r.randint(1, 8)))
        if kind < 0.52: return (self.word() if r.random() < 0.7 else "") + r.choice(APOSTROPHES) + r.choice(CONTRACTIONS)
        if kind < 0.68: return "".join(r.choice(SPACES) for _ in range(r.choice([1, 1, 1, 2, 3])))
        if kind < 0.78: return "".join(r.choice(ASCII_PUNCTUATION) for _ in range(r.choice([1, 1, 1, 2, 3, 5])))
        if kind < 0.83: return r.choice(PUNCTUATION + SYMBOLS) * r.choice([1, 1, 1, 2])
        if kind < 0.86: return r.choice(EMOJI)
        if kind < 0.88: return r.choice(MARKS)
        if kind < 0.90: return r.choice(INVISIBLE)
        if kind < 0.92: return r.choice("aA1 .\n-é漢") * r.randint(2, 40)
        return r.choice(CODE)

    def text(self):
        r = self.random
        text = ""
        for _ in range(r.randint(1, 12)):
            text += self.fragment()
            if r.random() < 0.4: text += " "
        return text


def texts(count, seed):
    """That many random texts."""
    stream = Texts(seed)
    return [stream.text() for _ in range(count)]
