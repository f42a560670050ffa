/**
 * `deno task bench [NAME ...] [OPTION ...]`: runs the benchmarks of this folder, each in a process of its own; options,
 * from the first that begins with "-" on, are for them.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";

const BENCHMARKS: Record<string, string> = {
  memory_bandwidth: "the machine's memory bandwidth",
  gguf_header: "header and vocabulary of a GGUF file with 128k tokens",
  tokenizer: "loading a vocabulary, encoding and decoding",
  engine: "prefill, decode and memory of a model of Llama-3.2-1B's shape",
  load: "how fast a model's weights reach a device, compared with reading the file",
  download: "how fast a file is fetched and hashed, compared with SHA-256 alone",
  scheduler: "what a step of 32 sequences costs the host",
  sampling_history: "what samplers that look at the past cost the host",
  grammar: "how long it takes to find the tokens that a grammar allows",
  constrained: "tokens a second of eight streams held to an agent's tools, compared with free ones",
  device_process: "what it costs a token that the device lives in a process of its own",
  replica_queue: "what the queue before replicas costs a request",
  gap: "how long the device waits between steps under 8 and 32 streams over HTTP",
  server_overhead: "what the server adds to a streamed token",
  http_server: "what HTTP itself costs, compared with other servers",
  packed_accuracy: "the perplexity in packed arithmetic, and how far it is from exact arithmetic",
  stalls: "how long hostile requests hold the event loop of a server",
};

const isOption = (arg: string) => arg.startsWith("-");
const named = Deno.args.findIndex(isOption);
const ownArgs = named < 0 ? Deno.args : Deno.args.slice(0, named);
const options = Deno.args.slice(ownArgs.length);
const names = ownArgs.length > 0 ? ownArgs : Object.keys(BENCHMARKS);
for (const name of names) {
  if (!Object.hasOwn(BENCHMARKS, name)) {
    console.error(`unknown benchmark ${name}; known: ${Object.keys(BENCHMARKS).join(", ")}`);
    Deno.exit(2);
  }
}
let failed = false;
for (const name of names) {
  console.log(`\n== ${name}: ${BENCHMARKS[name]}`);
  const path = fromFileUrl(new URL(`./${name}.ts`, import.meta.url));
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", path, ...options],
    stdin: "null",
  }).spawn().status;
  failed ||= !success;
}
Deno.exit(failed ? 1 : 0);
