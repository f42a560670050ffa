/**
 * What stands behind a field of an operation in m40.h: what is done with it, and the counts that follow from the record.
 * The same text is an expression in C++ and in TypeScript.
 *
 * @module
 */

/** What a field is, by its first word. */
export type Use = "reads" | "writes" | "updates" | "lends" | "weight" | "state" | "layer";

/** A field that is no number. */
export interface Role {
  readonly use: Use;
  readonly isU32: boolean;
  /** What is in its brackets: a buffer's rows and columns, a weight's shape, a state's values. */
  readonly dimensions: readonly string[];
  /** Columns that are written, if not all. */
  readonly written?: string;
  readonly isOptional: boolean;
  /** When it is looked at, if not always. */
  readonly where?: string;
}

const BUFFER_ROWS = ["rows", "tokens", "outputs", "tokens * n_used"];
const FORM =
  /^(reads|writes|updates|lends|weight|state)( u32)? \[(.+?)\](?:, of which (.+?))?(, or none)?(?:, where (.+))?$/;

/** Whether it is one of buffers. */
export function isBuffer(use: Use): boolean {
  return use === "reads" || use === "writes" || use === "updates" || use === "lends";
}

/** Reads what stands behind a field; throws a SyntaxError where it is of no known form. */
export function parseRole(text: string): Role {
  if (text === "layer") return { use: text, isU32: false, dimensions: [], isOptional: false };
  const match = FORM.exec(text.replace(/(\w)\[([^\]]*)\]/g, "$1<$2>"));
  if (!match) {
    throw new SyntaxError("wanted `USE [SHAPE][, of which COUNT][, or none][, where CONDITION]`");
  }
  const [use, u32, shape, written, none, where] = match.slice(1)
    .map((part) => part?.replaceAll("<", "[").replaceAll(">", "]"));
  const role: Role = {
    use: use as Use,
    isU32: u32 !== undefined,
    dimensions: splitOutside(shape),
    written,
    isOptional: none !== undefined,
    where,
  };
  const [rows, ...columns] = role.dimensions;
  const n = role.dimensions.length;
  if (
    isBuffer(role.use)
      ? !BUFFER_ROWS.includes(rows) || columns.length !== 1
      : role.use === "state"
      ? n !== 1
      : n > 3
  ) {
    throw new SyntaxError(`[${shape}] is no shape for ${use}`);
  }
  if ((u32 !== undefined && !isBuffer(role.use)) || (written !== undefined && use !== "writes")) {
    throw new SyntaxError("`u32` is for buffers, `of which` for what is written");
  }
  return role;
}

/** Names in an expression, those of functions left out. */
export function namesIn(expression: string): string[] {
  return [...expression.matchAll(/\b[A-Za-z_]\w*\b(?!\()/g)].map(([name]) => name);
}

/**
 * Looks at the counts of a field's role; throws a SyntaxError where one is not made of what there is.
 *
 * @param known Fields of the record, and constants.
 */
export function checkCounts(
  { use, dimensions, written, where }: Role,
  known: ReadonlySet<string>,
): void {
  const shape = isBuffer(use) ? dimensions.slice(1) : dimensions.filter((one) => one !== "any");
  for (const count of [...shape, written, where].filter((one) => one !== undefined)) {
    const rest = count.replace(/\b(max|most|total)\(/g, "(").replace(/\b\w+\b/g, "");
    if (/[^\s()[\]+*/,?:=!-]/.test(rest)) throw new SyntaxError(`${count} is no count`);
    for (const one of namesIn(count)) {
      if (one !== "i" && !known.has(one)) throw new SyntaxError(`${one} is no field of the record`);
    }
  }
}

/** Splits at commas that are in no parentheses. */
function splitOutside(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const character of text) {
    if (character === "(") depth++;
    if (character === ")") depth--;
    if (character === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim());
}
