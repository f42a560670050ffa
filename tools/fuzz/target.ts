/** Code that reads what strangers send, and what is right when it does. */
export interface FuzzTarget {
  readonly name: string;
  /** Parts of the URLs of the modules whose coverage counts. */
  readonly within: readonly string[];
  /** Words of the format. */
  readonly dictionary: readonly string[];
  /** The longest input, in bytes. */
  readonly maxBytes: number;
  /** Inputs to begin with. */
  seeds(): Uint8Array[];
  /**
   * Reads one input. A refusal in words is no fault.
   *
   * @throws Where the code under test did anything else than to take or to refuse it.
   */
  run(input: Uint8Array): void | Promise<void>;
}
