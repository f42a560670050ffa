import { assertEquals, assertRejects } from "@std/assert";
import { DeviceQueue } from "./device_queue.ts";

Deno.test("shared users of a device wait for the exclusive one, and it for them, in the order of asking", async () => {
  const queue = new DeviceQueue();
  const events: string[] = [];
  const gates = new Map<string, () => void>();
  const ask = (how: "run" | "share", name: string) =>
    queue[how](() => {
      events.push(`${name} begins`);
      return new Promise<void>((resolve) => gates.set(name, resolve));
    }).then(() => void events.push(`${name} ends`));
  const turn = () => new Promise((resolve) => setTimeout(resolve));
  const all = [ask("share", "a"), ask("share", "b"), ask("run", "c"), ask("share", "d")];
  const steps: [string, string[]][] = [
    ["b", ["a begins", "b begins"]],
    ["a", ["b ends"]],
    ["c", ["a ends", "c begins"]],
    ["d", ["c ends", "d begins"]],
  ];
  for (const [name, expected] of steps) {
    await turn();
    assertEquals(events.splice(0), expected);
    gates.get(name)!();
  }
  await Promise.all(all);
  await queue.settle();
  assertEquals(events, ["d ends"]);
});

Deno.test("a device is free for others after work on it has failed, alone or shared", async () => {
  const queue = new DeviceQueue();
  const failing = () => Promise.reject(new Error("it failed"));
  // As a call of the library does whose status is an error.
  const throwing = () => {
    throw new Error("it failed at once");
  };
  for (const work of [failing, throwing]) {
    const results = await Promise.allSettled([
      queue.share(work),
      queue.run(work),
      queue.share(work),
      queue.share(work),
    ]);
    assertEquals(results.map(({ status }) => status), new Array(4).fill("rejected"));
    for (const how of ["run", "share"] as const) {
      await assertRejects(() => queue[how](work), Error, "it failed");
      assertEquals(await queue.run(() => Promise.resolve(7)), 7);
    }
  }
  await queue.settle();
});

Deno.test("a use that can end early is notified once that another waits for it, also before it begins", async () => {
  for (const before of [false, true]) {
    const queue = new DeviceQueue();
    const first = Promise.withResolvers<void>();
    const early = Promise.withResolvers<void>();
    const events: string[] = [];
    if (before) queue.run(() => first.promise);
    const run = queue.run(() => (events.push("begins"), early.promise), () => {
      events.push("is notified");
      early.resolve();
    });
    const others = [queue.run(() => Promise.resolve()), queue.share(() => Promise.resolve())];
    assertEquals(events, before ? ["is notified"] : ["begins", "is notified"]);
    first.resolve();
    await Promise.all([run, ...others]);
    assertEquals(events.toSorted(), ["begins", "is notified"]);
  }
});

Deno.test("shared users are notified when one waits to be alone, not when another shares with them", async () => {
  let notified = 0;
  const queue = new DeviceQueue(() => notified++);
  const over = Promise.withResolvers<void>();
  const shared = [queue.share(() => over.promise), queue.share(() => over.promise)];
  assertEquals(notified, 0);
  const alone = queue.run(() => Promise.resolve());
  assertEquals(notified, 1);
  // It waits behind the one alone, and the next one for it.
  const later = [queue.share(() => Promise.resolve()), queue.run(() => Promise.resolve())];
  assertEquals(notified, 2);
  over.resolve();
  await Promise.all([...shared, alone, ...later]);
  await queue.settle();
});
