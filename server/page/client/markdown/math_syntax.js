/**
 * Where formulas are in Markdown: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` set apart. Tokens are `math_inline`
 * and `math_block`, with TeX as their content; one whose end has not come yet is a `math_open`.
 *
 * @typedef {import("markdown-it/browser").StateInline} StateInline
 * @typedef {import("markdown-it/browser").StateBlock} StateBlock
 */

const DISPLAY = [["$$", "$$"], ["\\[", "\\]"]];
const BACKSLASH = 0x5c;
const DOLLAR = 0x24;

/** @param {any} markdown */
export function addMath(markdown) {
  // Before the rule that takes backslashes away.
  markdown.inline.ruler.before("escape", "math_inline", inlineMath);
  markdown.block.ruler.before("fence", "math_block", blockMath, {
    alt: ["paragraph", "reference", "blockquote", "list"],
  });
}

/**
 * @param {StateInline} state
 * @param {boolean} silent
 */
function inlineMath(state, silent) {
  const { src, pos, posMax } = state;
  const first = src.charCodeAt(pos);
  if (first !== DOLLAR && first !== BACKSLASH) return false;
  const found = first === DOLLAR ? dollars(src, pos, posMax) : brackets(src, pos, posMax);
  if (found === undefined) return false;
  if (!silent) {
    const token = state.push("math_inline", "math", 0);
    token.content = found.content;
    token.markup = found.display ? "display" : "";
  }
  state.pos = found.end;
  return true;
}

/**
 * @param {string} src
 * @param {number} pos
 * @param {number} max
 */
function dollars(src, pos, max) {
  const mark = src.startsWith("$$", pos) ? "$$" : "$";
  const start = pos + mark.length;
  // "$5 and $6" is no formula: a single dollar has its formula right next to it, and no digit behind.
  if (mark === "$" && /\s/.test(src.charAt(start))) return undefined;
  for (let at = src.indexOf(mark, start); at !== -1 && at < max; at = src.indexOf(mark, at + 1)) {
    if (src.charCodeAt(at - 1) === BACKSLASH) continue;
    const end = at + mark.length;
    const isAdjacent = mark === "$$" ||
      !/\s/.test(src.charAt(at - 1)) && !/\d/.test(src.charAt(end));
    if (at === start || end > max || !isAdjacent) return undefined;
    return { content: src.slice(start, at), end, display: mark === "$$" };
  }
  return undefined;
}

/**
 * @param {string} src
 * @param {number} pos
 * @param {number} max
 */
function brackets(src, pos, max) {
  const opener = src.slice(pos, pos + 2);
  if (opener !== "\\(" && opener !== "\\[") return undefined;
  const closer = opener === "\\(" ? "\\)" : "\\]";
  const at = src.indexOf(closer, pos + 2);
  if (at <= pos + 2 || at + 2 > max) return undefined;
  return { content: src.slice(pos + 2, at), end: at + 2, display: opener === "\\[" };
}

/**
 * @param {StateBlock} state
 * @param {number} startLine
 * @param {number} endLine
 * @param {boolean} silent
 */
function blockMath(state, startLine, endLine, silent) {
  if (state.sCount[startLine] - state.blkIndent >= 4) return false;
  const first = lineOf(state, startLine);
  const pair = DISPLAY.find(([opener]) => first.startsWith(opener));
  if (pair === undefined) return false;
  const [opener, closer] = pair;
  const lines = [];
  const indent = Math.min(state.blkIndent, state.sCount[startLine]);
  for (let line = startLine; line < endLine; line++) {
    const text = line === startLine ? first.slice(opener.length) : lineOf(state, line);
    // TeX has no empty lines in a formula, and a quote or an item that ends takes its formula with it.
    if (line > startLine && (text.trim() === "" || state.sCount[line] < indent)) {
      return false;
    }
    const at = text.indexOf(closer);
    if (at >= 0) {
      if (text.slice(at + closer.length).trim() !== "") return false;
      lines.push(text.slice(0, at));
      return push(state, "math_block", lines, startLine, line + 1, silent);
    }
    lines.push(text);
  }
  // It may be on its way.
  return push(
    state,
    "math_open",
    [opener + lines[0], ...lines.slice(1)],
    startLine,
    endLine,
    silent,
  );
}

/**
 * @param {StateBlock} state
 * @param {string} type
 * @param {string[]} lines
 * @param {number} startLine
 * @param {number} end
 * @param {boolean} silent
 */
function push(state, type, lines, startLine, end, silent) {
  if (silent) return true;
  state.line = end;
  const token = state.push(type, "math", 0);
  token.block = true;
  token.content = lines.join("\n").trim();
  token.map = [startLine, end];
  return true;
}

/**
 * @param {StateBlock} state
 * @param {number} line
 */
function lineOf(state, line) {
  return state.src.slice(state.bMarks[line] + state.tShift[line], state.eMarks[line]);
}
