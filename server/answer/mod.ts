export { type Answer, chatFormat, loadModel, modelFields, ModelRequest } from "./answer.ts";
export { begun, settled } from "./begun.ts";
export { dimensionsField, embed, MAX_TEXTS } from "./embeddings.ts";
export { GenerateBody, Generated, GeneratedPiece, generateRoute } from "./generate.ts";
export { listAsJson, longAnswer, objectAsJson, textAsJson, vectorsAsJson } from "./long_answer.ts";
export { eventStream, NAMED_SSE, SSE } from "./sse.ts";
export { tokenName, wholeText } from "./token_names.ts";
export { Timings, timingsOf, Usage, usageOf } from "./usage.ts";
