import { assertEquals, assertMatch } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { type Lost, Revival } from "../../engine/parallel/replicas/revival.ts";

// How replicas that were lost come back: at once, with pauses after repeated failures.

interface Loaded {
  closed: number;
  close(): Promise<void>;
}

function loaded(): Loaded {
  return {
    closed: 0,
    close() {
      this.closed++;
      return Promise.resolve();
    },
  };
}

/** A revival in simulated time, its pauses and its events. */
function make() {
  let time = 0;
  const rests: number[] = [];
  const problems: unknown[] = [];
  const revival: Revival<Loaded> = new Revival(
    (error) => problems.push(error),
    () => time,
    (milliseconds) => {
      rests.push(milliseconds);
      time += milliseconds;
      return Promise.resolve();
    },
  );
  return { revival, rests, problems, pass: (milliseconds: number) => time += milliseconds };
}

function lost(load: Lost<Loaded>["load"], remains: Loaded, events: string[]): Lost<Loaded> {
  return {
    name: "cuda:1",
    error: new M40Error("device", "cuda:1: gone"),
    remains,
    load,
    onAttempt: (failed) => events.push(failed === undefined ? "attempt" : failed.message),
    onReady: () => events.push("ready"),
  };
}

Deno.test("what is left is closed first, and what was lost is loaded at once", async () => {
  const { revival, rests } = make();
  const remains = loaded();
  const events: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const load = () => {
    events.push(`loaded after ${remains.closed} closed`);
    return Promise.resolve(loaded());
  };
  revival.begin({ ...lost(load, remains, events), onReady: () => resolve() });
  await promise;
  await revival.close();
  assertEquals([events, rests], [["attempt", "loaded after 1 closed"], []]);
});

Deno.test("nothing is loaded where all is to end while what is left is closed", async () => {
  const { revival } = make();
  const events: string[] = [];
  revival.begin(lost(() => Promise.resolve(loaded()), loaded(), events));
  await revival.close();
  assertEquals(events, []);
});

Deno.test("what fails again and again is left alone until the first failure is a minute old", async () => {
  const { revival, rests } = make();
  const events: string[] = [];
  let left = 5;
  const { promise, resolve } = Promise.withResolvers<void>();
  const load = () =>
    left-- > 0
      ? Promise.reject(new M40Error("out_of_memory", `no memory ${left}`))
      : Promise.resolve(loaded());
  revival.begin({
    ...lost(load, loaded(), events),
    onReady: () => {
      events.push("ready");
      resolve();
    },
  });
  await promise;
  await revival.close();
  assertEquals(events, [
    ...["attempt", "no memory 4", "attempt", "no memory 3", "attempt", "no memory 2"],
    ...["attempt", "no memory 1", "attempt", "no memory 0", "attempt", "ready"],
  ]);
  // With the loss, the second failure is the third within a minute, and so is the fifth.
  assertEquals(rests, [1000, 1000, 58_000, 1000, 1000, 1000, 57_000]);
});

Deno.test("what is loaded when all is to end is closed again", async () => {
  const { revival } = make();
  const events: string[] = [];
  const late = loaded();
  const { promise, resolve } = Promise.withResolvers<Loaded>();
  revival.begin(lost(() => promise, loaded(), events));
  while (events.length === 0) await undefined;
  const closing = revival.close();
  resolve(late);
  await closing;
  assertEquals([events, late.closed], [["attempt"], 1]);
});

Deno.test("a load that runs at the end is aborted, and its failure is ignored", async () => {
  const { revival } = make();
  const events: string[] = [];
  const load = (signal: AbortSignal) =>
    new Promise<Loaded>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  revival.begin(lost(load, loaded(), events));
  while (events.length === 0) await undefined;
  await revival.close();
  assertEquals(events, ["attempt"]);
});

Deno.test("a remainder that does not close is reported, and holds nothing up", async () => {
  const { revival, problems } = make();
  const events: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const remains = { closed: 0, close: () => Promise.reject(new Error("it does not close")) };
  revival.begin({
    ...lost(() => Promise.resolve(loaded()), remains, events),
    onReady: () => resolve(),
  });
  await promise;
  assertMatch(String(problems), /it does not close/);
  await revival.close();
});
