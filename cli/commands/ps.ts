import type { CardObject, DeviceObject, SlotsObject } from "../../server/mod.ts";
import { M40Error } from "../../engine/errors.ts";
import { apiKeyOf, type Command, command, flag, integer, option, text } from "../arguments/mod.ts";
import {
  formatBytes,
  formatRowShare,
  headedTable,
  printable,
  write,
  writeJson,
} from "../terminal/mod.ts";

/** How long a server may take to answer, in milliseconds. */
const TIMEOUT_MS = 5000;

/** `m40 ps`. */
export const ps: Command = command({
  name: "ps",
  summary: "Show what a running server is doing",
  description:
    "The sequences that a server computes and those that wait, in the order in which they are served, how " +
    "full its KV cache is, and what its device is doing.",
  arguments: [],
  options: {
    host: option(text("ADDRESS"), "Where the server listens", { default: "127.0.0.1" }),
    port: option(integer(1, 65535), "Its port", { default: 11434 }),
    "api-key": option(text("KEY"), "The server's key, if it has one; default $M40_API_KEY"),
    json: flag("Write a JSON object"),
  },
  examples: {
    "m40 ps": "What the server on this machine does",
    "m40 ps --json | jq .tokens_per_second": "For a script",
  },
  async run(_words, options) {
    const key = apiKeyOf(options["api-key"], "ps");
    const slots = await ask(options.host, options.port, key);
    await (options.json ? writeJson(slots) : write(asText(slots)));
  },
});

/** Asks a server; fails with what to do. */
async function ask(host: string, port: number, key: string | undefined): Promise<SlotsObject> {
  const address = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const headers = key === undefined ? undefined : { Authorization: `Bearer ${headerText(key)}` };
  let response: Response;
  let body: string;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    response = await fetch(`${address}/slots`, { headers, signal });
    body = await response.text();
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") {
      throw new M40Error("io", `${address} did not answer within ${TIMEOUT_MS / 1000} s.`);
    }
    throw new M40Error(
      "io",
      `No server answers at ${address}. Start one with \`m40 serve --model NAME\`, or say where it is ` +
        "with --host and --port.",
    );
  }
  if (response.status === 401) {
    throw new M40Error(
      "invalid_request",
      `The server at ${address} wants its API key: pass --api-key KEY, or set M40_API_KEY.`,
    );
  }
  const slots = response.ok ? parse(body) : undefined;
  if (slots === undefined) {
    throw new M40Error(
      "io",
      `${address}/slots answered with status ${response.status} and not as a server of this version of ` +
        "m40 does. Is another program listening there?",
    );
  }
  return slots;
}

/** A text as a header carries it: a character for each of its bytes in UTF-8. */
function headerText(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

/** The answer, where it is one. */
function parse(body: string): SlotsObject | undefined {
  try {
    const value = JSON.parse(body) as SlotsObject | null;
    return typeof value === "object" && Array.isArray(value?.slots) && Array.isArray(value.models)
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

function asText(slots: SlotsObject): string {
  const { running, waiting, kv_pages, kv_pages_used, prefix_tokens_queried } = slots;
  const found = prefix_tokens_queried === 0
    ? "none asked for yet"
    : `${percent(slots.prefix_tokens_found / prefix_tokens_queried)} of tokens found`;
  const cache = kv_pages === 0
    ? ""
    : `; KV cache ${percent(kv_pages_used / kv_pages)} (${kv_pages_used} of ${kv_pages} KV blocks)`;
  // A server of another version may not say.
  const states = slots.state_slots > 0
    ? `; states in ${slots.state_slots_used} of ${slots.state_slots} slots`
    : "";
  const summary =
    `${
      describeModels(slots)
    }: ${running} running, ${waiting} waiting${cache}${states}; prefixes: ` +
    `${found}; ${slots.tokens_per_second.toFixed(1)} tokens/s${
      slots.draining ? "; draining" : ""
    }\n` +
    describeDiskCache(slots) + describeDevices(slots);
  if (slots.slots.length === 0) return summary;
  const several = slots.models.length > 1;
  const replicas = slots.slots.some(({ device }) => device !== undefined);
  const rows = slots.slots.map((slot) => [
    String(slot.id),
    ...(several ? [printable(slot.model)] : []),
    printable(slot.state),
    ...(replicas ? [printable(slot.device ?? "-")] : []),
    String(slot.prompt_tokens),
    String(slot.computed_tokens),
    String(slot.generated_tokens),
    String(slot.pages),
    `${slot.age_seconds.toFixed(1)} s`,
  ]);
  const words = [...several ? ["MODEL"] : [], "STATE", ...replicas ? ["DEVICE"] : []];
  const head = ["ID", ...words, "PROMPT", "COMPUTED", "GENERATED", "BLOCKS", "AGE"];
  const numbers = head.flatMap((name, i) => words.includes(name) ? [] : [i]);
  return headedTable([head, ...rows], numbers) + summary;
}

/** The models in memory, and when they go. */
function describeModels({ models }: SlotsObject): string {
  if (models.length === 0) return "no model in memory";
  return models.map(({ id, state, arithmetic = "exact", expires_in_seconds }) => {
    const notes = [
      ...(state === "ready" ? [] : [state]),
      ...(arithmetic === "exact" ? [] : [`${arithmetic} arithmetic`]),
      ...(expires_in_seconds === undefined ? [] : [`for ${Math.ceil(expires_in_seconds)} s`]),
    ];
    return printable(id) + (notes.length === 0 ? "" : ` (${notes.join(", ")})`);
  }).join(", ");
}

/** A line for the disk cache, where there is one. */
function describeDiskCache({ disk_cache: disk }: SlotsObject): string {
  if (disk === undefined) return "";
  const failures = disk.failures === 0 ? "" : `, ${disk.failures} failures`;
  return `disk cache: ${formatBytes(disk.bytes)} of ${formatBytes(disk.limit_bytes)}; KV blocks: ` +
    `${disk.pages_read} read, ${disk.pages_written} written${failures}` +
    `${disk.writable ? "" : "; nothing more is written"}\n`;
}

/** A line for the device, or for each of several. */
function describeDevices({ device, devices }: SlotsObject): string {
  if (devices === undefined) return device === undefined ? "" : describeDevice(device);
  return devices.map((one) => `${printable(one.id)}, ${describePart(one)}: ${describeDevice(one)}`)
    .join("");
}

/** What one of several devices has of the model. */
function describePart(
  { first_layer, last_layer, row_share, model_bytes, ...replica }: CardObject,
): string {
  const { state, reason, sequences, losses } = replica;
  if (first_layer !== undefined) {
    return `layers ${first_layer} to ${last_layer}, ${formatBytes(model_bytes)}`;
  }
  if (row_share !== undefined) return `${formatRowShare(row_share)}, ${formatBytes(model_bytes)}`;
  const lost = losses ? `, lost ${losses === 1 ? "once" : `${losses} times`}` : "";
  if (state === "ready") {
    const count = sequences === 1 ? "1 sequence" : `${sequences} sequences`;
    return `${count}, ${formatBytes(model_bytes)}${lost}`;
  }
  const what = state === "loading" ? "being loaded again" : "lost";
  return `${what}${reason === undefined ? "" : ` (${printable(reason)})`}`;
}

/** What is known of a device, in a line. */
function describeDevice(device: DeviceObject): string {
  const {
    temperature_celsius,
    power_watts,
    power_limit_watts,
    clock_khz,
    utilisation,
    rest_share,
    executors = [],
    no_resident,
  } = device;
  const { memory_bytes, memory_used_bytes } = device;
  const limit = power_limit_watts === undefined ? "" : ` of ${power_limit_watts.toFixed(0)}`;
  const facts: string[] = [];
  if (memory_bytes !== undefined && memory_used_bytes !== undefined) {
    facts.push(`${formatBytes(memory_used_bytes)} of ${formatBytes(memory_bytes)} in use`);
  }
  if (temperature_celsius !== undefined) facts.push(`${temperature_celsius} °C`);
  if (power_watts !== undefined) facts.push(`${power_watts.toFixed(0)}${limit} W`);
  if (clock_khz !== undefined) facts.push(`${Math.round(clock_khz / 1000)} MHz`);
  if (utilisation !== undefined) facts.push(`${percent(utilisation)} busy`);
  if (rest_share !== undefined) {
    facts.push(
      rest_share === 0
        ? "below its limits"
        : `at its limit: pauses ${percent(rest_share)} of the time`,
    );
  }
  for (const { executor, sequences } of executors) {
    if (executor !== "auto") facts.push(`${executor} for ${ranges(sequences)} at once`);
  }
  if (no_resident !== undefined) {
    facts.push(`not all by a persistent kernel: ${printable(no_resident)}`);
  }
  const state = facts.length === 0 ? "" : `: ${facts.join(", ")}`;
  return `${printable(device.name)} (${printable(device.backend)})${state}\n`;
}

/** Rising numbers: "1 to 4, 8". */
function ranges(numbers: readonly number[]): string {
  const parts: [first: number, last: number][] = [];
  for (const number of numbers) {
    const part = parts[parts.length - 1];
    if (part !== undefined && part[1] === number - 1) part[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([first, last]) => first === last ? `${first}` : `${first} to ${last}`)
    .join(", ");
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)}%`;
}
