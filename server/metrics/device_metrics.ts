import type { DeviceState, Engine, EngineCard, Executor } from "../../engine/mod.ts";
import type { MetricRegistry } from "./registry.ts";

/** What the device does now, in Prometheus's base units. What is not known is absent. */
const GAUGES: readonly [
  name: string,
  help: string,
  value: (state: DeviceState) => number | undefined,
][] = [
  ["memory_total_bytes", "Memory of the device.", (state) => state.memoryBytes],
  ["memory_used_bytes", "Memory of the device that programs hold.", (state) => state.usedBytes],
  ["memory_free_bytes", "Memory of the device that no program holds.", (state) => state.freeBytes],
  ["temperature_celsius", "Temperature of the GPU.", (state) => state.temperatureCelsius],
  ["power_watts", "Power that the GPU uses.", (state) => state.powerWatts],
  [
    "power_limit_watts",
    "Power at which the driver lowers the GPU's clocks.",
    (state) => state.powerLimitWatts,
  ],
  ["clock_hertz", "Clock of the GPU's multiprocessors.", (state) => hertz(state.clockKhz)],
  ["memory_clock_hertz", "Clock of the GPU's memory.", (state) => hertz(state.memoryClockKhz)],
  [
    "utilisation_ratio",
    "The share of the time in which kernels ran on the GPU; 1 is all of it.",
    (state) => state.utilisation,
  ],
];

/** The device's own metrics: memory, temperature, power, clocks, and what runs steps on it. */
export class DeviceMetrics {
  private cards: readonly KnownCard[] = [];

  constructor(registry: MetricRegistry) {
    for (const [name, help, value] of GAUGES) {
      registry.gauges(
        `m40_device_${name}`,
        help,
        ["device"],
        () =>
          this.cards.flatMap(({ label, state }) => {
            const known = value(state);
            return known === undefined ? [] : [[label, known] as const];
          }),
      );
    }
    registry.gauges(
      "m40_decode_executors",
      "Of how many numbers of sequences, from 1 to --parallel, the steps that decode are run by what; auto is not decided yet.",
      ["executor", "device"],
      () => this.cards.flatMap(countsOf),
    );
  }

  /** Asks the driver; what is read afterwards is as new as that. Without an engine nothing is known. */
  async refresh(engine: Engine | undefined): Promise<void> {
    this.cards = await Promise.all((engine?.cards ?? []).map(async (card) => ({
      label: deviceLabel(card),
      state: await knownState(card),
      executors: await card.executors(),
    })));
  }
}

/** A device as it was found last. */
interface KnownCard {
  readonly label: DeviceLabel;
  readonly state: DeviceState;
  readonly executors: readonly Executor[];
}

/** Which device a value is of: said where there are several. */
export interface DeviceLabel {
  readonly device?: string;
}

/** The label of a device's values. */
export function deviceLabel({ name, isOneOfSeveral }: EngineCard): DeviceLabel {
  return isOneOfSeveral ? { device: name } : {};
}

/** A device as it is now; nothing of it where the driver cannot be asked, as of a GPU that was lost. */
export async function knownState(card: EngineCard): Promise<DeviceState> {
  try {
    return await card.state();
  } catch {
    return {};
  }
}

function countsOf({ label, executors }: KnownCard) {
  const counts = new Map<Executor, number>();
  for (const executor of executors) counts.set(executor, (counts.get(executor) ?? 0) + 1);
  return [...counts].map(([executor, count]) => [{ executor, ...label }, count] as const);
}

function hertz(khz: number | undefined): number | undefined {
  return khz === undefined ? undefined : khz * 1000;
}
