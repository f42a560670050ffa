import type { StructOf } from "./structs.ts";
import {
  type DEVICE_HEALTH,
  type MANAGEMENT,
  ManagementStatus,
  NONE,
  Throttle,
} from "./structs.ts";

/** How the driver's management library (NVML) can be asked. */
export interface Management {
  readonly status: keyof typeof ManagementStatus;
  /** The library's own number for what failed; absent where there is no library. */
  readonly code?: number;
  /** Devices that the driver has, whether CUDA shows them or not. */
  readonly devices: number;
  /** The driver's version ("535.183.01"); empty where unknown. */
  readonly driver: string;
}

const STATUS_NAMES = Object.keys(ManagementStatus) as (keyof typeof ManagementStatus)[];

/** Why clocks are below what they could be. */
export type ThrottleReason = keyof typeof Throttle;

/** A program that has memory of a device. */
export interface DeviceUser {
  /** Its number in the system; in a container it may mean nothing. */
  readonly id: number;
  readonly bytes?: number;
}

/** All that the driver reports about a GPU; unknown values are absent. Clocks in kHz. */
export interface DeviceHealth {
  /** Its index in the driver. */
  readonly index: number;
  readonly name: string;
  /** Why it says nothing of itself (nvmlReturn_t); 0 where it does. */
  readonly code: number;
  /** Its index in CUDA; absent where CUDA does not show it. */
  readonly cudaDevice?: number;
  /** 52 for 5.2. */
  readonly computeCapability?: number;
  readonly memoryBytes?: number;
  readonly usedBytes?: number;
  readonly freeBytes?: number;
  /** Memory errors since the driver was loaded, and in the card's life. */
  readonly correctedErrors?: number;
  readonly uncorrectedErrors?: number;
  readonly lifetimeCorrectedErrors?: number;
  readonly lifetimeUncorrectedErrors?: number;
  /** Programs that use it, as many as are listed, and how many there are. */
  readonly users: readonly DeviceUser[];
  readonly userCount?: number;
  /** 0: any programs; 1 and 3: one alone; 2: none. */
  readonly computeMode?: number;
  /** Whether the driver stays awake when nobody uses it. */
  readonly persistence?: boolean;
  /** Whether error correction is on, and will be after the next restart. */
  readonly ecc?: boolean;
  readonly eccNext?: boolean;
  readonly retiredPages?: number;
  readonly retiredPagesUncorrected?: number;
  readonly retirementPending?: boolean;
  readonly pcieGeneration?: number;
  readonly pcieWidth?: number;
  readonly pcieMaxGeneration?: number;
  readonly pcieMaxWidth?: number;
  readonly pcieReplays?: number;
  readonly clockKhz?: number;
  readonly maxClockKhz?: number;
  /** What programs get. */
  readonly setClockKhz?: number;
  readonly memoryClockKhz?: number;
  readonly maxMemoryClockKhz?: number;
  readonly throttle?: readonly ThrottleReason[];
  readonly powerWatts?: number;
  readonly powerLimitWatts?: number;
  readonly defaultPowerLimitWatts?: number;
  readonly minPowerLimitWatts?: number;
  readonly maxPowerLimitWatts?: number;
  readonly temperatureCelsius?: number;
  /** Where the hardware lowers the clocks, and where it switches off. */
  readonly slowdownCelsius?: number;
  readonly shutdownCelsius?: number;
}

/** What the library says of itself. */
export function readManagement(management: StructOf<typeof MANAGEMENT>): Management {
  return {
    status: STATUS_NAMES[management.status] ?? "failed",
    code: known(management.code),
    devices: management.n_devices,
    driver: management.driver,
  };
}

/** A device's health, its units those of the rest. */
export function readHealth(index: number, health: StructOf<typeof DEVICE_HEALTH>): DeviceHealth {
  const listed = Math.min(known(health.n_processes) ?? 0, health.process_id.length);
  const users = Array.from({ length: listed }, (_, i) => ({
    id: health.process_id[i],
    bytes: count(health.process_bytes[i]),
  })).filter(({ id }) => id !== NONE);
  const throttle = known(health.throttle);
  const reasons = Object.entries(Throttle) as [ThrottleReason, number][];
  return {
    index,
    name: health.name,
    code: health.code,
    cudaDevice: known(health.cuda_device),
    computeCapability: known(health.compute_capability),
    memoryBytes: count(health.memory_bytes),
    usedBytes: count(health.used_bytes),
    freeBytes: count(health.free_bytes),
    correctedErrors: count(health.corrected_errors),
    uncorrectedErrors: count(health.uncorrected_errors),
    lifetimeCorrectedErrors: count(health.lifetime_corrected_errors),
    lifetimeUncorrectedErrors: count(health.lifetime_uncorrected_errors),
    users,
    userCount: known(health.n_processes),
    computeMode: known(health.compute_mode),
    persistence: truth(health.persistence),
    ecc: truth(health.ecc),
    eccNext: truth(health.ecc_next),
    retiredPages: known(health.retired_pages),
    retiredPagesUncorrected: known(health.retired_pages_uncorrected),
    retirementPending: truth(health.retirement_pending),
    pcieGeneration: known(health.pcie_generation),
    pcieWidth: known(health.pcie_width),
    pcieMaxGeneration: known(health.pcie_max_generation),
    pcieMaxWidth: known(health.pcie_max_width),
    pcieReplays: known(health.pcie_replays),
    clockKhz: known(health.clock_khz),
    maxClockKhz: known(health.max_clock_khz),
    setClockKhz: known(health.set_clock_khz),
    memoryClockKhz: known(health.memory_clock_khz),
    maxMemoryClockKhz: known(health.max_memory_clock_khz),
    throttle: throttle === undefined
      ? undefined
      : reasons.filter(([, bit]) => (throttle & bit) !== 0).map(([name]) => name),
    powerWatts: known(health.power_milliwatts, 1e-3),
    powerLimitWatts: known(health.power_limit_milliwatts, 1e-3),
    defaultPowerLimitWatts: known(health.default_power_limit_milliwatts, 1e-3),
    minPowerLimitWatts: known(health.min_power_limit_milliwatts, 1e-3),
    maxPowerLimitWatts: known(health.max_power_limit_milliwatts, 1e-3),
    temperatureCelsius: known(health.temperature_celsius),
    slowdownCelsius: known(health.slowdown_celsius),
    shutdownCelsius: known(health.shutdown_celsius),
  };
}

function known(value: number, unit = 1): number | undefined {
  return value === NONE ? undefined : value * unit;
}

function truth(value: number): boolean | undefined {
  return value === NONE ? undefined : value !== 0;
}

/** UINT64_MAX is not known, and no count comes near it. */
function count(value: bigint | number): number | undefined {
  const number = Number(value);
  return number > Number.MAX_SAFE_INTEGER ? undefined : number;
}
