import { assertEquals, assertRejects } from "@std/assert";
import { M40Error } from "../engine/errors.ts";
import { NONE, Norm, Rope } from "../engine/device/structs.ts";
import { type Operation, WEIGHT_FIELDS } from "../engine/program/operation.ts";
import {
  expertBuffer,
  indexBuffer,
  plainSequence,
  TestDevice,
  tokenBuffer,
} from "./device_harness.ts";

// A program is refused once an arena is gone that one of its weights lies in, whichever operation's weight it is.

const COLUMNS = 8;
const ROWS = 8;
const EXPERTS = 2;
/** Tokens of the vocabulary. */
const VOCAB = 32;

/** Shapes of weights that are no vectors [COLUMNS]. */
const SHAPES: Record<string, { rows: number; columns: number; n_experts: number }> = {
  "embed table": { rows: VOCAB, columns: COLUMNS, n_experts: 1 },
  "embed position_table": { rows: VOCAB, columns: COLUMNS, n_experts: 1 },
  "matmul weight": { rows: ROWS, columns: COLUMNS, n_experts: 1 },
  "rope_store factors": { rows: 1, columns: COLUMNS / 2, n_experts: 1 },
  "expert_matmul weight": { rows: ROWS, columns: COLUMNS, n_experts: EXPERTS },
};
const VECTOR = { rows: 1, columns: COLUMNS, n_experts: 1 };

/** An operation of the kind, with the tensors of its weights. */
function operationOf(kind: Operation["kind"], tensors: Record<string, number>): Operation {
  switch (kind) {
    case "embed":
      return {
        kind,
        output: 0,
        table: tensors.table,
        position_table: tensors.position_table,
        columns: COLUMNS,
        scale: 1,
      };
    case "norm":
      return {
        kind,
        input: 0,
        output: 1,
        weight: tensors.weight,
        bias: tensors.bias,
        residual: NONE,
        norm: Norm.rms,
        columns: COLUMNS,
        epsilon: 1,
      };
    case "matmul":
      return {
        kind,
        input: 0,
        output: 1,
        residual: NONE,
        n_weights: 1,
        columns: COLUMNS,
        weight: [tensors.weight],
        bias: [tensors.bias],
        rows: [ROWS],
        output_column: [0],
      };
    case "rope_store":
      return {
        kind,
        qkv: 2,
        layer: 0,
        n_heads: 1,
        n_kv_heads: 1,
        head_dim: COLUMNS,
        rope_dim: COLUMNS,
        rope: Rope.halves,
        factors: tensors.factors,
        q_norm: tensors.q_norm,
        k_norm: tensors.k_norm,
        original_context: 0,
        norm_epsilon: 1,
        freq_base: 10000,
        freq_scale: 1,
        ext_factor: 0,
        attention_factor: 1,
        beta_fast: 0,
        beta_slow: 0,
      };
    case "expert_matmul":
      return {
        kind,
        input: 0,
        experts: 3,
        output: 4,
        n_weights: 1,
        columns: COLUMNS,
        n_used: 1,
        n_experts: EXPERTS,
        weight: [tensors.weight],
        rows: [ROWS],
        output_column: [0],
      };
    default:
      throw new Error(`${kind} has weights, but no test`);
  }
}

for (const [kind, fields] of Object.entries(WEIGHT_FIELDS)) {
  for (const gone of fields) {
    Deno.test(`a program is refused without the arena of a weight: ${kind} ${gone}`, async () => {
      const device = new TestDevice();
      try {
        const lost = device.context.createArena(1 << 20);
        const all = fields.map((field) => {
          const shape = SHAPES[`${kind} ${field}`] ?? VECTOR;
          const values = new Float32Array(shape.rows * shape.columns * shape.n_experts).fill(1);
          const arena = field === gone ? lost : device.arena;
          return arena.upload({ type: 0, ...shape }, new Uint8Array(values.buffer));
        });
        // The harness numbers the tensors that it uploads; these were uploaded by hand.
        device["nTensors"] = all.length;
        const tensors = Object.fromEntries(fields.map((field, i) => [field, all[i]]));
        const program = device.program({
          ops: [operationOf(kind as Operation["kind"], tensors)],
          buffers: [
            tokenBuffer(COLUMNS),
            tokenBuffer(ROWS),
            tokenBuffer(3 * COLUMNS),
            indexBuffer(1),
            expertBuffer(ROWS, 1),
          ],
          cache: device.cache({}),
        });
        const sequence = { ...plainSequence(2), pages: [3] };
        assertEquals(await program.step([sequence]), { outputs: [] });
        device.kernels.symbols.m40_arena_destroy(lost["handle"]);
        await assertRejects(
          () => program.step([sequence]),
          M40Error,
          "an arena that the program uses has been destroyed",
        );
      } finally {
        device.close();
      }
    });
  }
}
