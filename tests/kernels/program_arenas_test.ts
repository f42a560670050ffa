import { assertEquals, assertRejects } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { NONE, Norm, Rope } from "../../engine/device/structs.ts";
import { WEIGHT_FIELDS } from "../../engine/program/operations.generated.ts";
import {
  expertBuffer,
  indexBuffer,
  plainSequence,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";
import type { GivenOperation } from "../fixtures/operations.ts";

// A program is refused once an arena is gone that one of its weights lies in, whichever operation's weight it is.

const COLUMNS = 8;
const ROWS = 8;
const EXPERTS = 2;
/** Tokens of the vocabulary. */
const VOCAB = 32;

/** Shapes of weights that are no vectors [COLUMNS]. */
const SHAPES: Record<string, { rows?: number; columns: number; n_experts?: number }> = {
  "embed table": { rows: VOCAB, columns: COLUMNS },
  "embed position_table": { rows: VOCAB, columns: COLUMNS },
  "norm factor": { columns: 1 },
  "matmul weight": { rows: ROWS, columns: COLUMNS },
  "matmul factor": { columns: 1 },
  "rope_store factors": { columns: COLUMNS / 2 },
  "attention sinks": { columns: 1 },
  "route bias": { columns: EXPERTS },
  "expert_matmul weight": { rows: ROWS, columns: COLUMNS, n_experts: EXPERTS },
  "expert_matmul shared": { rows: ROWS, columns: COLUMNS },
  "expert_matmul bias": { columns: EXPERTS * ROWS },
  "expert_matmul factor": { columns: EXPERTS },
  "head_matmul weight": { rows: ROWS, columns: COLUMNS },
  "conv weight": { columns: COLUMNS * 2 },
  "delta_rule decay": { columns: 1 },
  "delta_rule a_bias": { columns: 1 },
  "selective_scan decay": { columns: 1 },
  "selective_scan skip": { columns: 1 },
  "selective_scan dt_bias": { columns: 1 },
};

/** Values of the states of operations that have one. */
const STATES: Record<string, number> = {
  conv: COLUMNS,
  delta_rule: COLUMNS * COLUMNS,
  selective_scan: COLUMNS * COLUMNS,
};

const HEADS = { layer: 0, n_heads: 1, n_kv_heads: 1, head_dim: COLUMNS };

/** An operation of the kind, with the tensors of its weights. */
function operationOf(
  kind: keyof typeof WEIGHT_FIELDS,
  tensors: Record<string, number>,
): GivenOperation {
  switch (kind) {
    case "embed":
      return {
        kind,
        output: 0,
        table: tensors.table,
        position_table: tensors.position_table,
        columns: COLUMNS,
      };
    case "norm":
      return {
        kind,
        input: 0,
        output: 1,
        ...tensors,
        norm: Norm.rms,
        columns: COLUMNS,
        epsilon: 1,
      };
    case "matmul":
      return {
        kind,
        input: 0,
        output: 1,
        columns: COLUMNS,
        weight: [tensors.weight],
        bias: [tensors.bias],
        factor: [tensors.factor],
        rows: [ROWS],
      };
    case "rope_store":
      return { kind, q: 2, ...HEADS, rope_dim: COLUMNS, rope: Rope.halves, ...tensors };
    case "attention":
      return { kind, q: 2, output: 1, ...HEADS, ...tensors, scale: 1 };
    case "route":
      return {
        kind,
        input: 0,
        experts: 3,
        weights: 1,
        ...tensors,
        n_experts: EXPERTS,
        n_used: 1,
        normalise: 0,
      };
    case "expert_matmul":
      return {
        kind,
        input: 0,
        experts: 3,
        output: 4,
        columns: COLUMNS,
        n_used: 1,
        n_experts: EXPERTS,
        weight: [tensors.weight],
        // With a shared expert there is neither bias nor factor.
        ...(tensors.shared === undefined
          ? { bias: [tensors.bias], factor: [tensors.factor] }
          : { shared: [tensors.shared] }),
        rows: [ROWS],
      };
    case "head_matmul":
      return {
        kind,
        input: 0,
        output: 1,
        ...tensors,
        n_heads: 1,
        columns: COLUMNS,
        rows: ROWS,
        input_stride: COLUMNS,
        output_stride: ROWS,
      };
    case "conv":
      return { kind, input: 0, output: 1, ...tensors, columns: COLUMNS, kernel: 2 };
    case "delta_rule":
      return {
        kind,
        qkv: 2,
        gates: 0,
        output: 1,
        ...tensors,
        n_heads: 1,
        n_k_heads: 1,
        key_dim: COLUMNS,
        value_dim: COLUMNS,
        q_column: 0,
        k_column: COLUMNS,
        v_column: 2 * COLUMNS,
        a_column: 0,
        b_column: 1,
      };
    case "selective_scan":
      return {
        kind,
        input: 2,
        steps: 0,
        output: 1,
        ...tensors,
        n_heads: 1,
        n_groups: 1,
        head_dim: COLUMNS,
        state_dim: COLUMNS,
        x_column: 0,
        b_column: COLUMNS,
        c_column: 2 * COLUMNS,
        dt_column: 0,
      };
    default:
      throw new Error(`${kind} has weights, but no test`);
  }
}

for (const [kind, fields] of Object.entries(WEIGHT_FIELDS)) {
  for (const gone of fields) {
    const name = `a program is refused without the arena of a weight: ${kind} ${gone}`;
    Deno.test(name, async () => {
      using device = new TestDevice();
      const lost = device.context.createArena(1 << 20);
      const used = fields.filter((field) =>
        kind !== "expert_matmul" || field === "weight" ||
        (field === "shared") === (gone === "shared")
      );
      const all = used.map((field) => {
        const shape = SHAPES[`${kind} ${field}`] ?? { columns: COLUMNS };
        const { rows = 1, columns, n_experts = 1 } = shape;
        const values = new Float32Array(rows * columns * n_experts).fill(1);
        const arena = field === gone ? lost : device.arena;
        return arena.upload({ type: 0, rows, columns, n_experts }, new Uint8Array(values.buffer));
      });
      // The harness numbers the tensors that it uploads; these were uploaded by hand.
      device["tensors"] = all.length;
      const tensors = Object.fromEntries(used.map((field, i) => [field, all[i]]));
      const program = device.program({
        ops: [operationOf(kind as keyof typeof WEIGHT_FIELDS, tensors)],
        buffers: [
          tokenBuffer(COLUMNS),
          tokenBuffer(ROWS),
          tokenBuffer(3 * COLUMNS),
          indexBuffer(1),
          expertBuffer(ROWS, 1),
        ],
        cache: device.cache(kind in STATES ? { states: [STATES[kind]], slots: 1 } : {}),
      });
      const states = kind in STATES ? { from: NONE, to: 0 } : undefined;
      const sequence = { ...plainSequence(2), kvBlocks: [[3]], states };
      assertEquals(await program.step([sequence]), { outputs: [] });
      device.kernels.symbols.m40_arena_destroy(lost["handle"]);
      await assertRejects(
        () => program.step([sequence]),
        M40Error,
        "an arena that the program uses has been destroyed",
      );
    });
  }
}
