import {
  choice,
  DISK_CACHE_OPTIONS,
  FILES,
  flag,
  hostName,
  integer,
  keepAlive,
  MCP_OPTIONS,
  MODELS,
  number,
  option,
  type OptionValues,
  origin,
  repeatable,
  text,
} from "../arguments/mod.ts";
import { DEFAULT_PREFILL_SHARE } from "../../engine/scheduler/mod.ts";
import { PULL_OPTION } from "./missing_model.ts";
import { CHAT_OPTIONS, MODEL_OPTIONS } from "./model_options.ts";

/** What `m40 serve` takes. */
export const SERVE_OPTIONS = {
  model: option(
    text("MODEL", MODELS),
    "The model of requests that name none, loaded at once: its name (m40 list) or the path of a GGUF file; " +
      "default: the one used last",
    { short: "m" },
  ),
  models: option(
    integer(1, 64),
    "Models that may be in memory at the same time, where they fit",
    { default: 1 },
  ),
  "keep-alive": option(
    keepAlive(),
    "How long an unused model stays in memory, where a request does not say; 0: not at all, -1: " +
      "until another one needs its place, which is the default",
  ),
  "idle-unload": option(
    number({ min: 0, max: 2_000_000, above: true }),
    "Seconds without any request after which no model stays in memory, and nothing on the card",
  ),
  config: option(
    text("FILE", FILES),
    "Models, aliases and options in a file; default: $M40_CONFIG, else m40/m40.toml in $XDG_CONFIG_HOME or " +
      "~/.config, where there is one",
  ),
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
    "Sequences that run at the same time; default: 32 on a GPU, 4 on the CPU, fewer of a model whose layers keep " +
      "large states",
  ),
  replicas: flag(
    "Each of the devices of --device cuda:0,1 has the whole model, where it fits: requests go where their prefix " +
      "is in the KV cache, else where there is least to do; what holds for a device, such as --parallel, holds for each",
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
    "Seconds that running answers may take to finish when the server is asked to end",
    { default: 30 },
  ),
  "drain-notice": option(
    number({ min: 0, max: 3600 }),
    "Seconds that the server goes on taking requests when it is asked to end, while /ready already says that it " +
      "drains: time for load balancers to notice",
    { default: 0 },
  ),
  "hold-streams": option(
    number({ min: 0, max: 3600 }),
    "Seconds that a stream may take to begin before its head leaves, so that a load balancer can bring to another " +
      "server what has not started",
    { default: 0 },
  ),
  "agent-port": option(
    integer(1, 65535),
    "A second port, that reports to HAProxy's agent check how much this server can take; default: none",
  ),
  "max-connections": option(
    integer(1, 1_000_000),
    "Connections that may be open at the same time; default: as many as the system gives descriptors " +
      "for, up to 1024",
  ),
  cors: repeatable(
    origin(),
    "Origins with web pages that may call the server, such as https://example.com; * is all",
  ),
  "allowed-host": repeatable(
    hostName(),
    "Names under which requests may reach the server, in addition to its addresses and names of the local network, where " +
      "no key keeps web pages away; * is all",
  ),
  "allow-store-changes": flag(
    "Let clients pull, copy and delete models of the models directory (Ollama's /api/pull, copy and delete)",
  ),
  ...MCP_OPTIONS,
  reasoning: option(
    choice("separate", "inline"),
    "Whether a model's reasoning is separated from its answer or left in it",
    { default: "separate" },
  ),
  "reasoning-budget": option(
    integer(0, 2 ** 31 - 1),
    "Tokens of reasoning at most, where a request does not say; default: no limit",
  ),
  "max-temperature": option(
    number({ min: 30, max: 120 }),
    "Degrees Celsius that the GPU is held to: it pauses between steps before its hardware lowers the clocks; " +
      "default: none",
  ),
  "max-power": option(
    number({ min: 20, max: 2000 }),
    "Watts that the GPU is held to in the same way; default: none",
  ),
  "prefill-share": option(
    number({ min: 0, max: 1 }),
    "The share of a GPU that a new prompt takes while answers run, both at the same time, 0 to 1; alone it takes all. " +
      "0 computes prompts in chunks between the answers' tokens, as --chunk-ms says",
    { default: DEFAULT_PREFILL_SHARE },
  ),
  "chunk-ms": option(
    integer(1, 60_000),
    "The longest that a chunk of a new prompt may hold up the answers that run, in milliseconds, where the two are " +
      "not computed at the same time: on the CPU, on several cards, with --prefill-share 0",
    { default: 50 },
  ),
  "run-steps": option(
    integer(1, 1024),
    "Steps at most that the device goes from token to token by itself, while no sequence comes or goes; 1: each waits for " +
      "the host",
    { default: 32 },
  ),
  "host-cache": option(
    integer(0, 2 ** 24),
    "MiB of host memory for preempted sequences when the KV cache is full; default: as much as KV cache and " +
      "states have, up to 2048",
  ),
  ...DISK_CACHE_OPTIONS,
  "in-process": flag(
    "Run the device's native code in the server's own process, which then ends where that code fails; saves some " +
      "10 microseconds a token",
  ),
  ...MODEL_OPTIONS,
  ...CHAT_OPTIONS,
  ...PULL_OPTION,
};

/** Their values. */
export type ServeOptions = OptionValues<typeof SERVE_OPTIONS>;
