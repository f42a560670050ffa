import { append, button, element } from "../dom.js";

/**
 * @typedef {import("../settings/settings.js").Settings} Settings
 * @typedef {import("../settings/settings.js").ToolSettings} ToolSettings
 */

/** What a new tool is, to be changed. @type {ToolSettings} */
const EXAMPLE = {
  name: "get_weather",
  description: "The weather of a city",
  parameters:
    '{\n  "type": "object",\n  "properties": {"city": {"type": "string"}},\n  "required": ["city"]\n}',
};

/**
 * The tools that the model may call. The user types their results to try them out.
 *
 * @param {Settings} settings  Changed by what is typed
 * @param {() => void} changed
 * @returns {HTMLElement[]}
 */
export function toolEditor(settings, changed) {
  const list = element("div", { class: "tools" });
  const choice = element("select", { id: "setting-tool-choice" });
  const choosing = element(
    "div",
    { class: "field" },
    element("label", { for: "setting-tool-choice" }, "Calls"),
    choice,
  );
  const fill = () => {
    choosing.hidden = settings.tools.length === 0;
    const names = settings.tools.map(({ name }) => name).filter((name) => name !== "");
    choice.replaceChildren();
    append(
      choice,
      ["auto", "none", "required", ...names].map((value) => element("option", { value }, value)),
    );
    choice.value = settings.toolChoice;
    if (choice.value === "") choice.value = "auto";
  };
  const draw = () => {
    list.replaceChildren(
      ...settings.tools.map((tool, index) =>
        toolForm(tool, index, () => {
          fill();
          changed();
        }, () => {
          settings.tools.splice(index, 1);
          draw();
          changed();
          add.focus();
        })
      ),
    );
    fill();
  };
  choice.addEventListener("change", () => {
    settings.toolChoice = choice.value;
    changed();
  });
  const add = button("Add a tool", () => {
    settings.tools.push({ ...EXAMPLE });
    draw();
    changed();
    document.getElementById(`tool-${settings.tools.length - 1}-name`)?.focus();
  });
  draw();
  return [list, choosing, add];
}

/**
 * @param {ToolSettings} tool
 * @param {number} index
 * @param {() => void} changed
 * @param {() => void} remove
 */
function toolForm(tool, index, changed, remove) {
  /**
   * @param {keyof ToolSettings} key
   * @param {string} label
   * @param {HTMLInputElement | HTMLTextAreaElement} control
   */
  const field = (key, label, control) => {
    control.id = `tool-${index}-${key}`;
    control.value = tool[key];
    control.addEventListener("input", () => {
      tool[key] = control.value;
      changed();
    });
    return element(
      "div",
      { class: "field" },
      element("label", { for: control.id }, label),
      control,
    );
  };
  return element(
    "fieldset",
    {},
    element("legend", {}, `Tool ${index + 1}`),
    field("name", "Name", element("input", { type: "text", autocomplete: "off" })),
    field("description", "What it does", element("textarea", { rows: 2 })),
    field(
      "parameters",
      "Parameters (JSON Schema)",
      element("textarea", { rows: 5, class: "mono", spellcheck: false }),
    ),
    button("Remove", remove),
  );
}
