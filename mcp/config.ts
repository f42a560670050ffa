/**
 * The file that says which MCP servers there are, in the shape that MCP clients share:
 * `{"mcpServers": {NAME: {"command": …} | {"url": …}}}`, and next to them `allow`, the tools that are called without
 * asking.
 *
 * @module
 */
import { M40Error } from "../engine/errors.ts";
import { isJsonObject } from "../engine/json/mod.ts";
import { systemReason } from "../engine/system_error.ts";
import { checkAllow } from "./allow.ts";
import { expandVariables } from "./expand_variables.ts";
import { plainName } from "./names.ts";

/** A server that is a program, spoken with over its standard input and output. */
export interface ProgramServer {
  readonly kind: "program";
  /** What its tools' names begin with. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Set in addition to the few variables that every server gets. */
  readonly env: Readonly<Record<string, string>>;
  /** Default: the folder of this program. */
  readonly cwd?: string;
}

/** A server that is spoken with over HTTP. */
export interface HttpServer {
  readonly kind: "http";
  readonly name: string;
  readonly url: URL;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Which of the two ways; absent: streamable HTTP, and events where that is not served. */
  readonly transport?: "streamable" | "events";
}

/** A server of the file. */
export type ServerConfig = ProgramServer | HttpServer;

/** What the file says. */
export interface McpConfig {
  readonly servers: readonly ServerConfig[];
  /** Names of tools that are called without asking; `SERVER__*` is all of a server. */
  readonly allow: readonly string[];
  /** What of the file is not followed, a sentence each. */
  readonly notes: readonly string[];
}

/** The longest file that is read, in bytes. */
const MOST_BYTES = 2 ** 20;
/** Servers that a file may name. */
const MOST_SERVERS = 64;

/** What other clients call the two kinds of server. */
const TYPES: Readonly<Record<string, "program" | "streamable" | "events">> = {
  stdio: "program",
  http: "streamable",
  "streamable-http": "streamable",
  streamableHttp: "streamable",
  sse: "events",
};

/** Fields of a server that are read. */
const FIELDS = ["type", "transport", "command", "args", "env", "cwd", "url", "headers", "disabled"];

/**
 * Reads the file.
 *
 * @throws {M40Error} "io" where it cannot be read, "invalid_request" naming what is wrong in it.
 */
export async function readMcpConfig(path: string): Promise<McpConfig> {
  let text: string;
  try {
    const { size } = await Deno.stat(path);
    if (size > MOST_BYTES) {
      throw new M40Error(
        "invalid_request",
        `${path} has ${size} bytes; wanted at most ${MOST_BYTES}`,
      );
    }
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof M40Error) throw error;
    throw new M40Error("io", `The MCP servers in ${path} cannot be read: ${systemReason(error)}.`);
  }
  return parseMcpConfig(text, path);
}

/**
 * Reads the file's text. `${NAME}` and `${NAME:-DEFAULT}` in it are variables of the environment.
 *
 * @param path For errors.
 * @param variable The value of a variable; by default that of the environment.
 */
export function parseMcpConfig(
  text: string,
  path: string,
  variable: (name: string) => string | undefined = (name) => Deno.env.get(name),
): McpConfig {
  const refuse = (message: string) => new M40Error("invalid_request", `${path}: ${message}`);
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw refuse(`it is no JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!isJsonObject(file) || !isJsonObject(file.mcpServers)) {
    throw refuse('wanted {"mcpServers": {NAME: {"command": "…", "args": […]} or {"url": "…"}}}');
  }
  const named = Object.entries(file.mcpServers);
  if (named.length > MOST_SERVERS) {
    throw refuse(`mcpServers has ${named.length} servers; wanted at most ${MOST_SERVERS}`);
  }
  const notes: string[] = [];
  const servers: ServerConfig[] = [];
  const names = new Set<string>();
  for (const [key, value] of named) {
    const place = `mcpServers.${key}`;
    if (!isJsonObject(value)) throw refuse(`${place} is no object`);
    if (value.disabled === true) continue;
    const name = plainName(key, names);
    names.add(name);
    const reader = new ServerReader(
      value,
      (field, message) => refuse(`${place}.${field} ${message}`),
      variable,
    );
    servers.push(reader.read(name));
    const others = Object.keys(value).filter((field) => !FIELDS.includes(field));
    if (others.length > 0) {
      notes.push(
        `${path}: ${place} has ${others.join(", ").slice(0, 200)}, which m40 does not read.`,
      );
    }
  }
  return { servers, allow: readAllow(file.allow, refuse), notes };
}

function readAllow(value: unknown, refuse: (message: string) => M40Error): readonly string[] {
  if (value === undefined) return [];
  if (!isTexts(value)) throw refuse('allow is no list of names; wanted ["SERVER__TOOL", …]');
  return checkAllow(value, (message) => refuse(`allow: ${message}`));
}

/** Reads one server. */
class ServerReader {
  constructor(
    private readonly fields: Readonly<Record<string, unknown>>,
    private readonly refuse: (field: string, message: string) => M40Error,
    private readonly variable: (name: string) => string | undefined,
  ) {}

  read(name: string): ServerConfig {
    const { fields } = this;
    const type = this.type();
    if (fields.url === undefined || (type === "program" && fields.command !== undefined)) {
      if (fields.command === undefined) {
        throw this.refuse("command", "is missing; wanted a command, or a url");
      }
      if (type !== undefined && type !== "program") {
        throw this.refuse("url", "is missing, which its type wants");
      }
      return this.program(name);
    }
    if (fields.command !== undefined) {
      throw this.refuse("url", "is given together with a command; wanted one of them");
    }
    if (type === "program") throw this.refuse("command", "is missing, which its type wants");
    return this.http(name, type);
  }

  private type() {
    const value = this.fields.type ?? this.fields.transport;
    if (value === undefined) return undefined;
    const known = typeof value === "string" && Object.hasOwn(TYPES, value);
    if (known) return TYPES[value];
    throw this.refuse(
      "type",
      `is ${shown(value)}; wanted ${Object.keys(TYPES).join(", ")}`,
    );
  }

  private program(name: string): ProgramServer {
    const { args = [], cwd } = this.fields;
    if (!isTexts(args)) throw this.refuse("args", "is no list of texts");
    const command = this.text("command");
    const env = this.texts("env");
    const wrong = Object.keys(env).find((key) => key === "" || key.includes("="));
    if (wrong !== undefined) throw this.refuse("env", `has the name ${shown(wrong)}`);
    return {
      kind: "program",
      name,
      command,
      args: args.map((text, i) => this.expanded(text, `args[${i}]`)),
      env,
      ...(cwd === undefined ? {} : { cwd: this.text("cwd") }),
    };
  }

  private http(name: string, type?: "streamable" | "events"): HttpServer {
    const text = this.text("url");
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      throw this.refuse("url", `is ${shown(text)}; wanted http://… or https://…`);
    }
    if (url.username !== "" || url.password !== "") {
      throw this.refuse("url", "has a user or a password in it; wanted them in headers");
    }
    const headers = this.texts("headers");
    for (const [key, value] of Object.entries(headers)) {
      try {
        new Headers([[key, value]]);
      } catch {
        // The value may be a secret.
        throw this.refuse(
          "headers",
          `has ${shown(key)} with a name or a value that HTTP cannot send`,
        );
      }
    }
    return { kind: "http", name, url, headers, ...(type === undefined ? {} : { transport: type }) };
  }

  private text(field: string): string {
    const value = this.fields[field];
    if (typeof value === "string" && value !== "") return this.expanded(value, field);
    throw this.refuse(field, `is ${shown(value)}; wanted a text that is not empty`);
  }

  private texts(field: string): Record<string, string> {
    const value = this.fields[field] ?? {};
    if (!isJsonObject(value)) throw this.refuse(field, 'is no object; wanted {"NAME": "VALUE"}');
    const entries = Object.entries(value).map(([key, text]): [string, string] => {
      if (typeof text === "string") return [key, this.expanded(text, `${field}.${key}`)];
      throw this.refuse(`${field}.${key}`, `is no text; wanted "VALUE"`);
    });
    return Object.fromEntries(entries);
  }

  private expanded(text: string, field: string): string {
    if (text.includes("\0")) throw this.refuse(field, "has a NUL character in it");
    return expandVariables(text, this.variable, (message) => this.refuse(field, message));
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function shown(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 100) ?? "missing";
}
