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

/** Seen here, at the start: the first signal that is listened to has the runtime take SIGHUP over as well. */
const HANGUP_IGNORED = hangupIgnored();

/**
 * Aborts when the first of the signals comes; the second one ends the program at once, with the exit
 * code that shells give it, but for SIGHUP. A user who started the program with SIGHUP ignored (nohup) wants it to go
 * on.
 */
export class EndSignals implements Disposable {
  readonly #controller = new AbortController();
  readonly #handlers: [EndSignal, () => void][];

  constructor(...signals: EndSignal[]) {
    this.#handlers = signals.map((name) => [name, () => {
      if (name === "SIGHUP" && HANGUP_IGNORED) return;
      // A terminal that closes may say so twice: the system does, and the shell.
      if (this.#controller.signal.aborted && name !== "SIGHUP") Deno.exit(128 + NUMBERS[name]);
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

/** Whether the program was started with SIGHUP ignored; false where the system does not report it. */
function hangupIgnored(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(Deno.readTextFileSync("/proc/self/status"))?.[1];
    return mask !== undefined && (BigInt(`0x${mask}`) & 1n << BigInt(NUMBERS.SIGHUP - 1)) !== 0n;
  } catch {
    return false;
  }
}
