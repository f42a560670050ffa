/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { type Answer, answer, type AnswerEnds, modelFields, withModel } from "./answer.ts";
export { begun } from "./begun.ts";
export { dimensionsField, embed, MAX_TEXTS } from "./embeddings.ts";
export { GenerateBody, Generated, GeneratedPiece, generateRoute } from "./generate.ts";
export { allReady, cancelAll, chunksOf, chunksTogether, startAll } from "./generations.ts";
export { loadModel } from "./load_model.ts";
export { listAsJson, longAnswer, objectAsJson, textAsJson, vectorsAsJson } from "./long_answer.ts";
export { eventStream, SSE } from "./sse.ts";
export { Timings, timingsOf } from "./timings.ts";
export { tokenName, wholeText } from "./token_names.ts";
export { Usage, UsageSum } from "./usage.ts";
