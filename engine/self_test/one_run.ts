import { type BufferDesc, Element, Rows, type StepSequence } from "../device/mod.ts";
import { type Case, LEAST_SHARE } from "./case.ts";
import { prompt, type Runner } from "./runner.ts";
import type { Recipe, Work } from "./small_programs.ts";

/** Tokens of the prompt that a case computes, where it says nothing else. */
export const TOKENS = 5;

/** A program that is run once, over a prompt of a few tokens where it says nothing else. */
export type OneRun = Recipe & Partial<Work>;

/**
 * A case that runs a program once and compares its last buffer. The other buffers of floats hold random numbers, where
 * no other inputs are given.
 */
export function oneRun(
  operation: Case["operation"],
  variant: string,
  make: (runner: Runner) => OneRun,
): Case {
  return {
    operation,
    variant,
    compute(runner) {
      const { inputs, sequences = prompt(TOKENS), ...recipe } = make(runner);
      const tokens = sequences.reduce((sum, one) => sum + one.tokens.length, 0);
      const outputs = sequences.reduce((sum, one) => sum + one.outputs.length, 0);
      const values = ({ rows, rows_factor, columns }: BufferDesc) =>
        rows_factor * columns * (rows === Rows.outputs ? outputs : tokens);
      const others = recipe.buffers.slice(0, -1);
      const random = others.flatMap((buffer, i) =>
        buffer.element === Element.f32 ? [[i, runner.random.floats(values(buffer))]] : []
      );
      return runner.compute(
        { ...recipe, sequences, inputs: { ...Object.fromEntries(random), ...inputs } },
        others.length,
        values(recipe.buffers[others.length]),
      );
    },
  };
}

/**
 * Runs a program over a prompt, with all of the device and with little, then over decoded tokens that follow it. Its
 * last buffer after each step is the result; the others hold random numbers in each. All have a row a token.
 *
 * @param more What is special about the sequence of a step.
 */
export async function promptThenDecode(
  runner: Runner,
  recipe: Recipe,
  { tokens, decoded }: { readonly tokens: number; readonly decoded: number },
  more: (isDecoded: boolean) => Partial<StepSequence>,
): Promise<Float32Array> {
  const program = runner.program({ ...recipe, sequences: prompt(tokens) });
  const widths = recipe.buffers.map(({ columns }) => columns);
  const output = widths.pop()!;
  const results = new Float32Array((2 * tokens + decoded) * output);
  let at = 0;
  const step = async (position: number, count: number, decode: boolean, share?: number) => {
    for (const [i, columns] of widths.entries()) {
      program.writeBuffer(i, runner.random.floats(count * columns));
    }
    await program.step(prompt(count, { position, decode, ...more(decode) }), share);
    program.readBuffer(widths.length, results.subarray(at, at += count * output));
  };
  await step(0, tokens, false);
  await step(0, tokens, false, LEAST_SHARE);
  for (let i = 0; i < decoded; i++) await step(tokens + i, 1, true);
  return results;
}
