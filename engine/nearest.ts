import { levenshteinDistance } from "@std/text/levenshtein-distance";

/**
 * The candidate that a mistyped word most likely means, or undefined where none is close. Close is at most two edits
 * away, or a third of the word's length where that is more, or a candidate that starts with the word.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  // Longer words are no slips of the fingers, and the distance takes their length squared.
  if (wanted === "" || wanted.length > 100) return undefined;
  const limit = Math.min(Math.max(2, Math.floor(wanted.length / 3)), wanted.length - 1);
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const name = candidate.toLowerCase();
    let distance = levenshteinDistance(wanted, name);
    if (distance > limit) {
      if (wanted.length < 3 || !name.startsWith(wanted)) continue;
      distance = limit;
    }
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}
