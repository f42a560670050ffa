"""Trains the vocabulary on what the generator writes: python train_vocabulary.py"""

import argparse
import pathlib

from documents import VOCABULARY_SEED, document_text
from vocabulary import train

HERE = pathlib.Path(__file__).parent

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=3072, help="number of pieces")
    parser.add_argument("--documents", type=int, default=60_000, help="documents to learn from")
    parser.add_argument("--out", default=HERE / "vocabulary.json")
    args = parser.parse_args()

    def texts():
        for number in range(args.documents):
            document = document_text((VOCABULARY_SEED, number))
            if isinstance(document, str):
                yield document
            else:
                yield from document[1]

    vocabulary = train(texts(), args.size)
    vocabulary.save(args.out)
    print(f"{len(vocabulary)} pieces written to {args.out}")
