import { type BufferDesc, Element, Rows } from "../device/mod.ts";
import type { Case } from "./case.ts";
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
