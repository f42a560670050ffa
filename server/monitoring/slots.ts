import type { Hono } from "hono";
import { z } from "zod";
import { bandwidthOf, togetherOf } from "../../engine/device/mod.ts";
import { knownState } from "../metrics/mod.ts";
import { busy } from "../models/mod.ts";
import {
  type DeviceState,
  type Engine,
  type EngineCard,
  type EngineStatus,
  type Executor,
  EXECUTORS,
  type ReplicaState,
} from "../../engine/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { get } from "../route.ts";

const count = () => z.int().min(0);

/** A model in memory, as `GET /slots` shows it. */
export const ResidentObject = z.strictObject({
  id: z.string(),
  state: z.enum(["loading", "ready", "unloading"]),
  requests: count().describe("Requests that use it."),
  waiting: count().describe("Requests that wait until they may use it."),
  memory_bytes: count().optional().describe(
    "Memory of the device that it takes, where it is loaded.",
  ),
  arithmetic: z.enum(["exact", "packed"]).optional().describe(
    "What its products with quantised weights are computed in, where it is loaded.",
  ),
  expires_in_seconds: z.number().optional().describe(
    "When it is unloaded if it stays unused; absent: not by itself.",
  ),
}).meta({ id: "ModelInMemory" });

/** One sequence, as `GET /slots` shows it. */
export const SlotObject = z.strictObject({
  id: count().describe("In the order of arrival, since its model was loaded."),
  model: z.string(),
  state: z.enum(["waiting", "prefilling", "decoding", "preempted"]),
  prompt_tokens: count(),
  computed_tokens: count().describe(
    "Tokens of prompt and output whose K and V are in its KV blocks.",
  ),
  generated_tokens: count(),
  pages: count(),
  device: z.string().optional().describe(
    "Where its model is on several devices with all of it on each: the one that computes it; absent while it waits for one.",
  ),
  age_seconds: z.number(),
}).meta({ id: "Slot" });
export type SlotObject = z.output<typeof SlotObject>;

const DEVICE_FIELDS = {
  name: z.string(),
  backend: z.string(),
  memory_bytes: z.number().optional(),
  memory_used_bytes: z.number().optional(),
  temperature_celsius: z.number().optional(),
  power_watts: z.number().optional(),
  power_limit_watts: z.number().optional(),
  memory_bytes_per_second: z.number().optional().describe(
    "What its memory gives at most, by its clock and width.",
  ),
  clock_khz: z.number().optional(),
  memory_clock_khz: z.number().optional(),
  utilisation: z.number().optional().describe(
    "The share of the time in which kernels ran, 0 to 1.",
  ),
  rest_share: z.number().optional().describe(
    "The share of the time in which it pauses between steps, 0 to 1; absent where it has no limits.",
  ),
  executors: z.array(z.strictObject({
    executor: z.enum(["auto", "launches", "graphs", "resident"]),
    sequences: z.array(count()),
  })).optional().describe(
    "What steps of so many sequences that decode are run by on a GPU; auto where it is not decided yet.",
  ),
  no_resident: z.string().optional().describe(
    "Why a persistent kernel runs none of them, or not all, where --executor is resident, or auto, which would try it.",
  ),
};

/** The device as it is now; what is not known is absent. */
export const DeviceObject = z.strictObject(DEVICE_FIELDS)
  .meta({ id: "Device", description: "The device as it is now; what is not known is absent." });
export type DeviceObject = z.output<typeof DeviceObject>;

/** One of several devices that a model is on. */
export const CardObject = z.strictObject({
  id: z.string().describe("As it was asked for: cuda:1."),
  first_layer: count().optional().describe(
    "The first and last of the model's layers there; absent where each device has some of each layer, or a replica of the whole model.",
  ),
  last_layer: count().optional(),
  row_share: z.number().optional().describe(
    "Its part of the rows of the model's large products, where these are split over the devices: all devices' together are 1.",
  ),
  model_bytes: count().describe("Memory that the model takes there."),
  state: z.enum(["ready", "lost", "loading"]).optional().describe(
    "Of a replica: whether it computes, is lost, or is loaded again.",
  ),
  reason: z.string().optional().describe(
    "Of a replica that is not ready: what it was lost by, or why it cannot be loaded.",
  ),
  sequences: count().optional().describe("Of a replica: sequences that it was given."),
  losses: count().optional().describe(
    "Of a replica: how often it was lost since its model was loaded.",
  ),
  ...DEVICE_FIELDS,
}).meta({ id: "Card", description: "One of several devices that a model is on." });
export type CardObject = z.output<typeof CardObject>;

/** The disk cache as models in memory see it. */
export const DiskCacheObject = z.strictObject({
  bytes: count().describe("Bytes of all models' files, as far as is known."),
  limit_bytes: count(),
  pages: count().describe("KV blocks of the models in memory."),
  pages_read: count().describe("Since the models were loaded, as are the next three."),
  pages_written: count(),
  pages_damaged: count(),
  failures: count().describe("KV blocks that could not be read or written."),
  writable: z.boolean().describe("Whether KV blocks are still written."),
}).meta({ id: "DiskCache" });

/** The answer of `GET /slots`. */
export const SlotsObject = z.strictObject({
  model: z.string().nullable().describe(
    "The model that was used last; null where none is in memory.",
  ),
  models: z.array(ResidentObject).describe(
    "Those in memory or on their way, the one used last first.",
  ),
  waiting_for_model: count().describe(
    "Requests that wait for a model to be loaded; they count in waiting.",
  ),
  draining: z.boolean(),
  running: count(),
  waiting: count(),
  kv_pages: count().describe("KV blocks of all models in memory, as are the next two."),
  kv_pages_used: count(),
  kv_pages_idle: count().describe("Unused KV blocks, kept for prompts that begin alike."),
  state_slots: count().describe(
    "Slots of recurrent states, of models that keep some; as are the next two. 0 where none does.",
  ),
  state_slots_used: count(),
  state_slots_idle: count().describe("Slots of states that are kept for prompts that begin alike."),
  prefix_tokens_queried: count().describe("Tokens that were looked for in the prefix cache."),
  prefix_tokens_found: count().describe("Those of them that were found."),
  disk_cache: DiskCacheObject.optional().describe("Absent where there is none."),
  preemptions: count(),
  rested_seconds: z.number().describe(
    "Seconds in which steps waited so that the device stayed below --max-temperature and --max-power.",
  ),
  tokens_per_second: z.number().describe(
    "Tokens that all sequences together decoded, a second, in the last ten seconds.",
  ),
  read_bytes_per_second: z.number().describe(
    "Bytes of weights, keys and values that steps read of the device's memory a second, at the least, in the " +
      "last five seconds.",
  ),
  device: DeviceObject.optional().describe(
    "The device of the model that was used last; absent where none is in memory. Where the model is on several, all of them together.",
  ),
  devices: z.array(CardObject).optional().describe(
    "Each of the devices, where the model is on several.",
  ),
  slots: z.array(SlotObject).describe(
    "Those running first, in the order in which they are served.",
  ),
}).meta({ id: "Slots" });
export type SlotsObject = z.output<typeof SlotsObject>;

/** `GET /slots`: what the models are doing, for a person to look at; `m40 ps` prints it. */
export function slotsRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  get(app, "/slots", async (c) => {
    const first = server.models.loaded().find(({ engine }) => engine !== undefined)?.engine;
    const known = first && await devicesOf(first);
    return c.json(slotsObject(server, c.env.drain?.active ?? false, known));
  });
}

/** The keys whose values are numbers. */
type Counts<T> = keyof { [K in keyof T as T[K] extends number ? K : never]: T[K] };

function slotsObject(
  server: ServerContext,
  draining: boolean,
  known: Pick<SlotsObject, "device" | "devices"> = {},
): SlotsObject {
  const { models } = server;
  const residents = models.loaded();
  const engines = residents.flatMap(({ name, engine }) =>
    engine === undefined ? [] : [{ name, engine, status: engine.status() }]
  );
  const sum = (key: Counts<EngineStatus>) =>
    engines.reduce((sum, { status }) => sum + status[key], 0);
  return {
    model: residents[0]?.name ?? null,
    models: residents.map(({ name, state, engine, leases, expiresMs }) => ({
      id: name,
      state,
      requests: leases,
      waiting: models.waiting(name),
      memory_bytes: engine?.plan.totalBytes,
      arithmetic: engine?.arithmetic,
      expires_in_seconds: expiresMs === undefined ? undefined : expiresMs / 1000,
    })),
    waiting_for_model: models.waiting(),
    draining,
    ...busy(models),
    kv_pages: sum("kvBlocks"),
    kv_pages_used: sum("usedKvBlocks"),
    kv_pages_idle: sum("idleKvBlocks"),
    state_slots: sum("slots"),
    state_slots_used: sum("usedSlots"),
    state_slots_idle: sum("idleSlots"),
    prefix_tokens_queried: sum("queriedTokens"),
    prefix_tokens_found: sum("cachedTokens"),
    disk_cache: diskCacheObject(engines.map(({ status }) => status)),
    preemptions: sum("preemptions"),
    rested_seconds: sum("restedMs") / 1000,
    tokens_per_second: server.metrics.tokensPerSecond(),
    read_bytes_per_second: engines.reduce(
      (sum, { name, engine }) => sum + server.metrics.of(name).rate.bytesPerSecond(engine),
      0,
    ),
    ...known,
    slots: engines.flatMap(({ name, engine }) =>
      engine.slots().map((slot) => ({
        id: slot.id,
        model: name,
        state: slot.state,
        prompt_tokens: slot.promptTokens,
        computed_tokens: slot.computedTokens,
        generated_tokens: slot.generatedTokens,
        pages: slot.kvBlocks,
        device: slot.device,
        age_seconds: slot.ageMs / 1000,
      }))
    ),
  };
}

function diskCacheObject(states: readonly EngineStatus[]): SlotsObject["disk_cache"] {
  const disks = states.flatMap(({ disk }) => disk === undefined ? [] : [disk]);
  if (disks.length === 0) return undefined;
  const sum = (key: Counts<typeof disks[number]>) =>
    disks.reduce((sum, disk) => sum + disk[key], 0);
  return {
    // All of them see the same folder, each as it was when it looked last.
    bytes: Math.max(...disks.map(({ bytes }) => bytes)),
    limit_bytes: disks[0].limitBytes,
    pages: sum("kvBlocks"),
    pages_read: sum("readKvBlocks"),
    pages_written: sum("writtenKvBlocks"),
    pages_damaged: sum("damagedKvBlocks"),
    failures: sum("readFailures") + sum("writeFailures"),
    writable: disks.every(({ writes }) => writes),
  };
}

/** Which numbers of sequences are run by what, of 1, 2, ... */
function executorsObject(executors: readonly Executor[]): DeviceObject["executors"] {
  if (executors.length === 0) return undefined;
  return EXECUTORS.map((executor) => ({
    executor,
    sequences: executors.flatMap((one, i) => one === executor ? [i + 1] : []),
  })).filter(({ sequences }) => sequences.length > 0);
}

async function devicesOf(engine: Engine): Promise<Pick<SlotsObject, "device" | "devices">> {
  const { cards, replicas } = engine;
  const rest_share = engine.status().restShare;
  const known = new Map(
    await Promise.all(cards.map(async (card) => [card, await knownOf(card)] as const)),
  );
  const devices = replicas === undefined
    ? cards.map((card) => layersObject(card, { ...known.get(card)!.object, rest_share }))
    : replicas.map((one) => replicaObject(one, one.card && known.get(one.card)?.object));
  const [first] = devices;
  if (devices.length === 1) {
    return { device: { ...known.get(cards[0])!.object, rest_share } };
  }
  const bandwidths = devices.map(({ memory_bytes_per_second }) => memory_bytes_per_second);
  return {
    device: {
      ...stateObject(togetherOf([...known.values()].map(({ state }) => state))),
      name: namesOf(devices.map(({ name }) => name)),
      backend: first.backend,
      memory_bytes_per_second: bandwidths.every((one) => one !== undefined)
        ? bandwidths.reduce((sum, one) => sum + one, 0)
        : undefined,
      rest_share,
    },
    devices,
  };
}

/** What is known of a device now. */
async function knownOf(card: EngineCard): Promise<{ state: DeviceState; object: DeviceObject }> {
  const [state, decode] = await Promise.all([knownState(card), card.decodeExecutors()]);
  const object = {
    ...stateObject(state),
    ...deviceFacts(card.device),
    executors: executorsObject(decode?.executors ?? []),
    no_resident: decode?.noResident || undefined,
  };
  return { state, object };
}

function deviceFacts(device: EngineCard["device"]) {
  const { name, backend } = device;
  return { name, backend, memory_bytes_per_second: bandwidthOf(device) };
}

/** A device that has some of the layers, or some rows of each. */
function layersObject(
  { name, layers, rowShare, memory }: EngineCard,
  object: DeviceObject,
): CardObject {
  const some = layers ? { first_layer: layers[0], last_layer: layers[1] } : { row_share: rowShare };
  return { id: name, ...some, model_bytes: memory.totalBytes, ...object };
}

/** A device that has a replica. */
function replicaObject(replica: ReplicaState, object?: DeviceObject): CardObject {
  const { name, device, memory, state, reason, sequences, losses, restShare } = replica;
  return {
    ...{ id: name, state, reason, sequences, losses },
    model_bytes: memory.totalBytes,
    ...(object ?? deviceFacts(device)),
    rest_share: restShare,
  };
}

function stateObject(state: DeviceState) {
  return {
    memory_bytes: state.memoryBytes,
    memory_used_bytes: state.usedBytes,
    temperature_celsius: state.temperatureCelsius,
    power_watts: state.powerWatts,
    power_limit_watts: state.powerLimitWatts,
    clock_khz: state.clockKhz,
    memory_clock_khz: state.memoryClockKhz,
    utilisation: state.utilisation,
  };
}

/** Names, each once with how often it is there: "2 Tesla M40, GeForce GTX 1080". */
function namesOf(names: readonly string[]): string {
  return [...Map.groupBy(names, (name) => name)]
    .map(([name, { length }]) => length === 1 ? name : `${length} ${name}`)
    .join(", ");
}
