/**
 * What cuda/include/m40.h says of devices: what they are, what they do at the moment, and how they are.
 *
 * @module
 */
import { Struct } from "./struct.ts";

/** Programs that use a device that are listed. */
const MAX_DEVICE_PROCESSES = 16;

/** M40_DEVICE_*: what a device is. */
export const DeviceKinds = { cpu: 0, gpu: 1 } as const;

export const DEVICE_INFO = new Struct("m40_device_info", {
  name: ["text", 128],
  memory_bytes: "u64",
  free_bytes: "u64",
  compute_capability: "u32",
  multiprocessors: "u32",
  clock_khz: "u32",
  memory_clock_khz: "u32",
  memory_bus_bits: "u32",
  ecc: "u32",
  driver_version: "u32",
  kind: "u32",
  instruction_set: ["text", 32],
  driver: ["text", 32],
  tile_tokens: ["u32", 4],
});

export const DEVICE_STATE = new Struct("m40_device_state", {
  memory_bytes: "u64",
  used_bytes: "u64",
  free_bytes: "u64",
  energy_millijoules: "u64",
  temperature_celsius: "u32",
  power_milliwatts: "u32",
  power_limit_milliwatts: "u32",
  clock_khz: "u32",
  memory_clock_khz: "u32",
  utilisation_percent: "u32",
});

export const POWER_LIMIT = new Struct("m40_power_limit", {
  code: "u32",
  before_milliwatts: "u32",
  least_milliwatts: "u32",
  most_milliwatts: "u32",
});

/** M40_MANAGEMENT_*: how the driver's management library can be asked, by its number. */
export const MANAGEMENT_STATUS = [
  "ok",
  "missing",
  "no_driver",
  "mismatch",
  "forbidden",
  "failed",
] as const;

export const MANAGEMENT = new Struct("m40_management", {
  status: "u32",
  code: "u32",
  n_devices: "u32",
  reserved: "u32",
  driver: ["text", 32],
});

/** M40_THROTTLE_*: why clocks are below what they could be. */
export const Throttle = {
  idle: 0x1,
  clocks_set: 0x2,
  power_limit: 0x4,
  hardware: 0x8,
  sync_boost: 0x10,
  driver_heat: 0x20,
  hardware_heat: 0x40,
  power_brake: 0x80,
  display: 0x100,
} as const;

export const DEVICE_HEALTH = new Struct("m40_device_health", {
  name: ["text", 96],
  memory_bytes: "u64",
  used_bytes: "u64",
  free_bytes: "u64",
  corrected_errors: "u64",
  uncorrected_errors: "u64",
  lifetime_corrected_errors: "u64",
  lifetime_uncorrected_errors: "u64",
  process_bytes: ["u64", MAX_DEVICE_PROCESSES],
  process_id: ["u32", MAX_DEVICE_PROCESSES],
  n_processes: "u32",
  code: "u32",
  cuda_device: "u32",
  compute_capability: "u32",
  compute_mode: "u32",
  persistence: "u32",
  ecc: "u32",
  ecc_next: "u32",
  retired_pages: "u32",
  retired_pages_uncorrected: "u32",
  retirement_pending: "u32",
  pcie_generation: "u32",
  pcie_width: "u32",
  pcie_max_generation: "u32",
  pcie_max_width: "u32",
  pcie_replays: "u32",
  clock_khz: "u32",
  max_clock_khz: "u32",
  set_clock_khz: "u32",
  memory_clock_khz: "u32",
  max_memory_clock_khz: "u32",
  throttle: "u32",
  power_milliwatts: "u32",
  power_limit_milliwatts: "u32",
  default_power_limit_milliwatts: "u32",
  min_power_limit_milliwatts: "u32",
  max_power_limit_milliwatts: "u32",
  temperature_celsius: "u32",
  slowdown_celsius: "u32",
  shutdown_celsius: "u32",
});
