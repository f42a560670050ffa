"""Makes the vectors of tests/data/tokenizer for the kinds of vocabulary that make.py does not make: see README.md.

    python3 tools/tokenizer_vectors/make_kinds.py
"""

import gzip
import json
import tempfile
from pathlib import Path

import vocabularies
from make import OUT, PLAIN
from pre_tokenizers import PRE_TOKENIZERS
from texts import texts

SEED = 11

HARD = PLAIN + [
    "I'm you're WE'LL she'd They'Ve o'clock 'tis I\u2019m x'\u017f", "don't DON'T Don'T", "1 12 123 1234 12345 1234567 1,234,567.89 ３４５６ ٣٤٥٦ ²³½",
    "12³45 1234a a1234 12_34", "我来到北京清华大学 今天是2024年", "東京タワーへ行きました。ｶﾀｶﾅ", "한국어 문장입니다 ㄱㄴㄷ", "ภาษาไทยไม่มีช่องว่าง ที่นี่",
    "हिन्दी में लिखा है", "👨‍👩‍👧‍👦 👍🏽 🏳️‍🌈 1️⃣ 🇩🇪🇫🇷", "e\u0301 e\u0301\u0302 \u0301alone कि", "a\n\n\nb\r\n\r\nc \n d\t\n\te", "x\u00a0y\u3000z\u2028w\u0085v\u200bu\ufeff",
    "ＦＵＬＬ ｗｉｄｔｈ ﬁ ﬂ ½ ①", "CamelCase HTTPServer iOS ǅungla ʰ ª", "if (a != b) {\n\t\tc += 1; // no!\n}\n\n", "a  b   c    d", "...!!!???/// ---\n", "[UNK] ##ing [CLS]",
    "ΑΣ ΟΔΟΣ İstanbul ıI ẞ", "   lead and trail   ", "\u2581 mark\u2581inside", "Ω \u2126 K \u212a Å \u212b", "x" * 120, "\n" * 9 + " a", "a\U0002b825b a\U0002b930b", "\u0001\u0002control\u007f \ue000",
]

# A few rules instead of Unicode's thousands, so that the map stays small: what they are keys of overlaps on purpose.
RULES = [("\t", " "), ("\n", " "), ("\r", " "), ("\u00a0", " "), ("\u3000", " "), ("\u200b", ""), ("\u0001", ""), ("ﬁ", "fi"), ("½", "1⁄2"), ("①", "1"),
         ("e\u0301", "é"), ("e\u0301\u0302", "ế"), ("o\u0308", "ö"), ("u\u0308", "ü"), ("...", "…"), ("\u2126", "\u03a9"), ("\u212b", "\u00c5"), ("ß", "ss"), ("!!", "!")]
RULES += [(chr(0xfee0 + code), chr(code)) for code in range(0x21, 0x7f)]


def rules_file(folder):
    path = Path(folder) / "rules.tsv"
    path.write_text("".join(
        " ".join(f"{ord(c):X}" for c in key) + "\t" + " ".join(f"{ord(c):X}" for c in value) + "\n" for key, value in RULES), encoding="utf-8")
    return str(path)


def write_vectors(name, vectors):
    """A list of texts, and lists of ids by the name of what encoded them."""
    data = json.dumps({"texts": [text for text in all_texts()], "tokens": vectors}, ensure_ascii=False, separators=(",", ":"))
    # Without a time of writing: the same vectors are the same file.
    (OUT / f"{name}.json.gz").write_bytes(gzip.compress(data.encode(), 9, mtime=0))


def all_texts():
    return HARD + texts(60, SEED)


def main():
    training = texts(300, SEED + 1)
    for name, options in [("word-piece", {}), ("word-piece-cased", {"lowercase": False})]:
        encode = vocabularies.make_word_piece(OUT / f"{name}.gguf", training, size=900, **options)
        write_vectors(name, {"tokenizers": [encode(text) for text in all_texts()]})
    with tempfile.TemporaryDirectory() as folder:
        encode = vocabularies.make_unigram(OUT / "unigram.gguf", training, size=700, rule=None, normalization_rule_tsv=rules_file(folder))
        write_vectors("unigram", {"sentencepiece": [encode(text) for text in all_texts()]})
    encode = vocabularies.make_unigram_double(OUT / "unigram-plain.gguf", training, size=700)
    write_vectors("unigram-plain", {"tokenizers": [encode(text) for text in all_texts()]})
    encode = vocabularies.make_gemma(OUT / "gemma4.gguf", training, size=1100)
    write_vectors("gemma4", {"tokenizers": [encode(text) for text in all_texts()]})
    trained = vocabularies.train_byte_level(training, size=1100, words=100)
    ids = {}
    for names, (pre_tokenizer, ignore_merges) in PRE_TOKENIZERS.items():
        encode = vocabularies.make_byte_level(OUT / "byte-level.gguf", trained, "default", pre_tokenizer, ignore_merges)
        ids[names] = [encode(text) for text in all_texts()]
    write_vectors("byte-level", ids)


if __name__ == "__main__":
    main()
