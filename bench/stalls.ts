/**
 * How long hostile requests hold the event loop of a server, and so delay all other answers. Sends all of
 * `stalls/inputs.ts` to a served demo model, one after the other, and prints the longest stall of each. `deno run -A
 * bench/stalls.ts [WORDS OF NAMES ...] [--over 50] [--ctx 65536]`. With --over it prints only stalls above that many
 * milliseconds. With --ctx the context is longer than the model was trained for, so that fewer inputs are too long.
 *
 * The clients are in a thread of their own and the device in a process of its own, so what is measured is the server.
 * The collector of garbage is in it. A stall is what the thread computed between two turns of a timer, so that other
 * programs' work is not in it; by the clock it is longer where there are some.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { fromFileUrl } from "@std/path";
import { Engine } from "../engine/mod.ts";
import { serve } from "../server/mod.ts";
import type { Order, Outcome } from "./stalls/client.ts";
import { EventLoopWatch } from "./stalls/event_loop.ts";
import { INPUTS } from "./stalls/inputs.ts";
import { appOf } from "../tests/fixtures/fixed_model.ts";

/** What a stall may last, in milliseconds. */
const TARGET_MS = 50;

const args = parseArgs(Deno.args, { string: ["over", "ctx"], default: { over: "0" } });
const words = args._.map(String);
const model = fromFileUrl(new URL("../tools/demo_model/demo.gguf", import.meta.url));
const contextTokens = args.ctx === undefined ? undefined : Number(args.ctx);
const engine = await Engine.load(model, {
  device: "cpu",
  threads: 1,
  deviceProcess: true,
  ...(contextTokens === undefined ? {} : {
    contextTokens,
    parallel: 1,
    overrides: [{ key: "llama.context_length", value: String(contextTokens) }],
  }),
});
const app = appOf({ engine, modelName: "demo", storeChanges: true });
const controller = new AbortController();
const { port, finished } = serve(app, {
  hostname: "127.0.0.1",
  port: 0,
  signal: controller.signal,
  drainMs: 0,
});
const client = new Worker(new URL("./stalls/client.ts", import.meta.url), { type: "module" });

function answered<T>(): Promise<T> {
  return new Promise((resolve) => {
    client.onmessage = ({ data }) => resolve(data);
  });
}

async function send(order: Order): Promise<Outcome> {
  client.postMessage(order);
  return await answered();
}

await answered();
const chosen = [...INPUTS.keys()].filter((index) =>
  words.length === 0 || words.some((word) => INPUTS[index].name.includes(word))
);
const url = `http://127.0.0.1:${port}`;
const stalls: { name: string; ms: number }[] = [];
{
  using watch = new EventLoopWatch();
  // What is made once is made now.
  for (const path of ["/", "/docs", "/metrics"]) await (await fetch(url + path)).arrayBuffer();
  await new Promise((resolve) => setTimeout(resolve, 2000));
  for (const index of chosen) {
    watch.take();
    const before = performance.now();
    const { status, bytes } = await send({ url, index });
    const seconds = ((performance.now() - before) / 1000).toFixed(2);
    // What the answer leaves behind, as what is collected of it, is its own.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { clock, computed } = watch.take();
    const ms = computed === 0 ? clock : Math.min(computed, clock);
    const { name } = INPUTS[index];
    stalls.push({ name, ms });
    if (ms < Number(args.over)) continue;
    const late = ms > TARGET_MS ? "  <--" : "";
    console.log(
      `${ms.toFixed(1).padStart(8)} ms (${clock.toFixed(1)} by the clock)  ${name}: ${status}, ` +
        `${bytes} bytes in ${seconds} s${late}`,
    );
  }
}
const longest = stalls.toSorted((a, b) => b.ms - a.ms)[0];
const late = stalls.filter(({ ms }) => ms > TARGET_MS).length;
console.log(
  `\nThe longest stall of ${stalls.length} inputs: ${
    longest.ms.toFixed(1)
  } ms (${longest.name}); ` +
    `${late} hold the event loop for more than ${TARGET_MS} ms.`,
);
client.postMessage("end");
controller.abort();
await finished;
await engine.close();
