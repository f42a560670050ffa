import type { Tokenizer } from "../tokenizer/mod.ts";
import type { Automaton, State } from "./automaton.ts";

/** Bytes of a text that are looked at, at most. */
const MOST_BYTES = 128;
/** What texts are encoded behind, so that no token reaches across: some tokenizers begin a text with a space. */
const BEFORE = "\n";

/**
 * The texts that a grammar nearly fixes, as a tokenizer writes them. A model that samples under a mask may cut such a
 * text into tokens in many ways, and nearly always takes this one.
 */
export class LikelyTexts {
  private readonly known = new WeakMap<State, readonly number[]>();

  constructor(private readonly tokenizer: Pick<Tokenizer, "encode" | "tokenBytes">) {}

  /** The tokens of the text that likely follows a state; none where anything may. */
  after(automaton: Automaton, state: State): readonly number[] {
    return this.known.getOrInsertComputed(
      state,
      () => this.tokensOf(automaton.likelyBytes(state, MOST_BYTES)),
    );
  }

  /** The states behind each of those tokens. */
  statesAfter(automaton: Automaton, state: State): readonly State[] {
    const states: State[] = [];
    let at: State | undefined = state;
    for (const token of this.after(automaton, state)) {
      at = automaton.after(at, this.tokenizer.tokenBytes(token));
      if (at === undefined) break;
      states.push(at);
    }
    return states;
  }

  private tokensOf(bytes: Uint8Array): readonly number[] {
    const text = decodeWhole(bytes);
    return text === "" ? [] : tokensWithin(this.tokenizer, text);
  }
}

/**
 * The tokens that a text is usually written with behind others; none by a tokenizer that changes it, or puts it
 * together with a line's end before it.
 */
export function tokensWithin(
  tokenizer: Pick<Tokenizer, "encode" | "tokenBytes">,
  text: string,
): readonly number[] {
  const tokens = tokenizer.encode(BEFORE + text, { addSpecial: false });
  const isBefore = (token: number) => {
    const [first, ...others] = tokenizer.tokenBytes(token);
    return first === BEFORE.charCodeAt(0) && others.length === 0;
  };
  const begin = tokens.findIndex(isBefore) + 1;
  const own = begin === 0 ? [] : tokens.slice(begin);
  const bytes = new TextEncoder().encode(text);
  const written = own.flatMap((token) => [...tokenizer.tokenBytes(token)]);
  return written.every((byte, i) => byte === bytes[i]) ? own : [];
}

/** The text of bytes up to the first that is no UTF-8, or is not complete. */
function decodeWhole(bytes: Uint8Array): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const end = text.indexOf("\ufffd");
  return end < 0 ? text : text.slice(0, end);
}
