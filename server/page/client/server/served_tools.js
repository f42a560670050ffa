import { requestJson, ServerError } from "./request.js";

/**
 * A tool of an MCP server, as `m40/mcp/tools` lists it.
 *
 * @typedef {object} ServedTool
 * @property {{name: string, description?: string, parameters: object}} function
 * @property {string} server
 * @property {boolean} allowed  Whether it may be called without asking
 */

/** The tools of the MCP servers that the server was started with; none where there are no such servers. */
export class ServedTools {
  constructor() {
    /** @type {Map<string, ServedTool>} */
    this.tools = new Map();
    /** @type {Set<string>} */
    this.always = new Set();
  }

  /** Asks which there are. Where that fails, it stays with those that are known. */
  async refresh() {
    try {
      /** @type {{tools: ServedTool[]}} */
      const { tools } = await requestJson("m40/mcp/tools", { asks: false, exact: true });
      this.tools = new Map(tools.map((tool) => [tool.function.name, tool]));
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
    }
  }

  /** Another conversation begins: its reader has allowed nothing yet. */
  begin() {
    this.always.clear();
  }

  /** @param {string} name */
  get(name) {
    return this.tools.get(name);
  }

  /** Whether a tool is called without asking. @param {string} name */
  allowed(name) {
    return this.always.has(name) || this.tools.get(name)?.allowed === true;
  }

  /**
   * The fields of a request, with these tools added to those of the conversation.
   *
   * @param {Record<string, unknown>} fields
   * @param {string} toolChoice  The conversation's; "none" is for these too
   * @returns {Record<string, unknown>}
   */
  offeredWith(fields, toolChoice) {
    if (this.tools.size === 0 || toolChoice === "none") return fields;
    const own = /** @type {{function: {name: string}}[]} */ (fields.tools ?? []);
    const names = new Set(own.map((tool) => tool.function.name));
    const served = [...this.tools.values()].filter((tool) => !names.has(tool.function.name));
    const described = served.map((tool) => ({ type: "function", function: tool.function }));
    return { ...fields, tools: [...own, ...described] };
  }

  /**
   * Calls a tool.
   *
   * @param {import("../conversation/conversation.js").ToolCall} call
   * @param {AbortSignal} signal
   * @returns {Promise<string>}  What the model gets, also for a call that fails
   */
  async call({ name, arguments: text }, signal) {
    try {
      // What the server does not allow, the user has said yes to: nothing else makes this call.
      const confirmed = this.tools.get(name)?.allowed !== true;
      const body = { name, arguments: text, ...(confirmed ? { confirmed } : {}) };
      const { content, is_error } = await requestJson("m40/mcp/call", { body, signal });
      return is_error ? `Error: ${content}` : content;
    } catch (error) {
      if (signal.aborted) return "The user stopped this call before it had a result.";
      if (error instanceof ServerError) return `Error: the call failed: ${error.message}`;
      throw error;
    }
  }
}

/** Those of the server that the page came from. */
export const servedTools = new ServedTools();
