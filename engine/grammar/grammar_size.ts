import type { Expression, Grammar } from "./grammar.ts";
import { MOST_NODES } from "./network.ts";
import { isWide, sizeOf, SMALL, SMALL_APART, SMALL_DEPTH, WIDE_CHARACTER } from "./rules.ts";
import { TOKEN_BYTES } from "./token_terminals.ts";

/** Nodes that grammars of schemas may have together: what is around them needs some as well. */
export const MOST_SCHEMA_NODES = MOST_NODES * 9 / 10;

/** A rule's own size, and whether it is written out where it is named. */
interface Size {
  readonly nodes: number;
  readonly inlined: boolean;
}

/** A rule that leads back to itself is called, or that is named in too many others. */
const OPEN: Size = { nodes: 0, inlined: false };

/** About how many nodes the network of a grammar has, found out without building it. */
export function nodesOf({ root, rules }: Grammar): number {
  const known = new Map<string, Size>();
  let loops = false;
  let depth = 0;
  const ofRule = (name: string): Size => {
    const size = known.get(name);
    if (size !== undefined) return size;
    // Members of an object are rules that name each other, one behind the other.
    if (depth > SMALL_DEPTH) return OPEN;
    known.set(name, OPEN);
    const around = loops;
    loops = false;
    depth++;
    const nodes = of(rules.get(name)!);
    depth--;
    const found = { nodes, inlined: nodes <= (loops ? SMALL_APART : SMALL) };
    loops ||= around;
    known.set(name, found);
    return found;
  };
  const of = (expression: Expression): number => {
    switch (expression.kind) {
      case "literal":
        return expression.text.length;
      case "characters":
        return isWide(expression) ? WIDE_CHARACTER : 1;
      case "token":
        return TOKEN_BYTES;
      case "until":
        loops = true;
        return sizeOf(expression.ends);
      case "sequence":
        return expression.items.reduce((sum, item) => sum + of(item), 0);
      case "choice": {
        const { options } = expression;
        const texts = options.flatMap((one) => one.kind === "literal" ? one.text : []);
        if (texts.length === options.length) return nodesOfTexts(texts);
        return options.reduce((sum, option) => sum + of(option), 1);
      }
      case "repeat": {
        const { item, least, most } = expression;
        loops ||= most === undefined;
        return (of(item) + 1) * Math.max(1, most ?? least);
      }
      case "rule": {
        const { nodes, inlined } = ofRule(expression.name);
        if (!inlined) loops = true;
        return inlined ? nodes : 1;
      }
    }
  };
  for (const name of rules.keys()) {
    loops = false;
    ofRule(name);
  }
  let sum = 0;
  for (const [name, { nodes, inlined }] of known) if (!inlined || name === root) sum += nodes;
  return sum;
}

/** Texts that start alike share their start. */
function nodesOfTexts(texts: string[]): number {
  let sum = 1;
  let before = "";
  for (const text of texts.sort()) {
    let same = 0;
    while (same < text.length && text[same] === before[same]) same++;
    sum += text.length - same;
    before = text;
  }
  return sum;
}
