import { askNow } from "../terminal/mod.ts";

/** Whether a tool may be called: the user stopped the call. */
export type Consent = "yes" | "no" | "stopped";

/** Asks whether tools may be called, and remembers for which the answer was "always". */
export class ToolConsent {
  readonly #always = new Set<string>();

  /** Whether the user can be asked: what is asked must be seen, and answered by a person. */
  readonly possible: boolean = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();

  /** Asks, where the answer is not known. */
  async ask(tool: string): Promise<Consent> {
    if (this.#always.has(tool)) return "yes";
    for (;;) {
      const line = await askNow("Call it? [y]es, [a]lways in this conversation, [N]o: ");
      if (line === undefined) return "stopped";
      const answer = line.trim().toLowerCase();
      if (/^(n|no|)$/.test(answer)) return "no";
      if (/^(y|yes)$/.test(answer)) return "yes";
      if (/^(a|always)$/.test(answer)) {
        this.#always.add(tool);
        return "yes";
      }
    }
  }

  /** Whether "always" was answered for a tool. */
  always(tool: string): boolean {
    return this.#always.has(tool);
  }

  /** Another conversation begins. */
  clear(): void {
    this.#always.clear();
  }
}
