import { M40Error } from "../errors.ts";
import { parseDeviceName } from "./device_list.ts";
import { type Backend, findLibrary, KernelLibrary, libraryPaths } from "./library.ts";

/** A device by its library and its index in it. Close the library afterwards. */
export interface OpenedDevice {
  readonly library: KernelLibrary;
  readonly index: number;
  /** Why it is the CPU: one sentence, where "auto" found the GPU's library but no GPU that it can use. */
  readonly fallback?: string;
}

/**
 * Opens the library of a device by its name: auto, cpu, cuda or cuda:N; emulated and emulated:N (the GPU's kernels
 * on the CPU) are for tests.
 *
 * @throws {M40Error} "invalid_request" for another name, "device" where there is no such device, with those there are
 *   or why there is none, "unsupported" where its library is missing or cannot be loaded.
 */
export function openDevice(device: string): OpenedDevice {
  return choose(device, KernelLibrary.find);
}

/**
 * {@link openDevice} in a process of its own. What takes a while, to start it and to wake the device, does not
 * hold up the event loop.
 *
 * @throws {M40Error} As {@link openDevice} does, and "device" where the process ended.
 */
export async function openDeviceProcess(device: string): Promise<OpenedDevice> {
  const started = new Map<Backend, KernelLibrary>();
  const start = (backend: Backend) => {
    const library = started.get(backend) ?? KernelLibrary.startProcess(backend);
    started.set(backend, library);
    return library;
  };
  const closeAllBut = (kept?: KernelLibrary) =>
    Promise.all([...started.values()].filter((one) => one !== kept).map((one) => one.close()));
  try {
    const { backend } = parseDeviceName(device);
    if (["auto", "cuda"].includes(backend) && findLibrary("cuda")) await start("cuda").wake();
    const opened = choose(device, start);
    const { library } = opened;
    await closeAllBut(library);
    await library.wake();
    return opened;
  } catch (error) {
    await closeAllBut();
    throw error;
  }
}

/**
 * {@link openDevice} for a short query of a GPU: in a process of its own. A CUDA context lasts as long as its process,
 * and the card draws more power with it.
 */
export function openDeviceInPassing(device: string): OpenedDevice {
  return choose(
    device,
    (backend) =>
      backend === "cuda" ? KernelLibrary.startProcess(backend, true) : KernelLibrary.find(backend),
  );
}

function choose(device: string, find: (backend: Backend) => KernelLibrary): OpenedDevice {
  const { backend, index } = parseDeviceName(device);
  if (backend === "cpu") return { library: find(backend), index };
  if (backend !== "auto") return openIndexed(backend, index, find);
  if (findLibrary("cuda") === undefined) {
    if (findLibrary("cpu") === undefined) {
      throw new M40Error(
        "unsupported",
        `no kernel library was found; searched ` +
          `${libraryPaths("cuda").concat(libraryPaths("cpu")).join(", ")}. Put one next to the ` +
          `executable, name its folder in M40_KERNELS, or build one: deno task build.`,
      );
    }
    return { library: find("cpu"), index: 0 };
  }
  try {
    const opened = openIndexed("cuda", 0, find);
    assertUsable(opened);
    return opened;
  } catch (error) {
    if (!(error instanceof M40Error)) throw error;
    if (findLibrary("cpu") === undefined) throw error;
    return { library: find("cpu"), index: 0, fallback: error.message };
  }
}

function openIndexed(
  backend: Backend,
  index: number,
  find: (backend: Backend) => KernelLibrary,
): OpenedDevice {
  const library = find(backend);
  try {
    const { count, absence } = library.countDevices();
    if (count === 0) throw new M40Error("device", absence);
    if (index >= count) {
      const known = library.devices().map(({ index, name }) => `${backend}:${index} (${name})`);
      throw new M40Error(
        "device",
        `there is no device ${backend}:${index}; there is ${known.join(", ")}`,
      );
    }
    return { library, index };
  } catch (error) {
    library.close();
    throw error;
  }
}

/** Fails with the library's reason, and closes it, where its device is one that it cannot compute on. */
function assertUsable({ library, index }: OpenedDevice): void {
  try {
    library.createContext({ device: index }).close();
  } catch (error) {
    library.close();
    throw error;
  }
}
