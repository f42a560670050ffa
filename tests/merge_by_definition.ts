/** What byte pair encoding is by its definition: the merge of the lowest rank first, the leftmost of equals. */
export function mergeByDefinition(symbols: string[], merges: readonly string[]): string[] {
  const ranks = new Map([...merges.entries()].reverse().map(([rank, merge]) => [merge, rank]));
  for (;;) {
    let best = -1;
    let lowest = Infinity;
    for (let i = 0; i + 1 < symbols.length; i++) {
      const rank = ranks.get(`${symbols[i]} ${symbols[i + 1]}`) ?? Infinity;
      if (rank < lowest) [lowest, best] = [rank, i];
    }
    if (best < 0) return symbols;
    symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
  }
}
