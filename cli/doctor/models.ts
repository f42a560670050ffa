import type { Looked } from "../show/mod.ts";
import type { Finding } from "./finding.ts";

/** Models that are named one by one. */
const MOST_NAMED = 40;

/** Which models of the store fit, and how fast each should be. */
export function modelFindings({ models, card, reason }: Looked): Finding[] {
  const area = "models";
  const found: Finding[] = [];
  if (reason !== undefined) {
    return [{
      area,
      name: "no_estimate",
      level: "note",
      says: `What fits is not known: ${reason}`,
    }];
  }
  const own = models.filter(({ model }) => !model.builtIn);
  for (const { model, overview, problem } of models.slice(0, MOST_NAMED)) {
    const { estimate, obstacle } = overview ?? {};
    const base = { area, values: { model: model.name, size_bytes: model.fileBytes } } as const;
    if (problem !== undefined || obstacle !== undefined) {
      found.push({
        ...base,
        name: "cannot_run",
        level: "note",
        says: `${model.name} cannot run: ${problem ?? obstacle}.`.replace(/\.\.$/, "."),
      });
      continue;
    }
    if (estimate === undefined) continue;
    const { fits, contextTokens, trainedTokens, tokensPerSecond } = estimate;
    const values = {
      ...base.values,
      fits,
      context_tokens: contextTokens,
      tokens_per_second: tokensPerSecond,
    };
    const speed = tokensPerSecond === undefined
      ? ""
      : `, at most ${Number(tokensPerSecond.toPrecision(2))} tokens a second`;
    const context = contextTokens < trainedTokens
      ? `with a context of ${contextTokens} of its ${trainedTokens} tokens`
      : `with its whole context of ${trainedTokens} tokens`;
    found.push({
      ...base,
      values,
      name: fits ? "fits" : "too_large",
      level: fits ? "fine" : "note",
      says: fits ? `${model.name} fits ${context}${speed}.` : `${model.name} does not fit.`,
      advice: fits ? undefined : "A smaller quantisation of it may: `m40 pull --list`.",
    });
  }
  if (own.length === 0) {
    found.push({
      area,
      name: "none",
      level: "note",
      says: "There are no models but the built-in one.",
      advice: "`m40 pull --list` shows which there are, `m40 pull mistral` fetches one.",
    });
  }
  if (card?.assumed && found.length > 0) {
    found.push({
      area,
      name: "assumed",
      level: "note",
      says: `All of that is for a ${card.name}, as no GPU can be used here.`,
    });
  }
  return found;
}
