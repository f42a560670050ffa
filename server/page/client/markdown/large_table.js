/**
 * Tables with so many cells that they would block a browser: they are shown as they are written.
 *
 * @typedef {import("markdown-it/browser").StateBlock} StateBlock
 */

/** Cells of a table at most; laying out ninety thousand takes a quarter of a minute. */
export const MOST_CELLS = 3000;

const DELIMITERS = /^[|:\- \t]+$/;

/** @param {any} markdown */
export function limitTables(markdown) {
  markdown.block.ruler.before("table", "large_table", largeTable, {
    alt: ["paragraph", "reference"],
  });
}

/**
 * @param {StateBlock} state
 * @param {number} startLine
 * @param {number} endLine
 * @param {boolean} silent
 */
function largeTable(state, startLine, endLine, silent) {
  if (startLine + 2 > endLine || state.sCount[startLine] - state.blkIndent >= 4) return false;
  const delimiters = lineOf(state, startLine + 1);
  if (!delimiters.includes("|") || !delimiters.includes("-")) return false;
  if (!DELIMITERS.test(delimiters)) return false;
  // As many as there are columns, or one more or less.
  const columns = delimiters.split("|").length;
  let end = startLine + 2;
  while (end < endLine && !state.isEmpty(end) && state.sCount[end] >= state.blkIndent) end++;
  // A table's missing cells are made too.
  if (columns * (end - startLine - 1) <= MOST_CELLS) return false;
  if (silent) return true;
  const token = state.push("code_block", "code", 0);
  token.content = state.getLines(startLine, end, state.blkIndent, false) + "\n";
  token.info = "table";
  token.map = [startLine, end];
  state.line = end;
  return true;
}

/**
 * @param {StateBlock} state
 * @param {number} line
 */
function lineOf(state, line) {
  return state.src.slice(state.bMarks[line] + state.tShift[line], state.eMarks[line]);
}
