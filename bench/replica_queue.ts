/**
 * What the queue before replicas costs a request: the event loop's time, by the number of requests at a time and the
 * length of their prompts. Half of each prompt is in the KV cache. `deno run -A bench/replica_queue.ts [MODEL.gguf]
 * [--device cpu,cpu] [--requests N]`
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { fromFileUrl } from "@std/path";
import { Engine } from "../engine/mod.ts";
import { ReplicaQueue } from "../engine/parallel/replicas/replica_queue.ts";

const CLIENTS = [1, 8, 32];
const PROMPTS = [32, 448];

const args = parseArgs(Deno.args, {
  string: ["device", "requests"],
  default: { device: "cpu,cpu", requests: "192" },
});
const path = String(
  args._[0] ?? fromFileUrl(new URL("../tools/demo_model/demo.gguf", import.meta.url)),
);
const requests = Number(args.requests);

/** Microseconds of each call of the queue's own functions since it was watched. */
const spent: Record<"add" | "pump", number[]> = { add: [], pump: [] };

function watch(name: "add" | "pump"): void {
  // deno-lint-ignore no-explicit-any
  const functions = ReplicaQueue.prototype as any;
  const inner = functions[name];
  functions[name] = function (...given: unknown[]) {
    const start = performance.now();
    try {
      return inner.apply(this, given);
    } finally {
      spent[name].push(1000 * (performance.now() - start));
    }
  };
}

watch("add");
watch("pump");
const engine = await Engine.load(path, {
  device: args.device,
  replicas: true,
  threads: 1,
  parallel: 8,
  maxQueue: 64,
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

let seed = 0;

async function ask(promptTokens: number): Promise<void> {
  seed++;
  // Prefixes that come again, and ends that do not.
  const prompt = Array.from(
    { length: promptTokens },
    (_, i) => 10 + (i < promptTokens / 2 ? (i + seed % 4) % 97 : (i * seed) % 89),
  );
  const sampling = { temperature: 0, seed };
  for await (const _ of engine.generate({ prompt, maxTokens: 16, sampling })) { /* It is read. */ }
}

console.log("clients  prompt  requests  decisions  us a request  us a decision");
for (const promptTokens of PROMPTS) {
  for (const clients of CLIENTS) {
    const run = async (count: number) => {
      let left = count;
      await Promise.all(Array.from({ length: clients }, async () => {
        while (left-- > 0) await ask(promptTokens);
      }));
    };
    await run(clients * 2);
    spent.add = [];
    spent.pump = [];
    await run(requests);
    const decisions = spent.pump.length;
    // Medians: other work of the machine during one does not count.
    const [adding, deciding] = [median(spent.add), median(spent.pump)];
    const cells = [
      clients,
      promptTokens,
      requests,
      decisions,
      (adding + deciding * decisions / requests).toFixed(1),
      deciding.toFixed(1),
    ];
    const widths = [7, 6, 8, 9, 12, 13];
    console.log(cells.map((cell, i) => String(cell).padStart(widths[i])).join("  "));
  }
}
await engine.close();
