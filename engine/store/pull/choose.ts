import { CompanionError } from "../../gguf/mod.ts";
import { mayFit } from "../../memory/mod.ts";
import { type Choice, remoteCompanion, remoteHead, type Source } from "../mod.ts";
import { M40Error } from "../../errors.ts";
import { checkHeads, type Checking } from "./check.ts";

/** Headers that are looked at, at most: each says better what else may fit. */
const MAX_LOOKS = 6;

/**
 * Of several quantisations the one to fetch: the first in the order of preference that fits the card with
 * the default context, else the first that fits at all.
 *
 * @throws {M40Error} Where none fits, or the source's files are not what they should be.
 */
export async function choose(
  source: Source,
  checking: Checking,
  signal?: AbortSignal,
): Promise<Choice> {
  const { target } = checking;
  if (source.choices.length === 1) return source.choices[0];
  if (typeof target === "string") return await firstModel(source.choices, signal);
  let choices = source.choices;
  let reserved: number | undefined;
  let left = choices.filter(({ variant }) => mayFit(variant.bytes, target));
  let second: Choice | undefined;
  for (let looks = 0; left.length > 0 && looks < MAX_LOOKS; looks++) {
    const [choice, ...others] = left;
    const suitability = await lookAt(choice, source, checking, signal);
    if (suitability === "no model") {
      choices = choices.filter((each) => each !== choice);
      left = others;
      continue;
    }
    if (suitability !== undefined) {
      if (suitability.fit.contextTokens >= suitability.wantedTokens) return choice;
      if (suitability.fit.contextTokens > 0) second ??= choice;
      reserved = suitability.otherBytes;
    }
    // What is larger than one that does not fit does not either.
    left = others.filter(({ variant }) =>
      variant.bytes < choice.variant.bytes && mayFit(variant.bytes, target, reserved)
    );
  }
  if (second !== undefined) return second;
  // None is a model: the first one's header says what it is.
  if (choices.length === 0) return source.choices[0];
  const smallest = choices.reduce((a, b) => a.variant.bytes <= b.variant.bytes ? a : b);
  if (!mayFit(smallest.variant.bytes, target, reserved) && !checking.force) {
    // Its header says best what is too large.
    await checkHeads(headsOf(smallest, signal), smallest, source, checking);
  }
  return smallest;
}

/** The first choice that is a model, as far as {@link MAX_LOOKS} show. */
async function firstModel(choices: readonly Choice[], signal?: AbortSignal): Promise<Choice> {
  for (const choice of choices.slice(0, MAX_LOOKS)) {
    if (await remoteCompanion(choice.files[0], choice.files.length > 1, signal) === undefined) {
      return choice;
    }
  }
  return choices[0];
}

/** How a choice fits; undefined where it does not at all. */
async function lookAt(
  choice: Choice,
  source: Source,
  checking: Checking,
  signal: AbortSignal | undefined,
) {
  try {
    // What there is to know about it is said when it is fetched.
    const quiet = { ...checking, force: false, onNote: () => {} };
    return await checkHeads(headsOf(choice, signal), choice, source, quiet);
  } catch (error) {
    if (error instanceof M40Error && error.code === "out_of_memory") return undefined;
    if (error instanceof CompanionError) return "no model";
    throw error;
  }
}

/** The first bytes of a choice's files, by requests of ranges. */
export function headsOf(choice: Choice, signal?: AbortSignal) {
  return choice.files.map((file, i) => ({
    path: choice.variant.files[i].path,
    head: remoteHead(file, signal),
  }));
}
