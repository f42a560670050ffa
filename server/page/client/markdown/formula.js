import { element } from "../dom.js";

/** Longer formulas stay TeX, in characters. */
const LONGEST = 5000;

/** Macros expanded at most, and the largest sizes in em that TeX may ask for. @type {{maxExpand: number, maxSize: [number, number]}} */
const LIMITS = { maxExpand: 200, maxSize: [20, 50] };

/** @type {Promise<any> | undefined} */
let library;

/**
 * A formula as MathML; its TeX until the library is there, and where that cannot be read.
 *
 * @param {string} tex
 * @param {boolean} display  Whether it is set apart
 */
export function formula(tex, display) {
  const made = element("span", { class: display ? "formula display" : "formula" });
  made.append(element("code", {}, tex));
  if (tex.length <= LONGEST) void show(made, tex, display);
  return made;
}

/**
 * @param {HTMLElement} made
 * @param {string} tex
 * @param {boolean} display
 */
async function show(made, tex, display) {
  library ??= import("../libraries/temml.js");
  const temml = (await library).default;
  const math = element("span");
  try {
    temml.render(tex, math, { displayMode: display, throwOnError: true, ...LIMITS });
  } catch {
    // It stays TeX.
    return;
  }
  for (const linked of math.querySelectorAll("[href]")) linked.removeAttribute("href");
  made.replaceChildren(...math.childNodes);
}
