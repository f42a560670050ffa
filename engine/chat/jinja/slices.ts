/** Where Python's slices begin and end. */
export function bounds(length: number, start?: number, stop?: number, step = 1): [number, number] {
  const [least, most] = step > 0 ? [0, length] : [-1, length - 1];
  const place = (bound: number) =>
    Math.min(Math.max(bound < 0 ? bound + length : bound, least), most);
  return [
    start === undefined ? (step > 0 ? 0 : length - 1) : place(start),
    stop === undefined ? (step > 0 ? length : -1) : place(stop),
  ];
}

/** Python's slices. */
export function sliced<T>(items: readonly T[], start?: number, stop?: number, step = 1): T[] {
  const [from, to] = bounds(items.length, start, stop, step);
  const found: T[] = [];
  for (let at = from; step > 0 ? at < to : at > to; at += step) found.push(items[at]);
  return found;
}
