import type { StepSampling } from "../engine/device/step_sampling.ts";
import type { StepOutput } from "../engine/device/step_result.ts";
import { NONE } from "../engine/device/structs.ts";
import { outputBuffer, withDevice } from "./device_harness.ts";

/**
 * What sampling gives, by a program of that operation alone.
 *
 * @param rows The logits of each output, all of one length.
 * @param samplings How each output is sampled.
 * @param on Threads of a CPU, and the library where it is not the one under test.
 */
export async function sampleRows(
  rows: readonly Float32Array[],
  samplings: readonly StepSampling[],
  on: { threads?: number; library?: string } = {},
): Promise<readonly StepOutput[]> {
  let outputs: readonly StepOutput[] = [];
  await withDevice({ threads: 2, ...on }, async (device) => {
    const columns = rows[0].length;
    const n = rows.length;
    const program = device.program({
      ops: [{ kind: "sample", logits: 0, columns, hidden: NONE, hidden_columns: 0 }],
      buffers: [outputBuffer(columns)],
      limits: { n_vocab: columns, n_tokens: n, n_outputs: n },
    });
    const all = new Float32Array(n * columns);
    rows.forEach((values, i) => all.set(values, i * columns));
    program.writeBuffer(0, all);
    ({ outputs } = await program.step([{
      tokens: new Array(n).fill(0),
      position: 0,
      pages: [],
      outputs: samplings.map((sampling, row) => ({ row, sampling })),
    }]));
  });
  return outputs;
}
