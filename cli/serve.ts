import type { Engine } from "../engine/mod.ts";
import { type Command, command, option } from "./command.ts";
import { formatBytes, formatCount } from "./format.ts";
import { loadModel, MODEL_OPTIONS } from "./model_options.ts";
import { EndSignals } from "./signals.ts";
import { style, write, writeError } from "./terminal.ts";
import { integer, text } from "./values.ts";

/** `m40 serve --model NAME|PATH`. */
export const serve: Command = command({
  name: "serve",
  summary: "Serve a model to OpenAI clients over HTTP",
  description:
    "Answers POST /v1/completions and /v1/generate, GET /v1/models and /health. Ctrl-C lets running " +
    "answers finish for a few seconds; a second one ends them.",
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
    "max-queue": option(integer(0, 1_000_000), "Requests that may wait for their turn", {
      default: 64,
    }),
    ...MODEL_OPTIONS,
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
  ],
  async run(_words, options) {
    const apiKey = options["api-key"] ?? (Deno.env.get("M40_API_KEY") || undefined);
    const [{ createApp, serve }, { Hono }] = await Promise.all([
      import("../server/mod.ts"),
      import("hono"),
    ]);
    const address = { hostname: options.host, port: options.port };
    // A large model takes a while to load; that the address cannot be had is said before.
    await serve(new Hono(), { ...address, signal: AbortSignal.abort() }).finished;
    const { engine, stored } = await loadModel(options.model, options, {
      maxQueue: options["max-queue"],
    });
    try {
      using signals = new EndSignals("SIGINT", "SIGTERM");
      const app = createApp({ engine, modelName: stored.name, apiKey, hostname: options.host });
      const server = serve(app, { ...address, signal: signals.signal });
      describeModel(engine);
      if (!isLoopback(server.hostname) && apiKey === undefined) warnOfOpenDoor();
      write(`Listening on ${url(server.hostname, server.port)} (Ctrl-C ends)\n`);
      await server.finished;
      write("Closed.\n");
    } finally {
      await engine.close();
    }
  },
});

function describeModel({ model, device, plan, contextTokens }: Engine): void {
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
      }`,
    ],
    ["Context", `${contextTokens} tokens of ${model.contextLength} trained`],
  ];
  for (const [name, value] of lines) write(`${name.padEnd(8)} ${value}\n`);
}

function isLoopback(hostname: string): boolean {
  return /^(127(\.\d+){3}|::1|\[::1\]|localhost)$/i.test(hostname);
}

function warnOfOpenDoor(): void {
  writeError(
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
