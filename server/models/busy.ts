import type { Models } from "./models.ts";

/** How many sequences run in all models, and how many wait; a request that waits for its model counts as one. */
export function busy(models: Models): { running: number; waiting: number } {
  const sum = { running: 0, waiting: models.waiting() };
  for (const { engine } of models.loaded()) {
    const { running = 0, waiting = 0 } = engine?.status() ?? {};
    sum.running += running;
    sum.waiting += waiting;
  }
  return sum;
}
