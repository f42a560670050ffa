/**
 * The machine's memory bandwidth: every core copies its own large buffer at the same time.
 *
 * @module
 */

const BUFFER_BYTES = 256 * 2 ** 20;
const ROUNDS = 8;

/**
 * Bytes read and written a second by copies on `threads` threads, the best of several rounds.
 *
 * @param threads How many copy at the same time.
 */
export async function memoryBandwidth(threads = navigator.hardwareConcurrency): Promise<number> {
  const source = `
    const from = new Uint8Array(${BUFFER_BYTES}).fill(1), to = new Uint8Array(${BUFFER_BYTES}).fill(2);
    self.onmessage = () => { to.set(from); self.postMessage(null); };
    self.postMessage(null);`;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const workers = Array.from({ length: threads }, () => new Worker(url, { type: "module" }));
  const answer = (worker: Worker) =>
    new Promise<void>((resolve) => worker.onmessage = () => resolve());
  try {
    await Promise.all(workers.map(answer));
    let best = Infinity;
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now();
      const copied = Promise.all(workers.map(answer));
      for (const worker of workers) worker.postMessage(null);
      await copied;
      best = Math.min(best, performance.now() - start);
    }
    return 2 * BUFFER_BYTES * threads / (best / 1000);
  } finally {
    for (const worker of workers) worker.terminate();
    URL.revokeObjectURL(url);
  }
}

if (import.meta.main) {
  for (const threads of new Set([1, navigator.hardwareConcurrency])) {
    const bytes = await memoryBandwidth(threads);
    console.log(`${threads} threads: ${(bytes / 1e9).toFixed(1)} GB/s read and written`);
  }
}
