// MCP servers for tests: the SDK's examples, and servers that do something wrong.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer as SdkServer } from "@modelcontextprotocol/sdk/server/mcp.js";
// @ts-types="@modelcontextprotocol/sdk/server/sse"
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { fromFileUrl } from "@std/path";
import { z } from "zod";
import { parseMcpConfig } from "../mcp/mod.ts";
import type { McpOptions } from "../mcp/mod.ts";
import { McpTools } from "../mcp/mod.ts";

const EXAMPLES = "npm:@modelcontextprotocol/sdk@1.32.2/examples/server/";

/** A program of this repository or of a package as a server of the file. */
export function program(specifier: string, ...args: string[]) {
  // The modules are those that the tests have; a server has its own HOME.
  const home = Deno.env.get("HOME") ?? "/root";
  const env: Record<string, string> = {
    NO_COLOR: "1",
    DENO_DIR: Deno.env.get("DENO_DIR") ?? `${home}/.cache/deno`,
    DENO_TLS_CA_STORE: Deno.env.get("DENO_TLS_CA_STORE") ?? "mozilla",
  };
  return {
    command: Deno.execPath(),
    args: ["run", "-A", "--no-check", "--quiet", specifier, ...args],
    env,
  };
}

/** An example of the SDK's that speaks over standard input and output. */
export function exampleProgram(name: string) {
  return program(`${EXAMPLES}${name}.js`);
}

/** A server that does something wrong; see `mcp_hostile_server.ts`. */
export function hostile(fault: string, ...args: string[]) {
  return program(fromFileUrl(new URL("mcp_hostile_server.ts", import.meta.url)), fault, ...args);
}

/** Opens servers as a file has them. */
export function open(
  mcpServers: Record<string, unknown>,
  options?: McpOptions,
  allow?: string[],
): Promise<McpTools> {
  return McpTools.open(parseMcpConfig(JSON.stringify({ mcpServers, allow }), "mcp.json"), options);
}

/** The SDK's example server over streamable HTTP. */
export class ExampleHttpServer implements AsyncDisposable {
  private constructor(
    readonly url: string,
    private child: Deno.ChildProcess,
    private port: number,
  ) {}

  static async start(port = freePort()): Promise<ExampleHttpServer> {
    return new ExampleHttpServer(`http://localhost:${port}/mcp`, await listening(port), port);
  }

  /** Ends it and starts it anew at the same place: it knows nothing of its sessions then. */
  async restart(): Promise<void> {
    await this.stop();
    this.child = await listening(this.port);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.status;
    await this.child.stdout.cancel();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

async function listening(port: number): Promise<Deno.ChildProcess> {
  const { command, args, env } = exampleProgram("simpleStreamableHttp");
  const child = new Deno.Command(command, {
    args,
    env: { ...env, MCP_PORT: String(port) },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  for (let text = ""; !text.includes("listening on port");) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the example server ended: ${text}`);
    text += decoder.decode(value);
  }
  reader.releaseLock();
  return child;
}

function freePort(): number {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/** A server of the older way over HTTP, by events, out of the SDK's parts. */
export async function eventsServer(): Promise<AsyncDisposable & { url: string; tokens: string[] }> {
  const transports = new Map<string, SSEServerTransport>();
  const tokens: string[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, "http://localhost");
    tokens.push(String(request.headers.authorization));
    if (request.method === "GET") {
      const mcp = new SdkServer({ name: "events", version: "1" });
      mcp.registerTool(
        "shout",
        { inputSchema: { text: z.string() } },
        ({ text }: { text: string }) => ({
          content: [{ type: "text" as const, text: text.toUpperCase() }],
        }),
      );
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      await mcp.connect(transport);
    } else if (url.pathname === "/messages") {
      await transports.get(url.searchParams.get("sessionId")!)!.handlePostMessage(
        request,
        response,
      );
    } else response.writeHead(405).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/sse`,
    tokens,
    async [Symbol.asyncDispose]() {
      for (const transport of transports.values()) await transport.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
