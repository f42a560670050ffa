import { element } from "../dom.js";

const SVG = "http://www.w3.org/2000/svg";

/** Values that are shown: one a second. */
const VALUES = 60;
const WIDTH = 240;
const HEIGHT = 44;

/** A line of the last values. */
export class Chart {
  /** @param {string} name  What is read out for it */
  constructor(name) {
    /** @type {number[]} */
    this.values = [];
    this.name = name;
    this.line = document.createElementNS(SVG, "polyline");
    this.area = document.createElementNS(SVG, "polygon");
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    this.svg.setAttribute("preserveAspectRatio", "none");
    this.svg.setAttribute("role", "img");
    this.svg.append(this.area, this.line);
    this.element = element("div", { class: "chart" }, this.svg);
  }

  /** @param {number} value */
  add(value) {
    this.values.push(value);
    if (this.values.length > VALUES) this.values.shift();
    const most = Math.max(1, ...this.values);
    const points = this.values.map((value, index) => {
      const x = WIDTH * (VALUES - this.values.length + index) / (VALUES - 1);
      return `${x.toFixed(1)},${(HEIGHT - 2 - (HEIGHT - 4) * value / most).toFixed(1)}`;
    });
    const first = points[0].split(",")[0];
    this.line.setAttribute("points", points.join(" "));
    this.area.setAttribute("points", `${first},${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}`);
    this.svg.setAttribute("aria-label", `${this.name}: at most ${most.toFixed(1)}`);
  }
}
