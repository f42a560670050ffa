import type { Looked } from "../show/mod.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Models that are named one by one. */
const MOST_NAMED = 40;

/** Which models of the store fit, and how fast each should be. */
export function modelFindings({ models, card, reason }: Looked): Finding[] {
  const { note } = findingsOf("models");
  if (reason !== undefined) return [note("no_estimate", `What fits is not known: ${reason}`)];
  const found = models.slice(0, MOST_NAMED).flatMap(modelFinding);
  if (models.every(({ model }) => model.builtIn)) {
    found.push(note(
      "none",
      "There are no models but the built-in one.",
      "`m40 pull --list` shows which there are, `m40 pull mistral` fetches one.",
    ));
  }
  if (card?.assumed && found.length > 0) {
    found.push(note("assumed", `All of that is for a ${card.name}, as no GPU can be used here.`));
  }
  return found;
}

/** Whether a model fits, and how fast it should be. */
function modelFinding({ model, overview, problem }: Looked["models"][number]): Finding[] {
  const { estimate, obstacle } = overview ?? {};
  const values = { model: model.name, size_bytes: model.fileBytes };
  const why = problem ?? obstacle;
  if (why !== undefined) {
    const says = `${model.name} cannot run: ${why}.`.replace(/\.\.$/, ".");
    return [findingsOf("models", values).note("cannot_run", says)];
  }
  if (estimate === undefined) return [];
  const { fits, contextTokens, trainedTokens, tokensPerSecond } = estimate;
  const { fine, note } = findingsOf("models", {
    ...values,
    fits,
    context_tokens: contextTokens,
    tokens_per_second: tokensPerSecond,
  });
  if (!fits) {
    const advice = "A smaller quantisation of it may: `m40 pull --list`.";
    return [note("too_large", `${model.name} does not fit.`, advice)];
  }
  const speed = tokensPerSecond === undefined
    ? ""
    : `, at most ${Number(tokensPerSecond.toPrecision(2))} tokens a second`;
  const context = contextTokens < trainedTokens
    ? `with a context of ${contextTokens} of its ${trainedTokens} tokens`
    : `with its whole context of ${trainedTokens} tokens`;
  return [fine("fits", `${model.name} fits ${context}${speed}.`)];
}
