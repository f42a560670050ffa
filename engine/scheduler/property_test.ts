import { assert } from "@std/assert";
import { EVENTS, type Events } from "../../tests/fixtures/life_chances.ts";
import { Life } from "../../tests/fixtures/scheduler_life.ts";

Deno.test("whatever comes, goes and fails, each sequence ends once and samples what it would alone, and no KV block is lost", async () => {
  const runs = Number(Deno.env.get("M40_SCHEDULER_RUNS") ?? 120);
  const first = Number(Deno.env.get("M40_SCHEDULER_SEED") ?? 1);
  const sums = { ...EVENTS };
  const add = (events: Events) => {
    for (const key of Object.keys(sums) as (keyof Events)[]) sums[key] += events[key];
  };
  for (let seed = first; seed < first + runs; seed++) {
    try {
      let life = new Life(seed * 7919);
      add(await life.live());
      for (let i = 1; life.hasDisk && i < 3; i++) {
        life = new Life(seed * 7919 + i, life);
        add(await life.live());
      }
    } catch (error) {
      throw new Error(`seed ${seed}: M40_SCHEDULER_SEED=${seed} M40_SCHEDULER_RUNS=1`, {
        cause: error,
      });
    }
  }
  console.log(JSON.stringify({ lives: runs, ...sums }));
  for (const [what, count] of Object.entries(sums)) assert(count > 0, `no ${what} happened`);
});
