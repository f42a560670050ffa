import { button, byId, element } from "../dom.js";
import { listModels, loadModel, unloadModel } from "../server/models.js";

/** Where the browser keeps which model was chosen last. */
const CHOSEN = "m40-model";

/** @typedef {import("../server/models.js").Model} Model */

/** Which model answers, and whether it is in memory. */
export class ModelsMenu {
  /** @param {(problem: string) => void} complain */
  constructor(complain) {
    this.complain = complain;
    /** @type {Model[]} */
    this.models = [];
    this.select = element("select", { id: "model" });
    this.select.addEventListener("change", () => {
      localStorage.setItem(CHOSEN, this.select.value);
      this.show();
    });
    this.state = element("span", { class: "state" });
    this.loader = button("Load", () => this.loadOrUnload());
    byId("models").append(
      element("label", { class: "hidden", for: "model" }, "Model"),
      this.select,
      this.loader,
      this.state,
    );
    this.show();
  }

  /** The model's name; undefined where the list is not known. @returns {string | undefined} */
  get chosen() {
    return this.select.value || undefined;
  }

  /** Asks the server which models there are. */
  async refresh() {
    try {
      this.models = await listModels();
    } catch (error) {
      this.complain(/** @type {Error} */ (error).message);
      return;
    }
    const wanted = this.chosen ?? localStorage.getItem(CHOSEN);
    this.select.replaceChildren(
      ...this.models.map(({ id }) => element("option", { value: id }, id)),
    );
    if (this.models.some(({ id }) => id === wanted)) this.select.value = wanted ?? "";
    this.show();
  }

  async loadOrUnload() {
    const model = this.current;
    if (model === undefined) return;
    const unload = model.state === "loaded";
    this.loader.disabled = true;
    this.state.textContent = unload ? "unloading …" : "loading …";
    this.complain("");
    try {
      await (unload ? unloadModel : loadModel)(model.id);
    } catch (error) {
      this.complain(/** @type {Error} */ (error).message);
    }
    this.loader.disabled = false;
    await this.refresh();
  }

  get current() {
    return this.models.find(({ id }) => id === this.select.value);
  }

  show() {
    const { current } = this;
    this.loader.hidden = current === undefined;
    if (current === undefined) {
      this.state.textContent = "";
      return;
    }
    const loaded = current.state === "loaded";
    this.loader.textContent = loaded ? "Unload" : "Load";
    const words = [loaded ? "" : current.state === "unloaded" ? "not in memory" : current.state];
    if (current.context_length !== null) {
      words.push(`${current.context_length.toLocaleString("en")} tokens`);
    }
    if (current.chat === false) words.push("has no chat template");
    this.state.textContent = words.filter((word) => word !== "").join(", ");
  }
}
