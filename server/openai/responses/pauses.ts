import { settled } from "../../answer/mod.ts";

/**
 * The values of an iterator as they come, and undefined whenever none has come for so long. Leaving early leaves the
 * iterator only at its next value, so the caller must ensure that one comes.
 */
export async function* withPauses<T>(
  values: AsyncGenerator<T>,
  milliseconds: number,
): AsyncGenerator<T | undefined> {
  try {
    for (;;) {
      const next = values.next();
      while (!await settled(next, milliseconds)) yield undefined;
      const { done, value } = await next;
      if (done) return;
      yield value;
    }
  } finally {
    await values.return(undefined);
  }
}
