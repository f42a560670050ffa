/** Files that a model may be in. */
export const MAX_PARTS = 1024;

/** One of the files that a model is in. */
export interface Part {
  /** Which one it is, from 1. */
  readonly number: number;
  /** How many there are. */
  readonly count: number;
}

/** What GGUF files end in. */
export const EXTENSION = ".gguf";
/** The way of naming parts that GGUF's own tools have. */
const PART = /-([0-9]{5})-of-([0-9]{5})$/;

/** Whether a name without its extension ends as a part's does, whichever numbers it has. */
export function endsLikePart(stem: string): boolean {
  return PART.test(stem);
}

/** A GGUF file's name without its extension and the number of its part; undefined for other files. */
export function splitFileName(file: string): { stem: string; part?: Part } | undefined {
  if (!file.endsWith(EXTENSION)) return undefined;
  const stem = file.slice(0, -EXTENSION.length);
  const found = PART.exec(stem);
  if (found === null) return { stem };
  const part = { number: Number(found[1]), count: Number(found[2]) };
  // Part 7 of 3 is no part, so what looks like one belongs to the name.
  return isPart(part) ? { stem: stem.slice(0, found.index), part } : { stem };
}

/** The name of a file, or of one of several: the opposite of {@link splitFileName}. */
export function joinFileName(stem: string, part?: Part): string {
  if (part === undefined) return stem + EXTENSION;
  if (!isPart(part)) throw new RangeError(`part ${part.number} of ${part.count} of ${stem}`);
  return `${stem}-${digits(part.number)}-of-${digits(part.count)}${EXTENSION}`;
}

function digits(value: number): string {
  return String(value).padStart(5, "0");
}

function isPart({ number, count }: Part): boolean {
  return Number.isInteger(number) && Number.isInteger(count) && count >= 1 &&
    count <= MAX_PARTS && number >= 1 && number <= count;
}
