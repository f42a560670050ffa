/**
 * What differs between the machine code of two builds, kernel by kernel: for changes that are meant to leave it alone.
 *
 * @module
 */
import { ATTENTION_LOOP_SHARE, isAttentionPrefill } from "./budgets.ts";
import { hotLoop, type Kernel, localAccesses } from "./kernels.ts";

/** A kernel of both builds whose code is not the same. */
export interface Difference {
  readonly kernel: Kernel;
  readonly before: Kernel;
  /** Instructions of the whole, and of the loop that it spends its time in. */
  readonly instructions: readonly [before: number, now: number];
  readonly loop: readonly [before: number, now: number];
}

/** Names by which kernels of two builds are the same. */
const nameOf = (kernel: Kernel) => `${kernel.base.replace(/_kernel$/, "")}<${kernel.args}>`;

function loopLength(kernel: Kernel): number {
  return hotLoop(kernel, isAttentionPrefill(kernel) ? ATTENTION_LOOP_SHARE : undefined)?.length ??
    0;
}

/** An instruction without the registers that it happens to use: what stays the same where code is only renumbered. */
const shapes = ({ instructions }: Kernel) => instructions.map(({ name }) => name).join(" ");

/** The kernels whose instructions are not the same in the same order, or that take other resources. */
export function compareKernels(before: readonly Kernel[], now: readonly Kernel[]): {
  readonly different: readonly Difference[];
  readonly gone: readonly string[];
  readonly added: readonly string[];
  readonly same: number;
} {
  const old = new Map(before.map((kernel) => [nameOf(kernel), kernel]));
  const names = new Set(now.map(nameOf));
  const both = now.filter((kernel) => old.has(nameOf(kernel)));
  const different = both.map((kernel) => ({ kernel, before: old.get(nameOf(kernel))! }))
    .filter(({ kernel, before }) =>
      shapes(kernel) !== shapes(before) || kernel.registers !== before.registers ||
      kernel.shared !== before.shared
    )
    .map(({ kernel, before }): Difference => ({
      kernel,
      before,
      instructions: [before.instructions.length, kernel.instructions.length],
      loop: [loopLength(before), loopLength(kernel)],
    }));
  return {
    different,
    gone: [...old.keys()].filter((name) => !names.has(name)),
    added: [...names].filter((name) => !old.has(name)),
    same: both.length - different.length,
  };
}

/** A line on a difference. */
export function describeDifference({ kernel, before, instructions, loop }: Difference): string {
  const change = (was: number, is: number, unit: string) =>
    was === is ? `${is} ${unit}` : `${was} -> ${is} ${unit}`;
  const local = localAccesses(kernel);
  return [
    `${kernel.name}: ${change(before.registers, kernel.registers, "registers")}`,
    change(before.shared, kernel.shared, "bytes shared"),
    change(instructions[0], instructions[1], "instructions"),
    change(loop[0], loop[1], "in the loop"),
    ...(local > 0 ? [`${localAccesses(before)} -> ${local} accesses of local memory`] : []),
  ].join(", ");
}
