// @ts-types="markdown-it/browser"
import MarkdownIt from "../libraries/markdown-it.js";
import { limitTables } from "./large_table.js";
import { addMath } from "./math_syntax.js";

/** @typedef {import("markdown-it/browser").Token} Token */

/** Quotes and lists within each other at most; what is deeper is text. */
const NESTING = 30;

// HTML stays text. Only addresses with their scheme become links.
const markdown = new MarkdownIt("default", { html: false, linkify: true, maxNesting: NESTING });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
addMath(markdown);
limitTables(markdown);

/**
 * Markdown as markdown-it's tokens.
 *
 * @param {string} text
 * @param {Record<string, any>} environment  Gets the definitions of links that the text has, and keeps them for the
 * next
 * @returns {Token[]}
 */
export function parse(text, environment) {
  return markdown.parse(text, environment);
}

/**
 * Whether there are definitions of links in an environment of {@link parse}. @param {Record<string, any>} environment
 */
export function hasDefinitions(environment) {
  return Object.keys(environment.references ?? {}).length > 0;
}

/**
 * The blocks of a text, each with the tokens that it is made of.
 *
 * @param {readonly Token[]} tokens
 * @returns {{tokens: Token[], line: number, end: number}[]} With the lines at which they begin and end
 */
export function blocksOf(tokens) {
  return pieces(tokens, 0);
}

/**
 * The items of a list.
 *
 * @param {readonly Token[]} tokens  From its first to its last
 */
export function itemsOf(tokens) {
  return pieces(tokens.slice(1, -1), 1);
}

/**
 * @param {readonly Token[]} tokens
 * @param {number} level
 */
function pieces(tokens, level) {
  /** @type {{tokens: Token[], line: number, end: number}[]} */
  const found = [];
  for (const token of tokens) {
    if (token.level === level && token.nesting !== -1) {
      const [line, end] = token.map ?? [0, 0];
      found.push({ tokens: [], line, end });
    }
    found.at(-1)?.tokens.push(token);
  }
  return found;
}
