import { apiKeyOf, type Command, command, OpeningMcp, readMcpOptions } from "../arguments/mod.ts";
import { readConfig } from "../config/mod.ts";
import { SERVE_OPTIONS, type ServeOptions } from "../models/mod.ts";
import {
  describeModel,
  sayLoaded,
  sayLoadFailed,
  sayUnloaded,
  ServeSettings,
} from "../serving/mod.ts";
import { EndSignals, printable, warn } from "../terminal/mod.ts";
import { giveBackFreedMemory, parseDeviceList } from "../../engine/device/mod.ts";
import type { McpTools } from "../../mcp/mod.ts";
import { isLoopback } from "../../server/access/mod.ts";
import { busy, type Models } from "../../server/models/mod.ts";
import { cannotExport, standardError, standardOutput } from "../../server/output/mod.ts";
import { UsageError } from "../errors.ts";

/** How long the last lines may take to reach a reader that does not read, in milliseconds. */
const FLUSH_MS = 1000;

/** `m40 serve`. It warns the reader of the log: it never waits for that. */
export const serve: Command = command({
  name: "serve",
  summary: "Serve models to OpenAI clients over HTTP",
  description:
    "Answers the APIs of OpenAI, Anthropic, Ollama and llama.cpp's server, which /docs and /openapi.json describe; GET " +
    "/health, /ready, /metrics and /slots are for monitoring. " +
    "A request may name any model of the store; it replaces the least recently used one. " +
    "Ctrl-C, SIGTERM and SIGHUP let running answers finish, up to --drain seconds; a second Ctrl-C or SIGTERM ends the program.",
  arguments: [],
  options: SERVE_OPTIONS,
  examples: {
    "m40 serve --keep-alive 5m --models 2":
      "Every model that m40 list shows, loaded on demand, two at a time",
    "m40 serve --model demo": "For programs on this machine",
    "M40_API_KEY=$(cat key) m40 serve --model mistral --host 0.0.0.0 --port 8000":
      "For the network, with a key",
    "m40 serve --model ./llama-3.2-1b.Q8_0.gguf --ctx 4096": "A file, with less memory",
    "m40 serve --model mistral --parallel 16 --max-queue 128 --timeout 300": "For many clients",
    "m40 serve --model mistral --device cuda:0,1 --replicas":
      "On two cards, each with the whole model",
    "m40 serve --model qwen --disk-cache ~/.cache/m40 --disk-cache-size 100":
      "For agents: their long prompts outlive a restart",
    "m40 serve --model qwen --mcp mcp.json": "With tools for the page, which asks before each call",
    "m40 serve --model qwen --cors https://chat.example --reasoning-budget 1000":
      "For a web page, with an end to long reasoning",
  },
  async run(_words, options, given) {
    const settings = new ServeSettings(options, given, await readConfig(options.config));
    const { server: values, config } = settings;
    const apiKey = apiKeyOf(options["api-key"], "serve") ?? apiKeyOf(values["api-key"], "serve");
    checkReplicas(values);
    const openMcp = await readMcpOptions(values, "serve");
    if (openMcp !== undefined && apiKey === undefined && !isLoopback(values.host)) {
      throw new UsageError(
        `--mcp lets every client of ${values.host} call tools on this machine; set M40_API_KEY, or listen on 127.0.0.1`,
        "serve",
      );
    }
    const { agentLine, assertListenable, createApp, serve, serveAgentCheck } = await import(
      "../../server/mod.ts"
    );
    // Here, not above: help needs no engine.
    const { servedModels } = await import("../serving/models.ts");
    const { checkContexts } = await import("../serving/check_contexts.ts");
    const address = { hostname: values.host, port: values.port };
    // A large model takes a while to load, so an unusable address is reported first.
    assertListenable(values.host, values.port);
    const agentPort = values["agent-port"];
    if (agentPort !== undefined) assertListenable(values.host, agentPort, "--agent-port");
    await checkContexts(settings);
    const { models, manager, main } = await servedModels(settings);
    // Servers start while the model loads; a request for their tools waits for them.
    await using mcp = new OpeningMcp(openMcp);
    mcp.opened?.then(sayMcp, () => {});
    try {
      // Kept until it was described, however short its time is.
      const first = main === undefined ? undefined : await manager.acquire(main);
      using signals = new EndSignals("SIGINT", "SIGTERM", "SIGHUP");
      const app = createApp({
        models,
        apiKey,
        hostname: values.host,
        timeoutMs: values.timeout && values.timeout * 1000,
        corsOrigins: values.cors,
        allowedHosts: values["allowed-host"],
        holdStreamsMs: values["hold-streams"] * 1000,
        reasoning: values.reasoning,
        storeChanges: values["allow-store-changes"],
        reasoningBudget: values["reasoning-budget"],
        mcp: mcp.opened,
      });
      giveBackFreedMemory();
      const server = serve(app, {
        ...address,
        signal: signals.signal,
        drainMs: values.drain * 1000,
        noticeMs: values["drain-notice"] * 1000,
        idle: () => manager.idle(),
        maxConnections: values["max-connections"],
      });
      using _agent = agentPort === undefined ? undefined : serveAgentCheck(
        values.host,
        agentPort,
        () => agentLine(models, signals.signal.aborted),
      );
      signals.signal.addEventListener("abort", () => {
        if (values["drain-notice"] > 0) sayNotice(values["drain-notice"]);
        sayDraining(models, values.drain);
      });
      if (config.path !== undefined) standardOutput.say(`Config   ${printable(config.path)}\n`);
      if (first !== undefined) describeModel(first.engine);
      else standardOutput.say("Models   loaded when they are asked for\n");
      manager.observe({ loaded: sayLoaded, loadFailed: sayLoadFailed, unloaded: sayUnloaded });
      if (!isLoopback(server.hostname) && apiKey === undefined) warnOfOpenDoor();
      if (openMcp !== undefined && apiKey === undefined) warnOfTools();
      if (cannotExport) warnOfTelemetry();
      standardOutput.say(`Listening on ${url(server.hostname, server.port)} (Ctrl-C ends)\n`);
      first?.release();
      await server.finished;
      standardOutput.say("Closed.\n");
    } finally {
      await manager.close();
      await Promise.all([standardOutput.flush(FLUSH_MS), standardError.flush(FLUSH_MS)]);
    }
  },
});

/** That replicas are on several devices is said before a model is loaded. */
function checkReplicas({ replicas, device }: Pick<ServeOptions, "replicas" | "device">): void {
  if (!replicas || parseDeviceList(device).length > 1) return;
  throw new UsageError(
    `--replicas: --device ${device} is one device; wanted a list of those that are to have the model each, ` +
      "such as --device cuda:0,1",
    "serve",
  );
}

/** Reports the available tools, and faults of their servers. */
function sayMcp({ tools, servers, notes }: McpTools): void {
  const ready = servers.filter(({ state }) => state === "ready").length;
  standardOutput.say(`MCP      ${tools.length} tools of ${ready} servers, for the page\n`);
  for (const sentence of notes) standardError.say(`${printable(sentence)}\n`);
}

function sayNotice(seconds: number): void {
  standardOutput.say(
    `Ending: new requests are taken for another ${seconds} s, so that load balancers see it in /ready.\n`,
  );
}

function sayDraining(models: Models, seconds: number): void {
  const { running, waiting } = busy(models);
  if (running + waiting === 0) return;
  standardOutput.say(
    `Draining: ${running} running and ${waiting} waiting may take ${seconds} s to finish; a second ` +
      "Ctrl-C ends them.\n",
  );
}

function warnOfOpenDoor(): void {
  warn(
    "everyone who reaches this address can use the model. " +
      "Set M40_API_KEY, or listen on 127.0.0.1.",
  );
}

function warnOfTelemetry(): void {
  warn(
    "OTEL_DENO is set, but this program was compiled without it and exports no traces. " +
      "OTEL_DENO=true deno task compile makes one that does.",
  );
}

function warnOfTools(): void {
  warn(
    "every user of this machine can call the MCP servers' tools. " +
      "Set M40_API_KEY where there are others.",
  );
}

function url(hostname: string, port: number): string {
  const isAny = hostname === "0.0.0.0" || hostname === "::";
  // A client cannot call "any address".
  const host = isAny ? "127.0.0.1" : hostname.includes(":") ? `[${hostname}]` : hostname;
  return `http://${host}:${port}/v1${isAny ? " and this machine's other addresses" : ""}`;
}
