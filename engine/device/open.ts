import { M40Error } from "../errors.ts";
import { findLibrary, KernelLibrary, libraryPaths } from "./library.ts";

/**
 * Opens the library of a device by its name: auto, cpu, cuda or cuda:N; emulated (the GPU's kernels on the
 * CPU) is for tests. Close it afterwards.
 */
export function openDevice(device: string): { library: KernelLibrary; index: number } {
  const match = /^(auto|cpu|emulated|cuda(?::(\d{1,4}))?)$/.exec(device);
  if (match === null) {
    throw new M40Error(
      "invalid_request",
      `device ${JSON.stringify(device)} is not known; wanted auto, cpu, cuda or cuda:N`,
    );
  }
  if (device === "cpu" || device === "emulated") {
    return { library: KernelLibrary.find(device), index: 0 };
  }
  if (device === "auto" && findLibrary("cuda") === undefined) {
    if (findLibrary("cpu") === undefined) {
      throw new M40Error(
        "unsupported",
        `no kernel library was found; looked at ` +
          `${[...libraryPaths("cuda"), ...libraryPaths("cpu")].join(", ")}. Put one beside the ` +
          `executable, name its folder in M40_KERNELS, or build one: deno task build.`,
      );
    }
    return { library: KernelLibrary.find("cpu"), index: 0 };
  }
  try {
    const library = KernelLibrary.find("cuda");
    const { count, absence } = library.countDevices();
    const index = Number(match[2] ?? 0);
    if (index < count) return { library, index };
    library.close();
    throw new M40Error(
      "device",
      `there is no device cuda:${index}: ${absence || `there are ${count}, from cuda:0 on`}`,
    );
  } catch (error) {
    if (device !== "auto") throw error;
    return { library: KernelLibrary.find("cpu"), index: 0 };
  }
}
