import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { ModelFailing } from "../../engine/manager/failures.ts";
import { CountedEngines, tick, ticks } from "../fixtures/counted_engines.ts";
import { ManualTimers } from "../fixtures/manual_timers.ts";
import { soon } from "../fixtures/waiting.ts";

Deno.test("requests that come in turn for two models change them once for many, not once for each", async () => {
  const engines = new CountedEngines(1, 1, false);
  const manager = engines.manager({ maxWaiting: 1000 });
  const running = Array.from({ length: 40 }, async (_, i) => {
    using _lease = await manager.acquire(i % 2 === 0 ? "a" : "b");
    await tick();
  });
  await Promise.all(running);
  assertEquals(engines.loads, 2);
  await manager.close();
});

Deno.test("the longest wait is not overtaken by requests for the model that is in memory", async () => {
  const engines = new CountedEngines(1, 1, false);
  const manager = engines.manager();
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

Deno.test("a request that leaves while the other model is still used leaves it to the others", async () => {
  const engines = new CountedEngines(1, 1, false);
  const manager = engines.manager();
  const first = await manager.acquire("a");
  const controller = new AbortController();
  const other = manager.acquire("b", { signal: controller.signal });
  await ticks(3);
  const again = manager.acquire("a");
  controller.abort();
  await assertRejects(() => other, M40Error, "ended before");
  (await again).release();
  first.release();
  assertEquals(engines.loads, 1);
  await manager.close();
});

Deno.test("a model that does not fit with others has those unloaded that were used least recently", async () => {
  const engines = new CountedEngines(1, 2, false);
  const manager = engines.manager({ models: 3 });
  for (const name of ["a", "b", "a"]) (await manager.acquire(name)).release();
  (await manager.acquire("c")).release();
  assertEquals(manager.loaded().map(({ name }) => name), ["c", "a"]);
  await manager.close();
});

Deno.test("a file that cannot be loaded costs no model that is in memory", async () => {
  const engines = new CountedEngines(1, 1, false);
  const manager = engines.manager({
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
  const engines = new CountedEngines(1, 1, false);
  let now = 0;
  const manager = engines.manager({ now: () => now });
  for (let i = 0; i < 3; i++) {
    now += 1000;
    const lease = await manager.acquire("a");
    lease.engine.failed = "fell off the bus";
    assertEquals(manager.tryAcquire("a"), undefined, "a lost engine serves no request");
    const next = manager.acquire("a");
    await ticks(5);
    assertEquals(engines.open.size, 1, "it is closed when its users are done");
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

Deno.test("a lost device is reported until a model is loaded, however long that takes, and not when it is unloaded later", async () => {
  const engines = new CountedEngines(1, 1, false);
  let now = 0;
  const manager = engines.manager({ now: () => now });
  const lease = await manager.acquire("a");
  assertEquals(manager.lost(), undefined);
  lease.engine.failed = "fell off the bus";
  assertEquals(manager.lost(), "fell off the bus");
  lease.release();
  now += 24 * 3600 * 1000;
  assertEquals(manager.lost(), "fell off the bus");
  (await manager.acquire("a")).release();
  assertEquals(manager.lost(), undefined);
  await manager.unload("a");
  assertEquals(manager.lost(), undefined);
  await manager.close();
});

Deno.test("a lost engine that cannot be closed holds up the next one no longer than it may", async () => {
  const engines = new CountedEngines(1, 2, false);
  const errors: unknown[] = [];
  const manager = engines.manager({ abandonMs: 20, onError: (error) => errors.push(error) });
  const lease = await manager.acquire("a");
  lease.engine.close = () => new Promise(() => {});
  lease.engine.failed = "hangs";
  lease.release();
  (await manager.acquire("a")).release();
  assertMatch(String(errors[0]), /did not close/);
  await manager.close();
});

Deno.test("a lost engine that cannot be closed does not hold up the end", async () => {
  const engines = new CountedEngines(1, 1, false);
  const manager = engines.manager({ abandonMs: 20 });
  using lease = await manager.acquire("a");
  lease.engine.close = () => new Promise(() => {});
  lease.engine.failed = "hangs";
  await soon("the end", manager.close());
});

Deno.test("a model stays as long as the last request said, then as the manager has it, and goes when all have been idle", async () => {
  using time = new ManualTimers();
  const engines = new CountedEngines(1, 1, false);
  const manager = engines.manager({ keepAliveMs: () => 1e9, idleMs: 300, now: () => time.now });
  const reasons: string[] = [];
  manager.observe({ unloaded: (name, reason) => void reasons.push(`${name} ${reason}`) });
  /** The models in memory when so many milliseconds have passed. */
  const loadedAfter = async (milliseconds: number) => {
    time.pass(milliseconds);
    await ticks(10);
    return manager.loaded().map(({ name }) => name);
  };
  (await manager.acquire("a", { keepAliveMs: 0 })).release();
  await manager.unload("a");
  (await manager.acquire("a", { keepAliveMs: 5 })).release();
  assertEquals(manager.loaded()[0].expiresMs, 5);
  assertEquals(await loadedAfter(4), ["a"]);
  assertEquals(await loadedAfter(1), []);
  (await manager.acquire("a", { keepAliveMs: Infinity })).release();
  assertEquals(manager.loaded()[0].expiresMs, undefined);
  await manager.unload("a");
  (await manager.acquire("b")).release();
  assertEquals(manager.loaded()[0].expiresMs, 1e9);
  const used = await manager.acquire("b");
  assertEquals(await loadedAfter(1000), ["b"], "it is used");
  used.release();
  const { loads } = engines;
  for (let i = 0; i < 10; i++) {
    assertEquals(await loadedAfter(299), ["b"]);
    (await manager.acquire("b")).release();
  }
  assertEquals(engines.loads, loads, "it is used now and then");
  assertEquals(await loadedAfter(299), ["b"]);
  assertEquals(await loadedAfter(1), []);
  assertEquals(reasons, ["a idle", "a idle", "a asked", "b idle"]);
  await manager.close();
});

Deno.test("closing while a model is loaded waits for it, refuses waiting requests, and closes it", async () => {
  const engines = new CountedEngines(1, 1, false);
  const { promise, resolve } = Promise.withResolvers<void>();
  const manager = engines.manager({
    load: async (name) => {
      await promise;
      return await engines.load(name);
    },
  });
  const waiter = manager.acquire("a");
  await ticks(2);
  const closed = manager.close();
  await assertRejects(() => waiter, M40Error, "ends");
  resolve();
  await closed;
  assertEquals([engines.loads, engines.open.size], [1, 0]);
});
