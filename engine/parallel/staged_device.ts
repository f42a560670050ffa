import type { Cache, DeviceProgram, PartRows, StepResult, StepSequence } from "../device/mod.ts";
import type { ProgramPart } from "../program/mod.ts";
import type { Kept } from "../scheduler/mod.ts";
import { asM40Error, isDeviceLoss, M40Error } from "../errors.ts";
import { type Bytes, type Indices, KvBlockParts } from "./kv_block_parts.ts";
import type { ProfiledDevice } from "./scheduled_device.ts";

/** A card with a part of a program, and with what that keeps of sequences. */
export interface Stage {
  /** The card, in messages. */
  readonly name: string;
  readonly part: ProgramPart;
  readonly program: DeviceProgram;
  readonly cache: Cache;
  /** Of the whole model's groups of layers, those that it has layers of, in the order of its own. */
  readonly groups: readonly number[];
  /** Bytes of a KV block and of a slot in host memory. */
  readonly kvBlockBytes: number;
  readonly slotBytes: number;
}

/** Bytes of what a stage keeps; 0 where it keeps none. */
const BYTES_OF = { kvBlocks: "kvBlockBytes", slots: "slotBytes" } as const;

/**
 * A device of several cards, each with some layers of the model. A step goes through one after the other; rows of
 * tokens go from card to card through host memory.
 *
 * Each card works in the order of the calls, on steps and on copies of KV blocks. So a second step, of other
 * sequences, can run on cards that the first has left or not reached, and all accesses to KV blocks stay in order.
 *
 * A KV block has the same number on all cards. In host memory its parts lie one after the other, KV block by KV
 * block; so do those of a slot.
 */
export class StagedDevice implements ProfiledDevice {
  /** Why a card is lost: then nothing can be computed any more. */
  private loss?: M40Error;

  /** @param stages In the order in which a step goes through them. */
  constructor(private readonly stages: readonly Stage[]) {
    if (stages.length === 0) throw new M40Error("internal", "a device of no stages");
  }

  async step(sequences: readonly StepSequence[]): Promise<StepResult> {
    const results = await this.pass(
      sequences,
      ({ program, part }, some, rows) => program.stepPart(some, rows, part.given, part.handed),
    );
    return { outputs: results.at(-1)!.outputs };
  }

  /** The times of the whole program's operations, see {@link DeviceProgram.profile}. */
  async profile(sequences: readonly StepSequence[]): Promise<Float32Array> {
    const results = await this.pass(
      sequences,
      ({ program, part }, some, rows) => program.profilePart(some, rows, part.given, part.handed),
    );
    return Float32Array.from(results.flatMap(({ times }) => Array.from(times)));
  }

  copyKvBlocks(from: Indices, to: Indices): Promise<void> {
    return this.onAll("kvBlocks", ({ cache }) => [cache.copyKvBlocks(from, to)]);
  }

  save(kept: Kept, which: Indices, memory: Bytes): Promise<void> {
    return this.move("save", kept, which, memory);
  }

  restore(kept: Kept, which: Indices, memory: Bytes): Promise<void> {
    return this.move("restore", kept, which, memory);
  }

  /** Moves each KV block or slot between each stage and its part of the host's memory. */
  private async move(
    move: "save" | "restore",
    kept: Kept,
    which: Indices,
    memory: Bytes,
  ): Promise<void> {
    const parts = new KvBlockParts(this.stages.map((stage) => stage[BYTES_OF[kept]]));
    parts.check(which.length, memory);
    await this.onAll(kept, (stage) => {
      const card = this.stages.indexOf(stage);
      return Array.from(
        which,
        (one, i) => stage.cache[move](kept, Uint32Array.of(one), parts.of(card, i, memory)),
      );
    });
  }

  /**
   * Has each stage that keeps some of it do something. Memory is free again when all have: so all are waited for, whether
   * or not one fails.
   */
  private async onAll(kept: Kept, work: (stage: Stage) => Promise<void>[]): Promise<void> {
    this.checkAlive();
    const asked = this.stages.filter((stage) => stage[BYTES_OF[kept]] > 0).flatMap((stage) =>
      work(stage).map((one) =>
        one.catch((error) => {
          throw this.failure(stage, error);
        })
      )
    );
    const failures = (await Promise.allSettled(asked))
      .flatMap((one) => one.status === "rejected" ? [one.reason] : []);
    if (failures.length > 0) throw failures.find(isDeviceLoss) ?? failures[0];
  }

  /** Has each stage do its part, from the rows of the one before; gives what each gave. */
  private async pass<T extends PartRows>(
    sequences: readonly StepSequence[],
    run: (
      stage: Stage,
      sequences: readonly StepSequence[],
      rows: Promise<readonly Bytes[]>,
    ) => Promise<T>,
  ): Promise<T[]> {
    this.checkAlive();
    let given: Promise<readonly Bytes[]> = Promise.resolve([]);
    const results: Promise<T>[] = [];
    for (const [i, stage] of this.stages.entries()) {
      const before = given;
      // The failure of a card before this one has that one's name already.
      let own = false;
      const rows = before.then((rows) => {
        own = true;
        return rows;
      });
      const isLast = i === this.stages.length - 1;
      const done = run(stage, sequencesOf(sequences, stage, isLast), rows).catch((error) => {
        throw own ? this.failure(stage, error) : error;
      });
      given = done.then(({ handed }) => handed);
      results.push(done);
      // The caller waits for the last stage, whose error it gets.
      for (const one of [given, rows, done]) one.catch(() => {});
    }
    await results.at(-1);
    return await Promise.all(results);
  }

  private checkAlive(): void {
    if (this.loss !== undefined) throw this.loss;
  }

  /** A failure with the name of its card. */
  private failure({ name }: Stage, error: unknown): M40Error {
    const { code, message, param } = asM40Error(error);
    const named = new M40Error(code, `${name}: ${message}`, param);
    if (isDeviceLoss(named)) this.loss ??= named;
    return named;
  }
}

/**
 * Sequences as a stage takes them. Its turn may come when their KV blocks are others' already: it has those of now.
 */
function sequencesOf(
  sequences: readonly StepSequence[],
  { groups, part }: Stage,
  isLast: boolean,
): StepSequence[] {
  return sequences.map((one) => ({
    ...one,
    kvBlocks: groups.map((group) => Uint32Array.from(one.kvBlocks[group])),
    states: part.states.length === 0 || one.states === undefined ? undefined : { ...one.states },
    outputs: isLast ? one.outputs : [],
  }));
}
