export { assertKnownTokenizer, loadTokenizer } from "./load.ts";
export { readTokenizer } from "./read_tokenizer.ts";
export { describeSuppressed } from "./suppressed_tokens.ts";
export type { FimTokens } from "./fim_tokens.ts";
export { type StreamingDecoder, TokenTexts } from "./streaming_decoder.ts";
export type { DecodeOptions, EncodeOptions, Tokenizer } from "./tokenizer.ts";
