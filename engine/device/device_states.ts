import type { DeviceState } from "./library.ts";

/** What several devices take together. Of what is not summed, temperature and clocks, it is the highest. */
export function togetherOf(states: readonly DeviceState[]): DeviceState {
  if (states.length === 1) return states[0];
  return {
    ...highestOf(states),
    memoryBytes: sum(states, "memoryBytes"),
    usedBytes: sum(states, "usedBytes"),
    freeBytes: sum(states, "freeBytes"),
    powerWatts: sum(states, "powerWatts"),
    powerLimitWatts: sum(states, "powerLimitWatts"),
    energyJoules: sum(states, "energyJoules"),
  };
}

/** The highest of each value that several devices report: a limit of each device then holds for all. */
export function highestOf(states: readonly DeviceState[]): DeviceState {
  if (states.length === 1) return states[0];
  const keys = new Set(states.flatMap((state) => Object.keys(state) as (keyof DeviceState)[]));
  return Object.fromEntries([...keys].map((key) => {
    const known = states.map((state) => state[key]).filter((value) => value !== undefined);
    return [key, known.length === 0 ? undefined : Math.max(...known)];
  }));
}

/** Undefined where one of them does not say. */
function sum(states: readonly DeviceState[], key: keyof DeviceState): number | undefined {
  const values = states.map((state) => state[key]);
  return values.every((value) => value !== undefined)
    ? values.reduce((total, value) => total + value, 0)
    : undefined;
}
