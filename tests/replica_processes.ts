import { assertEquals } from "@std/assert";
import { replicasOf, withReplicas } from "./card_replicas.ts";
import { childrenOf } from "./process_table.ts";

// Replicas whose devices have processes of their own, which are counted. Run by process_leaks_test.ts.

Deno.test("host memory for sequences that give way is shared out, and what is unloaded leaves no process", async () => {
  const children = childrenOf();
  const bytesOf = async (count: number) =>
    await withReplicas(
      "llama",
      count,
      { contextTokens: 128, parallel: 4, hostCacheBytes: 2 ** 22, deviceProcess: true },
      (engine) => {
        assertEquals(childrenOf().length, children.length + count);
        return Promise.resolve(replicasOf(engine).map(({ placed }) => placed.hostCacheBytes));
      },
    );
  assertEquals([await bytesOf(1), await bytesOf(2)], [[2 ** 22], [2 ** 21, 2 ** 21]]);
  assertEquals(childrenOf(), children);
});
