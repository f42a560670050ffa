import { M40Error } from "../../engine/errors.ts";
import { ConfiguredOverrides } from "../config/mod.ts";
import { type Gguf, type Override, readGguf } from "../../engine/gguf/mod.ts";
import { Estimator } from "../../engine/memory/mod.ts";
import type { StoredModel } from "../../engine/store/mod.ts";
import { assertKnownTokenizer } from "../../engine/tokenizer/mod.ts";
import { type Overview, summarize } from "./model_summary.ts";
import { OverviewCache } from "./overview_cache.ts";

/** A model and what can be said of it, or why its files cannot be read. */
export interface LookedAt {
  readonly model: StoredModel;
  readonly overview?: Overview;
  readonly problem?: string;
}

/** Models, and what the estimates of them are for. */
export interface Looked {
  readonly models: readonly LookedAt[];
  readonly card?: Estimator["card"];
  /** Why nothing is estimated. */
  readonly reason?: string;
}

/**
 * Looks at models, as `m40 serve` reads them. What was found out once is kept, as reading a large vocabulary and
 * planning take a tenth of a second a model.
 */
export async function lookAt(models: readonly StoredModel[]): Promise<Looked> {
  const opened = openEstimator();
  using estimator = "estimator" in opened ? opened.estimator : undefined;
  const cache = await OverviewCache.open(estimator?.signature ?? "");
  const looked: LookedAt[] = [];
  const overrides = await ConfiguredOverrides.read();
  for (const model of models) {
    looked.push(await look(model, overrides.of(model), estimator, cache));
  }
  await cache.save();
  return {
    models: looked,
    card: estimator?.card,
    reason: "reason" in opened ? opened.reason : undefined,
  };
}

function openEstimator(): { estimator: Estimator } | { reason: string } {
  try {
    return { estimator: Estimator.open() };
  } catch (error) {
    if (!(error instanceof M40Error)) throw error;
    return { reason: error.message };
  }
}

async function look(
  model: StoredModel,
  overrides: readonly Override[],
  estimator: Estimator | undefined,
  cache: OverviewCache,
): Promise<LookedAt> {
  const known = await cache.get(model, overrides);
  if (known !== undefined) return { model, overview: known };
  try {
    const gguf = await readGguf(model.path, { anyType: true, overrides });
    const ready = isReady(estimator);
    const overview = overviewOf(gguf, ready ? estimator : undefined);
    if (ready) await cache.set(model, overrides, overview);
    return { model, overview };
  } catch (error) {
    if (!(error instanceof M40Error)) throw error;
    return { model, problem: error.message.replace(`${model.path}: `, "") };
  }
}

/** Whether what there is to estimate with can be used; a GPU may be taken by others for now. */
function isReady(estimator: Estimator | undefined): boolean {
  try {
    estimator?.ready();
    return true;
  } catch (error) {
    if (!(error instanceof M40Error)) throw error;
    return false;
  }
}

function overviewOf(gguf: Gguf, estimator: Estimator | undefined): Overview {
  const { types: _, ...summary } = summarize(gguf);
  try {
    const estimate = estimator?.of(gguf);
    assertKnownTokenizer(gguf.metadata);
    return { ...summary, contextTokens: estimate?.trainedTokens ?? trainedTokens(gguf), estimate };
  } catch (error) {
    if (!(error instanceof M40Error)) throw error;
    const obstacle = error.message.replace(`${gguf.path}: `, "");
    return { ...summary, contextTokens: trainedTokens(gguf), obstacle };
  }
}

/** What the file says that it was trained for, whatever its architecture is. */
function trainedTokens({ metadata }: Gguf): number | undefined {
  const value = metadata.get(`${metadata.get("general.architecture")}.context_length`);
  return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
}
