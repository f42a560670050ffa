import { parseDeviceList } from "../../engine/device/mod.ts";
import { FitDevice } from "../../engine/memory/mod.ts";
import { resolveModel, type StoredModel } from "../../engine/store/mod.ts";
import { M40Error, readGguf } from "../../engine/mod.ts";
import type { ServeSettings } from "./settings.ts";

/**
 * Ensures that the contexts that the file asks for are possible: a model that is loaded on demand would report it to a
 * client, which can do nothing about it. Models that are not here yet, or are split, say it when they come.
 *
 * @throws {M40Error} For a context that a model was not trained for, or that the device has no memory for.
 */
export async function checkContexts(settings: ServeSettings): Promise<void> {
  for (const [name, { place, options }] of settings.config.models) {
    // What holds for all models was not asked of this one.
    if (options.ctx === undefined) continue;
    const { ctx, device, "kv-type": kvType, arithmetic, override: overrides } = settings.model(
      name,
    );
    if (ctx === undefined || parseDeviceList(device).length > 1) continue;
    const stored = await storedModel(place ?? name);
    if (stored === undefined) continue;
    try {
      const gguf = await readGguf(stored.path, { overrides });
      using opened = FitDevice.open(device);
      opened.checkContext(gguf, ctx, { kvType, arithmetic });
    } catch (error) {
      if (!(error instanceof M40Error) || !ABOUT_CONTEXTS.has(error.code)) continue;
      const key = error.param === "override" ? "override" : "ctx";
      throw new M40Error(
        error.code,
        `${settings.config.path}: models.${name}.${key}: ${error.message}`,
        error.param,
      );
    }
  }
}

/** What else is wrong with a model is said when it is asked for: the others are served all the same. */
const ABOUT_CONTEXTS: ReadonlySet<string> = new Set(["invalid_request", "out_of_memory"]);

async function storedModel(name: string): Promise<StoredModel | undefined> {
  try {
    return await resolveModel(name);
  } catch (error) {
    if (error instanceof M40Error) return undefined;
    throw error;
  }
}
