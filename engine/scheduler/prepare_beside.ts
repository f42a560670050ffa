import type { Sequence } from "./sequence.ts";

/** How long sequences prepare at a time, in milliseconds, before others have their turn: a step's end waits for that. */
const TURN_MS = 0.5;

/**
 * Has sequences do of the work to come what needs no device, each a part in turn, until nothing of it is left or a step
 * is over.
 *
 * @param step The step's result.
 */
export async function prepareBeside(
  sequences: readonly Sequence[],
  step: Promise<unknown>,
): Promise<void> {
  let isOver = false;
  const over = step.catch(() => {}).then(() => {
    isOver = true;
  });
  let left = sequences;
  while (true) {
    const until = performance.now() + TURN_MS;
    do left = left.filter((one) => one.runs && prepares(one));
    while (left.length > 0 && performance.now() < until);
    if (left.length === 0) return;
    await othersTurn(over);
    if (isOver) return;
  }
}

/** Whether more is left. What it throws, it throws again where the work is needed, and the sequence ends there. */
function prepares(sequence: Sequence): boolean {
  try {
    return sequence.prepare();
  } catch {
    return false;
  }
}

/** Lets the event loop go round, or ends with a promise. */
async function othersTurn(over: Promise<void>): Promise<void> {
  let timer: number | undefined;
  await Promise.race([over, new Promise<void>((resolve) => timer = setTimeout(resolve, 0))]);
  clearTimeout(timer);
}
