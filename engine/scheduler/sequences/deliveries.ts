import type { Sample } from "../../device/mod.ts";
import { asM40Error } from "../../errors.ts";
import type { Sequence } from "./sequence.ts";

/** What a listener receives: a sampled token, or the end. */
interface Delivery {
  readonly sequence: Sequence;
  readonly sample?: Sample;
  /** Without a sample: why nothing more comes, where it failed. */
  readonly error?: unknown;
}

/**
 * What listeners are yet to receive, in order. Delivery runs while the device computes. What a listener
 * throws concerns no other sequence.
 */
export class Deliveries {
  private queue: Delivery[] = [];

  /**
   * @param finish Ends a sequence whose listener wants no more, or that failed.
   * @param onError Receives what a listener threw at the end.
   */
  constructor(
    private readonly finish: (sequence: Sequence, error?: unknown) => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  get isEmpty(): boolean {
    return this.queue.length === 0;
  }

  /** A token was sampled. */
  addSample(sequence: Sequence, sample: Sample): void {
    this.queue.push({ sequence, sample });
  }

  /** A sequence has ended. Its listener is notified after the tokens sampled before. */
  addEnd(sequence: Sequence, error?: unknown): void {
    this.queue.push({ sequence, error });
  }

  /** Notifies the listeners. */
  deliver(): void {
    const queue = this.queue;
    this.queue = [];
    for (const { sequence, sample, error } of queue) {
      if (sample === undefined) this.notifyEnd(sequence, error);
      else if (!sequence.isOver) this.notify(sequence, sample);
    }
  }

  /** Notifies a listener of the end at once. Undelivered tokens are dropped. */
  notifyEnd(sequence: Sequence, error?: unknown): void {
    try {
      sequence.notifyEnd(error);
    } catch (thrown) {
      this.onError(thrown);
    }
  }

  private notify(sequence: Sequence, sample: Sample): void {
    try {
      // Later tokens, and the end, may be queued already.
      if (!sequence.notify(sample)) this.finish(sequence);
    } catch (error) {
      this.finish(sequence, asM40Error(error));
    }
  }
}
