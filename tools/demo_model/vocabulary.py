"""A SentencePiece-style vocabulary: byte-pair pieces with scores, byte fallback and control tokens; trained and used here.

Encoding is SentencePiece's: a space is put in front, spaces become U+2581, and of all neighbouring symbols whose joined text is
a piece, the pair with the highest score is joined first (the leftmost of equals); what is no piece becomes its UTF-8 bytes.
"""

import collections
import json
import re

SPACE = "\u2581"
UNKNOWN, BOS, EOS, USER, ASSISTANT, END = range(6)
CONTROL = ["<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|end|>"]
NORMAL_TYPE, UNKNOWN_TYPE, CONTROL_TYPE, BYTE_TYPE = 1, 2, 3, 6  # token types as in GGUF

# what never joins with what: words, single digits, runs of other signs; newlines stay bytes
_RUN = re.compile(f"{SPACE}?[A-Za-z]+|{SPACE}?[0-9]|{SPACE}?[^A-Za-z0-9{SPACE}\n]+|{SPACE}")
_CHUNK = re.compile(f"{SPACE}?[^{SPACE}]*")


class Vocabulary:
    """Pieces in the order of their ids. Ids 0 to 5 are CONTROL, then come 256 bytes, then the pieces, best score first."""

    def __init__(self, pieces):
        self.pieces = CONTROL + [f"<0x{byte:02X}>" for byte in range(256)] + list(pieces)
        self.types = [UNKNOWN_TYPE] + [CONTROL_TYPE] * 5 + [BYTE_TYPE] * 256 + [NORMAL_TYPE] * len(pieces)
        self.first_byte = len(CONTROL)
        first = self.first_byte + 256
        self.scores = [0.0] * first + [float(-rank) for rank in range(len(pieces))]
        self.ids = {piece: first + rank for rank, piece in enumerate(pieces)}
        self._chunks = {}

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file)["pieces"])

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"pieces": self.pieces[self.first_byte + 256 :]}, file, ensure_ascii=False, indent=2)
            file.write("\n")

    def __len__(self):
        return len(self.pieces)

    def encode(self, text, prefix=True):
        """Token ids of a text, without BOS and EOS. No piece holds U+2581 but at its start, so the parts between are independent."""
        text = (SPACE if prefix else "") + text.replace(" ", SPACE)
        out = []
        for chunk in _CHUNK.findall(text):
            known = self._chunks.get(chunk)
            if known is None:
                known = self._encode_chunk(chunk)
                if len(self._chunks) < 200_000:
                    self._chunks[chunk] = known
            out += known
        return out

    def _encode_chunk(self, chunk):
        symbols = list(chunk)
        while True:
            best, at = None, -1
            for index in range(len(symbols) - 1):
                rank = self.ids.get(symbols[index] + symbols[index + 1])
                if rank is not None and (best is None or rank < best):
                    best, at = rank, index
            if best is None:
                break
            symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
        out = []
        for symbol in symbols:
            if symbol in self.ids:
                out.append(self.ids[symbol])
            else:
                out += [self.first_byte + byte for byte in symbol.encode("utf-8")]
        return out

    def decode(self, tokens):
        """The text of tokens; control tokens in angle brackets; the space in front is taken off."""
        data = b""
        for token in tokens:
            if self.types[token] == BYTE_TYPE:
                data += bytes([token - self.first_byte])
            else:
                data += self.pieces[token].replace(SPACE, " ").encode("utf-8")
        text = data.decode("utf-8", errors="replace")
        return text[1:] if text.startswith(" ") else text


def train(texts, size):
    """A Vocabulary of `size` pieces: byte-pair encoding over the runs of the texts (Sennrich et al. 2016), ties by text."""
    counts = collections.Counter()
    for text in texts:
        counts.update(_RUN.findall(SPACE + text.replace(" ", SPACE)))
    characters = {chr(code) for code in range(33, 127)} | {SPACE}
    words = [[list(word), count] for word, count in sorted(counts.items()) if set(word) <= characters]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for index, (symbols, count) in enumerate(words):
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += count
            where[pair].add(index)
    merges, wanted = [], size - len(CONTROL) - 256 - len(characters)
    while len(merges) < wanted:
        pair = max(pairs, key=lambda candidate: (pairs[candidate], candidate))
        joined = pair[0] + pair[1]
        if joined not in merges:
            merges.append(joined)
        for index in sorted(where.pop(pair)):
            symbols, count = words[index]
            for old in zip(symbols, symbols[1:]):
                pairs[old] -= count
            at = 0
            while at < len(symbols) - 1:
                if (symbols[at], symbols[at + 1]) == pair:
                    symbols[at : at + 2] = [joined]
                at += 1
            for new in zip(symbols, symbols[1:]):
                pairs[new] += count
                where[new].add(index)
        del pairs[pair]
    return Vocabulary(merges + sorted(characters))
