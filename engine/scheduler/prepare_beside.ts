import type { Sequence } from "./sequence.ts";

/** How long sequences prepare, in milliseconds, before others have their turn, such as who takes in a step's result. */
const TURN_MS = 1;

/**
 * Has sequences do of the work to come what needs no device, each a part in turn, until nothing of it is left, or a step
 * is over or about to be.
 *
 * @param step The step's result.
 * @param end When that is expected, by `now`: nothing is begun just before, so that the result need not wait.
 * @param now The time in milliseconds.
 */
export async function prepareBeside(
  sequences: readonly Pick<Sequence, "runs" | "prepare">[],
  step: Promise<unknown>,
  end: number,
  now: () => number,
): Promise<void> {
  const left = [...sequences];
  let over: Promise<boolean> | undefined;
  let turnEnd = now() + TURN_MS;
  for (let one = left.shift(); one !== undefined; one = left.shift()) {
    if (now() + TURN_MS > end) return;
    if (!one.runs || !prepares(one)) continue;
    left.push(one);
    if (now() < turnEnd) continue;
    over ??= step.then(() => true, () => true);
    if (await isOverAfterOthers(over)) return;
    turnEnd = now() + TURN_MS;
  }
}

/** Whether more is left. What it throws, it throws again where the work is needed, and the sequence ends there. */
function prepares(sequence: Pick<Sequence, "prepare">): boolean {
  try {
    return sequence.prepare();
  } catch {
    return false;
  }
}

/** Whether something is over once others have had their turn. */
async function isOverAfterOthers(over: Promise<boolean>): Promise<boolean> {
  let timer: number | undefined;
  const turn = new Promise<false>((resolve) => timer = setTimeout(() => resolve(false), 0));
  const isOver = await Promise.race([over, turn]);
  clearTimeout(timer);
  return isOver;
}
