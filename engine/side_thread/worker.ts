/**
 * Does {@link Job}s, one after the other, in a thread that may be ended at any time. See {@link SideThread}.
 *
 * @module
 */
import { parentPort, workerData } from "node:worker_threads";
import { GENERIC, TOOL_FORMATS, toolConstraint } from "../chat/mod.ts";
import { buffersOf, buildNetworks, type BuiltNetworks, type Constraint } from "../grammar/mod.ts";
import { parseJson } from "../json/mod.ts";
import { loadTokenizer, type Tokenizer } from "../tokenizer/mod.ts";
import { asM40Error } from "../errors.ts";
import type { Job, PostedTools, Reply, Results, ThreadData } from "./jobs.ts";
import { metadataOf } from "./metadata.ts";

const port = parentPort!;
const { metadata, preTokenizer } = workerData as ThreadData;
let loaded: Tokenizer | undefined;
const tokenizer = () => loaded ??= loadTokenizer(metadataOf(metadata), { preTokenizer });

function work(job: Job): Results[keyof Results] {
  switch (job.kind) {
    case "constraint":
      return buildNetworks(parseJson(job.constraint) as Constraint, job.spaced);
    case "tools": {
      const { format, content, ...use } = parseJson(job.use) as PostedTools;
      const named = [...TOOL_FORMATS, GENERIC].find(({ name }) => name === format)!;
      const constraint = toolConstraint(tokenizer(), { ...use, format: named }, content);
      return buildNetworks(constraint, job.spaced);
    }
    case "encode":
      return Int32Array.from(tokenizer().encode(job.text, job));
    case "decode":
      return tokenizer().decode(job.tokens, { skipSpecial: false });
  }
}

function given(result: Results[keyof Results]): ArrayBuffer[] {
  if (typeof result === "string") return [];
  if (result instanceof Int32Array) return [result.buffer];
  const { plain, spaced } = result as BuiltNetworks;
  return [...buffersOf(plain), ...spaced === undefined ? [] : buffersOf(spaced)];
}

port.on("message", (job: Job) => {
  let reply: Reply;
  let transfer: ArrayBuffer[] = [];
  try {
    const result = work(job);
    transfer = given(result);
    reply = { result };
  } catch (error) {
    const { code, message, param } = asM40Error(error);
    reply = { code, message, param };
  }
  port.postMessage(reply, transfer);
});
