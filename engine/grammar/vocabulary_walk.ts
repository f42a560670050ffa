import type { Automaton, State } from "./automaton.ts";
import { OTHER_KIND } from "./byte_kinds.ts";
import type { VocabularyTrie } from "./vocabulary_trie.ts";

/** Finds the tokens below a node of a vocabulary's tree that an automaton allows, in as many parts as one likes. */
export class VocabularyWalk {
  /** The states on the way to a node of the tree, by its depth. */
  private readonly path: State[] = [];
  private node: number;
  private readonly end: number;

  /**
   * @param from The state at the node.
   * @param mask Takes the tokens.
   * @param start The node; default: the root.
   * @param exits Takes the nodes, with others below them, where the text may end.
   */
  constructor(
    private readonly trie: VocabularyTrie,
    private readonly automaton: Automaton,
    from: State,
    private readonly mask: Uint32Array,
    start = 0,
    private readonly exits?: number[],
  ) {
    this.path[trie.depths[start]] = from;
    this.node = start + 1;
    this.end = trie.skips[start];
  }

  /**
   * Goes on for at most that many nodes; returns whether it is over.
   *
   * @param mostWork What the automaton may do for it, one step more at most.
   * @throws {M40Error} "invalid_request" where the grammar is too ambiguous. It may go on after that.
   */
  proceed(most = Infinity, mostWork = Infinity): boolean {
    const { path, mask, automaton, exits, end } = this;
    const { bytes, skips, depths, tokens, firsts, kinds } = this.trie;
    const leastLeft = automaton.workLeft - mostWork;
    let { node } = this;
    try {
      for (let left = most; node < end && left > 0; left--) {
        if (automaton.workLeft < leastLeft) break;
        const depth = depths[node];
        const state = automaton.next(path[depth - 1], bytes[node]);
        if (state === undefined) {
          node = skips[node];
          continue;
        }
        // Whatever is below changes nothing, and so all of it is allowed.
        const skipsAll = kinds[node] < OTHER_KIND && skips[node] > node + 1 &&
          !(exits && state.canEnd) && (kinds[node] & ~automaton.staysAfter(state)) === 0;
        const next = skipsAll ? skips[node] : node + 1;
        for (let i = firsts[node]; i < firsts[next]; i++) {
          mask[tokens[i] >> 5] |= 1 << (tokens[i] & 31);
        }
        if (exits && state.canEnd && skips[node] > node + 1) exits.push(node);
        path[depth] = state;
        node = next;
      }
    } finally {
      // Also where a step is too much: the states on the way to another node are gone.
      this.node = node;
    }
    return node >= end;
  }
}
