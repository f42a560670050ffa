import { assert, assertEquals } from "@std/assert";
import { SAMPLING_DEFAULTS } from "../../engine/sampling/parameters.ts";
import { HostKvBlocks } from "../../engine/scheduler/kv_blocks/host_kv_blocks.ts";
import { KvBlockManager } from "../../engine/scheduler/kv_blocks/kv_block_manager.ts";
import { Scheduler } from "../../engine/scheduler/scheduler.ts";
import { Sequence } from "../../engine/scheduler/sequences/sequence.ts";
import { withStages } from "../fixtures/staged_model.ts";

const PROMPT_TOKENS = 20;
const SAMPLED = 50;
/** As few as a plan makes: for one sequence of the whole context. */
const FEW_KV_BLOCKS = 1;

/** What four prompts are answered with, and how often KV blocks were saved in host memory. */
async function answers(
  name: string,
  stages: number,
  concurrentSteps: number,
  kvBlocks?: number,
): Promise<{ tokens: number[][]; saves: number }> {
  return await withStages(name, stages, { kvBlocks }, async ({ device, plan, kvBlockBytes }) => {
    let saves = 0;
    const counted = {
      step: device.step.bind(device),
      copyKvBlocks: device.copyKvBlocks.bind(device),
      save: (...moved: Parameters<typeof device.save>) => {
        saves++;
        return device.save(...moved);
      },
      restore: device.restore.bind(device),
    };
    const manager = new KvBlockManager(plan.kvBlocks, plan.kvBlockTokens, plan.groups);
    const scheduler = new Scheduler(counted, manager, {
      maxRunning: 4,
      maxWaiting: 9,
      stepTokens: plan.limits.n_tokens,
      chunkMs: 50,
      concurrentSteps,
      host: new HostKvBlocks(new Uint8Array(40 * kvBlockBytes), kvBlockBytes),
    });
    const sequences = [0, 1, 2, 3].map((n) =>
      new Sequence({
        prompt: Array.from({ length: PROMPT_TOKENS }, (_, i) => 3 + (n * 37 + i * 11) % 100),
        maxTokens: SAMPLED,
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
  Deno.test(`${name}: two cards with two steps under way and too few KV blocks answer what one card answers`, async () => {
    const alone = await answers(name, 1, 1);
    assertEquals(alone.saves, 0);
    alone.tokens.forEach((tokens) => assertEquals(tokens.length, PROMPT_TOKENS + SAMPLED));
    const staged = await answers(name, 2, 2, FEW_KV_BLOCKS);
    assertEquals(staged.tokens, alone.tokens);
    assert(staged.saves > 0, "no sequence was preempted");
  });
}
