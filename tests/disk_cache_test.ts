import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import type { Engine, EngineOptions } from "../engine/mod.ts";
import { type Answer, asking, collect, promptOf, withEngine } from "./engine_fixture.ts";
import { writeWindowedModel } from "./windowed_model.ts";

// Prompts that outlive the engine: their KV pages come back from disk bit for bit, or are computed anew.

const PAGE = 32;
const CONTEXT = 4608;
const FOLDER = await Deno.makeTempDir();
globalThis.addEventListener("unload", () => Deno.removeSync(FOLDER, { recursive: true }));

const models = new Map<string, Promise<string>>();

/** A golden model with a long context. */
function modelOf(name: string): Promise<string> {
  let path = models.get(name);
  if (!path) models.set(name, path = writeWindowedModel(FOLDER, name, CONTEXT));
  return path;
}

/** A folder for a disk cache, and what it had to say. */
class Disk {
  readonly folder = Deno.makeTempDirSync({ dir: FOLDER });
  readonly problems: string[] = [];

  engine<T>(path: string, work: (engine: Engine) => Promise<T>, bytes = 2 ** 30): Promise<T> {
    const { folder, problems } = this;
    const diskCache = { folder, bytes, onProblem: (problem: string) => problems.push(problem) };
    return withEngine({ ...OPTIONS, path, diskCache }, work);
  }

  /** The pages' files. */
  files(): string[] {
    return [...Deno.readDirSync(this.folder)].flatMap(({ name }) =>
      [...Deno.readDirSync(join(this.folder, name))].map((file) =>
        join(this.folder, name, file.name)
      )
    ).filter((path) => path.endsWith(".kv"));
  }
}

const OPTIONS: EngineOptions = { contextTokens: CONTEXT, parallel: 2 };

async function answerTo(engine: Engine, prompt: readonly number[], maxTokens = 8): Promise<Answer> {
  const answer = await collect(engine.generate(asking(prompt, maxTokens)));
  assertEquals(answer.error, undefined);
  return answer;
}

/** What a prompt is answered without a disk cache. */
function aloneOn(path: string, prompt: readonly number[]): Promise<Answer> {
  return withEngine({ ...OPTIONS, path }, (engine) => answerTo(engine, prompt));
}

for (const name of ["llama", "gemma3", "deepseek2"]) {
  Deno.test(`${name}: a prompt of 4000 tokens is found after a restart, and its answer has the bits of one that was computed`, async () => {
    const path = await modelOf(name);
    const prompt = promptOf(4000);
    const alone = await aloneOn(path, prompt);
    const disk = new Disk();
    await disk.engine(path, async (engine) => {
      assertEquals(await answerTo(engine, prompt), alone);
    });
    await disk.engine(path, async (engine) => {
      const before = engine.status();
      assertEquals(await answerTo(engine, prompt), alone);
      const { cachedTokens, promptTokens, disk } = engine.status();
      assertEquals(cachedTokens - before.cachedTokens, 3968);
      assertEquals(promptTokens - before.promptTokens, 32);
      const groups = engine.plan.groups.length;
      assertEquals(
        disk!.readPages < 3968 / PAGE * groups,
        groups > 1,
        "more was read than is seen",
      );
    });
    assertEquals(disk.problems, []);
  });
}
