// Random lives of a manager of models, whose engines only count.
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { M40Error } from "../../engine/errors.ts";
import type { Lease } from "../../engine/manager/types.ts";
import { CountedEngines, type CountingEngine, tick, ticks } from "../fixtures/counted_engines.ts";

const NAMES = ["a", "b", "c"] as const;

const ACTION = fc.record({
  kind: fc.constantFrom("ask", "ask", "ask", "ask", "ask", "unload", "load", "die", "pause"),
  name: fc.constantFrom(...NAMES),
  hold: fc.integer({ min: 0, max: 4 }),
  patience: fc.option(fc.integer({ min: 0, max: 6 })),
  keepAlive: fc.constantFrom(undefined, undefined, 0, 1, Infinity),
});

Deno.test("whatever is asked for, left, lost and fails: every request is served or refused, and nothing stays behind", async () => {
  const seen = { served: 0, left: 0, refused: 0, full: 0, tight: 0, died: 0, closedEarly: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(ACTION, { minLength: 1, maxLength: 40, size: "max" }),
      fc.record({
        seed: fc.integer(),
        models: fc.integer({ min: 1, max: 3 }),
        room: fc.integer({ min: 1, max: 3 }),
        maxWaiting: fc.constantFrom(2, 64),
        idleMs: fc.constantFrom(undefined, 1),
        closeEarly: fc.boolean(),
      }),
      async (actions, { seed, models, room, maxWaiting, idleMs, closeEarly }) => {
        const engines = new CountedEngines(seed, room, true);
        let now = 0;
        let closing = false;
        const manager = engines.manager({
          models,
          maxWaiting,
          idleMs,
          // An hour a call: what has failed is tried again at once.
          now: () => now += 3.6e6,
        });
        const running: Promise<void>[] = [];
        const ask = async ({ name, hold, patience, keepAlive }: typeof actions[number]) => {
          const controller = new AbortController();
          const { signal } = controller;
          const left = patience === null
            ? undefined
            : ticks(patience).then(() => controller.abort());
          if (left !== undefined) running.push(left);
          let lease: Lease<CountingEngine>;
          try {
            lease = await manager.acquire(name, { signal, keepAliveMs: keepAlive });
          } catch (error) {
            assert(error instanceof M40Error, String(error));
            const { code } = error;
            if (code === "queue_full") seen.full++;
            else if (code === "cancelled" && signal.aborted) seen.left++;
            else seen.refused++;
            return;
          }
          try {
            assertEquals(lease.engine.name, name);
            for (let i = 0; i <= hold; i++) {
              // When all ends, a real engine waits for what it computes.
              assert(lease.engine.open || closing, "an engine in use is closed");
              await tick();
            }
            seen.served++;
          } finally {
            lease.release();
            lease.release();
          }
        };
        for (const action of actions) {
          const { kind, name } = action;
          if (kind === "ask") running.push(ask(action));
          if (kind === "unload") running.push(manager.unload(name));
          if (kind === "load") running.push(manager.load(name).catch(() => {}));
          if (kind === "die") {
            for (const engine of engines.open) if (engine.name === name) engine.failed = "fell off";
            seen.died++;
          }
          if (kind === "pause") await ticks(action.hold);
        }
        if (closeEarly) {
          seen.closedEarly++;
          closing = true;
          await manager.close();
        }
        for (let i = 0; i < running.length; i++) await running[i];
        await manager.idle();
        await manager.close();
        assertEquals([engines.open.size, engines.busy, manager.waiting()], [0, 0, 0]);
        assertEquals(manager.loaded(), []);
        assert(engines.most <= Math.min(models, room), "more are in memory than may be");
        if (room < models) seen.tight++;
        await assertRejects(() => manager.acquire("a"), M40Error, "ends");
      },
    ),
    { numRuns: Number(Deno.env.get("M40_MANAGER_RUNS") ?? 80) },
  );
  console.log(JSON.stringify(seen));
  for (const [what, count] of Object.entries(seen)) assert(count > 0, `nothing was ${what}`);
});

Deno.test("a request for a model is overtaken by one batch of each other model at most", async () => {
  const NAMES = ["a", "b", "c", "d"] as const;
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          name: fc.constantFrom(...NAMES),
          hold: fc.integer({ min: 0, max: 5 }),
          pause: fc.integer({ min: 0, max: 2 }),
        }),
        { minLength: 1, maxLength: 60 },
      ),
      fc.record({ seed: fc.integer(), models: fc.integer({ min: 1, max: 2 }) }),
      async (requests, { seed, models }) => {
        const engines = new CountedEngines(seed, models, false);
        const manager = engines.manager({ models, maxWaiting: 1000 });
        const running: Promise<void>[] = [];
        for (const { name, hold, pause } of requests) {
          const before = engines.loads;
          running.push((async () => {
            using _lease = await manager.acquire(name);
            assert(
              engines.loads - before <= NAMES.length,
              `${engines.loads - before} loads came before`,
            );
            await ticks(hold);
          })());
          await ticks(pause);
        }
        await Promise.all(running);
        await manager.close();
      },
    ),
    { numRuns: 60 },
  );
});
