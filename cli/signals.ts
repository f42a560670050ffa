/** As long as it is there, Ctrl-C does nothing but what an {@link EndSignals} does. */
export class HeldInterrupt implements Disposable {
  readonly #handler = () => {};

  constructor() {
    Deno.addSignalListener("SIGINT", this.#handler);
  }

  [Symbol.dispose](): void {
    Deno.removeSignalListener("SIGINT", this.#handler);
  }
}

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** A signal that may end a command. */
export type EndSignal = keyof typeof NUMBERS;

/**
 * Aborts when the first of the signals comes; the second one ends the program at once, with the exit
 * code that shells give it.
 */
export class EndSignals implements Disposable {
  readonly #controller = new AbortController();
  readonly #handlers: [EndSignal, () => void][];

  constructor(...signals: EndSignal[]) {
    this.#handlers = signals.map((name) => [name, () => {
      if (this.#controller.signal.aborted) Deno.exit(128 + NUMBERS[name]);
      this.#controller.abort();
    }]);
    for (const [name, handler] of this.#handlers) Deno.addSignalListener(name, handler);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From here on the signals do what they do by default. */
  [Symbol.dispose](): void {
    for (const [name, handler] of this.#handlers) Deno.removeSignalListener(name, handler);
  }
}
