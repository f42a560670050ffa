/**
 * All that OpenAI's client for JavaScript does with text by the Responses API, against a server that listens
 * somewhere.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import OpenAI from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";

type Asked = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, "stream">;

/** What is wanted soon is not reasoned about. */
const BRIEF: Partial<Asked> = { reasoning: { effort: "none" } };

/** Does all of it; fails where an answer is not what the client was told to expect. */
export async function exerciseResponses(client: OpenAI, model: string): Promise<void> {
  await exerciseWhole(client, model);
  await exerciseKept(client, model);
  await exerciseStreams(client, model);
  await exerciseFormats(client, model);
  await exerciseTools(client, model);
  await exerciseErrors(client, model);
}

function asked(model: string, more: Partial<Asked> = {}): Asked {
  return { model, input: "Hello", max_output_tokens: 8, temperature: 0, ...more };
}

async function exerciseWhole(client: OpenAI, model: string): Promise<void> {
  const made = await client.responses.create(asked(model));
  assertEquals([made.object, made.model, made.error], ["response", model, null]);
  assert(made.output_text !== "" && made.usage!.output_tokens <= 8);
  const idle: Partial<Asked> = {
    user: "me",
    metadata: { a: "b" },
    service_tier: "auto",
    parallel_tool_calls: true,
    prompt_cache_key: "k",
    safety_identifier: "s",
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "low", summary: "auto" },
    text: { format: { type: "text" }, verbosity: "low" },
    truncation: "auto",
    background: false,
    max_tool_calls: 2,
  };
  const same = await client.responses.create(asked(model, idle));
  assertEquals([same.output_text, same.metadata], [made.output_text, { a: "b" }]);
  const told = await client.responses.create(
    asked(model, { include: ["message.output_text.logprobs"], top_logprobs: 3 }),
  );
  const tokens = told.output.flatMap((item) => item.type === "message" ? item.content : [])
    .flatMap((part) => part.type === "output_text" ? part.logprobs! : []);
  assert(tokens.length > 0);
  assert(tokens.every(({ logprob, top_logprobs }) => logprob <= 0 && top_logprobs.length === 3));
}

async function exerciseKept(client: OpenAI, model: string): Promise<void> {
  const first = await client.responses.create(asked(model, { instructions: "Be brief." }));
  const second = await client.responses.create(
    asked(model, { input: "And then?", previous_response_id: first.id }),
  );
  const whole = await client.responses.create(asked(model, {
    input: [
      { role: "user", content: "Hello" },
      ...first.output as OpenAI.Responses.ResponseInputItem[],
      { type: "message", role: "user", content: [{ type: "input_text", text: "And then?" }] },
    ],
    store: false,
  }));
  assertEquals(second.output_text, whole.output_text);
  assertEquals((await client.responses.retrieve(second.id)).output, second.output);
  const items = [];
  for await (
    const item of client.responses.inputItems.list(second.id, { limit: 1, order: "asc" })
  ) {
    items.push(item.type);
  }
  assertEquals(items, ["message", ...first.output.map(({ type }) => type), "message"]);
  const { input_tokens } = await client.responses.inputTokens.count({
    model,
    input: "And then?",
    previous_response_id: first.id,
  });
  assertEquals(input_tokens, second.usage!.input_tokens);
  await client.responses.delete(second.id);
  const gone = await assertRejects(
    () => client.responses.retrieve(second.id),
    OpenAI.NotFoundError,
  );
  assertEquals(gone.code, "response_not_found");
}

async function exerciseStreams(client: OpenAI, model: string): Promise<void> {
  const whole = await client.responses.create(asked(model));
  let text = "";
  const events: ResponseStreamEvent[] = [];
  for await (const event of await client.responses.create({ ...asked(model), stream: true })) {
    events.push(event);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  assertEquals(text, whole.output_text);
  assertEquals(events.map(({ sequence_number }) => sequence_number), [...events.keys()]);
  // The client's own collector of streams, which checks what it collects.
  const runner = client.responses.stream(asked(model));
  let seen = "";
  runner.on("response.output_text.delta", ({ delta, snapshot }) => {
    seen += delta;
    assertEquals(snapshot, seen);
  });
  const final = await runner.finalResponse();
  assertEquals([final.output_text, final.status], [whole.output_text, whole.status]);
  assertEquals(final.usage!.total_tokens, whole.usage!.total_tokens);
  const left = await client.responses.create({
    ...asked(model, { max_output_tokens: 60 }),
    stream: true,
  });
  for await (const _ of left) left.controller.abort();
}

async function exerciseFormats(client: OpenAI, model: string): Promise<void> {
  const schema = {
    type: "object",
    properties: { color: { enum: ["red", "blue"] } },
    required: ["color"],
    additionalProperties: false,
  };
  const format = { type: "json_schema", name: "color", schema, strict: true } as const;
  const made = await client.responses.parse({
    ...asked(model, { ...BRIEF, max_output_tokens: 100 }),
    text: { format },
  });
  const { color } = JSON.parse(made.output_text);
  assert(["red", "blue"].includes(color), made.output_text);
  assertEquals(made.output_parsed, { color });
}

/** What the client calls by itself; strict, so that it reads the arguments. */
const DICE: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "roll",
  description: "Rolls dice",
  strict: true,
  parameters: {
    type: "object",
    properties: { sides: { type: "integer", enum: [6, 20] } },
    required: ["sides"],
    additionalProperties: false,
  },
};

async function exerciseTools(client: OpenAI, model: string): Promise<void> {
  const calling: Partial<Asked> = {
    ...BRIEF,
    tools: [DICE],
    parallel_tool_calls: false,
    max_output_tokens: 100,
  };
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Roll twice" }];
  // Several turns with all that was said in each, streamed and not.
  for (const stream of [false, true, false]) {
    const body = asked(model, { ...calling, input, tool_choice: "required", store: false });
    const made = stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.parse(body);
    const [call, ...others] = made.output;
    assert(call.type === "function_call" && others.length === 0, JSON.stringify(made.output));
    assertEquals([made.status, call.name, call.status], ["completed", "roll", "completed"]);
    const { sides } = call.parsed_arguments as { sides: number };
    assert([6, 20].includes(sides));
    const { parsed_arguments: _, ...item } = call;
    const { call_id } = call;
    input.push(item, { type: "function_call_output", call_id, output: `{"rolled": ${sides}}` });
  }
  const last = await client.responses.create(
    asked(model, { ...calling, input, tool_choice: "none" }),
  );
  assert(last.output.every(({ type }) => type !== "function_call"));
  // The same by what the server keeps.
  let previous: string | undefined;
  let next: OpenAI.Responses.ResponseInput | string = "Roll";
  for (const stream of [true, false]) {
    const body = asked(model, {
      ...calling,
      input: next,
      previous_response_id: previous,
      tool_choice: { type: "function", name: "roll" },
    });
    const made: OpenAI.Responses.Response = stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body);
    const [call] = made.output;
    assert(call.type === "function_call");
    previous = made.id;
    next = [{ type: "function_call_output", call_id: call.call_id, output: "3" }];
  }
  // A client that cut its conversation sends results without their calls.
  const cut = await client.responses.create(asked(model, { input: next }));
  assert(cut.output.length > 0);
}

async function exerciseErrors(client: OpenAI, model: string): Promise<void> {
  const fails = async (more: Record<string, unknown>) =>
    await assertRejects(
      () => client.responses.create({ ...asked(model), ...more } as Asked),
      OpenAI.APIError,
    );
  const range = await fails({ temperature: 900 });
  assertEquals([range.status, range.param, range.code], [400, "temperature", "invalid_request"]);
  const tools = await fails({ tools: [{ type: "telepathy" }] });
  assertEquals([tools.status, tools.param, tools.code], [400, "tools.0.type", "unsupported"]);
  // OpenAI's own tools are left out.
  const hosted = await client.responses.create({
    ...asked(model),
    tools: [{ type: "web_search" }],
  });
  assertEquals(hosted.tools, []);
  const lost = await fails({ previous_response_id: "resp_x" });
  assertEquals([lost.status, lost.code], [400, "previous_response_not_found"]);
  const unknown = await fails({ model: "nobody" });
  assertEquals([unknown.status, unknown.code], [404, "model_not_found"]);
  const image = { role: "user", content: [{ type: "input_image", image_url: "data:" }] };
  assertEquals((await fails({ input: [image] })).param, "input.0.content.0.type");
}
