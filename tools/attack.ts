/**
 * Attacks a server of its own in the ways that once stopped one, thousands of connections each, while a client reads a
 * stream and another one asks for its health. `deno run -A tools/attack.ts [CONNECTIONS]`. Linux.
 *
 * It prints what the two clients saw and what memory the server took, and ends with 1 where a client was kept waiting.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { ATTACKS } from "./attack/attacks.ts";

const CONNECTIONS = Number(Deno.args[0] ?? 10_000);
/** What the clients next to the attack may have to wait, in milliseconds. */
const HEALTH_MS = 1000;
const GAP_MS = 250;

const root = fromFileUrl(new URL("..", import.meta.url));
const encoder = new TextEncoder();

const server = new Deno.Command(Deno.execPath(), {
  args: [
    ...[
      "run",
      "-A",
      "--no-check",
      "--quiet",
      `${root}main.ts`,
      "serve",
      "--model",
      "demo",
      "--device",
      "cpu",
    ],
    ...["--threads", "1", "--port", "0", "--max-connections", "200"],
  ],
  stdout: "piped",
}).spawn();
const port = await readPort(server.stdout);

/** The port that a server says it listens on; what it says after that is thrown away. */
async function readPort(stdout: ReadableStream<Uint8Array>): Promise<number> {
  const [first, rest] = stdout.tee();
  rest.pipeTo(new WritableStream());
  let text = "";
  for await (const piece of first.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const found = /Listening on http:\S+:(\d+)/.exec(text);
    if (found !== null) return Number(found[1]);
  }
  throw new Error(`the server ended: ${text}`);
}

/** The server's memory in MiB, that of its device's process not included. */
function memory(): number {
  const status = Deno.readTextFileSync(`/proc/${server.pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The longest times of the kind of attack that runs. */
const nothing = () => ({
  health: 0,
  asked: 0,
  failures: 0,
  reasons: new Set<string>(),
  gap: 0,
  events: 0,
  refused: 0,
  broken: 0,
});
const worst = nothing();

/** Notes that a question for its health was not answered. */
function fail(reason: string): void {
  worst.failures++;
  worst.reasons.add(reason);
}

/** Asks for the server's health again and again, each time on a connection of its own. */
async function watchHealth(end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    const start = performance.now();
    worst.asked++;
    try {
      const text = await ask(
        "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      );
      if (!text.startsWith("HTTP/1.1 200")) fail(text === "" ? "closed" : text.slice(9, 12));
    } catch (error) {
      fail((error as Error).name);
    }
    worst.health = Math.max(worst.health, performance.now() - start);
    await sleep(50);
  }
}

/** Sends a request and reads until the server ends the connection. */
async function ask(request: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(encoder.encode(request));
  const buffer = new Uint8Array(65536);
  let text = "";
  for (let count; (count = await connection.read(buffer)) !== null;) {
    text += new TextDecoder().decode(buffer.subarray(0, count));
  }
  return text;
}

/** Reads one stream after the other, and measures the pauses between what comes of one. */
async function watchStream(end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          prompt: "Once",
          max_tokens: 900,
          stream: true,
          logit_bias: { "2": -100 },
        }),
        signal: end,
      });
      if (!response.ok) worst.refused++;
      let last: number | undefined;
      for await (const _ of response.body!) {
        const now = performance.now();
        if (last !== undefined) worst.gap = Math.max(worst.gap, now - last);
        last = now;
        worst.events++;
      }
    } catch {
      if (!end.aborted) worst.broken++;
    }
  }
}

/** Has a thread of its own attack the server, so that it delays nothing here. */
async function attack(name: string): Promise<void> {
  const worker = new Worker(import.meta.resolve("./attack/worker.ts"), { type: "module" });
  worker.postMessage({ name, port, connections: CONNECTIONS });
  await new Promise((resolve) => worker.onmessage = resolve);
  worker.terminate();
}

const end = new AbortController();
const watching = Promise.allSettled([watchHealth(end.signal), watchStream(end.signal)]);
await sleep(3000);
const before = memory();
let failed = false;
console.log(`${CONNECTIONS} connections each; memory ${before.toFixed(0)} MiB`);
for (const name of ["nothing", ...ATTACKS]) {
  Object.assign(worst, nothing());
  const start = performance.now();
  if (name === "nothing") await sleep(5000);
  else await attack(name);
  const seconds = (performance.now() - start) / 1000;
  const { health, asked, failures, gap, events, refused, broken } = worst;
  failed ||= health > HEALTH_MS || gap > GAP_MS || failures > 0 || broken > 0;
  console.log(
    `${name.padEnd(32)} ${seconds.toFixed(1)} s: health at most ${
      health.toFixed(0)
    } ms, ${failures} of ${asked} failed ${[...worst.reasons].join(" ")}; ` +
      `stream's longest gap ${
        gap.toFixed(0)
      } ms of ${events}, ${refused} refused, ${broken} broken; ` +
      `memory ${memory().toFixed(0)} MiB`,
  );
}
await sleep(10_000);
console.log(`memory afterwards ${memory().toFixed(0)} MiB`);
end.abort();
await watching;
server.kill("SIGTERM");
const { code } = await server.status;
console.log(`the server ended with ${code}`);
Deno.exit(failed || code !== 0 ? 1 : 0);
