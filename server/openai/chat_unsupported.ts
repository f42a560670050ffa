import { HttpError, unsupported } from "../errors.ts";
import { describe } from "../request/mod.ts";
import type { ChatCompletionRequest } from "./chat_schemas.ts";
import { refuseOthersFields } from "./others_fields.ts";

/**
 * Refuses what is not done, rather than answering something else than was asked for.
 *
 * @throws {HttpError} 400 `unsupported` naming the field; `invalid_request` for fields that contradict
 * each other.
 */
export function refuseUnsupported(body: ChatCompletionRequest): void {
  if (body.functions != null && body.functions.length > 0) {
    throw unsupported(
      "functions",
      "functions are not supported: they are the older form of tools. Send tools.",
    );
  }
  const { function_call: call } = body;
  if (call != null && call !== "none" && call !== "auto") {
    throw unsupported(
      "function_call",
      `function_call ${
        describe(call)
      } is not supported: it is the older form of tool_choice. Send tool_choice.`,
    );
  }
  refuseOthersFields(body);
  if (Array.isArray(body.documents) ? body.documents.length > 0 : body.documents != null) {
    throw unsupported(
      "documents",
      "documents are not supported. Put their texts into a message, or into chat_template_kwargs where the " +
        "template shows them.",
    );
  }
  const modality = body.modalities?.find((one) => one !== "text");
  if (modality !== undefined) {
    throw unsupported(
      "modalities",
      `modalities: ${describe(modality)} is not supported. Answers are text; leave it out.`,
    );
  }
  for (const field of ["audio", "web_search_options"] as const) {
    if (body[field] != null) throw unsupported(field, `${field} is not supported. Leave it out.`);
  }
  // Clients send the 0 for none.
  if (body.top_logprobs && !body.logprobs) {
    throw new HttpError(
      400,
      "invalid_request",
      "top_logprobs needs logprobs. Send logprobs true with it.",
      { param: "top_logprobs" },
    );
  }
}
