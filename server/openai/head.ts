import type { ServedModel } from "../models/mod.ts";
import { VERSION } from "../version.ts";

/** What an answer and all its events begin with. */
export interface AnswerHead<Kind extends string> {
  id: string;
  object: Kind;
  created: number;
  model: string;
  system_fingerprint: string;
}

/**
 * The head of a new answer.
 *
 * @param prefix What its id begins with, such as "cmpl".
 * @param object What kind of answer it is.
 */
export function answerHead<Kind extends string>(
  { name }: ServedModel,
  prefix: string,
  object: Kind,
): AnswerHead<Kind> {
  return {
    id: `${prefix}-${crypto.randomUUID().replaceAll("-", "")}`,
    object,
    created: Math.floor(Date.now() / 1000),
    model: name,
    system_fingerprint: `m40-${VERSION}`,
  };
}
