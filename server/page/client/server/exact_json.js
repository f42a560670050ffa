/**
 * A value of JSON whose numbers `JSON.stringify` writes as they came, such as 1234567890123456789 and 1.0. Browsers
 * that do not give a reviver the source (before 2025) round them.
 *
 * @param {string} text
 * @returns {any}
 */
export function parseExact(text) {
  const { rawJSON } = /** @type {{rawJSON?: (text: string) => unknown}} */ (JSON);
  if (rawJSON === undefined) return JSON.parse(text);
  /** @type {(key: string, value: unknown, context?: {source?: string}) => unknown} */
  const exact = (_key, value, context) =>
    typeof value === "number" && context?.source !== undefined && context.source !== String(value)
      ? rawJSON(context.source)
      : value;
  return JSON.parse(text, exact);
}

/**
 * JSON with a value a line, as it is written: its numbers keep their digits and its keys their order. A text that is
 * no JSON, or not whole, is left as it is.
 *
 * @param {string} text
 */
export function indented(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let level = 0;
  let shown = "";
  const line = () => "\n" + "  ".repeat(level);
  // Strings, brackets that are empty, marks, and all else; white space stands between them.
  for (
    const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|\[\s*\]|\{\s*\}|[[\]{},:]|[^\s[\]{},:"]+/g)
  ) {
    if (/^[[{]\s*[\]}]$/.test(token)) shown += token[0] + token.at(-1);
    else if (token === "{" || token === "[") {
      level++;
      shown += token + line();
    } else if (token === "}" || token === "]") {
      level--;
      shown += line() + token;
    } else if (token === ",") shown += token + line();
    else shown += token === ":" ? ": " : token;
  }
  return shown;
}
