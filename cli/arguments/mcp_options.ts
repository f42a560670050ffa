import { checkAllow, type McpTools } from "../../mcp/mod.ts";
import { option, type OptionValues } from "./command.ts";
import { UsageError } from "../errors.ts";
import { startNoPrograms } from "./permissions.ts";
import { FILES, number, text } from "./values.ts";

/** Which tools a model has. */
export const MCP_OPTIONS = {
  mcp: option(
    text("FILE", FILES),
    'MCP servers whose tools are used: {"mcpServers": {NAME: {"command", "args", "env"} or {"url", "headers"}}}',
  ),
  "mcp-allow": option(
    text("NAMES"),
    "Tools that are called without asking, separated by commas: SERVER__TOOL, or SERVER__* for all of a server",
  ),
  "mcp-timeout": option(
    number({ min: 0, max: 86_400, above: true }),
    "Seconds that an MCP server may take to start, and each call of its tools; default: 60",
  ),
};

/** Values of {@link MCP_OPTIONS}. */
export type McpOptionValues = OptionValues<typeof MCP_OPTIONS>;

/** Starts the servers and waits for their tools. What fails of them is in their notes. */
export type OpenMcp = (signal?: AbortSignal) => Promise<McpTools>;

/**
 * Reads what `--mcp` names; undefined where it is not given.
 *
 * @param command Whose options they are, for errors.
 * @throws {UsageError} For options that mean nothing without it, and names that are none.
 * @throws {M40Error} For a file that cannot be read or followed.
 */
export async function readMcpOptions(
  options: McpOptionValues,
  command: string,
): Promise<OpenMcp | undefined> {
  const { mcp: path, "mcp-allow": names, "mcp-timeout": seconds = 60 } = options;
  if (path === undefined) {
    const alone = (["mcp-allow", "mcp-timeout"] as const).find((name) =>
      options[name] !== undefined
    );
    if (alone === undefined) {
      startNoPrograms();
      return undefined;
    }
    throw new UsageError(`--${alone} means nothing without --mcp FILE`, command);
  }
  const allow = names?.split(",").map((name) => name.trim()).filter((name) => name !== "") ?? [];
  checkAllow(allow, (message) => new UsageError(`--mcp-allow: ${message}`, command));
  // Without servers there is no wait for the SDK.
  const { McpTools, readMcpConfig } = await import("../../mcp/mod.ts");
  const config = await readMcpConfig(path);
  const times = { startMs: seconds * 1000, callMs: seconds * 1000 };
  return (signal) => McpTools.open(config, { allow, signal, ...times });
}

/** Servers that are being started, which end with what this is in, whether they were waited for or not. */
export class OpeningMcp implements AsyncDisposable {
  private readonly stop = new AbortController();
  readonly opened?: Promise<McpTools>;

  constructor(open?: OpenMcp) {
    this.opened = open?.(this.stop.signal);
    this.opened?.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort();
    const tools = await this.opened?.catch(() => undefined);
    await tools?.[Symbol.asyncDispose]();
  }
}
