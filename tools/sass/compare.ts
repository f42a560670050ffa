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

function isSame(a: Kernel, b: Kernel): boolean {
  return shapes(a) === shapes(b) && a.registers === b.registers && a.shared === b.shared;
}

/** The kernels whose instructions are not the same in the same order, or that take other resources. */
export function compareKernels(before: readonly Kernel[], now: readonly Kernel[]): {
  readonly different: readonly Difference[];
  readonly gone: readonly string[];
  readonly added: readonly string[];
  readonly same: number;
} {
  // Template arguments that are types are no part of a name, so several kernels may have one.
  const old = Map.groupBy(before, nameOf);
  const all = Map.groupBy(now, nameOf);
  const different: Difference[] = [];
  let same = 0;
  for (const [name, kernels] of all) {
    const left = [...old.get(name) ?? []];
    const others = kernels.filter((kernel) => {
      const at = left.findIndex((one) => isSame(one, kernel));
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
    same += kernels.length - others.length;
    for (const kernel of others) {
      const one = left.shift();
      if (one === undefined) continue;
      different.push({
        kernel,
        before: one,
        instructions: [one.instructions.length, kernel.instructions.length],
        loop: [loopLength(one), loopLength(kernel)],
      });
    }
  }
  return {
    different,
    gone: [...old.keys()].filter((name) => !all.has(name)),
    added: [...all.keys()].filter((name) => !old.has(name)),
    same,
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
