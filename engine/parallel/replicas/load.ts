import type { EngineOptions } from "../../engine_options.ts";
import { asM40Error, M40Error } from "../../errors.ts";
import { assertUnchanged } from "../../gguf/mod.ts";
import {
  type KvBlockStores,
  type ModelSource,
  type PlacedModel,
  planModel,
  type PlannedModel,
  type Shared,
} from "../../loading/mod.ts";

/** Open devices for one copy of a model each. Either {@link place} these or {@link close} the devices. */
export interface PlannedReplicas {
  /** Tokens that a sequence may have on any of them. */
  readonly contextTokens: number;
  /** Puts the model on each; where that fails on one, nothing is left on any. */
  place(): Promise<PlacedReplica[]>;
  close(): Promise<void>;
}

/** A copy of a model on a device. */
export interface PlacedReplica {
  /** What the device is called; one that is named twice has a number more. */
  readonly name: string;
  readonly placed: PlacedModel;
  /** Puts the model there once more, when this one is closed; fails soon where that is not wanted any more. */
  readonly again: (signal: AbortSignal) => Promise<PlacedModel>;
}

/**
 * Opens devices, each for a copy of a model of its own. The file's weights are read for all of them at the same time.
 *
 * @throws {M40Error} As `planModel` does, with the device's name; "invalid_request" where there are fewer than two.
 */
export async function planReplicas(
  source: ModelSource,
  devices: readonly string[],
  options: EngineOptions,
): Promise<PlannedReplicas> {
  if (devices.length < 2) {
    throw new M40Error(
      "invalid_request",
      `replicas are wanted, and device ${
        JSON.stringify(devices[0])
      } is one device; wanted a list of those that ` +
        "are to have the model each, as cuda:0,1",
      "replicas",
    );
  }
  const names = calledApart(devices);
  const stores: KvBlockStores = new Map();
  const shared: Shared = { copies: devices.length, stores };
  const results = await Promise.allSettled(
    devices.map((device, i) => named(names[i], () => planModel(source, [device], options, shared))),
  );
  const planned = results.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  const close = async () => void await Promise.all(planned.map((one) => one.close()));
  const failed = results.find((one) => one.status === "rejected");
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  const contextTokens = Math.min(...planned.map(({ plan }) => plan.contextTokens));
  return {
    contextTokens,
    close,
    async place() {
      const placed = await placeAll(planned, names, options.onProgress);
      return placed.map((placed, i) => ({
        name: names[i],
        placed,
        async again(signal) {
          // What was promised for requests holds.
          const asked = { ...options, contextTokens, onProgress: undefined };
          const planned = await planModel(source, [devices[i]], asked, shared);
          const placed = await planned.place(() => signal.throwIfAborted());
          try {
            // After its weights were read, from a file that may have been replaced meanwhile.
            await assertUnchanged(source.gguf);
          } catch (error) {
            await planned.close();
            throw error;
          }
          return placed;
        },
      }));
    },
  };
}

/** Puts the model on all of them at the same time. */
async function placeAll(
  planned: readonly PlannedModel[],
  names: readonly string[],
  onProgress: (done: number, total: number) => void = () => {},
): Promise<PlacedModel[]> {
  const done = planned.map(() => 0);
  const results = await Promise.allSettled(
    planned.map((one, i) =>
      named(names[i], () =>
        one.place((bytes, total) => {
          done[i] = bytes;
          onProgress(done.reduce((sum, bytes) => sum + bytes, 0), planned.length * total);
        }))
    ),
  );
  const failed = results.find((one) => one.status === "rejected");
  if (failed === undefined) {
    return results.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  }
  await Promise.all(planned.map((one) => one.close()));
  throw failed.reason;
}

/** Adds the device's name to its errors. */
async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message, param } = asM40Error(error);
    throw new M40Error(code, `${name}: ${message}`, param);
  }
}

/** Names that tell devices apart: the CPU may be listed more than once. */
function calledApart(devices: readonly string[]): string[] {
  return devices.map((name, i) => {
    const before = devices.slice(0, i).filter((one) => one === name).length;
    return before === 0 ? name : `${name} (${before + 1})`;
  });
}
