"""How fast llama.cpp and Hugging Face's tokenizers are with the vocabulary of a GGUF file, on one thread: see README.md.

Megabytes of text a second of processor time, which other work on the machine disturbs less than the time of the clock.

    python3 speed.py TEXT VOCABULARY.gguf ...
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import re
import statistics
import sys
import time

import gguf
from tokenizers import Tokenizer, models, normalizers

import llama_cpp
from pre_tokenizers import PRE_TOKENIZERS

RUNS = 5


def load(path):
    """The tokenizer of a GGUF file, as Hugging Face's tokenizers have such a one."""
    fields = gguf.GGUFReader(path).fields
    get = lambda key: fields["tokenizer.ggml." + key].contents()
    tokens = get("tokens")
    vocabulary = {token: id for id, token in enumerate(tokens)}
    if get("model") == "gpt2":
        pre_tokenizer, ignore_merges = next(rules for names, rules in PRE_TOKENIZERS.items() if get("pre") in names.split(" "))
        merges = [tuple(merge.split(" ", 1)) for merge in get("merges")]
        tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=ignore_merges))
        tokenizer.pre_tokenizer = pre_tokenizer
        return tokenizer
    # SentencePiece's scores as merges, as transformers converts them.
    scores = get("scores")
    merges = []
    for token in tokens:
        pairs = [(token[:at], token[at:]) for at in range(1, len(token)) if token[:at] in vocabulary and token[at:] in vocabulary]
        merges += [(pair, scores[vocabulary[token]]) for pair in sorted(pairs, key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]]))]
    merges = [pair for pair, _ in sorted(merges, key=lambda merge: -merge[1])]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    return tokenizer


def measure(name, what, size, encode):
    """Prints the median speed of a function that gives the number of tokens."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        count = encode()
        times.append(time.process_time() - start)
    median, slowest, fastest = (size / 1e6 / seconds for seconds in (statistics.median(times), max(times), min(times)))
    print(f"{name} {what}: {median:.2f} MB/s ({slowest:.2f} to {fastest:.2f}), {count} tokens", flush=True)


def main():
    text = open(sys.argv[1], encoding="utf-8", newline="").read()
    data = text.encode()
    # Where tokenizers merge a text as a whole, as with SentencePiece, they do better on parts of it.
    paragraphs = re.split(r"(?<=\n)(?=\r?\n)", text)
    for path in sys.argv[2:]:
        name = path.split("/")[-1]
        tokenizer = load(path)
        count = lambda parts: sum(len(tokenizer.encode(part, add_special_tokens=False).ids) for part in parts)
        measure(name, "tokenizers", len(data), lambda: count([text]))
        measure(name, "tokenizers, by paragraph", len(data), lambda: count(paragraphs))
        vocabulary = llama_cpp.Vocabulary(path)
        measure(name, "llama.cpp", len(data), lambda: len(vocabulary.encode(data)))


if __name__ == "__main__":
    main()
