import { assert, assertEquals } from "@std/assert";
import { SAMPLING_DEFAULTS } from "../../engine/sampling/parameters.ts";
import { HostPages } from "../../engine/scheduler/pages/host_pages.ts";
import { PageManager } from "../../engine/scheduler/pages/page_manager.ts";
import { Scheduler } from "../../engine/scheduler/scheduler.ts";
import { Sequence } from "../../engine/scheduler/sequences/sequence.ts";
import { withStages } from "../fixtures/staged_model.ts";

const PROMPT_TOKENS = 20;
const DRAWN = 50;
/** As few as a plan makes: for one sequence of the whole context. */
const FEW_PAGES = 1;

/** What four prompts are answered with, and how often pages were saved in host memory. */
async function answers(
  name: string,
  stages: number,
  concurrentSteps: number,
  pages?: number,
): Promise<{ tokens: number[][]; saves: number }> {
  return await withStages(name, stages, { pages }, async ({ device, plan, pageBytes }) => {
    let saves = 0;
    const counted = {
      step: device.step.bind(device),
      copyPages: device.copyPages.bind(device),
      savePages: (which: Uint32Array<ArrayBuffer>, memory: Uint8Array<ArrayBuffer>) => {
        saves++;
        return device.savePages(which, memory);
      },
      restorePages: device.restorePages.bind(device),
      saveSlots: device.saveSlots.bind(device),
      restoreSlots: device.restoreSlots.bind(device),
    };
    const manager = new PageManager(plan.pages, plan.pageTokens, plan.groups);
    const scheduler = new Scheduler(counted, manager, {
      maxRunning: 4,
      maxWaiting: 9,
      stepTokens: plan.limits.n_tokens,
      chunkMs: 50,
      concurrentSteps,
      host: new HostPages(new Uint8Array(40 * pageBytes), pageBytes),
    });
    const sequences = [0, 1, 2, 3].map((n) =>
      new Sequence({
        prompt: Array.from({ length: PROMPT_TOKENS }, (_, i) => 3 + (n * 37 + i * 11) % 100),
        maxTokens: DRAWN,
        sampling: { ...SAMPLING_DEFAULTS, temperature: 0 },
        topLogprobs: 0,
        endTokens: new Set(),
        listener: { accept: () => true, end() {} },
      })
    );
    scheduler.add(...sequences);
    await scheduler.idle();
    return { tokens: sequences.map(({ tokens }) => [...tokens]), saves };
  });
}

for (const name of ["llama", "gemma3"]) {
  Deno.test(`${name}: two cards with two steps under way and too few pages answer what one card answers`, async () => {
    const alone = await answers(name, 1, 1);
    assertEquals(alone.saves, 0);
    alone.tokens.forEach((tokens) => assertEquals(tokens.length, PROMPT_TOKENS + DRAWN));
    const staged = await answers(name, 2, 2, FEW_PAGES);
    assertEquals(staged.tokens, alone.tokens);
    assert(staged.saves > 0, "nobody gave way");
  });
}
