import { invalid, unsupported } from "../../errors.ts";
import { refuseOthersFields } from "../mod.ts";
import { describe } from "../../request/mod.ts";
import type { ConversationFields, ResponsesRequest } from "./request_schemas.ts";

/** What OpenAI has `include` ask for; most of it is of its own tools. */
const INCLUDABLE: ReadonlySet<string> = new Set([
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
]);

/**
 * Refuses what is not done, rather than answering something else than was asked for.
 *
 * @throws {HttpError} 400 `unsupported` naming the field.
 */
export function refuseUnsupported(body: ConversationFields & Partial<ResponsesRequest>): void {
  refuseOthersFields(body);
  if (body.background) {
    throw unsupported(
      "background",
      "background true is not supported: the response comes in the answer. Leave it out.",
    );
  }
  if (body.conversation != null) {
    throw unsupported(
      "conversation",
      "conversation is not supported. Send previous_response_id, or the whole conversation as input.",
    );
  }
  if (body.context_management != null && body.context_management.length > 0) {
    throw unsupported(
      "context_management",
      'context_management is not supported. Leave it out; truncation "auto" leaves out the oldest turns.',
    );
  }
  for (const field of ["prompt", "moderation"] as const) {
    if (body[field] != null) throw unsupported(field, `${field} is not supported. Leave it out.`);
  }
  const unknown = body.include?.findIndex((one) => !INCLUDABLE.has(one)) ?? -1;
  if (unknown >= 0) {
    throw invalid(
      `include.${unknown}`,
      `include.${unknown}: wanted ${[...INCLUDABLE].join(", ")}; got ${
        describe(body.include![unknown])
      }.`,
    );
  }
}
