import { dirname, join, resolve } from "@std/path";
import { M40Error } from "../errors.ts";
import { systemReason } from "../system_error.ts";
import { Context, type ContextOptions } from "./context.ts";
import { DeviceProcess } from "./device_process.ts";
import { type DeviceHealth, type Management, readHealth, readManagement } from "./health.ts";
import { type PowerLimit, readPowerLimit } from "./power_limit.ts";
import { call, callAsync } from "./status.ts";
import {
  ABI_VERSION,
  DEVICE_HEALTH,
  DEVICE_INFO,
  DEVICE_STATE,
  DeviceKind as DeviceKinds,
  ERROR,
  MANAGEMENT,
  NONE,
  POWER_LIMIT,
} from "./structs.ts";
import { ALL_SYMBOLS, SYMBOLS, type Symbols } from "./symbols.ts";

/** A kernel library by what it runs on. */
export type Backend = "cpu" | "cuda" | "emulated";

const BACKENDS: readonly Backend[] = ["cpu", "cuda", "emulated"];

/** What a device is. */
export type DeviceKind = keyof typeof DeviceKinds;

/** What a library says of one device. */
export interface DeviceInfo {
  /** Its index in the library. */
  readonly index: number;
  readonly name: string;
  /** Bytes of memory in all and free. */
  readonly memoryBytes: number;
  readonly freeBytes: number;
  /** 52 for 5.2; 0 for the CPU. */
  readonly computeCapability: number;
  readonly multiprocessors: number;
  readonly clockKhz: number;
  readonly memoryClockKhz: number;
  readonly memoryBusBits: number;
  readonly ecc: boolean;
  /** 11080 for 11.8; 0 for the CPU. */
  readonly driverVersion: number;
  readonly instructionSet: string;
  /** The driver's own version ("535.183.01"); empty where unknown. */
  readonly driver: string;
  /** A GPU has memory of its own. */
  readonly kind: DeviceKind;
  /**
   * The numbers of a prompt's tokens, rising, that it computes at a time: any between two of them take as
   * long as the larger. Empty where any number is as good.
   */
  readonly tileTokens: readonly number[];
}

/** A device at a moment; what is not known is absent. */
export interface DeviceState {
  /** Bytes of memory in all, used by all programs together, and free. */
  readonly memoryBytes?: number;
  readonly usedBytes?: number;
  readonly freeBytes?: number;
  readonly temperatureCelsius?: number;
  /** A mean over the driver's own period, up to a second. */
  readonly powerWatts?: number;
  /** Where the driver lowers the clocks. */
  readonly powerLimitWatts?: number;
  /** What the card has drawn since the driver was loaded; cards older than Volta do not count it. */
  readonly energyJoules?: number;
  /** Of the multiprocessors, and of the memory. */
  readonly clockKhz?: number;
  readonly memoryClockKhz?: number;
  /** The share of the time in which kernels ran, 0 to 1. */
  readonly utilisation?: number;
}

/** The file name of a backend's library. */
export function libraryName(backend: Backend): string {
  return `libm40_${backend}.so`;
}

/**
 * Where a backend's library is searched for, in order: `$M40_KERNELS` (a folder, or the file itself), the folder of the
 * executable, and, when run from a checkout, its `dist/`.
 *
 * @throws {M40Error} "unsupported" where M40_KERNELS leads to no library of any backend: its user wants no other.
 */
export function libraryPaths(backend: Backend): string[] {
  const name = libraryName(backend);
  const paths: string[] = [];
  const asked = Deno.env.get("M40_KERNELS");
  if (asked) {
    assertHasLibrary(asked);
    paths.push(asked.endsWith(".so") ? resolve(asked) : resolve(asked, name));
  }
  paths.push(join(dirname(Deno.execPath()), name));
  const checkout = import.meta.dirname;
  if (!Deno.build.standalone && checkout) paths.push(join(checkout, "..", "..", "dist", name));
  return paths;
}

/** The path of a backend's library, or undefined where it is in none of {@link libraryPaths}. */
export function findLibrary(backend: Backend): string | undefined {
  return libraryPaths(backend).find(isFile);
}

/** Fails where M40_KERNELS, a folder or a file, is not there or has no library. */
function assertHasLibrary(asked: string): void {
  const path = resolve(asked);
  if (
    asked.endsWith(".so")
      ? isFile(path)
      : BACKENDS.some((one) => isFile(join(path, libraryName(one))))
  ) return;
  let problem = `has no kernel library (${BACKENDS.map(libraryName).join(", ")})`;
  try {
    if (!Deno.statSync(path).isDirectory) problem = "is neither a folder nor a library (.so)";
  } catch (error) {
    problem = `cannot be opened: ${systemReason(error)}`;
  }
  throw new M40Error(
    "unsupported",
    `M40_KERNELS is ${
      JSON.stringify(asked)
    }, which ${problem}. Set it to the folder of the kernel ` +
      "libraries or to one of them, or unset it.",
  );
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** A struct as a library was compiled. */
export interface StructLayout {
  readonly bytes: number;
  /** Fields as [offset, bytes]. */
  readonly fields: Readonly<Record<string, [number, number]>>;
  /** Of an operation's struct: its kind, and what its fields are. */
  readonly kind?: number;
  readonly roles?: Readonly<Record<string, FieldRole>>;
}

/** What a field of an operation is: a number, a state, a buffer by what is done with it, or a weight by its shape. */
export type FieldRole =
  | "number"
  | "state"
  | "reads"
  | "writes"
  | "updates"
  | "lends"
  | "vector"
  | "matrix"
  | "experts";

/** A kernel library: native code behind m40.h. */
export class KernelLibrary {
  /** The end, once it was asked for. */
  private closing?: Promise<void>;

  private constructor(
    readonly path: string,
    readonly backend: Backend,
    private readonly opened: Deno.DynamicLibrary<typeof ALL_SYMBOLS> | DeviceProcess,
  ) {}

  /**
   * Finds and opens a backend's library.
   *
   * @throws {M40Error} "unsupported" where it is missing, cannot be loaded or has another ABI version.
   */
  static find(backend: Backend): KernelLibrary {
    return KernelLibrary.open(pathOf(backend));
  }

  /** Opens the library at a path; fails as {@link find} does. */
  static open(path: string): KernelLibrary {
    assertVersion(path);
    let library: Deno.DynamicLibrary<typeof ALL_SYMBOLS>;
    try {
      library = Deno.dlopen(path, ALL_SYMBOLS);
    } catch (error) {
      throw unloadable(path, error);
    }
    return new KernelLibrary(path, text(library.symbols.m40_backend()) as Backend, library);
  }

  /**
   * Finds a backend's library and starts a process that runs its functions: see {@link DeviceProcess}.
   *
   * @param closesNow Whether {@link close} ends the process before it returns.
   * @throws {M40Error} As {@link find} does, and "internal" where no process can be started.
   */
  static startProcess(backend: Backend, closesNow = false): KernelLibrary {
    const path = resolve(pathOf(backend));
    assertVersion(path);
    const process = new DeviceProcess(path, closesNow);
    return new KernelLibrary(path, text(process.symbols.m40_backend()) as Backend, process);
  }

  /** The number of the process that its functions are run in, where that is one of its own. */
  get processId(): number | undefined {
    return this.opened instanceof DeviceProcess ? this.opened.processId : undefined;
  }

  /**
   * Returns, off the event loop, when the first device can be used without a long wait: waking it takes most of a
   * second. It ignores failures: later calls report them.
   */
  async wake(): Promise<void> {
    if (this.opened instanceof DeviceProcess) await this.opened.wake();
  }

  /** How the functions' own process ended, where it was not asked to: an error "device". */
  get loss(): M40Error | undefined {
    return this.opened instanceof DeviceProcess ? this.opened.loss : undefined;
  }

  /** The opened functions; for engine/device/ alone. */
  get symbols(): Symbols {
    return this.opened.symbols;
  }

  /** The structs as the library was compiled. */
  layout(): Record<string, StructLayout> {
    return JSON.parse(text(this.symbols.m40_layout()));
  }

  /** How many devices the library can run on; where there are none, why. */
  countDevices(): { count: number; absence: string } {
    const count = new Uint32Array(1);
    const error = new Uint8Array(ERROR.bytes);
    call((report) => {
      const status = this.symbols.m40_device_count(new Uint8Array(count.buffer), report);
      error.set(report);
      return status;
    });
    return { count: count[0], absence: ERROR.read(new DataView(error.buffer)).message };
  }

  /** The devices that the library can run on. */
  devices(): DeviceInfo[] {
    return Array.from({ length: this.countDevices().count }, (_, index) => this.device(index));
  }

  /** One device by its index. */
  device(index: number): DeviceInfo {
    const bytes = new Uint8Array(DEVICE_INFO.bytes);
    call((error) => this.symbols.m40_get_device_info(index, bytes, error));
    const info = DEVICE_INFO.read(new DataView(bytes.buffer));
    return {
      index,
      name: info.name,
      memoryBytes: Number(info.memory_bytes),
      freeBytes: Number(info.free_bytes),
      computeCapability: info.compute_capability,
      multiprocessors: info.multiprocessors,
      clockKhz: info.clock_khz,
      memoryClockKhz: info.memory_clock_khz,
      memoryBusBits: info.memory_bus_bits,
      ecc: info.ecc !== 0,
      driverVersion: info.driver_version,
      instructionSet: info.instruction_set,
      driver: info.driver,
      kind: info.kind === DeviceKinds.gpu ? "gpu" : "cpu",
      tileTokens: info.tile_tokens.filter((tokens) => tokens > 0),
    };
  }

  /** One device as it is now. It may be asked while the device computes; it answers off the event loop. */
  async deviceState(index: number): Promise<DeviceState> {
    const bytes = new Uint8Array(DEVICE_STATE.bytes);
    await callAsync((error) => this.symbols.m40_get_device_state(index, bytes, error));
    const state = DEVICE_STATE.read(new DataView(bytes.buffer));
    const known = (value: number, unit = 1) => value === NONE ? undefined : value * unit;
    const memory = (value: bigint) => state.memory_bytes === 0n ? undefined : Number(value);
    return {
      memoryBytes: memory(state.memory_bytes),
      usedBytes: memory(state.used_bytes),
      freeBytes: memory(state.free_bytes),
      temperatureCelsius: known(state.temperature_celsius),
      powerWatts: known(state.power_milliwatts, 1e-3),
      powerLimitWatts: known(state.power_limit_milliwatts, 1e-3),
      energyJoules: state.energy_millijoules === 2n ** 64n - 1n
        ? undefined
        : Number(state.energy_millijoules) * 1e-3,
      clockKhz: known(state.clock_khz),
      memoryClockKhz: known(state.memory_clock_khz),
      utilisation: known(state.utilisation_percent, 1e-2),
    };
  }

  /**
   * Sets the power at which the driver lowers a device's clocks, which lasts beyond this program. It may be asked as
   * {@link deviceState} may.
   *
   * @param watts Absent: it is only read.
   */
  async setPowerLimit(index: number, watts?: number): Promise<PowerLimit> {
    const bytes = new Uint8Array(POWER_LIMIT.bytes);
    const milliwatts = watts === undefined ? 0 : Math.round(watts * 1000);
    await callAsync((error) => this.symbols.m40_set_power_limit(index, milliwatts, bytes, error));
    return readPowerLimit(POWER_LIMIT.read(new DataView(bytes.buffer)));
  }

  /** How the driver's management library can be asked; no device is. */
  async management(): Promise<Management> {
    const bytes = new Uint8Array(MANAGEMENT.bytes);
    await callAsync((error) => this.symbols.m40_get_management(bytes, error));
    return readManagement(MANAGEMENT.read(new DataView(bytes.buffer)));
  }

  /**
   * All that the driver reports about a device, by the driver's own index, whether CUDA has it or not. As {@link
   * deviceState}, it may be called at any time.
   */
  async deviceHealth(index: number): Promise<DeviceHealth> {
    const bytes = new Uint8Array(DEVICE_HEALTH.bytes);
    await callAsync((error) => this.symbols.m40_get_device_health(index, bytes, error));
    return readHealth(index, DEVICE_HEALTH.read(new DataView(bytes.buffer)));
  }

  /** A context on one device. Close it before the library. */
  createContext(options: ContextOptions = {}): Context {
    return new Context(this.symbols, options, this.opened instanceof DeviceProcess);
  }

  /**
   * Unloads the library, at once unless it has a process of its own, which is ended. Everything created from
   * it must be closed before.
   *
   * @throws {M40Error} "device" where the process cannot be ended.
   */
  close(): Promise<void> {
    return this.closing ??= Promise.resolve(this.opened.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The path of a backend's library; fails where there is none. */
function pathOf(backend: Backend): string {
  const path = findLibrary(backend);
  if (path !== undefined) return path;
  throw new M40Error(
    "unsupported",
    `${libraryName(backend)} was not found; searched ${libraryPaths(backend).join(", ")}. ` +
      `Put it next to the executable, name its folder in M40_KERNELS, or build it: ` +
      `deno task build --target ${backend}.`,
  );
}

function assertVersion(path: string): void {
  const version = abiVersion(path);
  if (version === ABI_VERSION) return;
  throw new M40Error(
    "unsupported",
    `${path} has ABI version ${version}; this m40 wants version ${ABI_VERSION}. ` +
      `Use the library that came with this m40, or build it again: deno task build.`,
  );
}

/** Opened by itself first, since a library of another version may lack functions that SYMBOLS names. */
function abiVersion(path: string): number {
  try {
    const library = Deno.dlopen(path, { m40_abi_version: SYMBOLS.m40_abi_version });
    const version = library.symbols.m40_abi_version();
    library.close();
    return version;
  } catch (error) {
    throw unloadable(path, error);
  }
}

function unloadable(path: string, error: unknown): M40Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new M40Error("unsupported", `${path} cannot be loaded as a kernel library: ${reason}`);
}

function text(pointer: Deno.PointerValue): string {
  return pointer === null ? "" : Deno.UnsafePointerView.getCString(pointer);
}
