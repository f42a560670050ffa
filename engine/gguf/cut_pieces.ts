/**
 * Files that were cut up because they were too long for a server: `X.gguf.part1of2`. Unlike the parts that
 * GGUF's tools write they are no files of their own, and have to be joined before they are read.
 *
 * @module
 */

const PIECE = new RegExp(
  String
    .raw`^(.+\.gguf)[.-](?:part\d{1,4}of\d{1,4}|(?:part|split)-?\d{1,4}|(?:part|split)-[a-z]{1,3}|\d{3})$`,
  "is",
);

/** The file that a piece is of, by the piece's name; undefined for other names. */
export function wholeOf(name: string): string | undefined {
  return PIECE.exec(name)?.[1];
}

/** The pieces of a file among names, in their order. */
export function piecesOf(whole: string, names: Iterable<string>): string[] {
  const order = new Intl.Collator("en", { numeric: true });
  return [...names].filter((name) => wholeOf(name) === whole).sort(order.compare);
}

/**
 * What to do with pieces, as a sentence.
 *
 * @param pieces In their order; paths or names, as a shell would take them.
 */
export function joinAdvice(whole: string, pieces: readonly string[]): string {
  const shown = pieces.length > 4 ? [...pieces.slice(0, 3), "…", pieces.at(-1)!] : pieces;
  return `It was cut into ${pieces.length} pieces, which have to be joined first, in this order: ` +
    `cat ${shown.map(quoted).join(" ")} > ${quoted(whole)}`;
}

function quoted(name: string): string {
  return /^[\w./:@+…-]+$/.test(name) ? name : JSON.stringify(name);
}
