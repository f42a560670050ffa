import { M40Error, type M40ErrorCode } from "../../errors.ts";

/** A file cannot be fetched, and trying again at once would not help. */
export class DownloadError extends M40Error {
  /** @param status What the server answered, where that is the reason. */
  constructor(code: M40ErrorCode, message: string, readonly status?: number) {
    super(code, message);
  }
}

/** One try failed; the next may not. */
export class Fault extends Error {
  override readonly name = "Fault";

  /**
   * @param message What failed, for the user.
   * @param retryAfterMs How long the server wants to be left alone.
   */
  constructor(message: string, readonly retryAfterMs?: number) {
    super(message);
  }
}

/** The server answered with another range or length than is right. */
export class Misranged extends Fault {}

/** What was fetched so far does not belong to what the server has now: all starts again. */
export class Changed extends Error {
  override readonly name = "Changed";
}

/** The server does not follow ranges: the file is to be fetched in one piece. */
export class NoRanges extends Error {
  override readonly name = "NoRanges";
}

/** A URL for a person: without its query, which may hold a signature, and without a password. */
export function shownUrl(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
