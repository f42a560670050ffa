import type { Sample } from "../../device/mod.ts";
import { asM40Error } from "../../errors.ts";
import type { Sequence } from "./sequence.ts";

/** What a listener is told: a sampled token, or that nothing more comes. */
interface Delivery {
  readonly sequence: Sequence;
  readonly sample?: Sample;
  /** Without a sample: why nothing more comes, where it failed. */
  readonly error?: unknown;
}

/**
 * What listeners are to be told, in order. They are told while the device computes; what one of them throws
 * concerns nobody else.
 */
export class Deliveries {
  private queue: Delivery[] = [];

  /**
   * @param finish Ends a sequence that its listener wants no more of, or that failed.
   * @param onError Told what a listener threw when it was told of the end.
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

  /** Nothing more comes of a sequence; its listener is told after what was sampled. */
  addEnd(sequence: Sequence, error?: unknown): void {
    this.queue.push({ sequence, error });
  }

  /** Tells the listeners. */
  deliver(): void {
    const queue = this.queue;
    this.queue = [];
    for (const { sequence, sample, error } of queue) {
      if (sample === undefined) this.notifyEnd(sequence, error);
      else if (!sequence.isOver) this.notify(sequence, sample);
    }
  }

  /** Tells a listener of the end at once; what was sampled and not delivered is dropped. */
  notifyEnd(sequence: Sequence, error?: unknown): void {
    try {
      sequence.notifyEnd(error);
    } catch (thrown) {
      this.onError(thrown);
    }
  }

  private notify(sequence: Sequence, sample: Sample): void {
    try {
      // More may have been sampled, and its end with it.
      if (!sequence.notify(sample)) this.finish(sequence);
    } catch (error) {
      this.finish(sequence, asM40Error(error));
    }
  }
}
