"""How fast Hugging Face's tokenizers are with the vocabulary of a GGUF file, on one thread: see README.md.

    python3 speed.py TEXT VOCABULARY.gguf ...
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import statistics
import sys
import time

import gguf
from tokenizers import Tokenizer, models, normalizers

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


def main():
    text = open(sys.argv[1], encoding="utf-8", newline="").read()
    size = len(text.encode()) / 1e6
    paragraphs = text.replace("\r\n\r\n", "\r\n\r\n\0").split("\0")
    for path in sys.argv[2:]:
        tokenizer = load(path)
        for what, parts in (("whole", [text]), ("by paragraph", paragraphs)):
            times = []
            for _ in range(RUNS):
                start = time.process_time()
                count = sum(len(tokenizer.encode(part, add_special_tokens=False).ids) for part in parts)
                times.append(time.process_time() - start)
            print(f"{path.split('/')[-1]} {what}: {size / statistics.median(times):.2f} MB/s ({size / max(times):.2f} to "
                  f"{size / min(times):.2f}), {count} tokens", flush=True)


if __name__ == "__main__":
    main()
