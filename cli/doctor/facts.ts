import {
  type DeviceHealth,
  type DeviceInfo,
  findLibrary,
  type KernelLibrary,
  type Management,
} from "../../engine/device/mod.ts";
import { M40Error } from "../../engine/errors.ts";
import { type Host, lookAtHost, programName } from "./host.ts";

/** A program that uses the card, by the name that the system has for it. */
export interface Program {
  readonly name?: string;
  readonly bytes?: number;
}

/** What was found of the card and all that is needed to use it. */
export interface Facts {
  readonly host: Host;
  /** Why there is no library for GPUs; absent where there is one. */
  readonly libraryProblem?: string;
  readonly management?: Management;
  /** What CUDA says of the devices that it has, or why it has none. */
  readonly devices: readonly DeviceInfo[];
  readonly absence: string;
  /** The card that is looked at: CUDA's, where it has it, else the driver's first that CUDA does not show. */
  readonly health?: DeviceHealth;
  /** The driver's other cards that give no access to themselves: CUDA shows none of them. */
  readonly silent: readonly DeviceHealth[];
  readonly programs: readonly Program[];
  /** The card's index in CUDA, and why it cannot be computed on, where it cannot. */
  readonly device?: DeviceInfo;
  readonly obstacle?: string;
}

/** Facts, and the library that they came from, for what is measured afterwards. */
export interface Found extends AsyncDisposable {
  readonly facts: Facts;
  /** Absent where the card cannot be computed on. */
  readonly library?: KernelLibrary;
}

/**
 * Finds out what there is. Nothing of it fails: what cannot be found out is absent.
 *
 * @param root Where /proc, /sys and /dev are.
 * @param index The card's index in CUDA.
 * @param open Opens the library for GPUs.
 */
export async function findFacts(
  root: string,
  index: number,
  open: () => KernelLibrary,
): Promise<Found> {
  const host = await lookAtHost(root);
  const nothing = { host, devices: [], absence: "", silent: [], programs: [] };
  let library: KernelLibrary;
  try {
    if (findLibrary("cuda") === undefined) {
      return withoutLibrary({ ...nothing, libraryProblem: "libm40_cuda.so is not there" });
    }
    library = open();
  } catch (error) {
    return withoutLibrary({ ...nothing, libraryProblem: reasonOf(error) });
  }
  try {
    const management = await library.management();
    // Before CUDA is asked for its devices: that makes this program one of the card's users.
    const cards = await healthOfAll(library, management);
    const health = cards.find(({ cudaDevice }) => cudaDevice === index) ??
      cards.find(({ cudaDevice }) => cudaDevice === undefined);
    const { devices, absence } = listDevices(library);
    const device = devices.find((one) => one.index === index);
    const users = health?.users ?? [];
    const programs = await Promise.all(
      users.map(async ({ id, bytes }) => ({ name: await programName(root, id), bytes })),
    );
    const obstacle = device === undefined ? undefined : tryDevice(library, device.index);
    const facts: Facts = {
      host,
      management,
      devices,
      absence: absence ||
        (device === undefined
          ? `there is no device cuda:${index}; CUDA has ${devices.length}`
          : ""),
      health,
      silent: cards.filter((one) => one !== health && one.code !== 0),
      programs,
      device,
      obstacle,
    };
    return {
      facts,
      library: device !== undefined && obstacle === undefined ? library : undefined,
      [Symbol.asyncDispose]: () => library.close(),
    };
  } catch (error) {
    await library.close();
    return withoutLibrary({ ...nothing, libraryProblem: reasonOf(error) });
  }
}

function withoutLibrary(facts: Facts): Found {
  return { facts, [Symbol.asyncDispose]: () => Promise.resolve() };
}

function listDevices(library: KernelLibrary): Pick<Facts, "devices" | "absence"> {
  try {
    const { count, absence } = library.countDevices();
    return count === 0 ? { devices: [], absence } : { devices: library.devices(), absence: "" };
  } catch (error) {
    return { devices: [], absence: reasonOf(error) };
  }
}

/** The health of every card that the driver has. */
async function healthOfAll(
  library: KernelLibrary,
  { devices }: Management,
): Promise<DeviceHealth[]> {
  const all: DeviceHealth[] = [];
  for (let i = 0; i < Math.min(devices, 64); i++) all.push(await library.deviceHealth(i));
  return all;
}

/** Why the device cannot be computed on. */
function tryDevice(library: KernelLibrary, device: number): string | undefined {
  try {
    library.createContext({ device }).close();
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** An error as a sentence for a finding. */
export function reasonOf(error: unknown): string {
  if (error instanceof M40Error) return error.message;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
