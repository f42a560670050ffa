/**
 * The largest whole number that fits, from `inside` on, which does, to `outside`, which does not; where one fits, so do
 * all between it and `inside`.
 */
export function bisect(
  inside: number,
  outside: number,
  fits: (count: number) => boolean,
): number {
  while (outside - inside > 1) {
    const middle = Math.floor((inside + outside) / 2);
    if (fits(middle)) inside = middle;
    else outside = middle;
  }
  return inside;
}
