/** What a promise comes to; undefined where that takes more milliseconds than this. Its failure is passed on. */
export async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, milliseconds);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
