"""Prints stories or conversations, or says how many there can be.

  python generate_stories.py --count 3 --seed 1
  python generate_stories.py --chat --count 3
  python generate_stories.py --stats --count 20000
"""

import argparse

from chat import conversation
from story import tell
from template import Draw

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first; the others follow")
    parser.add_argument("--chat", action="store_true", help="conversations instead of plain stories")
    parser.add_argument("--stats", action="store_true", help="lengths, repeats, and the number of ways through the grammar")
    args = parser.parse_args()
    draws = [Draw(args.seed + number) for number in range(args.count)] if not args.stats else []
    for draw in draws:
        if args.chat:
            system, turns = conversation(draw)
            lines = ([f"system: {system}"] if system else []) + [f"{('user', 'assistant')[i % 2]}: {turn}" for i, turn in enumerate(turns)]
            print("\n".join(lines), end="\n\n---\n\n")
        else:
            print(tell(draw)[0], end="\n\n---\n\n")
    if args.stats:
        words, ways, texts = [], [], set()
        for number in range(args.count):
            draw = Draw(args.seed + number)
            text = tell(draw)[0]
            words.append(len(text.split()))
            ways.append(draw.log10)
            texts.add(text)
        print(f"{args.count} stories, {len(texts)} different; words: {min(words)} to {max(words)}, mean {sum(words) / len(words):.0f}")
        print(f"each is one of 10^{min(ways):.0f} to 10^{max(ways):.0f} ways through the grammar, mean 10^{sum(ways) / len(ways):.0f}")
