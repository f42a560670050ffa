import type { DeviceProgram, DeviceQueue, StepSequence } from "../device/mod.ts";
import { type KvBlockManager, outputError, OwnKvBlocks, OwnSlot } from "../scheduler/mod.ts";
import { M40Error } from "../errors.ts";

/** The logits of a position. */
export interface PositionLogits {
  readonly position: number;
  /** [vocabulary] */
  readonly logits: Float32Array;
}

/** What an evaluation holds. */
interface Held {
  readonly kvBlocks: readonly number[];
  /** Of a model with states. */
  readonly slot?: OwnSlot;
}

/** Computes the logits of every position of sequences outside the scheduler, which hold KV blocks meanwhile. */
export class Evaluations {
  /** What those hold that have begun and not ended. */
  private readonly held = new Set<Held>();
  private closed = false;

  /**
   * @param step Runs a step; its values are overwritten by the next.
   * @param withDevice Runs work that needs the device for itself.
   * @param chunkTokens Tokens of one step.
   */
  constructor(
    private readonly kvBlockManager: KvBlockManager,
    private readonly step: DeviceProgram["step"],
    private readonly withDevice: DeviceQueue["run"],
    private readonly chunkTokens: number,
  ) {}

  /**
   * The logits of every position, in order.
   *
   * @throws {M40Error} "queue_full" where too few KV blocks are free, "not_finite" where a logit is not finite,
   * "cancelled" where the engine is closed meanwhile, "device" where it failed.
   */
  async *run(tokens: readonly number[], signal?: AbortSignal): AsyncGenerator<PositionLogits> {
    const { layout } = this.kvBlockManager;
    const held = this.hold(layout.most(tokens.length, this.chunkTokens));
    const own = new OwnKvBlocks(layout, held.kvBlocks);
    try {
      for (let position = 0; position < tokens.length; position += this.chunkTokens) {
        signal?.throwIfAborted();
        const part = tokens.slice(position, position + this.chunkTokens);
        const kvBlocks = own.cover(position, part.length);
        yield* await this.evaluateChunk({
          tokens: part,
          position,
          kvBlocks,
          states: held.slot?.at(position),
        });
      }
    } finally {
      this.release(held);
    }
  }

  /** Ends those that have begun: their KV blocks are free, and their next step fails. */
  close(): void {
    this.closed = true;
    for (const held of this.held) this.release(held);
  }

  private hold(count: number): Held {
    const { kvBlockManager } = this;
    const kvBlocks = kvBlockManager.allocate(count);
    const slot = kvBlocks && kvBlockManager.slots && OwnSlot.take(kvBlockManager.slots);
    if (kvBlocks === undefined || (kvBlockManager.slots !== undefined && slot === undefined)) {
      if (kvBlocks !== undefined) kvBlockManager.release(kvBlocks);
      throw new M40Error("queue_full", "the KV cache is in use; try again when no request runs");
    }
    const held = { kvBlocks, slot };
    this.held.add(held);
    return held;
  }

  private release(held: Held): void {
    if (!this.held.delete(held)) return;
    this.kvBlockManager.release(held.kvBlocks);
    held.slot?.release();
  }

  private evaluateChunk(part: Omit<StepSequence, "outputs">): Promise<PositionLogits[]> {
    const { position } = part;
    const outputs = Array.from(part.tokens, (_, row) => ({ row, kind: "logits" as const }));
    const sequence = { ...part, outputs };
    return this.withDevice(async () => {
      this.assertOpen();
      const { outputs } = await this.step([sequence]);
      return outputs.map(({ status, values }, row) => {
        if (status !== "ok") throw outputError(status, `position ${position + row}`);
        // Another evaluation's step may come before the last of them is asked for.
        return { position: position + row, logits: values!.slice() };
      });
    });
  }

  private assertOpen(): void {
    if (!this.closed) return;
    throw new M40Error("cancelled", "the engine was closed before all positions were evaluated");
  }
}
