/**
 * What the counts of operations.generated.ts are made with.
 *
 * @module
 */

/** The largest of n numbers. */
export function most(n: number, of: (i: number) => number): number {
  return Math.max(0, ...Array.from({ length: n }, (_, i) => of(i)));
}

/** The sum of n numbers. */
export function total(n: number, of: (i: number) => number): number {
  return Array.from({ length: n }, (_, i) => of(i)).reduce((sum, one) => sum + one, 0);
}

/** The columns up to `end`, where all of them are written; else 0. */
export function unlessGap(end: number, written: number): number {
  return end === written ? end : 0;
}
