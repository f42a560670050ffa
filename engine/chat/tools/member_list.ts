import type { Expression } from "../../grammar/mod.ts";
import type { ToolGrammarWriter } from "./tool_format.ts";

/** A member of a list, which may be there. */
interface Member {
  readonly expression: Expression;
  readonly required: boolean;
}

/** Members in their order, those that are not required with or without, with something between each two. */
export function memberList(
  name: string,
  members: readonly Member[],
  separator: string,
  writer: ToolGrammarWriter,
): Expression {
  // What comes from a member on: where none came before it, and behind others.
  let first: Expression = writer.literal("");
  let behind: Expression = writer.literal("");
  for (const [i, { expression, required }] of [...members.entries()].reverse()) {
    const item = writer.rule(`${name} ${i}`, expression);
    const started = writer.sequence(item, behind);
    const gone = writer.sequence(separator, item, behind);
    const choice = (present: Expression, absent: Expression): Expression =>
      required ? present : { kind: "choice", options: [present, absent] };
    [first, behind] = [
      writer.rule(`${name} from ${i}`, choice(started, first)),
      writer.rule(`${name} behind ${i}`, choice(gone, behind)),
    ];
  }
  return first;
}
