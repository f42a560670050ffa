import { Changed, Fault, Misranged, NoRanges } from "./errors.ts";
import { parseContentLength, parseContentRange, parseUnsatisfiedRange } from "./headers.ts";
import { difference, type Identity, identityOf } from "./identity.ts";
import type { Range } from "./ranges.ts";
import type { Asked } from "./remote.ts";
import type { RemoteFile } from "./types.ts";

/** What an answer's body is. */
export interface Body {
  /** Where its first byte belongs. */
  readonly start: number;
  /** Where it ends; undefined where the server does not say. */
  readonly end: number | undefined;
  /** What it is a part of. */
  readonly identity: Identity;
}

/**
 * Checks that an answer is about the right file and the bytes that were asked for.
 *
 * @param known What is known of the file from before.
 * @returns undefined where there are no such bytes, as the file is empty.
 * @throws {Changed} Where it is about another file than before.
 * @throws {NoRanges} Where the server cannot identify the file that a part belongs to.
 * @throws {Fault} Where it makes no sense.
 */
export function readAnswer(
  response: Response,
  asked: Asked,
  file: RemoteFile,
  known: Identity | undefined,
): Body {
  const { status, headers } = response;
  if (status === 416) return unsatisfied(headers, asked, file, known);
  const length = parseContentLength(headers.get("content-length"));
  if (status === 200) {
    const body = { start: 0, end: length, identity: identityOf(headers, length ?? file.bytes) };
    compare(file, known, body.identity, false);
    // The first answer of all says whether the server knows ranges; a later one may be an exception.
    if (asked.range !== undefined && known !== undefined) {
      throw new Misranged(
        "the server sends the whole file, though it was asked for a part",
      );
    }
    return body;
  }
  if (asked.range === undefined) {
    throw new Fault("the server sends a part of the file (206), though it was asked for all of it");
  }
  const range = parseContentRange(headers.get("content-range"));
  if (range === undefined) {
    throw new Misranged(
      `the server sends a part of the file (206), but not which: Content-Range is ` +
        JSON.stringify((headers.get("content-range") ?? "missing").slice(0, 100)),
    );
  }
  const { start, end } = range;
  if (start !== asked.range.start || end > asked.range.end) {
    throw misranged(asked.range, `bytes ${start} to ${end}`);
  }
  if (length !== undefined && length !== end - start) {
    throw misranged(asked.range, `bytes ${start} to ${end}, and says that these are ${length}`);
  }
  const total = range.total ?? known?.bytes ?? file.bytes;
  if (total === undefined) throw new NoRanges("the server does not say how long the file is");
  const identity = identityOf(headers, total);
  compare(file, known, identity, asked.ifRange !== undefined);
  return { start, end, identity };
}

function unsatisfied(
  headers: Headers,
  { range }: Asked,
  file: RemoteFile,
  known: Identity | undefined,
): Body {
  const bytes = parseUnsatisfiedRange(headers.get("content-range"));
  if (range === undefined) {
    throw new Fault("the server answers 416, though it was asked for no part");
  }
  if (bytes === 0 && range.start === 0) {
    const identity = identityOf(headers, 0);
    compare(file, known, identity, true);
    return { start: 0, end: 0, identity };
  }
  if (known?.bytes !== undefined && bytes !== undefined && bytes !== known.bytes) {
    throw new Changed(`it had ${known.bytes} bytes and has ${bytes}`);
  }
  throw misranged(range, "that there is no such part (416)");
}

/** Compares what an answer says of its file with what is wanted, and with what was said before. */
function compare(
  file: RemoteFile,
  known: Identity | undefined,
  now: Identity,
  vouched: boolean,
): void {
  if (file.bytes !== undefined && now.bytes !== file.bytes) {
    throw new Misranged(
      `the server's file has ${now.bytes} bytes; wanted ${file.bytes}`,
    );
  }
  if (known === undefined) return;
  // With a hash to come up to, it does not matter what each of a server's machines calls the file.
  const what = file.sha256 === undefined
    ? difference(known, now, vouched)
    : difference({ bytes: known.bytes }, { bytes: now.bytes }, vouched);
  if (what !== undefined) throw new Changed(what);
}

function misranged(range: Range, got: string): Misranged {
  return new Misranged(
    `the server was asked for bytes ${range.start} to ${range.end} and answers ${got}`,
  );
}
