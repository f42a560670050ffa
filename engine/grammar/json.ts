import { parseGbnf } from "./gbnf.ts";
import type { Grammar } from "./grammar.ts";

// Space between the parts is a space, or a line's end and so much of the next line as anybody indents: a model
// that is unsure writes spaces without end.
const JSON_GBNF = String.raw`
root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws ( member ( "," ws member )* )? "}"
member ::= string ws ":" ws value ws
array ::= "[" ws ( value ws ( "," ws value ws )* )? "]"
string ::= "\"" ( [^"\\\x00-\x1F] | "\\" ( ["\\/bfnrt] | "u" [0-9a-fA-F]{4} ) )* "\""
number ::= "-"? ( "0" | [1-9] [0-9]* ) ( "." [0-9]+ )? ( [eE] [-+]? [0-9]+ )?
ws ::= ( " " | "\r"? "\n" [ \t]{0,20} )?
`;

let grammar: Grammar | undefined;

/** Any object of JSON (RFC 8259), with as much white space as a person would write. */
export function jsonObjectGrammar(): Grammar {
  return grammar ??= parseGbnf(JSON_GBNF);
}
