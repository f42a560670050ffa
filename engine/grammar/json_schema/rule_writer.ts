import type { Expression } from "../grammar.ts";
import type { SchemaReader } from "./reading.ts";
import type { Literal } from "./shapes.ts";

/** What types of values write their rules with. */
export interface RuleWriter {
  readonly reader: SchemaReader;
  /** Whether objects whose schema names members, and says nothing of others, have no others. */
  readonly onlyNamed: boolean;
  /** The rule of values that follow all of several schemas. */
  value(literals: readonly Literal[], place: string): Expression;
  /** A rule, which is made when it is named for the first time. */
  rule(key: string, make: () => Expression): Expression;
  /** A key of rules that is unique. */
  freshName(kind: string): string;
  /** A key of the rules of something: the same for the same content. */
  sharedName(kind: string, content: string): string;
  /** A comma or a colon, behind which there may be a space. */
  punctuation(mark: "," | ":"): Expression;
}
