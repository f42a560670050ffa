"""A small template language, and the finishing of English sentences.

A template is text with two kinds of holes:

  {one|two|}     one of the alternatives, drawn at random; they nest, and one may be empty
  [key]          a value of the story's state; `[^key]` begins with a capital

Templates are compiled once and kept. `expand` counts, in `Draw.log10`, how many ways there were to go, so that the number
of different stories can be stated (see generate_stories.py --stats).
"""

import math
import random
import re
from functools import lru_cache


class Draw:
    """Random choices from one seed, and the logarithm of how many there could have been."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.log10 = 0.0

    def one(self, options):
        """One of a sequence, all equally likely."""
        self.log10 += math.log10(len(options))
        return options[int(self.random.random() * len(options))]

    def some(self, options, count):
        """`count` different members of a sequence, in random order."""
        for used in range(count):
            self.log10 += math.log10(len(options) - used)
        return self.random.sample(options, count)

    def chance(self, probability):
        """True with the given probability."""
        if 0 < probability < 1:
            self.log10 += math.log10(2)
        return self.random.random() < probability


@lru_cache(maxsize=None)
def compile_template(text):
    """A tuple of literals (str), keys ("key", name) and choices ("choice", (branch, ...))."""
    nodes, end = _sequence(text, 0, top=True)
    if end != len(text):
        raise ValueError(f"template ends early at {end}: {text!r}")
    return nodes


def _sequence(text, at, top=False):
    nodes, literal = [], []
    while at < len(text):
        char = text[at]
        if char == "{":
            nodes.append("".join(literal))
            literal = []
            branches = []
            while True:
                branch, at = _sequence(text, at + 1)
                branches.append(branch)
                if at >= len(text):
                    raise ValueError(f"an open brace is never closed: {text!r}")
                if text[at] == "}":
                    break
            nodes.append(("choice", tuple(branches)))
            at += 1
        elif char == "[":
            close = text.index("]", at)
            nodes.append("".join(literal))
            literal = []
            nodes.append(("key", text[at + 1 : close]))
            at = close + 1
        elif char in "|}" and not top:
            break
        elif char in "|}]":
            raise ValueError(f"stray {char!r} at {at}: {text!r}")
        else:
            literal.append(char)
            at += 1
    nodes.append("".join(literal))
    return tuple(node for node in nodes if node), at


def expand(text, state, draw):
    """The template with every hole filled. `state` maps keys to text, which may itself hold holes."""
    out = []
    _expand(compile_template(text), state, draw, out)
    return "".join(out)


def _expand(nodes, state, draw, out):
    for node in nodes:
        if isinstance(node, str):
            out.append(node)
        elif node[0] == "choice":
            _expand(draw.one(node[1]), state, draw, out)
        else:
            key = node[1]
            capital = key[0] == "^"
            value = state[key[1:] if capital else key]
            if "{" in value or "[" in value:
                value = expand(value, state, draw)
            out.append(value[0].upper() + value[1:] if capital else value)


_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])(?!(?:uni|use|usual|uku|eu|one\b|once\b|Uni|U[bq]))")
_ARTICLE_HOUR = re.compile(r"\b([Aa]) (?=(?:hour|honest))")
_SENTENCE_START = re.compile(r'(^|[.!?]\s+)("?)([a-z])')
_SPACES = re.compile(r" {2,}")


def finish(text):
    """Articles before vowels, capitals at the start of sentences, single spaces."""
    text = _SPACES.sub(" ", text).strip()
    text = _ARTICLE.sub(r"\1n ", text)
    text = _ARTICLE_HOUR.sub(r"\1n ", text)
    return _SENTENCE_START.sub(lambda m: m[1] + m[2] + m[3].upper(), text)
