"""Training documents as tokens: plain stories and conversations, packed into rows. Each document depends on its seed alone."""

import random

import numpy as np

from chat import conversation
from story import tell
from template import Draw
from vocabulary import ASSISTANT, BOS, END, EOS, USER

TRAINING_SEED = 20_261_121
VALIDATION_SEED = 777
VOCABULARY_SEED = 4_242
_PLAIN_SHARE = 0.45
_BARE_SHARE = 0.15  # conversations whose turns are encoded without the space that is put in front


def document_text(seed):
    """A plain story (str) or a conversation (system, turns), drawn from a seed of two numbers (series, number)."""
    series, number = seed
    draw = Draw(series * 1_000_000_000 + number)
    return tell(draw)[0] if draw.random.random() < _PLAIN_SHARE else conversation(draw)


def document_tokens(vocabulary, seed):
    """The tokens of a document, BOS and EOS included. The turns are laid out as the chat template lays them out."""
    document = document_text(seed)
    if isinstance(document, str):
        return [BOS, *vocabulary.encode(document), EOS]
    system, turns = document
    prefix = random.Random(seed[0] * 7 + seed[1]).random() >= _BARE_SHARE
    tokens = [BOS]
    for index, turn in enumerate(turns):
        if index == 0 and system:
            turn = f"{system}\n\n{turn}"
        tokens.append(ASSISTANT if index % 2 else USER)
        tokens += vocabulary.encode("\n" + turn, prefix)
        tokens.append(END)
    tokens.append(EOS)
    return tokens


def block(vocabulary, series, number, rows, length):
    """uint16 [rows, length + 1]: every row begins with a document, and the last document of a row is cut."""
    out = np.empty((rows, length + 1), np.uint16)
    seed = number * rows * 64
    for row in range(rows):
        tokens = []
        while len(tokens) <= length:
            tokens += document_tokens(vocabulary, (series, seed))
            seed += 1
        out[row] = tokens[: length + 1]
    return out
