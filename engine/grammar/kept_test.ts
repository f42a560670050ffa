/** Compiled constraints that are kept for later requests for the same, and their limit of memory. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { M40Error } from "../errors.ts";
import { CompiledConstraint, type Constraint } from "./constraint.ts";
import { Constraints } from "./constraints.ts";
import { KeptConstraints } from "./kept_constraints.ts";
import { Engine, loadTokenizer, readGguf } from "../mod.ts";

const DEMO = new URL("../../tools/demo_model/demo.gguf", import.meta.url).pathname;
const { metadata } = await readGguf(DEMO);
const tokenizer = loadTokenizer(metadata);

const regex = (pattern: string): Constraint => ({ kind: "regex", pattern });
const compile = (pattern: string) => new CompiledConstraint(regex(pattern));

/** Constraints, and the grammars that they keep, by what is asked for. */
function keeping(limits?: ConstructorParameters<typeof KeptConstraints>[1]) {
  const constraints = new Constraints(tokenizer, tokenizer.vocabSize, limits);
  const { kept } = constraints["kept"] as unknown as { kept: Map<string, CompiledConstraint> };
  return { constraints, kept };
}

Deno.test("a grammar that is asked for again is not compiled again", () => {
  const { constraints, kept } = keeping();
  constraints.steering(regex("[ab]*"));
  const [first] = kept.values();
  constraints.steering(regex("[cd]*"));
  constraints.steering(regex("[ab]*"));
  assertEquals(kept.size, 2);
  assert([...kept.values()].includes(first));
});

Deno.test("grammars that were asked for long ago are forgotten when all take too much, and their masks with them", () => {
  const most = 3 * 2 ** 20;
  const { constraints, kept } = keeping({ keptBytes: most });
  let before = 0;
  let forgotten = 0;
  for (let i = 0; i < 30; i++) {
    const steering = constraints.steering(regex(`[a-z ]{${100 + i},3000}`));
    for (let length = 0; length < 20; length++) {
      steering.allowed!(tokenizer.encode("so be it ".repeat(length), { addSpecial: false }));
    }
    if (kept.size <= before) forgotten++;
    before = kept.size;
    const bytes = constraints["kept"]["bytesOf"];
    // The last one grows while it is used.
    const older = [...kept.values()].slice(0, -1);
    assert(older.reduce((sum, one) => sum + bytes(one), 0) <= most);
  }
  assert(forgotten > 10, `${forgotten} were forgotten`);
  assert(kept.size > 1);
});

Deno.test("while the grammars of answers take too much no other one is compiled, those that are known go on, and all is well when they are over", async () => {
  const kept = new KeptConstraints(() => 100, { bytes: 250, keptBytes: 150 });
  const compiled = ["a", "b", "c"].map(compile);
  const answers = compiled.map(() => Promise.withResolvers<void>());
  for (const [i, one] of compiled.entries()) {
    kept.requireRoom();
    kept.put(`${i}`, one);
    kept.hold(one, answers[i].promise);
    kept.hold(one, answers[i].promise.then(() => {}));
  }
  const error = assertThrows(() => kept.requireRoom(), M40Error, "the grammars of answers");
  assertEquals(error.code, "queue_full");
  assertEquals(kept.get("2"), compiled[2]);
  // One that is kept counts once, and those that failed are over as well.
  answers[0].resolve();
  answers[1].reject(new Error("it failed"));
  await Promise.allSettled(answers.slice(0, 2).map(({ promise }) => promise));
  await new Promise((resolve) => setTimeout(resolve));
  kept.requireRoom();
  assertEquals(kept["held"].size, 1);
});

Deno.test("an answer holds its grammar until it is over, however it ends", async () => {
  const engine = await Engine.load(DEMO, { device: "cpu", parallel: 1, maxQueue: 2 });
  const { held } = engine["requests"]["constraints"]["kept"] as unknown as {
    held: Map<CompiledConstraint, number>;
  };
  const ask = (signal?: AbortSignal) =>
    engine.generate({
      prompt: "Once",
      maxTokens: 40,
      signal,
      constraint: { kind: "regex", pattern: "[a-z ]{30,}" },
    });
  const cancelled = new AbortController();
  const answers = [ask(), ask(cancelled.signal), ask()];
  assertEquals([...held.values()], [3]);
  cancelled.abort();
  for (const answer of answers) for await (const _ of answer);
  await engine.idle();
  assertEquals(held.size, 0);
  await engine.close();
});

Deno.test("a grammar that has little room left for new states is compiled again for the next answer", () => {
  const { constraints, kept } = keeping();
  constraints.steering(regex("[ab]*"));
  const [first] = kept.values();
  first.automaton["frames"]["nodeCount"] = 3_000_000;
  constraints.steering(regex("[ab]*"));
  assertEquals(kept.size, 1);
  assert([...kept.values()][0] !== first);
});

Deno.test("a grammar that its first token makes too ambiguous is refused again, whatever was found out of it", () => {
  const { constraints, kept } = keeping();
  const ambiguous = "(?:[^q]*[aeiou][^q]{200}|[^z]*[stn][^z]{201}|[^j]*[rld][^j]{150})x";
  const { masks } = constraints as unknown as { masks: { of: unknown } };
  const refuse = () => {
    throw new M40Error("invalid_request", "the grammar is too ambiguous");
  };
  const of = masks.of;
  for (let i = 0; i < 2; i++) {
    masks.of = refuse;
    assertThrows(() => constraints.steering(regex(ambiguous)), M40Error, "too ambiguous");
    masks.of = of;
    assertEquals(kept.size, 0);
  }
});

Deno.test("a sampled token that a grammar does not allow ends the answer; a draft that it does not allow does nothing", () => {
  const { constraints } = keeping();
  const steering = constraints.steering(regex("a+"));
  const [b] = tokenizer.encode("b", { addSpecial: false });
  assertEquals(steering.allowed!([b], 1), undefined);
  assertThrows(() => steering.allowed!([b]), M40Error, "does not allow");
});
