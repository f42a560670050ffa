/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, any>} Attributes  `onclick` and the like are listeners; false and undefined are left out
 */

/**
 * An element with attributes and children. Texts become text nodes: nothing is read as HTML.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, String(value));
  }
  append(made, children);
  return made;
}

/**
 * @param {Element} parent
 * @param {readonly Child[]} children
 */
export function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/**
 * The element of the page's HTML with that id.
 *
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element "${id}"`);
  return /** @type {T} */ (found);
}

/**
 * A button. One of a sign alone has a name that is read out and shown as a hint.
 *
 * @param {string} text
 * @param {(event: MouseEvent) => void} onclick
 * @param {Attributes & {name?: string}} [attributes]
 */
export function button(text, onclick, { name, ...attributes } = {}) {
  const named = name === undefined ? {} : { "aria-label": name, title: name };
  return element("button", { type: "button", onclick, ...named, ...attributes }, text);
}

/** Whether the browser asks for less movement. */
export function prefersLessMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
