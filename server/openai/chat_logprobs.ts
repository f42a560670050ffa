import type { GeneratedToken, Tokenizer } from "../../engine/mod.ts";
import { tokenName } from "../answer/mod.ts";
import type { ChatTokenLogprob } from "./chat_schemas.ts";

/** The log-probabilities of the tokens that are the answer's content; those of reasoning and calls are left out. */
export function chatLogprobs(
  tokenizer: Tokenizer,
  tokens: readonly GeneratedToken[],
): ChatTokenLogprob[] {
  const describe = (token: number, logprob: number) => {
    const { name, bytes } = tokenName(tokenizer, token);
    return { token: name, logprob, bytes: bytes === null ? null : Array.from(bytes) };
  };
  return tokens.filter(({ reasoning, call }) => !reasoning && !call).map((
    { token, logprob = 0, top = [] },
  ) => ({
    ...describe(token, logprob),
    top_logprobs: top.map((one) => describe(one.token, one.logprob)),
  }));
}
