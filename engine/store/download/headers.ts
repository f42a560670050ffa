/** What a 206 says its body is: `bytes 0-99/1000`. */
export interface ContentRange {
  readonly start: number;
  /** Behind the last byte. */
  readonly end: number;
  /** The length of the whole file; undefined where the server does not know it (`*`). */
  readonly total?: number;
}

/** A decimal number of bytes; undefined where it is none that a number can hold. */
function parseBytes(text: string): number | undefined {
  if (!/^\d{1,16}$/.test(text)) return undefined;
  const bytes = Number(text);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The value of a Content-Length header; undefined where there is none, or it is no length. */
export function parseContentLength(header: string | null): number | undefined {
  return header === null ? undefined : parseBytes(header.trim());
}

/** The value of a 206's Content-Range header; undefined where it is not one range that makes sense. */
export function parseContentRange(header: string | null): ContentRange | undefined {
  const match = /^\s*bytes\s+(\d+)-(\d+)\/(\d+|\*)\s*$/i.exec(header ?? "");
  if (match === null) return undefined;
  const [start, last] = [parseBytes(match[1]), parseBytes(match[2])];
  const total = match[3] === "*" ? undefined : parseBytes(match[3]);
  if (start === undefined || last === undefined || last < start) return undefined;
  if (match[3] !== "*" && (total === undefined || last >= total)) return undefined;
  return { start, end: last + 1, total };
}

/** The length of the whole file in a 416's Content-Range header: `bytes * /1000`, without the space. */
export function parseUnsatisfiedRange(header: string | null): number | undefined {
  const match = /^\s*bytes\s+\*\/(\d+)\s*$/i.exec(header ?? "");
  return match === null ? undefined : parseBytes(match[1]);
}

/** A Retry-After header, seconds or a date, in milliseconds from now; undefined where it is neither. */
export function parseRetryAfter(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // Only dates as HTTP writes them: Date.parse would take "-5" for a year.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** An ETag that promises the same bytes; undefined where there is none, or a weak one (`W/"…"`). */
export function strongEtag(header: string | null): string | undefined {
  const text = header?.trim();
  return text !== undefined && /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(text) ? text : undefined;
}
