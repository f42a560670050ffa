import { assert, assertEquals } from "@std/assert";
import type { Context } from "../../engine/device/context.ts";
import type { DeviceProgram } from "../../engine/device/device_program.ts";
import { KernelLibrary } from "../../engine/device/library.ts";
import type { StepSequence } from "../../engine/device/step_block.ts";
import { NONE } from "../../engine/device/structs.ts";
import { type Gguf, readGguf } from "../../engine/gguf/reader.ts";
import { planMemory } from "../../engine/memory/memory_plan.ts";
import { architectureOf } from "../../engine/models/architecture.ts";
import type { ModelShape } from "../../engine/models/model.ts";
import { place } from "../../engine/memory/placement.ts";
import { BUFFER_FIELDS } from "../../engine/program/operations.generated.ts";
import type { Operation } from "../../engine/program/operation.ts";
import type { Program } from "../../engine/program/program.ts";
import { cutsOf, handedOver } from "../../engine/program/cuts.ts";
import { type ProgramPart, splitProgram } from "../../engine/program/split.ts";
import { KvBlockLayout } from "../../engine/scheduler/kv_blocks/kv_block_layout.ts";
import { BACKEND, tokenBuffer } from "../fixtures/device_harness.ts";
import { golden, GOLDEN_NAMES } from "../fixtures/goldens.ts";

const CONTEXT = 64;
/** A prompt's chunk, another, and tokens that are decoded one by one and two together. */
const STEPS: readonly { tokens: number[]; decode: boolean }[] = [
  { tokens: [3, 1, 4, 1, 5, 9, 2], decode: false },
  { tokens: [6, 5, 3, 5, 8], decode: false },
  { tokens: [9], decode: true },
  { tokens: [7, 9], decode: true },
];

/** A part on a device. */
interface Placed {
  readonly part: ProgramPart;
  readonly device: DeviceProgram;
  readonly layout: KvBlockLayout;
}

async function placed(
  context: Context,
  gguf: Gguf,
  shape: ModelShape,
  part: ProgramPart,
): Promise<Placed> {
  const plan = planMemory(context, part.program, shape, {
    contextTokens: CONTEXT,
    kvType: "f32",
    maxRunning: 1,
    outputs: 8,
    freeBytes: 2 ** 34,
    device: "cpu",
  });
  const { program } = await place(context, gguf, part.program, plan);
  return { part, device: program, layout: new KvBlockLayout(plan.kvBlockTokens, plan.groups) };
}

/** The logits of all steps' tokens, computed by parts one after the other. */
async function logitsOf(parts: readonly Placed[]): Promise<Float32Array[]> {
  const logits: Float32Array[] = [];
  let position = 0;
  for (const { tokens, decode } of STEPS) {
    let handed: Float32Array<ArrayBuffer>[] = [];
    for (const [i, { part, device, layout }] of parts.entries()) {
      part.given.forEach((buffer, n) => device.writeBuffer(buffer, handed[n]));
      const isLast = i === parts.length - 1;
      const sequence: StepSequence = {
        tokens,
        position,
        decode,
        kvBlocks: part.cacheLayers.length === 0
          ? []
          : layout.groups.map((_, group) => [2 * group, 2 * group + 1]),
        states: part.states.length === 0 ? undefined : { from: position === 0 ? NONE : 0, to: 0 },
        outputs: isLast ? tokens.map((_, row) => ({ row, kind: "logits" as const })) : [],
      };
      const { outputs } = await device.step([sequence]);
      for (const { status, values } of outputs) {
        assertEquals(status, "ok");
        logits.push(values!.slice());
      }
      handed = part.handed.map((buffer) => {
        const { columns } = part.program.buffers[buffer];
        return device.readBuffer(buffer, new Float32Array(tokens.length * columns));
      });
    }
    position += tokens.length;
  }
  return logits;
}

/** Where M40_SPLIT_CUTS is "all", every cut is tried; else a few. */
const EVERY_CUT = Deno.env.get("M40_SPLIT_CUTS") === "all";

/** Cuts by themselves, and two at a time, where there are layers for three parts. */
function someCuts(program: Program): number[][] {
  const all = cutsOf(program);
  const cuts = EVERY_CUT ? all : all.filter((_, i) => i % Math.ceil(all.length / 2) === 0);
  const [first] = cuts;
  const second = cuts.findLast((cut) =>
    cut > first && splitProgram(program, [first, cut])[1].cacheLayers.length > 0
  );
  return [...cuts.map((cut) => [cut]), ...(second === undefined ? [] : [[first, second]])];
}

for (const name of GOLDEN_NAMES) {
  Deno.test(`${name}: parts of it compute the bits of the whole, wherever it is cut`, async () => {
    const gguf = await readGguf(golden(name));
    const { program, shape } = architectureOf(gguf).read(gguf, {});
    await using library = KernelLibrary.find(BACKEND);
    const run = async (cuts: readonly number[]) => {
      using context = library.createContext({ threads: 1 });
      const parts: Placed[] = [];
      for (const part of splitProgram(program, cuts)) {
        parts.push(await placed(context, gguf, shape, part));
      }
      return await logitsOf(parts);
    };
    const whole = await run([]);
    assertEquals(whole.length, STEPS.reduce((sum, { tokens }) => sum + tokens.length, 0));
    const cuts = someCuts(program);
    assert(cuts.length > 0, "it cannot be cut");
    for (const some of cuts) {
      const logits = await run(some);
      logits.forEach((values, i) => assertEquals(values, whole[i], `cut at ${some}, token ${i}`));
    }
  });
}

Deno.test("every buffer of an operation is known, and whether it is read or written", () => {
  const library = KernelLibrary.find("cpu");
  const described = Object.entries(library.layout()).filter(([, { roles }]) => roles !== undefined);
  const fields = described.map(([name, { roles }]) => [
    name.replace("m40_op_", ""),
    Object.fromEntries(
      Object.entries(roles!).filter(([, role]) => ["reads", "writes", "updates"].includes(role)),
    ),
  ]);
  // The library reads it only where hidden states are wanted.
  const sample = { ...Object.fromEntries(fields).sample, hidden: "reads" };
  assertEquals({ ...Object.fromEntries(fields), sample }, BUFFER_FIELDS);
  library.close();
});

Deno.test("what is only half written after a cut goes over it; what is written whole, or never read again, does not", () => {
  const columns = 4;
  const halves = (buffer: number, output_column: number): Operation => ({
    kind: "copy",
    input: 0,
    output: buffer,
    columns: 2,
    n_groups: 1,
    input_column: 0,
    input_stride: 2,
    output_column,
    output_stride: 2,
  });
  const add = (a: number, output: number): Operation => ({
    kind: "add",
    a,
    b: a,
    gate: NONE,
    output,
    columns,
  });
  const program: Program = {
    operations: [
      { kind: "embed", output: 0, table: 0, position_table: NONE, columns, scale: 1 },
      ...[add(0, 1), add(0, 2), add(0, 3), add(0, 4)],
      // The cut.
      ...[halves(1, 2), add(0, 2), add(1, 5), add(2, 5), add(4, 4)],
    ],
    buffers: Array.from({ length: 6 }, () => tokenBuffer(columns)),
    weights: [],
    cacheLayers: [],
    states: [],
  };
  assertEquals(handedOver(program, 5), [0, 1, 4]);
});

Deno.test("no cut is where a library may have left out what goes over: what only the next operation was seen to read", () => {
  const columns = 4;
  const copy = (input: number, output: number, state = NONE): Operation =>
    state === NONE
      ? {
        ...{ kind: "copy", input, output, columns, n_groups: 1, input_column: 0 },
        ...{ input_stride: columns, output_column: 0, output_stride: columns },
      }
      : {
        ...{ kind: "conv", input, output, weight: NONE, bias: NONE, state, columns, kernel: 4 },
        ...{ activation: 0, input_column: 0, factor_column: NONE, gate_column: NONE },
        output_column: 0,
      };
  const program = (...operations: Operation[]): Program => ({
    operations: [copy(0, 1, 0), ...operations, copy(5, 0, 1)],
    buffers: Array.from({ length: 6 }, () => tokenBuffer(columns)),
    weights: [],
    cacheLayers: [],
    states: [1, 1],
  });
  // Buffer 2 is between the first two: after the second one it may never have been written.
  assertEquals(cutsOf(program(copy(1, 2), copy(2, 3), copy(2, 5))), [1, 2, 4]);
  // A third one that reads it keeps it.
  assertEquals(
    cutsOf(program(copy(1, 2), copy(2, 3), copy(2, 4), copy(2, 5))),
    [1, 2, 4, 5],
  );
});
