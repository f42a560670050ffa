import { assert, assertEquals } from "@std/assert";
import type { DeviceProgram } from "../../engine/device/device_program.ts";
import type { StepSequence } from "../../engine/device/step_block.ts";
import { GREEDY, type StepSampling } from "../../engine/device/step_sampling.ts";
import type { OutputKind, StepOutput } from "../../engine/device/step_result.ts";
import { Random, TestDevice } from "../fixtures/device_harness.ts";
import { HIDDEN, smallModel, smallModelProgram, VOCAB } from "../fixtures/small_model.ts";

// What an output gives by its kind, and that one which fails leaves the others as they would be without it.

/** A token with an infinite embedding. */
const SPOILT = 17;
const SAMPLING: StepSampling = { ...GREEDY, temperature: 0.9, seed: 5n, topLogprobs: 2 };
const NOTHING = new Uint32Array(Math.ceil(VOCAB / 32));

/** Tokens of sequence s, none of them spoilt. */
function tokensOf(sequence: number): number[] {
  const random = new Random(500 + sequence);
  return Array.from({ length: 12 }, () => {
    const token = random.below(VOCAB);
    return token === SPOILT ? 0 : token;
  });
}

/** A part of sequence s, in KV blocks of its own; each of its last rows is an output of the kind. */
function part(
  sequence: number,
  position: number,
  n: number,
  options: {
    kind?: OutputKind;
    outputs?: number;
    decode?: boolean;
    spoil?: number;
    mask?: Uint32Array;
    kvBlocksOf?: number;
  } = {},
): StepSequence {
  const { kind, outputs = 1, decode, spoil, mask, kvBlocksOf = sequence } = options;
  const tokens = tokensOf(sequence).slice(position, position + n);
  if (spoil !== undefined) tokens[spoil] = SPOILT;
  return {
    tokens,
    position,
    kvBlocks: [[0, 1, 2].map((i) => kvBlocksOf + 16 * i)],
    decode,
    outputs: Array.from({ length: outputs }, (_, i) => ({
      row: n - outputs + i,
      kind,
      sampling: { ...SAMPLING, counter: position + i, mask },
    })),
  };
}

/** A step's outputs with values of their own. */
async function outputsOf(program: DeviceProgram, sequences: StepSequence[]): Promise<StepOutput[]> {
  const { outputs } = await program.step(sequences);
  return outputs.map((output) => ({
    ...output,
    ...output.values && { values: output.values.slice() },
  }));
}

for (const cacheType of [0, 1]) {
  Deno.test(`an output that fails leaves the others' bits, in prompts and decoding (cache type ${cacheType})`, async () => {
    using device = new TestDevice({ threads: 2 });
    const { program } = smallModelProgram(device, cacheType, SPOILT);
    for (
      const kinds of [["sample"], ["logits", "sample"], ["hidden", "logits", "sample"]] as const
    ) {
      const kind = (i: number) => ({ kind: kinds[i % kinds.length] });
      const prompts = [0, 2, 4, 6].map((s) => part(s, 0, 5, kind(s / 2)));
      const rows = [0, 2, 4].map((s) =>
        part(s, 5, 1 + s / 2, { ...kind(s / 2), outputs: 1 + s / 2, decode: true })
      );
      const wantedPrompts = await outputsOf(program, prompts);
      const wantedRows = await outputsOf(program, rows);
      const ok = (outputs: StepOutput[]) => outputs.every(({ status }) => status === "ok");
      assert(ok(wantedPrompts) && ok(wantedRows));

      const among = await outputsOf(program, [
        prompts[0],
        part(1, 0, 5, { spoil: 4 }),
        prompts[1],
        part(3, 0, 5, { mask: NOTHING }),
        part(5, 0, 5, { spoil: 0, kind: "logits" }),
        prompts[2],
        part(7, 0, 5, { spoil: 2, kind: "hidden" }),
        prompts[3],
      ]);
      assertEquals(among.filter((_, i) => [0, 2, 5, 7].includes(i)), wantedPrompts);
      assertEquals([1, 3, 4, 6].map((i) => among[i].status), [
        "not_finite",
        "nothing_allowed",
        "not_finite",
        "not_finite",
      ]);

      // Later decode rows read its K and V, other sequences do not; nor does the mask outlast its step.
      const decoded = await outputsOf(program, [
        rows[0],
        part(1, 5, 1, { decode: true }),
        rows[1],
        part(5, 5, 2, { decode: true, mask: NOTHING }),
        part(7, 5, 2, { decode: true, outputs: 2, spoil: 1, kind: "hidden" }),
        rows[2],
        part(3, 5, 1, { decode: true }),
      ]);
      const [first, last] = [1 + 2 + 1 + 1 + 2, wantedRows.length];
      assertEquals([
        decoded[0],
        ...decoded.slice(2, 4),
        ...decoded.slice(first, first + 3),
      ], wantedRows.slice(0, last));
      assertEquals([1, 4, 5, 6, 10].map((i) => decoded[i].status), [
        "not_finite",
        "not_finite",
        "not_finite",
        "not_finite",
        "ok",
      ]);

      // Their KV blocks serve others as if nothing had been there.
      const again = await outputsOf(program, [part(0, 0, 5, { ...kind(0), kvBlocksOf: 1 })]);
      assertEquals(again, [wantedPrompts[0]]);
      const row = part(0, 5, 1, { ...kind(0), decode: true, kvBlocksOf: 1 });
      assertEquals(await outputsOf(program, [row]), [wantedRows[0]]);
    }
  });
}

Deno.test("an output's values are its logits or its hidden state, with other outputs of any kinds", async () => {
  using device = new TestDevice({ threads: 2 });
  const { program, cache } = smallModelProgram(device);
  // The same model up to its hidden states, which are what its last buffer but one holds.
  const parts = smallModel(device, cache);
  const upTo = parts.ops.findLastIndex(({ kind }) => kind === "norm") + 1;
  const shorter = device.program({ ...parts, ops: parts.ops.slice(0, upTo) });
  const selected = parts.buffers.length - 2;
  for (const [decode, n] of [[false, 4], [true, 4], [true, 1]] as const) {
    const all = (kinds: OutputKind[]) =>
      kinds.slice(0, n).map((kind, s) => part(s, 0, 1, { kind, decode }));
    await shorter.step(all(["sample", "sample", "sample", "sample"]));
    const hidden = shorter.readBuffer(selected, new Float32Array(4 * HIDDEN));
    const logits = await outputsOf(program, all(["logits", "logits", "logits", "logits"]));
    const samples = await outputsOf(program, all(["sample", "sample", "sample", "sample"]));
    assertEquals(new Set(logits.map(({ values }) => values![0])).size, n);
    const wanted: Record<OutputKind, StepOutput[]> = {
      sample: samples,
      logits,
      hidden: logits.map((_, i) => ({
        status: "ok",
        values: hidden.slice(i * HIDDEN, (i + 1) * HIDDEN),
      })),
    };
    for (
      const kinds of [
        ["hidden", "hidden", "hidden", "hidden"],
        ["hidden", "logits", "sample", "hidden"],
        ["sample", "hidden", "logits", "logits"],
        ["logits", "sample", "sample", "hidden"],
      ] satisfies OutputKind[][]
    ) {
      // Often enough for a GPU to replay a graph.
      for (let i = 0; i < 4; i++) {
        const got = await outputsOf(program, all(kinds));
        assertEquals(got, kinds.slice(0, n).map((kind, i) => wanted[kind][i]), `${kinds}`);
        assertEquals(
          await outputsOf(program, all(["sample", "sample", "sample", "sample"])),
          samples,
        );
      }
    }
  }
});
