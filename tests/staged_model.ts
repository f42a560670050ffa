/**
 * Golden models on several stages, each in a context of its own.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { Context } from "../engine/device/context.ts";
import { KernelLibrary } from "../engine/device/library.ts";
import type { StepSequence } from "../engine/device/step_block.ts";
import { NONE } from "../engine/device/structs.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { type KvType, type MemoryPlan, planMemory } from "../engine/memory_plan.ts";
import { architectureOf } from "../engine/models/architecture.ts";
import { place } from "../engine/placement.ts";
import type { Program } from "../engine/program/program.ts";
import { cutsOf } from "../engine/program/cuts.ts";
import { splitProgram } from "../engine/program/split.ts";
import { planStage } from "../engine/stage_plan.ts";
import { type Stage, StagedDevice } from "../engine/staged_device.ts";
import { BACKEND } from "./device_harness.ts";

/** Tokens of a sequence at most. */
export const CONTEXT = 96;

/** A model on a staged device. */
export interface StagedModel {
  readonly device: StagedDevice;
  readonly plan: MemoryPlan;
  readonly stages: readonly Stage[];
  /** Bytes of a page and of a slot in host memory, of all stages together. */
  readonly pageBytes: number;
  readonly slotBytes: number;
  readonly libraries: readonly KernelLibrary[];
}

/** Cuts for so many stages, evenly among those that leave each of them something that is kept. */
function someCuts(program: Program, stages: number): number[] {
  const all = cutsOf(program);
  const cuts: number[] = [];
  for (let i = 1; i < stages; i++) {
    const from = Math.floor(all.length * i / stages);
    const cut = all.find((one, at) =>
      at >= from && (cuts.length === 0 || keepsSomething(program, [...cuts, one], i))
    );
    if (cut !== undefined) cuts.push(cut);
  }
  return cuts;
}

function keepsSomething(program: Program, cuts: readonly number[], part: number): boolean {
  if (cuts[part - 2] >= cuts[part - 1]) return false;
  const { cacheLayers, states } = splitProgram(program, cuts)[part - 1];
  return cacheLayers.length + states.length > 0;
}

/** Runs something with a golden model on so many stages, or fewer where it has too few layers. */
export async function withStages<T>(
  name: string,
  stages: number,
  options: { kvType?: KvType; pages?: number; process?: boolean },
  work: (model: StagedModel) => Promise<T>,
): Promise<T> {
  const gguf = await readGguf(new URL(`data/golden/${name}.gguf`, import.meta.url).pathname);
  const { program, shape } = architectureOf(gguf).read(gguf, {});
  const parts = splitProgram(program, someCuts(program, stages));
  assert(parts.length > 1 || stages === 1, "it cannot be cut");
  const libraries: KernelLibrary[] = [];
  const contexts: Context[] = [];
  try {
    for (const _ of parts) {
      libraries.push(
        options.process ? KernelLibrary.startProcess(BACKEND) : KernelLibrary.find(BACKEND),
      );
      contexts.push(libraries.at(-1)!.createContext({ threads: 1 }));
    }
    const plan = planMemory(contexts[0], program, shape, {
      contextTokens: CONTEXT,
      kvType: options.kvType ?? "f16",
      maxRunning: 4,
      outputs: CONTEXT,
      freeBytes: 2 ** 34,
      device: "cpu",
      pages: options.pages,
      slots: 6,
    });
    const placed: Stage[] = [];
    for (const [i, part] of parts.entries()) {
      const { groups, ...memory } = planStage(contexts[i], part, plan);
      const { program, cache } = await place(contexts[i], gguf, part.program, memory);
      const { pageBytes, slotBytes } = contexts[i].cacheBytes(cache.desc);
      placed.push({ name: `card ${i}`, part, program, cache, groups, pageBytes, slotBytes });
    }
    const total = (of: "pageBytes" | "slotBytes") =>
      placed.reduce((sum, stage) => sum + stage[of], 0);
    return await work({
      device: new StagedDevice(placed),
      plan,
      stages: placed,
      pageBytes: total("pageBytes"),
      slotBytes: total("slotBytes"),
      libraries,
    });
  } finally {
    contexts.forEach((context) => context.close());
    for (const library of libraries) await library.close();
  }
}

/** A sequence that has pages and a slot of its own. */
export class Follower {
  position = 0;

  constructor(
    private readonly model: Pick<StagedModel, "plan">,
    /** Its pages, of each group, and its slot. */
    public pages: readonly number[][],
    public slot: number,
  ) {}

  /** A step's part that wants the logits of all tokens, or of those that are said. */
  next(tokens: readonly number[], decode: boolean): StepSequence {
    const { position, slot } = this;
    const { plan } = this.model;
    this.position += tokens.length;
    return {
      tokens,
      position,
      decode,
      pages: this.pages,
      states: plan.cache.states.length === 0
        ? undefined
        : { from: position === 0 ? NONE : slot, to: slot },
      outputs: tokens.map((_, row) => ({ row, kind: "logits" as const })),
    };
  }
}

/** A sequence with pages of its own, the n-th of several. */
export function follower(model: Pick<StagedModel, "plan">, n: number): Follower {
  const { plan } = model;
  const each = Math.ceil(CONTEXT / plan.pageTokens);
  const pages = plan.groups.map((_, group) =>
    Array.from({ length: each }, (_, i) => (n * plan.groups.length + group) * each + i)
  );
  return new Follower(model, pages, n);
}
