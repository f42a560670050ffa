import { append, byId, element } from "../dom.js";
import { SAMPLING } from "../settings/settings.js";
import { toolEditor } from "./tool_editor.js";

/**
 * @typedef {import("../settings/settings.js").Settings} Settings
 * @typedef {import("../settings/settings.js").SamplingField} SamplingField
 */

const FORMATS = [
  ["text", "Text"],
  ["json_object", "JSON"],
  ["json_schema", "JSON of a schema"],
];

/** What conversations are answered with, as it is typed. */
export class SettingsPanel {
  /**
   * @param {Settings} settings  Changed by what is typed
   * @param {() => void} changed
   */
  constructor(settings, changed) {
    this.changed = changed;
    this.body = element("div", { class: "settings-body" });
    byId("settings").append(this.body);
    this.show(settings);
  }

  /** Shows the settings of another conversation. @param {Settings} settings */
  show(settings) {
    this.settings = settings;
    this.body.replaceChildren(
      group("System prompt", this.system(settings)),
      group("Form of the answer", ...this.format(settings)),
      group("Tools", ...toolEditor(settings, () => this.changed())),
      group("Sampling", ...SAMPLING.map((field) => this.field(settings, field))),
    );
  }

  /** @param {Settings} settings */
  system(settings) {
    const box = element("textarea", {
      id: "setting-system",
      rows: 4,
      "aria-label": "System prompt",
      placeholder: "What the model gets before the conversation",
    });
    box.value = settings.system;
    box.addEventListener("input", () => {
      settings.system = box.value;
      this.changed();
    });
    return box;
  }

  /** @param {Settings} settings */
  format(settings) {
    const select = element("select", { id: "setting-format", "aria-label": "Form of the answer" });
    append(select, FORMATS.map(([value, label]) => element("option", { value }, label)));
    select.value = settings.format;
    const schema = element("textarea", {
      id: "setting-schema",
      class: "mono",
      rows: 8,
      "aria-label": "JSON Schema",
      placeholder: '{"type": "object", "properties": {…}}',
      spellcheck: false,
    });
    schema.value = settings.schema;
    schema.hidden = settings.format !== "json_schema";
    select.addEventListener("change", () => {
      settings.format = /** @type {Settings["format"]} */ (select.value);
      schema.hidden = settings.format !== "json_schema";
      this.changed();
    });
    schema.addEventListener("input", () => {
      settings.schema = schema.value;
      this.changed();
    });
    return [select, schema];
  }

  /**
   * @param {Settings} settings
   * @param {SamplingField} field
   */
  field(settings, field) {
    const { name, label, hint } = field;
    const control = controlOf(field);
    control.id = `setting-${name}`;
    control.setAttribute("aria-describedby", `hint-${name}`);
    control.value = settings.sampling[name] ?? "";
    control.addEventListener("input", () => {
      if (control.value === "") delete settings.sampling[name];
      else settings.sampling[name] = control.value;
      this.changed();
    });
    return element(
      "div",
      { class: "field" },
      element("label", { for: control.id }, label),
      control,
      element("p", { class: "hint", id: `hint-${name}` }, hint),
    );
  }
}

/**
 * What a field is typed into. Numbers are texts here: an invalid number is reported when it is sent, not lost.
 *
 * @param {SamplingField} field
 */
function controlOf({ kind, choices = [] }) {
  if (kind === "lines") return element("textarea", { rows: 2 });
  if (kind === "choice") {
    const select = element("select", {}, element("option", { value: "" }, "as the model has it"));
    append(select, choices.map((value) => element("option", { value }, value)));
    return select;
  }
  const inputmode = kind === "integer" ? "numeric" : "decimal";
  return element("input", { type: "text", inputmode, placeholder: "default", autocomplete: "off" });
}

/**
 * @param {string} title
 * @param {...Node} children
 */
function group(title, ...children) {
  return element("section", { class: "group" }, element("h2", {}, title), ...children);
}
