import type { DeviceHealth } from "../device/health.ts";
import type { KernelLibrary } from "../device/library.ts";

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

/** A page of the cache that is copied: 16 MiB, as each is a copy of its own, which costs some microseconds. */
const SHAPE = { kvHeads: 64, headDim: 128, pageTokens: 256 };
/** Pages that are copied at a time: more than any cache of the device holds; of the emulated device a few. */
const PAGES = 12;
const EMULATED_PAGES = 2;
const REPETITIONS = 6;
/** How long a device copies before it is timed, in milliseconds: an idle one has to raise its clocks. */
const WARM_UP_MS = 200;

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
    const n = library.backend === "emulated" ? EMULATED_PAGES : PAGES;
    const { kvHeads, headDim, pageTokens } = SHAPE;
    const desc = {
      ...{ n_layers: 1, n_groups: 1, page_tokens: pageTokens, n_pages: 2 * n, type: 0 },
      ...{ n_kv_heads: [kvHeads], head_dim: [headDim], value_dim: [headDim], group: [0] },
      ...{ states: [], slots: 0 },
    };
    const { bytes, pageBytes } = context.cacheBytes(desc);
    const cache = context.createArena(bytes).createCache(desc);
    const memory = context.hostMemory(n * pageBytes);
    const [first, second] = [0, n].map((from) =>
      Uint32Array.from({ length: n }, (_, i) => from + i)
    );
    const speed = async (copied: number, copy: () => Promise<void>) => {
      const begun = performance.now();
      while (performance.now() - begun < WARM_UP_MS) await copy();
      let best = Infinity;
      for (let i = 0; i < REPETITIONS; i++) {
        const start = performance.now();
        await copy();
        best = Math.min(best, performance.now() - start);
      }
      return copied / (best / 1000);
    };
    const seen: DeviceHealth[] = [];
    let busy = true;
    const watch = async () => {
      while (busy && managed !== undefined) seen.push(await library.deviceHealth(managed));
    };
    const watching = watch();
    let toDevice: number, toHost: number;
    try {
      toDevice = await speed(memory.length, () => cache.restorePages(first, memory));
      toHost = await speed(memory.length, () => cache.savePages(first, memory));
    } finally {
      busy = false;
      await watching;
    }
    const onDevice = await speed(2 * memory.length, () => cache.copyPages(first, second));
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
