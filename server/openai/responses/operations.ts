import type { Operation } from "../../operation.ts";
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
  {
    method: "POST",
    path: "/v1/responses",
    summary: "Answer a conversation, for clients of OpenAI's Responses API",
    description:
      "The same answers as /v1/chat/completions gives, as items; a response may go on from one " +
      "that the server has kept.",
    body: ResponsesRequest,
    answer: ResponseObject,
    events: RESPONSE_EVENTS,
  },
  {
    method: "POST",
    path: "/v1/responses/input_tokens",
    summary: "The tokens of a conversation, for clients of OpenAI's Responses API",
    description: "What the prompt of /v1/responses takes, without asking the model.",
    body: InputTokensRequest,
    answer: InputTokens,
  },
  {
    method: "GET",
    path: "/v1/responses/{id}",
    parameters: ID,
    summary: "Fetch a response that was kept",
    description: "404 for one that the server does not have, or no longer.",
    answer: ResponseObject,
  },
  {
    method: "DELETE",
    path: "/v1/responses/{id}",
    parameters: ID,
    summary: "Have a response forgotten",
    description: "Those that go on from it still do.",
    answer: DeletedResponse,
  },
  {
    method: "GET",
    path: "/v1/responses/{id}/input_items",
    parameters: ID,
    summary: "What a response was an answer to",
    description:
      "All items of the conversation before it, newest first. In the query: limit (1 to 100, default " +
      "20), order (asc or desc) and after (the id of an item).",
    answer: InputItemList,
  },
];
