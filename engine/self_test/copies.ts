import {
  copySpeed,
  createCopiedCache,
  type DeviceHealth,
  type KernelLibrary,
} from "../device/mod.ts";

/** How fast a device's memory is copied, in bytes a second. */
export interface Copies {
  /** From page-locked host memory to the device, and back. */
  readonly toDevice: number;
  readonly toHost: number;
  /** Read and written, within the device. */
  readonly onDevice: number;
  /** The link while it was busy, where the driver says. */
  readonly link?: { readonly generation: number; readonly width: number };
}

/** KV blocks that are copied at a time: more than any cache of the device holds; of the emulated device a few. */
const KV_BLOCKS = 12;
const EMULATED_KV_BLOCKS = 2;

/**
 * Times copies over the link and within the device. It takes 384 MB of the device's memory while it does.
 *
 * @param device The device's index in the library.
 * @param managed Its index in the driver, where that can be asked for the link meanwhile.
 * @throws {M40Error} "out_of_memory" where there is no room, "device" where the device fails.
 */
export async function measureCopies(
  library: KernelLibrary,
  device: number,
  managed?: number,
): Promise<Copies> {
  const context = library.createContext({ device, threads: 1 });
  try {
    const n = library.backend === "emulated" ? EMULATED_KV_BLOCKS : KV_BLOCKS;
    const copied = createCopiedCache(context, n);
    const { cache, kvBlockBytes } = copied;
    const memory = context.hostMemory(n * kvBlockBytes);
    const kvBlocks = Uint32Array.from({ length: n }, (_, i) => i);
    const seen: DeviceHealth[] = [];
    let busy = true;
    const watch = async () => {
      while (busy && managed !== undefined) seen.push(await library.deviceHealth(managed));
    };
    const watching = watch();
    let toDevice: number, toHost: number;
    try {
      const once = { repeatable: false };
      toDevice = await copySpeed(
        memory.length,
        () => cache.restore("kvBlocks", kvBlocks, memory),
        once,
      );
      toHost = await copySpeed(memory.length, () => cache.save("kvBlocks", kvBlocks, memory), once);
    } finally {
      busy = false;
      await watching;
    }
    const onDevice = await copied.speed();
    return { toDevice, toHost, onDevice, link: fastestLink(seen) };
  } finally {
    context.close();
  }
}

/** The link at its best, as it takes a moment to wake. */
function fastestLink(seen: readonly DeviceHealth[]): Copies["link"] {
  const links = seen.flatMap(({ pcieGeneration, pcieWidth }) =>
    pcieGeneration === undefined || pcieWidth === undefined
      ? []
      : [{ generation: pcieGeneration, width: pcieWidth }]
  );
  return links.toSorted((a, b) => b.generation - a.generation || b.width - a.width)[0];
}
