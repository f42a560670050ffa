import type { DeviceHealth, KernelLibrary } from "../device/mod.ts";
import { prompt } from "./runner.ts";
import { SmallPrograms, tokenBuffer } from "./small_programs.ts";

/** Of the product: rows and columns of the weight, and tokens, and memory for it; of the emulated device less. */
const SIZE = { side: 4096, tokens: 512, arenaBytes: 256 * 2 ** 20 };
const EMULATED_SIZE = { side: 64, tokens: 4, arenaBytes: 4 * 2 ** 20 };
/** How often the device is asked how it is, in milliseconds. */
const PERIOD_MS = 1000;

/**
 * Lets the device compute products of a prompt, which takes most power, and samples its state meanwhile.
 *
 * @param device Its index in the library.
 * @param managed Its index in the driver.
 * @param onSample Called with each sample and the seconds that have gone.
 * @returns What the driver said, once a second and at the end.
 */
export async function underLoad(
  library: KernelLibrary,
  device: number,
  managed: number,
  seconds: number,
  onSample: (health: DeviceHealth, seconds: number) => void = () => {},
): Promise<DeviceHealth[]> {
  const context = library.createContext({ device, threads: 1 });
  try {
    const { side, tokens, arenaBytes } = library.backend === "emulated" ? EMULATED_SIZE : SIZE;
    const small = new SmallPrograms(context, arenaBytes);
    const values = Float16Array.from(
      { length: side * side },
      (_, i) => ((i * 37) % 101 - 50) / 1000,
    );
    const weight = [small.blocks(1, new Uint8Array(values.buffer), side, side)];
    const program = small.program({
      ops: [{ kind: "matmul", input: 0, output: 1, columns: side, weight, rows: [side] }],
      buffers: [tokenBuffer(side), tokenBuffer(side)],
      limits: { n_tokens: tokens, n_sequences: 1, n_outputs: 1 },
    });
    program.writeBuffer(
      0,
      Float32Array.from({ length: tokens * side }, (_, i) => (i % 17 - 8) / 8),
    );
    const samples: DeviceHealth[] = [];
    const start = performance.now();
    const gone = () => (performance.now() - start) / 1000;
    const look = async () => {
      const health = await library.deviceHealth(managed);
      samples.push(health);
      onSample(health, gone());
    };
    let next = PERIOD_MS;
    do {
      await program.step(prompt(tokens));
      if (gone() * 1000 < next) continue;
      next += PERIOD_MS;
      await look();
    } while (gone() < seconds);
    await look();
    return samples;
  } finally {
    context.close();
  }
}
