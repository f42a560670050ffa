import { byId } from "../dom.js";

/** Where the page is so narrow that drawers lie over the conversation; style/layout.css has it too. */
const NARROW = matchMedia("(max-width: 52rem)");

/** A part of the page next to the conversation that can be opened and closed. */
export class Drawer {
  /**
   * @param {HTMLElement} drawer
   * @param {HTMLElement} opener  The button that opens and closes it
   * @param {boolean} openWhereWide
   */
  constructor(drawer, opener, openWhereWide) {
    this.drawer = drawer;
    this.opener = opener;
    this.set(openWhereWide && !NARROW.matches);
    opener.addEventListener("click", () => this.isOpen ? this.close() : this.open());
    drawer.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && NARROW.matches) {
        event.stopPropagation();
        this.close();
      }
    });
    NARROW.addEventListener("change", () => this.set(openWhereWide && !NARROW.matches));
    byId("chat").addEventListener("pointerdown", (event) => {
      if (NARROW.matches && this.isOpen && !opener.contains(/** @type {Node} */ (event.target))) {
        this.close();
      }
    });
  }

  get isOpen() {
    return !this.drawer.hidden;
  }

  open() {
    this.set(true);
    /** @type {HTMLElement | null} */ (this.drawer.querySelector("button, input, textarea"))
      ?.focus();
  }

  close() {
    this.set(false);
    this.opener.focus();
  }

  /** Closes it where it lies over the conversation. */
  closeIfNarrow() {
    if (NARROW.matches && this.isOpen) this.close();
  }

  /** @param {boolean} open */
  set(open) {
    this.drawer.hidden = !open;
    this.opener.setAttribute("aria-expanded", String(open));
  }
}
