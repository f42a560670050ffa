/** From so many bytes of buffers on that are new since V8's last collection, it begins the next one: 64 MiB. */
const BEGINS_AT_BYTES = 64 * 2 ** 20;

/** The callers that wait for a collection's end, each with an object that nothing else holds. */
const waiting = new FinalizationRegistry<() => void>((resolve) => resolve());

/**
 * Has V8 collect the garbage of the whole heap, and resolves when its buffers are freed; while nothing else keeps the
 * event loop going, it may never. V8 collects when much is allocated. A server after a burst of requests allocates
 * little, and would keep the burst's garbage for a long time.
 *
 * V8 does it as usual, most of it in other threads and the rest in steps of a few milliseconds. V8's own `gc()`, which
 * also needs a flag, would hold the event loop until all is done.
 */
export async function collectGarbage(): Promise<void> {
  // One may be under way, which has passed over what became garbage since it began. The next one finds that, and
  // frees it in other threads; the third begins when they are done.
  for (let i = 0; i < 3; i++) await collection();
}

/** Has V8 begin one collection, by a large buffer, and resolves at its end. */
function collection(): Promise<void> {
  return new Promise((resolve) => {
    // Only a collection of the whole heap finds out that nothing holds this.
    waiting.register({}, resolve);
    // It is never touched, so that the system gives no memory for it, and is freed at once.
    new ArrayBuffer(BEGINS_AT_BYTES + 1).transfer(0);
  });
}
