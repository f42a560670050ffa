import { type Operation, operation } from "../../operation.ts";
import { InputTokensRequest, ResponsesRequest } from "./request_schemas.ts";
import {
  DeletedResponse,
  InputItemList,
  InputTokens,
  RESPONSE_EVENTS,
  ResponseObject,
} from "./response_schemas.ts";

const ID = { id: "The response's id." };

/** What there is of OpenAI's Responses API. */
export const RESPONSES_OPERATIONS: readonly Operation[] = [
  operation("POST /v1/responses", "Answer a conversation, for clients of OpenAI's Responses API", {
    description:
      "The same answers as /v1/chat/completions gives, as items; a response may go on from one " +
      "that the server has kept.",
    body: ResponsesRequest,
    answer: ResponseObject,
    events: RESPONSE_EVENTS,
  }),
  operation(
    "POST /v1/responses/input_tokens",
    "The tokens of a conversation, for clients of OpenAI's Responses API",
    {
      description: "What the prompt of /v1/responses takes, without asking the model.",
      body: InputTokensRequest,
      answer: InputTokens,
    },
  ),
  operation("GET /v1/responses/{id}", "Fetch a response that was kept", {
    parameters: ID,
    description: "404 for one that the server does not have, or no longer.",
    answer: ResponseObject,
  }),
  operation("DELETE /v1/responses/{id}", "Have a response forgotten", {
    parameters: ID,
    description: "Those that go on from it still do.",
    answer: DeletedResponse,
  }),
  operation("GET /v1/responses/{id}/input_items", "What a response was an answer to", {
    parameters: ID,
    description:
      "All items of the conversation before it, newest first. In the query: limit (1 to 100, default " +
      "20), order (asc or desc) and after (the id of an item).",
    answer: InputItemList,
  }),
];
