/**
 * Text as the man macros of groff and mandoc read it.
 *
 * @module
 */

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\(rs",
  "-": "\\-",
  "'": "\\(aq",
  '"': "\\(dq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
  "…": "...",
};

/** A text in running lines or as a macro's argument; a request at the start of a line it never becomes. */
export function escape(text: string): string {
  const escaped = text.replace(/[\\\-'"`^~…]/g, (character) => ESCAPES[character]);
  return escaped.replace(/^\./gm, "\\&.");
}

/** A section's heading. */
export function section(title: string): string {
  return `.SH ${title}`;
}

/** A paragraph. */
export function paragraph(text: string): string {
  return `.PP\n${escape(text)}`;
}

/** A term in bold, and below it, indented, what it means. */
export function term(what: string, about: string): string {
  return `.TP\n\\fB${escape(what)}\\fR\n${escape(about)}`;
}

/** A line as it is typed. */
export function typed(line: string): string {
  return `.PP\n.RS 4\n.nf\n\\fB${escape(line)}\\fR\n.fi\n.RE`;
}
