/**
 * A program whose emulated device hangs in the midst of what the argument names, and that ends with the reason; for
 * emulated_hang.ts, as a device that hangs does so until the process ends.
 *
 * @module
 */
import { NONE } from "../engine/device/structs.ts";
import { TestDevice, tokenBuffer } from "./device_harness.ts";

if (import.meta.main) {
  const [what] = Deno.args;
  const device = new TestDevice();
  const values = Array.from({ length: 16 }, (_, i) => i);
  const matrix = device.tensor(values, 2, 8);
  // Kept as floats, and packed by each program that multiplies with it.
  const row = device.tensor(values.slice(8), 1, 8);
  await device.context.finishUploads();
  try {
    if (what === "read") {
      Deno.env.set("M40_EMULATION_HANG_IN", "read_rows");
      device.context.readTensor(matrix, 0, 2, 8);
    } else {
      Deno.env.set("M40_EMULATION_HANG_IN", "repack");
      device.program({
        ops: [{
          kind: "matmul",
          input: 0,
          output: 1,
          n_weights: 1,
          weight: [row, NONE, NONE],
          output_column: [0, 0, 0],
          rows: [1, 0, 0],
          columns: 8,
        }],
        buffers: [tokenBuffer(8), tokenBuffer(1)],
      });
    }
  } catch (error) {
    console.log((error as Error).message);
    Deno.exit(0);
  }
  throw new Error("nothing of it hangs");
}
