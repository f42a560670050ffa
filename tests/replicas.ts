/**
 * Replicas of `m40 serve` on ports of this machine, each in a process of its own, and what a balancer in front of
 * them is asked by many clients.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ROOT } from "./cli_program.ts";
import type { Namespace, Namespaces } from "./namespaces.ts";

/** A replica, which can be ended and begun anew at the same port. */
export class Replica implements AsyncDisposable {
  private child?: Deno.ChildProcess;

  private constructor(
    readonly host: string,
    readonly port: number,
    readonly agentPort: number,
    readonly namespace?: Namespace,
  ) {}

  /** Starts one, in a namespace or at free ports of this machine. */
  static async start(namespace?: Namespace): Promise<Replica> {
    const replica = namespace === undefined
      ? new Replica("127.0.0.1", freePort(), freePort())
      : new Replica(namespace.address, 11434, 11435, namespace);
    await replica.start();
    return replica;
  }

  get url(): string {
    return `http://${this.host}:${this.port}`;
  }

  /** Starts it; resolves when it takes requests. */
  async start(): Promise<void> {
    const { namespace } = this;
    const ports = [
      "--host",
      this.host,
      "--port",
      String(this.port),
      "--agent-port",
      String(this.agentPort),
    ];
    const args = [
      "--model",
      "demo",
      "--chat-template",
      "chatml",
      "--threads",
      "1",
      "--parallel",
      "4",
    ];
    const balanced = ["--drain-notice", "2", "--hold-streams", "60", "--device", "cpu"];
    const [program, ...before] = namespace === undefined
      ? [Deno.execPath()]
      : ["ip", "netns", "exec", namespace.name, Deno.execPath()];
    this.child = new Deno.Command(program, {
      args: [
        ...before,
        "run",
        "-A",
        "--no-check",
        "main.ts",
        "serve",
        ...ports,
        ...args,
        ...balanced,
      ],
      cwd: ROOT,
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    await answers(this.url + "/ready");
  }

  /** Ends it at once, whatever it does. */
  async kill(): Promise<void> {
    this.child!.kill("SIGKILL");
    await this.child!.status;
  }

  /** Tells it to end, and waits until it has. */
  async drain(): Promise<void> {
    this.child!.kill("SIGTERM");
    assertEquals((await this.child!.status).code, 0);
  }

  /** Has it run for a sixth of the time, until the signal aborts. */
  async slowDown(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.child!.kill("SIGSTOP");
      await sleep(250);
      this.child!.kill("SIGCONT");
      await sleep(50);
    }
  }

  /** Asks it for an answer that takes some seconds, which must come as a whole. */
  async answersAtLength(): Promise<void> {
    const response = await fetch(this.url + "/v1/completions", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ prompt: "Once", max_tokens: 900, ignore_eos: true }),
    });
    const { choices } = await response.json();
    assertEquals([response.status, choices[0].finish_reason], [200, "length"]);
  }

  /** A counter or gauge of its `/metrics`. */
  metric(name: string): Promise<number> {
    return metricOf(this.url, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.kill();
    } catch {
      // It has ended.
    }
  }
}

/** A counter or gauge of a server's `/metrics`. */
export async function metricOf(url: string, name: string): Promise<number> {
  const text = await (await fetch(url + "/metrics", { signal: AbortSignal.timeout(30_000) }))
    .text();
  const line = text.split("\n").find((line) => line.startsWith(name + "{"));
  assert(line !== undefined, `no ${name}`);
  return Number(line.slice(line.lastIndexOf(" ")));
}

/** A port at which nobody listens at the moment. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Waits until a URL answers 200, for a minute. */
export async function answers(url: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    try {
      const { status, body } = await fetch(url, { signal: AbortSignal.timeout(5000) });
      await body?.cancel();
      if (status === 200) return;
    } catch {
      // Nobody listens yet, or what was sent is lost.
    }
    await sleep(100);
  }
  throw new Error(`does not answer: ${url}`);
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A replica in each of the namespaces, which end with the stack. */
export async function startReplicas(
  namespaces: Namespaces,
  stack: AsyncDisposableStack,
): Promise<Replica[]> {
  const started = await Promise.all(namespaces.all.map((one) => Replica.start(one)));
  return started.map((one) => stack.use(one));
}
