import { HttpError, unsupported } from "../errors.ts";
import { describe } from "../fields.ts";
import type { ChatCompletionRequest } from "./chat_schemas.ts";

/**
 * Refuses what is not done, rather than answering something else than was asked for.
 *
 * @throws {HttpError} 400 `unsupported` naming the field; `invalid_request` for fields that contradict
 * each other.
 */
export function refuseUnsupported(body: ChatCompletionRequest): void {
  for (const field of ["tools", "functions"] as const) {
    if (body[field] != null && body[field].length > 0) {
      throw unsupported(field, `${field} are not supported. Leave ${field} out, or empty.`);
    }
  }
  for (const field of ["tool_choice", "function_call"] as const) {
    const value = body[field];
    if (value != null && value !== "none" && value !== "auto") {
      throw unsupported(
        field,
        `${field} ${describe(value)} is not supported: there are no tools to choose. Leave it out.`,
      );
    }
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
  if (body.top_logprobs != null && !body.logprobs) {
    throw new HttpError(
      400,
      "invalid_request",
      "top_logprobs needs logprobs. Send logprobs true with it.",
      { param: "top_logprobs" },
    );
  }
}
