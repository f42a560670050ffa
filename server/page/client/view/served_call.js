import { button, element } from "../dom.js";
import { servedTools } from "../server/served_tools.js";

/** What the model gets for a call that the user refuses. */
const REFUSED = "The user did not allow this call: it was not made.";

/** Asks whether a tool of an MCP server may be called, calls it, and shows what it gives back. */
export class ServedCall {
  /**
   * @param {import("../conversation/conversation.js").ToolCall} call
   * @param {() => void} settled  It has a result
   */
  constructor(call, settled) {
    this.call = call;
    this.settled = settled;
    /** @type {string | undefined} */
    this.result = undefined;
    this.running = false;
    this.state = element("p", { role: "status" });
    this.buttons = element("div", { class: "row" });
    this.element = element("div", { class: "served" }, this.state, this.buttons);
    this.ask();
  }

  /** What the model gets. */
  get value() {
    return this.result ?? REFUSED;
  }

  ask() {
    const { name } = this.call;
    this.state.textContent = `Call ${name}? The MCP server ${
      servedTools.get(name)?.server ?? ""
    } does what the call says.`;
    this.buttons.replaceChildren(
      button("Call", () => void this.run()),
      button("Always call", () => {
        servedTools.always.add(name);
        void this.run();
      }, { title: "Without asking, in this conversation" }),
      button("Do not call", () => this.settle(REFUSED)),
    );
  }

  /** Calls the tool, once. */
  async run() {
    if (this.running || this.result !== undefined) return;
    this.running = true;
    const controller = new AbortController();
    this.state.textContent = `Calling ${this.call.name} …`;
    this.buttons.replaceChildren(button("Stop", () => controller.abort()));
    this.settle(await servedTools.call(this.call, controller.signal));
  }

  /** @param {string} result */
  settle(result) {
    this.result = result;
    this.state.textContent = result.length > 200 ? `${result.slice(0, 200)} …` : result;
    this.buttons.replaceChildren();
    this.settled();
  }
}
