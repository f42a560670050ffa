import { type DeviceHealth, Element, type KernelLibrary, Rows, stepBytes } from "../device/mod.ts";
import { encodeOperations } from "../program/mod.ts";
import { completed } from "./given_operation.ts";

/** Of the product: rows and columns of the weight, and tokens; of the emulated device less. */
const SIZE = { side: 4096, tokens: 512 };
const EMULATED_SIZE = { side: 64, tokens: 4 };
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
    const { side, tokens } = library.backend === "emulated" ? EMULATED_SIZE : SIZE;
    const weight = { type: 1, n_experts: 1, rows: side, columns: side };
    const limits = {
      ...{ n_tokens: tokens, n_sequences: 1, n_outputs: 1, n_sequence_kv_blocks: 1, n_vocab: 32 },
      lane: 0,
    };
    const buffer = { rows: Rows.tokens, rows_factor: 1, columns: side, element: Element.f32 };
    const records = {
      limits: { ...limits, step_bytes: BigInt(stepBytes(limits)) },
      buffers: [buffer, buffer],
      ops: encodeOperations([completed({
        kind: "matmul",
        input: 0,
        output: 1,
        columns: side,
        weight: [0],
        rows: [side],
      })], Uint32Array.of(0)),
    };
    // No cache is used, but the size of a program is computed with one.
    const cache = {
      ...{
        n_layers: 1,
        n_groups: 1,
        kv_block_tokens: 1,
        n_kv_blocks: 1,
        type: 0,
        states: [],
        slots: 0,
      },
      ...{ n_kv_heads: [1], head_dim: [8], value_dim: [8], group: [0] },
    };
    const arena = context.createArena(
      context.tensorBytes(weight) + context.programBytes(records, cache) + 65_536,
    );
    const values = Float16Array.from(
      { length: side * side },
      (_, i) => ((i * 37) % 101 - 50) / 1000,
    );
    arena.upload(weight, new Uint8Array(values.buffer));
    const program = arena.createProgram(records);
    program.writeBuffer(
      0,
      Float32Array.from({ length: tokens * side }, (_, i) => (i % 17 - 8) / 8),
    );
    const step = {
      tokens: new Array<number>(tokens).fill(0),
      position: 0,
      kvBlocks: [],
      outputs: [],
    };
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
      await program.step([step]);
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
