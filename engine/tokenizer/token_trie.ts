/** The node that every token begins at. */
export const ROOT = 0;
/** No node. */
export const NONE = -1;

/**
 * The texts of tokens as a tree of code units. The children of all nodes are in one hash table, so
 * that a quarter of a million tokens take some 15 MB, and a step is a look-up or two.
 */
export class TokenTrie {
  /** The token that ends at each node, or -1. */
  readonly #tokens: number[] = [NONE];
  readonly #parents: number[] = [NONE];
  readonly #units: number[] = [0];
  /** The nodes by parent and code unit, with open addressing; NONE where there is none. */
  #table = new Int32Array(1 << 12).fill(NONE);
  /** The children of the root, by code unit: every character of a text is looked up here. */
  readonly #first = new Int32Array(1 << 16).fill(NONE);

  /** Adds a token; of two with the same text, the later one counts. */
  add(text: string, token: number): void {
    let node = ROOT;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      let next = this.step(node, unit);
      if (next === NONE) next = this.#addNode(node, unit);
      node = next;
    }
    this.#tokens[node] = token;
  }

  /** The node behind a node and a code unit, or NONE. */
  step(node: number, unit: number): number {
    if (node === ROOT) return this.#first[unit];
    return this.#table[this.#placeOf(node, unit)];
  }

  /** The token whose text ends at a node, or -1. */
  tokenAt(node: number): number {
    return this.#tokens[node];
  }

  #addNode(parent: number, unit: number): number {
    const node = this.#tokens.length;
    this.#tokens.push(NONE);
    this.#parents.push(parent);
    this.#units.push(unit);
    if (parent === ROOT) {
      this.#first[unit] = node;
    } else {
      this.#table[this.#placeOf(parent, unit)] = node;
      if (2 * node > this.#table.length) this.#grow();
    }
    return node;
  }

  /** Where a child is in the table, or would be. */
  #placeOf(parent: number, unit: number): number {
    const mask = this.#table.length - 1;
    const mixed = Math.imul(parent, 0x9e3779b1) + Math.imul(unit, 0x85ebca6b);
    let place = (mixed ^ (mixed >>> 15)) & mask;
    for (;;) {
      const node = this.#table[place];
      if (node === NONE || (this.#parents[node] === parent && this.#units[node] === unit)) {
        return place;
      }
      place = (place + 1) & mask;
    }
  }

  #grow(): void {
    this.#table = new Int32Array(2 * this.#table.length).fill(NONE);
    for (let node = 1; node < this.#tokens.length; node++) {
      if (this.#parents[node] === ROOT) continue;
      this.#table[this.#placeOf(this.#parents[node], this.#units[node])] = node;
    }
  }
}
