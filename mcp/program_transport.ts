// @ts-types="@modelcontextprotocol/sdk/shared/stdio"
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import { M40Error } from "../engine/errors.ts";
import { systemReason } from "../engine/system_error.ts";
import type { ProgramServer } from "./config.ts";
import { MOST_MESSAGE_BYTES } from "./limits.ts";
import { readMessage } from "./message.ts";
import { MessageLines } from "./message_lines.ts";
import { within } from "../engine/within.ts";

/** Variables of this program's environment that a server gets: the user, and where programs are. */
const INHERITED = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR"];
/** How long a server may take to end when it is asked to, before it is made to, in milliseconds. */
const END_MS = 1000;
/** Characters that are kept of what a server writes to its standard error: the last ones. */
const MOST_ERROR_CHARACTERS = 2000;

/**
 * A server that is a program: JSON-RPC messages, a line each, on its standard input and output.
 *
 * Unlike the SDK's own transport it runs the program in a session of its own. Ctrl-C, which stops an answer, is for
 * this program and must not end the server; and what it started ends with it. And it reads schemas and data without
 * loss.
 */
export class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];

  #child?: Deno.ChildProcess;
  #input?: WritableStreamDefaultWriter<Uint8Array>;
  #output?: ReadableStreamDefaultReader<Uint8Array>;
  #over?: Promise<void>;
  #errors = "";
  #closed = false;
  #ending?: Promise<void>;

  constructor(private readonly server: ProgramServer) {}

  /** The end of what the server wrote to its standard error. */
  get errors(): string {
    return this.#errors;
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.server;
    try {
      this.#child = new Deno.Command(command, {
        args: [...args],
        env: { ...inherited(), ...env },
        clearEnv: true,
        cwd,
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
        detached: true,
      }).spawn();
    } catch (error) {
      const where = cwd === undefined ? "" : ` in ${cwd}`;
      return Promise.reject(
        new M40Error("io", `${command} cannot be started${where}: ${systemReason(error)}`),
      );
    }
    this.#input = this.#child.stdin.getWriter();
    this.#input.closed.catch(() => {});
    this.#output = this.#child.stdout.getReader();
    this.#over = Promise.all([
      this.#readMessages(this.#output),
      this.#readErrors(this.#child.stderr),
    ])
      .then(() => {});
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#input === undefined || this.#closed) throw new Error("the server has ended");
    await this.#input.write(new TextEncoder().encode(serializeMessage(message)));
  }

  /** Asks the server to end by closing its input, and makes it where it does not. */
  close(): Promise<void> {
    return this.#ending ??= this.#end();
  }

  async #end(): Promise<void> {
    this.#sayClosed();
    if (this.#child === undefined) return;
    const ended = this.#child.status.then(() => true);
    // A write that waits for a server that does not read would keep its input open.
    await this.#input?.abort().catch(() => {});
    if (!await within(END_MS, ended)) {
      this.#signal("SIGTERM");
      await within(END_MS, ended);
    }
    // What it started may have outlived it, and hold its output open.
    this.#signal("SIGKILL");
    await ended;
    if (!await within(END_MS, this.#over!.then(() => true))) {
      await this.#output?.cancel().catch(() => {});
    }
  }

  async #readMessages(output: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const lines = new MessageLines(MOST_MESSAGE_BYTES);
    try {
      for (;;) {
        const { done, value } = await output.read();
        if (done) break;
        for (const line of lines.take(value)) this.#takeMessage(line);
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    // What is left of it is not read.
    await output.cancel().catch(() => {});
    this.#sayClosed();
    // Nothing can be said to it any more, or nothing was understood.
    this.close().catch(() => {});
  }

  #takeMessage(line: string): void {
    try {
      const message = readMessage(line);
      if (!this.#closed) this.onmessage?.(message);
    } catch (error) {
      // A line that is no message: servers print such things. The next one may be one.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #readErrors(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const bytes of stream) {
        const text = this.#errors + decoder.decode(bytes, { stream: true });
        this.#errors = text.slice(-MOST_ERROR_CHARACTERS);
      }
    } catch {
      // Its end is seen at its output.
    }
  }

  #sayClosed(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  /** Sends a signal to the server and what it started. */
  #signal(name: "SIGTERM" | "SIGKILL"): void {
    try {
      Deno.kill(-this.#child!.pid, name);
    } catch {
      // All of them have ended.
    }
  }
}

function inherited(): Record<string, string> {
  const values = INHERITED.map((name): [string, string | undefined] => [name, Deno.env.get(name)]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
}
