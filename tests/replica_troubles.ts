/**
 * What happens to replicas behind a balancer, and what clients must not notice of it.
 *
 * @module
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import type { BalancedLoad } from "./balanced_load.ts";
import { setLink } from "./namespaces.ts";
import { answers, type Replica, sleep } from "./replicas.ts";

/**
 * Kills, drains, slows down and restarts replicas under load, ends the load, and compares its answers with those that a
 * replica gives alone.
 */
export async function withstandTroubles(
  t: Deno.TestContext,
  three: readonly Replica[],
  load: BalancedLoad,
): Promise<void> {
  await t.step("kill -9 of one: what had not begun is answered by another", async () => {
    await three[1].kill();
    await sleep(2000);
    for (const { begun, reason } of load.failures) assert(begun, reason);
    load.failures.length = 0;
    await three[1].start();
  });
  const nothingLost = () => assertEquals(load.failures, []);
  await t.step("drain of one: nothing is lost", async () => {
    await three[2].drain();
    await sleep(500);
    await three[2].start();
    nothingLost();
  });
  await t.step("a slow one: nothing is lost", async () => {
    const before = load.answers;
    await three[0].slowDown(AbortSignal.timeout(3000));
    assertGreater(load.answers, before);
    nothingLost();
  });
  await t.step({
    name: "one that is off the net for some seconds, without a word: nothing is lost",
    ignore: three[1].namespace === undefined,
    fn: async () => {
      await setLink(three[1].namespace!, "down");
      await sleep(4000);
      await setLink(three[1].namespace!, "up");
      await answers(three[1].url + "/ready");
      nothingLost();
    },
  });
  await t.step("a rolling restart: nothing is lost", async () => {
    for (const replica of three) {
      // What it still has to answer keeps it refusing for some time, and telling when to come again.
      const long = [1, 2, 3].map(() => replica.answersAtLength());
      await Promise.all([replica.drain(), ...long]);
      await replica.start();
      await sleep(500);
    }
    nothingLost();
  });
  await load.stop();
  await t.step("every answer is the one that a replica gives alone", async () => {
    nothingLost();
    console.log(`${load.answers} answers`);
    assertEquals(await load.wrongAnswers(three[0].url, 30), 0);
  });
}
