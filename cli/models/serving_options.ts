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
    "Models in memory at the same time, if they fit",
    { default: 1 },
  ),
  "keep-alive": option(
    keepAlive(),
    "How long an unused model stays in memory, unless a request sets it; 0: not at all, -1 (default): " +
      "until another one needs its memory",
  ),
  "idle-unload": option(
    number({ min: 0, max: 2_000_000, above: true }),
    "Seconds without any request after which every model is unloaded",
  ),
  config: option(
    text("FILE", FILES),
    "Models, aliases and options in a file; default: $M40_CONFIG, else m40/m40.toml in $XDG_CONFIG_HOME or " +
      "~/.config, if it exists",
  ),
  host: option(text("ADDRESS"), "Where to listen; 0.0.0.0 is every network", {
    default: "127.0.0.1",
  }),
  port: option(integer(0, 65535), "The port; 0 takes any that is free", { default: 11434 }),
  "api-key": option(
    text("KEY"),
    "The key that clients must send; other users of the machine cannot see it in $M40_API_KEY",
  ),
  parallel: option(
    integer(1, 256),
    "Sequences that run at the same time; default: 32 on a GPU, 4 on the CPU, fewer for models with " +
      "large recurrent states",
  ),
  replicas: flag(
    "Load the whole model on each GPU of --device cuda:0,1. A request goes to the GPU with its prefix in the KV cache, " +
      "else to the least busy one. Options of a device, such as --parallel, hold for each",
  ),
  "max-queue": option(
    integer(0, 1_000_000),
    "Sequences that may wait; more are refused with 429",
    { default: 64 },
  ),
  timeout: option(
    number({ min: 0, max: 2_000_000, above: true }),
    "Seconds that a request may take, its time in the queue included; default: no limit",
  ),
  drain: option(
    number({ min: 0, max: 2_000_000 }),
    "Seconds that running answers get to finish when the server ends",
    { default: 30 },
  ),
  "drain-notice": option(
    number({ min: 0, max: 3600 }),
    "Seconds before that in which /ready says 503 and requests are still taken: time for load balancers to " +
      "notice",
    { default: 0 },
  ),
  "hold-streams": option(
    number({ min: 0, max: 3600 }),
    "Seconds to hold a stream's response head until its first token, so that a load balancer can retry it on " +
      "another server",
    { default: 0 },
  ),
  "agent-port": option(
    integer(1, 65535),
    "A second port, for HAProxy's agent check; default: none",
  ),
  "max-connections": option(
    integer(1, 1_000_000),
    "Open connections at most; default: as many as there are file descriptors for, up to 1024",
  ),
  cors: repeatable(
    origin(),
    "An origin whose web pages may call the server, such as https://example.com; *: all",
  ),
  "allowed-host": repeatable(
    hostName(),
    "A host name that a server without a key answers to, in addition to its addresses and names of the local " +
      "network; *: all",
  ),
  "allow-store-changes": flag(
    "Let clients pull, copy, create and delete models (Ollama's /api/pull, copy, create and delete)",
  ),
  ...MCP_OPTIONS,
  reasoning: option(
    choice("separate", "inline"),
    "Where reasoning goes: into a field of its own, or into the answer's content",
    { default: "separate" },
  ),
  "reasoning-budget": option(
    integer(0, 2 ** 31 - 1),
    "Tokens of reasoning at most, unless a request sets it; default: no limit",
  ),
  "max-temperature": option(
    number({ min: 30, max: 120 }),
    "Degrees Celsius to keep the GPU below, by pauses between steps; default: none",
  ),
  "max-power": option(
    number({ min: 20, max: 2000 }),
    "Watts to keep the GPU below, in the same way; default: none",
  ),
  "prefill-share": option(
    number({ min: 0, max: 1 }),
    "The share of a GPU for prefill while other sequences decode, 0 to 1; alone, prefill takes all of it. " +
      "0: chunked prefill, see --chunk-ms",
    { default: DEFAULT_PREFILL_SHARE },
  ),
  "chunk-ms": option(
    integer(1, 60_000),
    "Milliseconds that a chunk of a prompt may delay decoding sequences: on the CPU, on several cards, and with " +
      "--prefill-share 0",
    { default: 50 },
  ),
  "run-steps": option(
    integer(1, 1024),
    "Decode steps that the device does by itself while no sequence comes or goes; 1: each step waits for the host",
    { default: 32 },
  ),
  "host-cache": option(
    integer(0, 2 ** 24),
    "MiB of host memory for preempted sequences; 0: recompute them; default: as much as KV cache and states " +
      "take, up to 2048 and half of the free memory",
  ),
  ...DISK_CACHE_OPTIONS,
  "in-process": flag(
    "Run native code in the server's own process: if it crashes, the server ends; saves some " +
      "10 microseconds a token",
  ),
  ...MODEL_OPTIONS,
  ...CHAT_OPTIONS,
  ...PULL_OPTION,
};

/** Their values. */
export type ServeOptions = OptionValues<typeof SERVE_OPTIONS>;
