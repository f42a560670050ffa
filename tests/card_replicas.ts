/**
 * Engines whose model is there once per device.
 *
 * @module
 */
import { Engine, type EngineOptions } from "../engine/mod.ts";
import type { Replica } from "../engine/replicas/replica.ts";
import { devicesOf, golden } from "./staged_engines.ts";

/** Runs something with a golden model, or one of a path, on each of so many devices, and closes it. */
export async function withReplicas<T>(
  name: string,
  count: number,
  options: EngineOptions,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await Engine.load(name.includes("/") ? name : golden(name), {
    device: devicesOf(count),
    replicas: count > 1,
    threads: 1,
    ...options,
  });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

/** The replicas that are there. */
export function replicasOf(engine: Engine): readonly Replica[] {
  return engine["copies"]["there"];
}

/** The processes of the devices of those that are there. */
export function processesOf(engine: Engine): number[] {
  return replicasOf(engine).flatMap(({ placed: { cards } }) =>
    cards.map(({ kernels }) => kernels.processId!)
  );
}

/** Steps that each replica has computed. */
export function stepsOf(engine: Engine): number[] {
  return replicasOf(engine).map(({ scheduler }) => scheduler.counts.steps);
}

/** Waits until something holds, for a minute at most. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const start = performance.now();
  while (!holds()) {
    if (performance.now() - start > 60_000) throw new Error(`${what}: not within a minute`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Kills a process in the midst of what it does: it stops first, so that something is under way. Another process does
 * that, as a call that this one makes of it meanwhile returns no sooner.
 */
export async function killBusy(...processes: number[]): Promise<void> {
  const all = processes.join(" ");
  const args = ["-c", `kill -STOP ${all}; sleep 0.05; kill -KILL ${all}`];
  await new Deno.Command("sh", { args }).output();
}

/** Whether a replica was given a step that it has not answered. */
export function isComputing(replica: Replica): boolean {
  return replica.scheduler["underWay"].size > 0;
}
