import type { DeviceProgram } from "./device/device_program.ts";
import type { StepSequence } from "./device/step_block.ts";
import type { DeviceLock } from "./device_lock.ts";
import { M40Error } from "./errors.ts";
import { OwnPages } from "./scheduler/own_pages.ts";
import type { PageManager } from "./scheduler/page_manager.ts";
import { outputError } from "./scheduler/turn.ts";

/** The logits of a position. */
export interface PositionLogits {
  readonly position: number;
  /** [vocabulary] */
  readonly logits: Float32Array;
}

/** Computes the logits of every position of sequences that nobody serves; they hold pages meanwhile. */
export class Evaluations {
  /** The pages of those that have begun and not ended. */
  private readonly held = new Set<readonly number[]>();
  private closed = false;

  /**
   * @param step Runs a step; the values that it gives are overwritten by the next.
   * @param withDevice Runs what needs the device when nobody else uses it.
   * @param chunkTokens Tokens of one step.
   */
  constructor(
    private readonly pageManager: PageManager,
    private readonly step: DeviceProgram["step"],
    private readonly withDevice: DeviceLock["run"],
    private readonly chunkTokens: number,
  ) {}

  /**
   * The logits of every position, in order.
   *
   * @throws {M40Error} "queue_full" where too few pages are free, "not_finite" where the model computes what
   * is no finite number, "cancelled" where the engine is closed meanwhile, "device" where it failed.
   */
  async *run(tokens: readonly number[], signal?: AbortSignal): AsyncGenerator<PositionLogits> {
    const { layout } = this.pageManager;
    const pages = this.pageManager.allocate(layout.most(tokens.length, this.chunkTokens));
    if (pages === undefined) {
      throw new M40Error("queue_full", "the KV cache is in use; try again when no request runs");
    }
    this.held.add(pages);
    const own = new OwnPages(layout, pages);
    try {
      for (let position = 0; position < tokens.length; position += this.chunkTokens) {
        signal?.throwIfAborted();
        const part = tokens.slice(position, position + this.chunkTokens);
        yield* await this.evaluateChunk(part, position, own.cover(position, part.length));
      }
    } finally {
      if (this.held.delete(pages)) this.pageManager.release(pages);
    }
  }

  /** Ends those that have begun: their pages are free, and their next step fails. */
  close(): void {
    this.closed = true;
    for (const pages of this.held) this.pageManager.release(pages);
    this.held.clear();
  }

  private evaluateChunk(
    tokens: readonly number[],
    position: number,
    pages: StepSequence["pages"],
  ): Promise<PositionLogits[]> {
    const wanted = tokens.map((_, row) => ({ row, kind: "logits" as const }));
    const sequence = { tokens, position, pages, outputs: wanted };
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
