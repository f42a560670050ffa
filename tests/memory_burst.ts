/** Holds a burst of buffers twice, and prints how many bytes of this process were resident. */
import { MemoryGiver } from "../engine/device/freed_memory.ts";

const giver = MemoryGiver.open()!;
/** What is held at present. */
const held = new Set<Uint8Array>();

/** Holds 240 MiB in pieces as bodies come in, and one large piece as they are read into. */
function burst(): number {
  for (let i = 0; i < 14_336; i++) held.add(new Uint8Array(16 * 1024).fill(1));
  held.add(new Uint8Array(16 * 2 ** 20).fill(1));
  return Deno.memoryUsage().rss;
}

/** Lets go of it. */
async function over(): Promise<number> {
  held.clear();
  await giver.give();
  return Deno.memoryUsage().rss;
}

// V8's own memory of a burst is the same from the first one on.
burst();
const first = await over();
const during = burst();
const again = await over();
console.log(JSON.stringify({ first, held: during, again }));
