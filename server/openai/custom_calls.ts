import type { ToolCallPiece } from "../../engine/mod.ts";
import { InputReader } from "./custom_input.ts";

/** What a piece of a call is in a stream; id, type and name come with a call's first piece. */
export interface CallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: "function" | "custom";
  readonly function?: { readonly name?: string; readonly arguments: string };
  readonly custom?: { readonly name?: string; readonly input: string };
}

/** Separates calls of custom tools, which are functions with one text to the model, from those of functions. */
export class CustomCalls {
  /** The inputs of the custom tools' calls, by the choice's and the call's number. */
  private readonly inputs = new Map<string, InputReader>();

  /** @param names The names of the custom tools. */
  constructor(private readonly names: ReadonlySet<string>) {}

  /** What a client gets of a piece; undefined: nothing yet. */
  delta(
    choice: number,
    { index, id, name, arguments: text }: ToolCallPiece,
  ): CallDelta | undefined {
    const key = `${choice}.${index}`;
    if (name !== undefined && this.names.has(name)) this.inputs.set(key, new InputReader());
    const input = this.inputs.get(key);
    if (input === undefined) {
      return name === undefined
        ? { index, function: { arguments: text } }
        : { index, id, type: "function", function: { name, arguments: text } };
    }
    const more = input.push(text);
    if (name !== undefined) return { index, id, type: "custom", custom: { name, input: more } };
    return more === "" ? undefined : { index, custom: { input: more } };
  }
}
