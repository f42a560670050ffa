import { basename } from "@std/path";
import { M40Error } from "../../errors.ts";
import { assertModel, type Gguf } from "../../gguf/mod.ts";
import { mayFit, type Suitability, suitabilityOf, type Target } from "../../memory/mod.ts";
import { readModel } from "../../models/mod.ts";
import type { Choice, Source, Variant } from "../mod.ts";
import { readTokenizer } from "../../tokenizer/mod.ts";
import { type NamedHead, readHeads } from "./heads.ts";

/** What a model is checked against, before gigabytes of it are fetched. */
export interface Checking {
  /** The device that it is for; or why none is known. */
  readonly target: Target | string;
  /** Whether it is wanted even if it cannot run. */
  readonly force: boolean;
  /** Gets notes for the user, in sentences. */
  readonly onNote: (sentence: string) => void;
}

/**
 * Looks at the headers of a model's files: whether they are GGUF, of a kind that m40 runs, and fit the
 * card.
 *
 * @returns How it fits; undefined where that is not known.
 * @throws {M40Error} `invalid_model` or `unsupported` where it cannot run, `out_of_memory` where it does
 * not fit, each with what to do; with `force` only where it is no GGUF.
 */
export async function checkHeads(
  heads: readonly NamedHead[],
  choice: Choice,
  source: Source,
  { target, force, onNote }: Checking,
): Promise<Suitability | undefined> {
  const gguf = await readHeads(heads, { anyType: force });
  try {
    assertModel(gguf);
    checkVocabulary(gguf, onNote);
    if (typeof target === "string") {
      readModel(gguf);
      onNote(`Whether it fits is not known: ${target}`);
      return undefined;
    }
    const suitability = suitabilityOf(gguf, target);
    const { fit, wantedTokens } = suitability;
    if (fit.contextTokens === 0) throw doesNotFit(gguf, choice, source, target, suitability);
    if (fit.contextTokens < wantedTokens) {
      onNote(
        `In addition to its weights ${target.card.name} has room for ${fit.contextTokens} tokens of context.`,
      );
    }
    return suitability;
  } catch (error) {
    if (!(error instanceof M40Error) || !force) throw withForce(error);
    onNote(`Fetched all the same: ${error.message}`);
    return undefined;
  }
}

/** An error that advises an override, which is given when the model is read, with how to fetch the model before. */
export function withForce(error: unknown): unknown {
  if (!(error instanceof M40Error) || !error.message.includes("--override ")) return error;
  const advice = "; for that, --force fetches the file as it is";
  return new M40Error(error.code, `${error.message}${advice}`, error.param);
}

function checkVocabulary(gguf: Gguf, onWarning: (sentence: string) => void): void {
  readTokenizer(gguf, { onWarning });
}

function doesNotFit(
  gguf: Gguf,
  choice: Choice,
  source: Source,
  target: Target,
  { otherBytes }: Suitability,
): M40Error {
  const { card } = target;
  const others = [...source.choices.map(({ variant }) => variant), ...source.others];
  const fitting = others
    .filter((each) => each.missing.length === 0 && mayFit(each.bytes, target, otherBytes))
    .filter((each) => each !== choice.variant)
    .sort((a, b) => b.bytes - a.bytes);
  const most = Math.max(0, card.memoryBytes - otherBytes);
  const advice = fitting.length > 0
    ? `Of the same source would fit: ${fitting.slice(0, 6).map(label).join(", ")}.`
    : `A file of up to ${gib(most)} would fit; ` +
      (others.length > 1 ? "none here is that small." : "take a smaller quantisation, or model.");
  return new M40Error(
    "out_of_memory",
    `${choice.source} does not fit on ${card.name}: its weights have ${gib(gguf.fileBytes)}, ` +
      `and with them it needs some ${gib(otherBytes)}, of ${gib(card.memoryBytes)} in all. ` +
      `${advice} --force fetches it anyway.`,
  );
}

/** A variant by its quantisation, or by its file where others have the same one. */
function label(
  { quantisation, stem, bytes }: Variant,
  _at: number,
  all: readonly Variant[],
): string {
  const isOnly = all.filter((each) => each.quantisation === quantisation).length === 1;
  return `${quantisation !== undefined && isOnly ? quantisation : basename(stem)} (${gib(bytes)})`;
}

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
