/**
 * What the system knows of processes, for tests that end them.
 *
 * @module
 */

/** The processes that this one, or the one named, has started and that are there still, zombies too. */
export function childrenOf(parent: number = Deno.pid): number[] {
  const children = new Set<number>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (/^\d+$/.test(name) && parentOf(Number(name)) === parent) children.add(Number(name));
  }
  return [...children];
}

/** Whether a process is there, and no zombie. */
export function lives(process: number): boolean {
  return !["", "Z", "X"].includes(statOf(process)[0] ?? "");
}

/** Waits until a process is no more; milliseconds that it took. */
export async function endOf(process: number, patienceMs = 10_000): Promise<number> {
  const start = performance.now();
  while (lives(process)) {
    if (performance.now() - start > patienceMs) {
      throw new Error(`process ${process} is still there`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return performance.now() - start;
}

/** Descriptors that this process has open. */
export function openDescriptors(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

function parentOf(process: number): number {
  return Number(statOf(process)[1] ?? -1);
}

/** The fields of /proc/PID/stat behind the name: state, parent ... */
function statOf(process: number): string[] {
  try {
    const text = Deno.readTextFileSync(`/proc/${process}/stat`);
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}
