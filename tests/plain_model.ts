import type { Cache } from "../engine/device/context.ts";
import type { DeviceProgram } from "../engine/device/device_program.ts";
import { outputBuffer, type TestDevice } from "./device_harness.ts";
import { B, PlainLayer } from "./plain_layer.ts";
import { VOCAB } from "./small_model.ts";

const SHAPE = { hidden: 64, heads: 2, kvHeads: 2, headDim: 64, inner: 96 };

/**
 * A model of one plain layer, over a cache of its own: 64 pages of 4 tokens.
 *
 * @param spoilt A token whose embedding is infinite.
 */
export function plainModelProgram(
  device: TestDevice,
  spoilt?: number,
): { program: DeviceProgram; cache: Cache } {
  const layer = new PlainLayer(device, SHAPE, 12);
  const { hidden } = SHAPE;
  const cache = layer.cache(4);
  const embeddings = layer.values(VOCAB, hidden);
  if (spoilt !== undefined) embeddings.fill(Infinity, spoilt * hidden, (spoilt + 1) * hidden);
  const program = device.program({
    cache,
    limits: { n_vocab: VOCAB },
    ops: [
      {
        ...{ kind: "embed", output: B.hidden, columns: hidden, scale: 8 },
        table: device.tensor(embeddings, VOCAB, hidden),
      },
      ...layer.operations(),
      { kind: "select", input: B.hidden, output: B.selected, columns: hidden },
      layer.norm(B.selected, B.selected),
      layer.matmul(B.selected, B.logits, hidden, [VOCAB]),
      {
        ...{ kind: "sample", logits: B.logits, columns: VOCAB },
        ...{ hidden: B.selected, hidden_columns: hidden },
      },
    ],
    buffers: [...layer.buffers(), outputBuffer(hidden), outputBuffer(VOCAB)],
  });
  return { program, cache };
}
