/** Uses at the same time: one alone, or any number that share. */
interface Uses {
  readonly shared: boolean;
  /** Those that have not ended. */
  count: number;
  /** Resolves when all earlier uses are over; undefined where there are none. */
  readonly before?: Promise<void>;
  readonly over: PromiseWithResolvers<void>;
  /** Ends them early. */
  readonly hurry?: () => void;
}

/**
 * Orders the uses of a device by when they were asked for: one alone, or several that share it. Each begins when all
 * are over that were asked for before it, also where they failed; but uses that share, with no other between them, are
 * concurrent.
 *
 * A card has one for its calls, all alone, as one thread at a time may use a context: so a step waits for earlier
 * copies of KV blocks, and later copies wait for the step. A program of the lane of prompts has its own. A model has
 * one for its users, on whatever cards it is: steps share it, from the decision on what they compute to their end;
 * evaluations and measurements have it alone.
 */
export class DeviceQueue {
  private last?: Uses;

  /** @param onWanted Called when a use waits for some that share: they may end sooner then. */
  constructor(private readonly onWanted?: () => void) {}

  /**
   * Does the work alone.
   *
   * @param hurry Called once where another use waits for this one, maybe before it begins: it may end sooner then.
   */
  run<T>(work: () => Promise<T>, hurry?: () => void): Promise<T> {
    return this.use(this.append(false, hurry), work);
  }

  /** Does the work concurrently with other shared work. */
  share<T>(work: () => Promise<T>): Promise<T> {
    return this.use(this.last?.shared ? this.last : this.append(true, this.onWanted), work);
  }

  /** Resolves when all that was asked for so far is over. */
  async settle(): Promise<void> {
    await this.last?.over.promise;
  }

  private append(shared: boolean, hurry?: () => void): Uses {
    const { last } = this;
    last?.hurry?.();
    const before = last?.over.promise;
    return this.last = { shared, count: 0, before, over: Promise.withResolvers(), hurry };
  }

  private use<T>(uses: Uses, work: () => Promise<T>): Promise<T> {
    uses.count++;
    const result = uses.before === undefined ? begin(work) : uses.before.then(work);
    // What comes next begins when the caller has had the result.
    const over = () => {
      if (--uses.count > 0) return;
      if (this.last === uses) this.last = undefined;
      uses.over.resolve();
    };
    result.then(over, over);
    return result;
  }
}

/** Begins work at once; what it throws before it gives a promise is its failure as well. */
function begin<T>(work: () => Promise<T>): Promise<T> {
  try {
    return work();
  } catch (error) {
    return Promise.reject(error);
  }
}
