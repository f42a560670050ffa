import { within } from "../../engine/within.ts";

/** Whether a promise is settled, now or within that time. */
export async function settled(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  return await within(milliseconds, promise.then(() => true, () => true)) ?? false;
}

/**
 * The values of a generator, when the first of them is there or that time has passed.
 *
 * @param milliseconds 0: they are the generator's own, of which none is asked for yet.
 * @throws What the first value fails with within that time.
 */
export async function begun<T>(
  values: AsyncGenerator<T>,
  milliseconds: number,
): Promise<AsyncGenerator<T>> {
  if (milliseconds === 0) return values;
  const first = values.next();
  if (await settled(first, milliseconds)) await first;
  return (async function* () {
    try {
      const { done, value } = await first;
      if (done) return;
      yield value;
      yield* values;
    } finally {
      await values.return(undefined);
    }
  })();
}
