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
      while (await isLate(next, milliseconds)) yield undefined;
      const { done, value } = await next;
      if (done) return;
      yield value;
    }
  } finally {
    await values.return(undefined);
  }
}

/** Whether a promise is not settled within that time. */
async function isLate(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: number | undefined;
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(() => resolve(true), milliseconds);
  });
  const settled = promise.then(() => false, () => false);
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}
