"""Writes tests/data/tokenizer/words.json: hard texts, and the words that Hugging Face's tokenizers cut them into.

    venv/bin/python tools/tokenizer_vectors/make_words.py

A byte of a character that is cut apart is the surrogate U+DC00 + byte, as everywhere in m40.
"""

import json
from pathlib import Path

from tokenizers.pre_tokenizers import ByteLevel

from pre_tokenizers import PRE_TOKENIZERS

OUT = Path(__file__).parents[2] / "tests/data/tokenizer/words.json"

TEXTS = {
    "contractions": "I'm DON'T we'Ll it\u2019s 'tis rock'n'roll a'\u017f O'Reilly's",
    "digits": "1234567 v2 3.14 1,000.50 x86_64 \u0661\u0662\u0663\u0664 \u00bd\u00b2 \u2167 9\u00b2 12a 3\u00bd 12\u00e9",
    "chinese and japanese": "漢字とカタカナ、ひらがな。ABC漢字abc 𠀀〇",
    "thai and korean": "สวัสดีครับ ๑๒๓ 안녕하세요 ㄱㄴ",
    "emoji with joiners": "👨\u200d👩\u200d👧👍🏽 🇩🇪🏳\ufe0f\u200d🌈1\ufe0f\u20e3❤\ufe0f!",
    "combining marks": "e\u0301te\u0301 A\u0308b हिन्दी \u0301x שָׁלוֹם a\u0338\u0327",
    "spaces": "a  b   c\u00a0d\u3000e\u0085f\ufeffg\u200bh\t\ti ",
    "line breaks": "a\nb\r\nc\n\nd \n e\n  \n\tf\n\n\n",
    "signs": "foo_bar->baz(); // x\n#include <a.h>\r\n$x += 50%... \u00ab!?\u00bb \u2026\u3002 a/b/\n",
    "cases": "camelCase HTTPServer McDonald \u01c5ala \u02b0x \u00dcBER straßE \u0391\u03b2\u0393",
    "runs of spaces": "a" + " " * 2 + "1" + " " * 3 + "b" + " " * 7 + "c" + " " * 21 + "d" + " " * 1030 + "e \t  12  345678 ",
    "code": "def f(x):\n    return  x**2\n\n\tif (a!=b) {\n",
}


def alphabet():
    """The byte of each character of GPT-2's alphabet."""
    printable = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(rest)}


BYTES = alphabet()
assert set(BYTES) == set(ByteLevel.alphabet())


def words(pre_tokenizer, text):
    cut = [word for word, _ in pre_tokenizer.pre_tokenize_str(text)]
    return [bytes(BYTES[character] for character in word).decode("utf-8", "surrogateescape") for word in cut]


def main():
    groups = [(names, {what: words(pre_tokenizer, text) for what, text in TEXTS.items()})
              for names, (pre_tokenizer, _) in PRE_TOKENIZERS.items()]
    OUT.write_text('{\n"texts": {\n' + rows(TEXTS) + '\n},\n"words": {\n' + ",\n".join(
        f"{json.dumps(names)}: {{\n{rows(cuts)}\n}}" for names, cuts in groups) + "\n}\n}\n")


def rows(entries):
    return ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items())


if __name__ == "__main__":
    main()
