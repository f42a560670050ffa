"""Compares m40's tokenizers with others on random texts: see README.md.

    python3 compare.py OUT [--count 100000] [--seed 1] [NAME ...]
"""

import argparse
import functools
import json
import pathlib

import vocabularies
from pre_tokenizers import PRE_TOKENIZERS
from texts import texts

KINDS = {
    "word-piece": vocabularies.make_word_piece,
    "word-piece-cased": lambda path, texts: vocabularies.make_word_piece(path, texts, lowercase=False),
    "sentencepiece": vocabularies.make_sentencepiece,
    "sentencepiece-phrases": lambda path, texts: vocabularies.make_sentencepiece(path, texts, split_by_whitespace=False),
    "gemma4": vocabularies.make_gemma,
    "unigram": vocabularies.make_unigram,
    "unigram-nfkc-cf": lambda path, texts: vocabularies.make_unigram(path, texts, rule="nfkc_cf", remove_extra_whitespaces=False),
    "unigram-bytes": lambda path, texts: vocabularies.make_unigram(path, texts, rule="identity", byte_fallback=True,
                                                                  add_dummy_prefix=False),
    "unigram-double": vocabularies.make_unigram_double,
}

# One set of merges for all pre-tokenizers.
trained = functools.lru_cache(vocabularies.train_byte_level)


def byte_level(name, pre_tokenizer, ignore_merges):
    return lambda path, texts: vocabularies.make_byte_level(path, trained(tuple(texts)), name, pre_tokenizer, ignore_merges)


# All names of a group are compared with the same ids, in a file that is named after the first.
NAMES = {names.split(" ")[0]: names.split(" ") for names in PRE_TOKENIZERS}
for names, (pre_tokenizer, ignore_merges) in PRE_TOKENIZERS.items():
    name = names.split(" ")[0]
    KINDS[name] = byte_level(name, pre_tokenizer, ignore_merges)


def compare(name, make, out, count, seed):
    path = out / f"{name}.gguf"
    encode = make(path, texts(4000, seed + 1))
    with open(out / f"{name}.jsonl", "w", encoding="utf-8") as file:
        file.write(json.dumps({"preTokenizers": NAMES.get(name, [])}) + "\n")
        for text in texts(count, seed):
            file.write(json.dumps([text, encode(text)], ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{name}: {count} texts", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=list(KINDS))
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_intermixed_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        compare(name, KINDS[name], args.out, args.count, args.seed)


if __name__ == "__main__":
    main()
