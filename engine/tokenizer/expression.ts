/**
 * An expression of a tokenizer.json, which is written for Oniguruma, as JavaScript's.
 *
 * White space is Unicode's property there, while JavaScript's `\s` counts U+FEFF and not U+0085; digits
 * are Unicode's decimal ones; a script is named without saying that it is one. An intersection of
 * classes needs the flag "v".
 */
export function compileExpression(expression: string): RegExp {
  const source = expression
    .replaceAll("\\s", "\\p{White_Space}")
    .replaceAll("\\S", "\\P{White_Space}")
    .replaceAll("\\d", "\\p{Nd}")
    .replaceAll("\\p{Han}", "\\p{Script=Han}");
  return new RegExp(source, source.includes("&&") ? "gv" : "gu");
}
