import { cacheTokens } from "../engine/memory_plan.ts";
import type { Engine } from "../engine/mod.ts";
import { standardError, standardOutput } from "../server/output_stream.ts";
import { isLoopback } from "../server/web_pages.ts";
import { apiKeyOf } from "./api_key.ts";
import { type Command, command, flag, option, repeatable } from "./command.ts";
import { DISK_CACHE_OPTIONS, diskCacheOf } from "./disk_cache.ts";
import { formatBytes, formatCount } from "./format.ts";
import { PULL_OPTION } from "./missing_model.ts";
import {
  CHAT_OPTIONS,
  loadModel,
  MODEL_OPTIONS,
  sayFallback,
  sayObserverError,
} from "./model_options.ts";
import { EndSignals } from "./signals.ts";
import { style } from "./terminal.ts";
import { choice, integer, number, origin, text } from "./values.ts";

/** How long the last lines may take to reach a reader that does not read, in milliseconds. */
const FLUSH_MS = 1000;

/** `m40 serve --model NAME|PATH`. What it says is for whoever reads it: it never waits for that. */
export const serve: Command = command({
  name: "serve",
  summary: "Serve a model to OpenAI clients over HTTP",
  description:
    "Answers POST /v1/chat/completions, /v1/completions and more, which /docs and /openapi.json tell of; GET " +
    "/health, /ready, /metrics and /slots say how it is. " +
    "Ctrl-C and SIGTERM let running answers finish, up to --drain seconds; a second one ends the program.",
  arguments: [],
  options: {
    model: option(text("MODEL"), "A model's name (m40 list) or the path of a GGUF file", {
      short: "m",
      required: true,
    }),
    host: option(text("ADDRESS"), "Where to listen; 0.0.0.0 is every network", {
      default: "127.0.0.1",
    }),
    port: option(integer(0, 65535), "The port; 0 takes any that is free", { default: 11434 }),
    "api-key": option(
      text("KEY"),
      "What clients must send; $M40_API_KEY does the same, unseen by other users of the machine",
    ),
    parallel: option(
      integer(1, 256),
      "Sequences that run at the same time; default: 32 on a GPU, 4 on the CPU",
    ),
    "max-queue": option(
      integer(0, 1_000_000),
      "Requests that may wait for their turn; more are answered with 429",
      { default: 64 },
    ),
    timeout: option(
      number({ min: 0, max: 2_000_000, above: true }),
      "Seconds that a request may take, its time in the queue included; default: no limit",
    ),
    drain: option(
      number({ min: 0, max: 2_000_000 }),
      "Seconds that running answers may take to finish when the server is told to end",
      { default: 30 },
    ),
    "max-connections": option(
      integer(1, 1_000_000),
      "Connections that may be open at the same time; default: as many as the system gives descriptors " +
        "for, up to 1024",
    ),
    cors: repeatable(
      origin(),
      "Origins whose web pages may call the server, such as https://example.com; * is all",
    ),
    reasoning: option(
      choice("separate", "inline"),
      "Whether a model's reasoning is told apart from its answer or left in it",
      { default: "separate" },
    ),
    "reasoning-budget": option(
      integer(0, 2 ** 31 - 1),
      "Tokens of reasoning at most, where a request does not say; default: no limit",
    ),
    "chunk-ms": option(
      integer(1, 60_000),
      "The longest that a chunk of a new prompt may hold up the answers that run, in milliseconds",
      { default: 50 },
    ),
    "host-cache": option(
      integer(0, 2 ** 24),
      "MiB of host memory for sequences that give way when the KV cache is full; default: as much as the " +
        "KV cache has, up to 2048",
    ),
    ...DISK_CACHE_OPTIONS,
    "in-process": flag(
      "Run the device's native code in the server's own process, which then ends where that code fails; saves some " +
        "10 microseconds a token",
    ),
    ...MODEL_OPTIONS,
    ...CHAT_OPTIONS,
    ...PULL_OPTION,
  },
  examples: [
    { line: "m40 serve --model demo", about: "For programs on this machine" },
    {
      line: "M40_API_KEY=$(cat key) m40 serve --model mistral --host 0.0.0.0 --port 8000",
      about: "For the network, with a key",
    },
    {
      line: "m40 serve --model ./llama-3.2-1b.Q8_0.gguf --ctx 4096",
      about: "A file, with less memory",
    },
    {
      line: "m40 serve --model mistral --parallel 16 --max-queue 128 --timeout 300",
      about: "For many clients",
    },
    {
      line: "m40 serve --model qwen --disk-cache ~/.cache/m40 --disk-cache-size 100",
      about: "For agents: their long prompts outlive a restart",
    },
    {
      line: "m40 serve --model qwen --cors https://chat.example --reasoning-budget 1000",
      about: "For a web page, with an end to long reasoning",
    },
  ],
  async run(_words, options) {
    const apiKey = apiKeyOf(options["api-key"], "serve");
    const { assertListenable, createApp, serve } = await import("../server/mod.ts");
    const address = { hostname: options.host, port: options.port };
    // A large model takes a while to load; that the address cannot be had is said before.
    assertListenable(options.host, options.port);
    const { engine, stored } = await loadModel(options.model, options, {
      parallel: options.parallel,
      maxQueue: options["max-queue"],
      chunkMs: options["chunk-ms"],
      hostCacheBytes: options["host-cache"] && options["host-cache"] * 2 ** 20,
      diskCache: diskCacheOf(options),
      deviceProcess: !options["in-process"],
      onFallback: sayFallback,
      onObserverError: sayObserverError,
    });
    try {
      using signals = new EndSignals("SIGINT", "SIGTERM");
      const app = createApp({
        engine,
        modelName: stored.name,
        apiKey,
        hostname: options.host,
        timeoutMs: options.timeout && options.timeout * 1000,
        corsOrigins: options.cors,
        reasoning: options.reasoning,
        reasoningBudget: options["reasoning-budget"],
      });
      const server = serve(app, {
        ...address,
        signal: signals.signal,
        drainMs: options.drain * 1000,
        idle: () => engine.idle(),
        maxConnections: options["max-connections"],
      });
      signals.signal.addEventListener("abort", () => sayDraining(engine, options.drain));
      describeModel(engine);
      if (!isLoopback(server.hostname) && apiKey === undefined) warnOfOpenDoor();
      standardOutput.say(`Listening on ${url(server.hostname, server.port)} (Ctrl-C ends)\n`);
      await server.finished;
      standardOutput.say("Closed.\n");
    } finally {
      await engine.close();
      await Promise.all([standardOutput.flush(FLUSH_MS), standardError.flush(FLUSH_MS)]);
    }
  },
});

function sayDraining(engine: Engine, seconds: number): void {
  const { running, waiting } = engine.status();
  if (running + waiting === 0) return;
  standardOutput.say(
    `Draining: ${running} running and ${waiting} waiting may take ${seconds} s to finish; a second ` +
      "Ctrl-C ends them.\n",
  );
}

function describeModel({ model, device, plan, contextTokens, chat }: Engine): void {
  const threads = device.threads ? `, ${device.threads} threads` : "";
  const set = device.instructionSet ? `, ${device.instructionSet}` : "";
  const lines = [
    [
      "Model",
      `${model.name} (${model.architecture} ${
        formatCount(model.parameters)
      } ${model.quantisation})`,
    ],
    ["Device", `${device.name} (${device.backend}${set}${threads})`],
    [
      "Memory",
      `${formatBytes(plan.totalBytes)}: weights ${formatBytes(plan.weightBytes)}, KV cache ` +
      `${formatBytes(plan.cacheBytes)} (${plan.kvType}), activations ${
        formatBytes(plan.programBytes)
      }; ${formatBytes(plan.leftBytes)} left`,
    ],
    ...model.notes.map((note) => ["Note", note]),
    ["Context", `${contextTokens} tokens of ${model.contextLength} trained`],
    ["Chat", describeTemplate(chat?.source)],
    [
      "At once",
      `${plan.limits.n_sequences} sequences; ${cacheTokens(plan)} tokens of KV cache ` +
      `(${plan.pages} pages)`,
    ],
  ];
  for (const [name, value] of lines) standardOutput.say(`${name.padEnd(8)} ${value}\n`);
}

function describeTemplate(source?: string): string {
  if (source === undefined) return "no template; --chat-template NAME|FILE gives one";
  if (source === "model") return "by the model's own template";
  return source === "file" ? "by the template given" : `by the built-in template ${source}`;
}

function warnOfOpenDoor(): void {
  standardError.say(
    `${
      style(Deno.stderr, "yellow", "warning:")
    } everyone who reaches this address can use the model. ` +
      "Set M40_API_KEY, or listen on 127.0.0.1.\n",
  );
}

function url(hostname: string, port: number): string {
  const isAny = hostname === "0.0.0.0" || hostname === "::";
  // A client cannot call "any address".
  const host = isAny ? "127.0.0.1" : hostname.includes(":") ? `[${hostname}]` : hostname;
  return `http://${host}:${port}/v1${isAny ? " and this machine's other addresses" : ""}`;
}
