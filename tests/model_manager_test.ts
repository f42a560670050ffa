import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import fc from "fast-check";
import { M40Error } from "../engine/errors.ts";
import { ModelFailing } from "../engine/manager/failures.ts";
import { parseKeepAlive } from "../engine/manager/keep_alive.ts";
import { ModelManager } from "../engine/manager/model_manager.ts";
import type { Lease, ManagerOptions } from "../engine/manager/types.ts";

const NAMES = ["a", "b", "c"] as const;

/** Lets what is ready happen, and timers that are due. */
const tick = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await tick();
}

/** Computes nothing, but knows whether it may be used. */
class CountingEngine {
  open = true;
  failed?: string;

  constructor(readonly name: string, private readonly house: House) {}

  status() {
    return { failed: this.failed };
  }

  async close(): Promise<void> {
    assert(this.open, `${this.name} is closed twice`);
    this.open = false;
    this.house.begin();
    await ticks(this.house.take(3));
    this.house.busy--;
    this.house.open.delete(this);
    if (this.house.take(10) === 0) throw new Error("closing failed, as far as anybody can tell");
  }
}

/** Where engines are counted: what a device has room for, and what fails. */
class House {
  readonly open = new Set<CountingEngine>();
  busy = 0;
  loads = 0;
  most = 0;
  private state: number;

  /** @param room Models that fit, whatever the manager believes. */
  constructor(seed: number, readonly room: number, readonly failing: boolean) {
    this.state = seed >>> 0;
  }

  /** A random number below that. */
  take(below: number): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return Math.floor(this.state / 2 ** 32 * below);
  }

  begin(): void {
    this.busy++;
    assertEquals(this.busy, 1, "one model at a time is loaded or unloaded");
  }

  async load(name: string): Promise<CountingEngine> {
    this.begin();
    this.loads++;
    try {
      await ticks(this.take(3));
      if (this.open.size >= this.room) {
        throw new M40Error("out_of_memory", `${name} does not fit`);
      }
      if (this.failing && this.take(5) === 0) throw new M40Error("io", `${name} is damaged`);
      const engine = new CountingEngine(name, this);
      this.open.add(engine);
      this.most = Math.max(this.most, this.open.size);
      return engine;
    } finally {
      this.busy--;
    }
  }

  manager(options: Partial<ManagerOptions<CountingEngine>> = {}) {
    return new ModelManager<CountingEngine>({
      load: (name) => this.load(name),
      check: (name) =>
        this.failing && this.take(8) === 0
          ? Promise.reject(new M40Error("model_not_found", `${name} is gone`))
          : Promise.resolve(),
      ...options,
    });
  }
}

const ACTION = fc.record({
  kind: fc.constantFrom("ask", "ask", "ask", "ask", "ask", "unload", "load", "die", "pause"),
  name: fc.constantFrom(...NAMES),
  hold: fc.integer({ min: 0, max: 4 }),
  patience: fc.option(fc.integer({ min: 0, max: 6 })),
  keepAlive: fc.constantFrom(undefined, undefined, 0, 1, Infinity),
});

Deno.test("whatever is asked for, left, lost and fails: everybody is served or refused, and nothing stays behind", async () => {
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
        const house = new House(seed, room, true);
        let now = 0;
        let closing = false;
        const manager = house.manager({
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
              assert(lease.engine.open || closing, "an engine is closed that somebody uses");
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
            for (const engine of house.open) if (engine.name === name) engine.failed = "fell off";
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
        assertEquals([house.open.size, house.busy, manager.waiting()], [0, 0, 0]);
        assertEquals(manager.loaded(), []);
        assert(house.most <= Math.min(models, room), "more are in memory than may be");
        if (room < models) seen.tight++;
        await assertRejects(() => manager.acquire("a"), M40Error, "ends");
      },
    ),
    { numRuns: Number(Deno.env.get("M40_MANAGER_RUNS") ?? 80) },
  );
  console.log(JSON.stringify(seen));
  for (const [what, count] of Object.entries(seen)) assert(count > 0, `nothing was ${what}`);
});

Deno.test("whoever waits for a model is overtaken by one batch of each other model at most", async () => {
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
        const house = new House(seed, models, false);
        const manager = house.manager({ models, maxWaiting: 1000 });
        const running: Promise<void>[] = [];
        for (const { name, hold, pause } of requests) {
          const before = house.loads;
          running.push((async () => {
            using _lease = await manager.acquire(name);
            assert(
              house.loads - before <= NAMES.length,
              `${house.loads - before} loads came before`,
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

Deno.test("requests that come in turn for two models change them once for many, not once for each", async () => {
  const house = new House(1, 1, false);
  const manager = house.manager({ maxWaiting: 1000 });
  const running = Array.from({ length: 40 }, async (_, i) => {
    using _lease = await manager.acquire(i % 2 === 0 ? "a" : "b");
    await tick();
  });
  await Promise.all(running);
  assertEquals(house.loads, 2);
  await manager.close();
});

Deno.test("who has waited longest is not overtaken by requests for the model that is in memory", async () => {
  const house = new House(1, 1, false);
  const manager = house.manager();
  const first = await manager.acquire("a");
  const order: string[] = [];
  const asks: Promise<void>[] = [];
  for (const [i, name] of ["b", "a", "b", "a"].entries()) {
    asks.push((async () => {
      using _lease = await manager.acquire(name);
      order.push(name + i);
      await tick();
    })());
    await ticks(3);
  }
  assertEquals(order, [], "a is still used");
  assertEquals(manager.tryAcquire("a"), undefined);
  first.release();
  await Promise.all(asks);
  assertEquals(order, ["b0", "b2", "a1", "a3"]);
  await manager.close();
});

Deno.test("who leaves while the other model is still used gives it back to the others", async () => {
  const house = new House(1, 1, false);
  const manager = house.manager();
  const first = await manager.acquire("a");
  const controller = new AbortController();
  const other = manager.acquire("b", { signal: controller.signal });
  await ticks(3);
  const again = manager.acquire("a");
  controller.abort();
  await assertRejects(() => other, M40Error, "ended before");
  (await again).release();
  first.release();
  assertEquals(house.loads, 1);
  await manager.close();
});

Deno.test("a model that does not fit beside others has those unloaded that were used least recently", async () => {
  const house = new House(1, 2, false);
  const manager = house.manager({ models: 3 });
  for (const name of ["a", "b", "a"]) (await manager.acquire(name)).release();
  (await manager.acquire("c")).release();
  assertEquals(manager.loaded().map(({ name }) => name), ["c", "a"]);
  await manager.close();
});

Deno.test("a file that cannot be loaded costs no model that is in memory", async () => {
  const house = new House(1, 1, false);
  const manager = house.manager({
    check: (name) =>
      name === "bad" ? Promise.reject(new M40Error("invalid_model", "damaged")) : Promise.resolve(),
  });
  using lease = await manager.acquire("a");
  await assertRejects(() => manager.acquire("bad"), M40Error, "damaged");
  assert(lease.engine.open);
  manager.tryAcquire("a")!.release();
  lease.release();
  await manager.close();
});

Deno.test("a model whose device is lost is loaded again, but not more than three times a minute", async () => {
  const house = new House(1, 1, false);
  let now = 0;
  const manager = house.manager({ now: () => now });
  for (let i = 0; i < 3; i++) {
    now += 1000;
    const lease = await manager.acquire("a");
    lease.engine.failed = "fell off the bus";
    assertEquals(manager.tryAcquire("a"), undefined, "a lost engine is given to nobody");
    const next = manager.acquire("a");
    await ticks(5);
    assertEquals(house.open.size, 1, "it is closed when nobody uses it");
    lease.release();
    if (i < 2) (await next).release();
    else await assertRejects(() => next, ModelFailing);
  }
  const error = await assertRejects(() => manager.acquire("a"), ModelFailing);
  assertEquals([error.code, error.retryAfterSeconds], ["device", 58]);
  assertMatch(error.message, /3 times.*58 s.*fell off the bus/);
  assertEquals(manager.failing().length, 1);
  (await manager.acquire("b")).release();
  now += 60_000;
  (await manager.acquire("a")).release();
  assertEquals(manager.failing(), []);
  await manager.close();
});

Deno.test("a lost engine that cannot be closed holds up the next one no longer than it may", async () => {
  const house = new House(1, 2, false);
  const errors: unknown[] = [];
  const manager = house.manager({ abandonMs: 20, onError: (error) => errors.push(error) });
  const lease = await manager.acquire("a");
  lease.engine.close = () => new Promise(() => {});
  lease.engine.failed = "hangs";
  lease.release();
  (await manager.acquire("a")).release();
  assertMatch(String(errors[0]), /did not close/);
  await manager.close();
});

Deno.test("a model stays as long as the last request said, then as the manager has it, and goes when all have been idle", async () => {
  const house = new House(1, 1, false);
  const manager = house.manager({ keepAliveMs: () => 1e9, idleMs: 300 });
  const reasons: string[] = [];
  manager.observe({ unloaded: (name, reason) => void reasons.push(`${name} ${reason}`) });
  (await manager.acquire("a", { keepAliveMs: 0 })).release();
  await manager.unload("a");
  (await manager.acquire("a", { keepAliveMs: 5 })).release();
  assert(manager.loaded()[0].expiresMs! <= 5);
  await new Promise((resolve) => setTimeout(resolve, 60));
  assertEquals(manager.loaded(), []);
  (await manager.acquire("a", { keepAliveMs: Infinity })).release();
  assertEquals(manager.loaded()[0].expiresMs, undefined);
  await manager.unload("a");
  (await manager.acquire("b")).release();
  assert(manager.loaded()[0].expiresMs! > 1e8);
  const used = await manager.acquire("b");
  await new Promise((resolve) => setTimeout(resolve, 400));
  assertEquals(manager.loaded().length, 1, "it is used");
  used.release();
  const { loads } = house;
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    (await manager.acquire("b")).release();
  }
  assertEquals(house.loads, loads, "it is used now and then");
  await new Promise((resolve) => setTimeout(resolve, 400));
  assertEquals(manager.loaded(), []);
  assertEquals(reasons, ["a idle", "a idle", "a asked", "b idle"]);
  await manager.close();
});

Deno.test("closing while a model is loaded waits for it, refuses who waits, and closes it", async () => {
  const house = new House(1, 1, false);
  const { promise, resolve } = Promise.withResolvers<void>();
  const manager = house.manager({
    load: async (name) => {
      await promise;
      return await house.load(name);
    },
  });
  const waiter = manager.acquire("a");
  await ticks(2);
  const closed = manager.close();
  await assertRejects(() => waiter, M40Error, "ends");
  resolve();
  await closed;
  assertEquals([house.loads, house.open.size], [1, 0]);
});

Deno.test("times to stay are read as Ollama's clients write them, and nothing else is", () => {
  const cases: [unknown, number | undefined][] = [
    [300, 300_000],
    [0, 0],
    [0.5, 500],
    [-1, Infinity],
    ["300", 300_000],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
    ["2m5s", 125_000],
    ["0", 0],
    ["0s", 0],
    ["-1", Infinity],
    ["-5m", Infinity],
    [" 5m ", 300_000],
    ["", undefined],
    ["m", undefined],
    ["5", 5000],
    ["5 m", undefined],
    ["5d", undefined],
    ["m5", undefined],
    ["1e3", undefined],
    ["forever", undefined],
    [NaN, undefined],
    [Infinity, undefined],
    [true, undefined],
    [{}, undefined],
    ["1".repeat(50), undefined],
  ];
  for (const [value, wanted] of cases) assertEquals(parseKeepAlive(value), wanted, String(value));
});
