import { NONE, type POWER_LIMIT, type StructOf } from "./structs.ts";

/** A device's power limit, and what became of setting it. */
export interface PowerLimit {
  /** 0 where it was read and set, else why not (nvmlReturn_t: 4 no permission); absent without a driver to ask. */
  readonly code?: number;
  /** What was set before. */
  readonly beforeWatts?: number;
  /** What can be set. */
  readonly leastWatts?: number;
  readonly mostWatts?: number;
}

/** A power limit, its units those of the rest. */
export function readPowerLimit(limit: StructOf<typeof POWER_LIMIT>): PowerLimit {
  const watts = (milliwatts: number) => milliwatts === NONE ? undefined : milliwatts / 1000;
  return {
    code: limit.code === NONE ? undefined : limit.code,
    beforeWatts: watts(limit.before_milliwatts),
    leastWatts: watts(limit.least_milliwatts),
    mostWatts: watts(limit.most_milliwatts),
  };
}
