import type { M40Error } from "../errors.ts";
import type { TextCursor } from "./text_cursor.ts";

/** A count of a repetition at most. */
const MOST_COUNT = 100_000;

/** How often something is repeated; without `most`, any number from `least` on. */
export interface Counts {
  readonly least: number;
  readonly most?: number;
}

/** Takes `*`, `+` or `?`, if one of them comes next. */
export function takeSign(cursor: TextCursor): Counts | undefined {
  if (cursor.takeIf("*")) return { least: 0 };
  if (cursor.takeIf("+")) return { least: 1 };
  return cursor.takeIf("?") ? { least: 0, most: 1 } : undefined;
}

/**
 * What `{m}`, `{m,}` or `{m,n}` says, out of its first count, comma and second count.
 *
 * @param error Makes the error of counts that cannot be.
 */
export function countsOf(
  [, first, comma, second]: RegExpExecArray,
  error: (message: string) => M40Error,
): Counts {
  const least = Number(first);
  const open = second === undefined ? undefined : Number(second);
  const most = comma === undefined ? least : open;
  if (Math.max(least, most ?? 0) > MOST_COUNT) {
    throw error(`a repetition of more than ${MOST_COUNT} is too many`);
  }
  if (most !== undefined && most < least) {
    throw error("a repetition has a larger first count than second");
  }
  return { least, most };
}
