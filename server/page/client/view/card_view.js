import { byId, element } from "../dom.js";
import { cardState } from "../server/card.js";
import { Chart } from "./chart.js";

/** @typedef {import("../server/card.js").CardState} CardState */

/** How often the card is asked, in milliseconds. */
const EVERY_MS = 1000;

/** Longest time between two tries of a server that does not answer, in milliseconds. */
const LONGEST_MS = 15_000;

/** What the card does now, drawn live. */
export class CardView {
  constructor() {
    this.name = element("h2", {}, "Card");
    this.chart = new Chart("Tokens a second, in the last minute");
    this.speed = element("p", { class: "speed-now" });
    this.list = element("dl", {});
    /** @type {Map<string, {value: HTMLElement, meter: HTMLMeterElement}>} */
    this.rows = new Map();
    byId("card").append(this.name, this.speed, this.chart.element, this.list);
    this.waitMs = EVERY_MS;
    this.timer = 0;
    document.addEventListener("visibilitychange", () => {
      // A hidden tab sends no requests.
      if (!document.hidden) this.start();
    });
  }

  /** Asks now and again from now on. */
  start() {
    clearTimeout(this.timer);
    void this.ask();
  }

  async ask() {
    try {
      this.show(await cardState());
      this.waitMs = EVERY_MS;
    } catch (error) {
      this.speed.textContent = /** @type {Error} */ (error).message;
      this.list.hidden = true;
      this.waitMs = Math.min(LONGEST_MS, 2 * this.waitMs);
    }
    clearTimeout(this.timer);
    if (!document.hidden) this.timer = setTimeout(() => void this.ask(), this.waitMs);
  }

  /** @param {CardState} state */
  show(state) {
    const { device, kv_pages: pages, kv_pages_used: used, running, waiting } = state;
    this.list.hidden = false;
    this.name.textContent = device?.name ?? "No model in memory";
    this.speed.textContent = `${state.tokens_per_second.toFixed(1)} tokens/s`;
    this.chart.add(state.tokens_per_second);
    this.row("Requests", `${running} running, ${waiting} waiting`);
    this.row("KV pages", pages === 0 ? undefined : `${used} of ${pages} in use`, used, pages);
    const { memory_bytes: memory, memory_used_bytes: taken } = device ?? {};
    this.row(
      "Memory",
      memory && taken !== undefined ? `${gigabytes(taken)} of ${gigabytes(memory)} GB` : undefined,
      taken,
      memory,
    );
    const { temperature_celsius: celsius, power_watts: watts, power_limit_watts: limit } = device ??
      {};
    this.row("Temperature", celsius === undefined ? undefined : `${celsius} °C`);
    this.row(
      "Power",
      watts === undefined
        ? undefined
        : `${watts.toFixed(0)}${limit ? ` of ${limit.toFixed(0)}` : ""} W`,
      watts,
      limit,
    );
    const { read_bytes_per_second: read } = state;
    const most = device?.memory_bytes_per_second;
    const share = most ? `, ${(100 * read / most).toFixed(0)}% of the card's` : "";
    this.row("Bandwidth", device && `${gigabytes(read)} GB/s${share}`, read, most);
  }

  /**
   * Shows a value, and its share of a whole where there is one; undefined shows nothing of it.
   *
   * @param {string} name
   * @param {string | undefined} text
   * @param {number} [part]
   * @param {number} [whole]
   */
  row(name, text, part, whole) {
    let row = this.rows.get(name);
    if (row === undefined) {
      const value = element("span");
      const meter = element("meter", { min: 0, max: 1, "aria-hidden": "true" });
      this.list.append(
        element("div", {}, element("dt", {}, name), element("dd", {}, value, meter)),
      );
      row = { value, meter };
      this.rows.set(name, row);
    }
    const { value, meter } = row;
    const shown = /** @type {HTMLElement} */ (value.closest("div"));
    shown.hidden = text === undefined;
    if (value.textContent !== text) value.textContent = text ?? "";
    meter.hidden = !whole || part === undefined;
    if (whole && part !== undefined) meter.value = part / whole;
  }
}

/** @param {number} bytes */
function gigabytes(bytes) {
  return (bytes / 1e9).toFixed(1);
}
