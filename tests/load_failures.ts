import { assert, assertEquals, assertRejects } from "@std/assert";
import { Context } from "../engine/device/context.ts";
import { Engine, type EngineOptions, M40Error } from "../engine/mod.ts";
import { RequestChecker } from "../engine/request.ts";
import { processesOf, replicasOf, until } from "./card_replicas.ts";
import { GOLDEN } from "./engine_fixture.ts";
import { childrenOf } from "./process_table.ts";
import { devicesOf } from "./staged_engines.ts";

// A model that is on its devices already when something fails: nobody has it then, and nothing of it may stay.

/** Without runs, nothing asks for host memory before the model is on its devices. */
const OPTIONS: EngineOptions = {
  ...{ contextTokens: 128, parallel: 2, threads: 1 },
  ...{ deviceProcess: true, runSteps: 1 },
};

const PLACES: [what: string, options: EngineOptions][] = [
  ["one device", { device: devicesOf(1) }],
  ["two devices with some layers each", { device: devicesOf(2) }],
  ["two devices with all of it each", { device: devicesOf(2), replicas: true }],
];

/** Has a function of all objects of a class fail, while something is done, whenever `fails` says so. */
async function withFault<K extends string, T extends Record<K, (...given: never[]) => unknown>>(
  prototype: T,
  name: K,
  fails: () => boolean,
  work: () => Promise<void>,
): Promise<void> {
  const whole = prototype[name];
  prototype[name] = function (this: T, ...given: never[]) {
    if (fails()) throw new M40Error("out_of_memory", `${name} fails`);
    return whole.apply(this, given);
  } as T[K];
  try {
    await work();
  } finally {
    prototype[name] = whole;
  }
}

for (const [what, options] of PLACES) {
  Deno.test(`a model on ${what} whose host memory cannot be had leaves no process`, async () => {
    const children = childrenOf();
    await withFault(Context.prototype, "hostMemory", () => true, async () => {
      const load = () => Engine.load(GOLDEN, { ...OPTIONS, ...options });
      await assertRejects(load, M40Error, "hostMemory fails");
    });
    assertEquals(childrenOf(), children);
  });

  Deno.test(`a model on ${what} whose requests cannot be prepared leaves no process`, async () => {
    const children = childrenOf();
    await withFault(RequestChecker.prototype, "prepare", () => true, async () => {
      const load = () => Engine.load(GOLDEN, { ...OPTIONS, ...options });
      await assertRejects(load, M40Error, "prepare fails");
    });
    assertEquals(childrenOf(), children);
  });
}

Deno.test("more host memory than the machine has left is refused at once, and takes none of it", async () => {
  const children = childrenOf();
  for (const [, options] of PLACES) {
    for (const hostCacheBytes of [2 ** 40, 2 ** 45]) {
      const load = () => Engine.load(GOLDEN, { ...OPTIONS, ...options, hostCacheBytes });
      const error = await assertRejects(load, M40Error);
      assertEquals([error.code, error.param], ["out_of_memory", "host_cache_bytes"]);
    }
  }
  assertEquals(childrenOf(), children);
});

Deno.test("a second replica whose host memory cannot be had leaves no process of the first, which had its own", async () => {
  const children = childrenOf();
  let asked = 0;
  await withFault(Context.prototype, "hostMemory", () => ++asked === 2, async () => {
    const options = { ...OPTIONS, device: devicesOf(2), replicas: true };
    await assertRejects(() => Engine.load(GOLDEN, options), M40Error, "hostMemory fails");
  });
  assertEquals([asked, childrenOf()], [2, children]);
});

Deno.test("a replica that comes back and whose host memory cannot be had leaves no process when it is tried once more", async () => {
  const children = childrenOf();
  const said: string[] = [];
  const engine = await Engine.load(GOLDEN, {
    ...{ ...OPTIONS, device: devicesOf(2), replicas: true },
    onReplica: (text) => said.push(text),
  });
  let asked = 0;
  await withFault(Context.prototype, "hostMemory", () => ++asked === 1, async () => {
    Deno.kill(processesOf(engine)[1], "SIGKILL");
    await until(() => engine.status().lostReplicas!.length > 0, "its loss is noticed");
    await until(() => replicasOf(engine).length === 2, "it is there again");
  });
  assert(said.some((text) => text.includes("hostMemory fails")), said.join("\n"));
  assertEquals(childrenOf().length, children.length + 2);
  await engine.close();
  assertEquals(childrenOf(), children);
});
