import { architectureOf, type Engine, M40Error, readGguf } from "../../engine/mod.ts";
import { diskCacheOf } from "../arguments/mod.ts";
import {
  type ExtraOptions,
  loadStored,
  sayFallback,
  sayObserverError,
  storedOrPulled,
} from "../models/mod.ts";
import { printable, warn } from "../terminal/mod.ts";
import { parseDeviceList } from "../../engine/device/mod.ts";
import { Catalogue, ModelManager } from "../../engine/manager/mod.ts";
import type { StoredModel } from "../../engine/store/mod.ts";
import { standardError } from "../../server/output/mod.ts";
import { ManagedModels } from "../../server/mod.ts";
import { ChosenGpu } from "./chosen_gpu.ts";
import type { ServeSettings } from "./settings.ts";

/** A model that shares the device with others has room for this many tokens at least, where it has no --ctx. */
const LEAST_SHARED_CONTEXT = 4096;

/** The models of `m40 serve`. */
export interface ServedModels {
  readonly models: ManagedModels;
  readonly manager: ModelManager<Engine>;
  /** The model of requests that name none. */
  readonly main?: string;
}

/**
 * The models that the command line and the file name, and those of the store; none is loaded.
 *
 * @throws {M40Error} "model_not_found" for the model that is served where a request names none.
 */
export async function servedModels(settings: ServeSettings): Promise<ServedModels> {
  const { server, config } = settings;
  const own = new Map<string, string>();
  for (const [name, { place }] of config.models) own.set(name, place ?? name);
  const main = server.model === undefined ? undefined : await mainModel(settings, own);
  const catalogue = new Catalogue({
    own,
    aliases: config.aliases,
    stored: !server.only,
    overridesOf: (name) => settings.model(name).override,
  });
  const chosen = new ChosenGpu();
  const manager = new ModelManager<Engine>({
    models: server.models,
    maxWaiting: server["max-queue"],
    keepAliveMs: (name) => settings.model(name)["keep-alive"] ?? Infinity,
    idleMs: server["idle-unload"] && server["idle-unload"] * 1000,
    check: async (name) => {
      const stored = await catalogue.find(name);
      const overrides = catalogue.overridesOf(stored.name);
      await unseen(
        stored,
        async () => void architectureOf(await readGguf(stored.path, { overrides })),
      );
    },
    load: async (name, others) => {
      const stored = await catalogue.find(name);
      return await unseen(stored, () => load(settings, stored, others, chosen));
    },
    onError: sayManagerError,
  });
  return { models: new ManagedModels(manager, catalogue, main), manager, main };
}

/** The name of the model of `--model`, which is added to those with names of their own where the store has it not. */
async function mainModel(settings: ServeSettings, own: Map<string, string>): Promise<string> {
  const { model, pull, replicas, only } = settings.server;
  // A replica has all of the model: it is one device that it must fit.
  const device = replicas ? parseDeviceList(settings.server.device)[0] : settings.server.device;
  const named = settings.config.aliases.get(model!) ?? model!;
  if (own.has(named)) return named;
  const stored = await storedOrPulled(named, { pull, device });
  const inStore = stored.origin === "store" || stored.origin === "built-in";
  if (!inStore || only) own.set(stored.name, stored.origin === "path" ? stored.path : named);
  return stored.name;
}

/**
 * Loads a model, with room for the others that may be loaded with it. It gets its share of the device's memory where
 * that is enough, else what the loaded ones leave.
 */
async function load(
  settings: ServeSettings,
  stored: StoredModel,
  others: number,
  chosen: ChosenGpu,
): Promise<Engine> {
  const own = settings.model(stored.name);
  const options = { ...own, device: chosen.meantBy(own.device) };
  const hostCache = options["host-cache"];
  const extra: ExtraOptions = {
    parallel: options.parallel,
    replicas: options.replicas,
    onReplica: (message) => standardError.say(`${printable(message)}\n`),
    maxQueue: settings.server["max-queue"],
    chunkMs: options["chunk-ms"],
    runSteps: options["run-steps"],
    prefillShare: options["prefill-share"],
    hostCacheBytes: hostCache && hostCache * 2 ** 20,
    diskCache: diskCacheOf(settings.server),
    deviceProcess: !settings.server["in-process"],
    defaults: settings.configured(stored.name)?.defaults,
    maxTemperatureCelsius: settings.server["max-temperature"],
    maxPowerWatts: settings.server["max-power"],
    onPace: (message) => standardError.say(`${printable(message)}\n`),
    onExecutor: (message) => standardError.say(`${printable(message)}\n`),
    onFallback: sayFallback,
    onChosen: (device) => chosen.take(device),
    onObserverError: sayObserverError,
  };
  const { models } = settings.server;
  const shared = { ...extra, leastContextTokens: LEAST_SHARED_CONTEXT };
  if (models > 1) {
    try {
      return await loadStored(stored, options, { ...shared, memoryShare: 1 / models });
    } catch (error) {
      if (!(error instanceof M40Error) || error.code !== "out_of_memory") throw error;
    }
  }
  return await loadStored(stored, options, others > 0 ? shared : extra);
}

/**
 * Replaces folders with the model's name in errors about its files: clients see these errors, and folders mean nothing
 * to them.
 */
async function unseen<T>({ name, files }: StoredModel, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof M40Error)) throw error;
    const message = files.reduce((text, file) => text.replaceAll(file, name), error.message);
    throw new M40Error(error.code, message, error.param);
  }
}

function sayManagerError(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  warn(`while a model was loaded or unloaded: ${reason}`);
}
