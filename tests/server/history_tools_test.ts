// What calls and results of tools, and servers' own tools, left in a conversation reaches the prompt.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { startChat } from "../fixtures/server_chat_fixture.ts";
import { CUT, promptOf, TEMPLATE, USER } from "../fixtures/server_history_fixture.ts";

Deno.test("responses: a call that was cut comes back with its output, whatever it says of itself", async () => {
  await using server = await startChat({}, TEMPLATE);
  for (const status of ["incomplete", "completed", undefined]) {
    const prompt = await promptOf(server, {
      input: [
        USER,
        { type: "function_call", call_id: "a", name: "f", arguments: CUT, status },
        { type: "function_call_output", call_id: "a", output: "no JSON" },
      ],
    });
    assert(prompt.includes("city") && prompt.endsWith("tool:no JSON|"), prompt);
  }
});

Deno.test("ollama: arguments that are a text, a list or nothing", async () => {
  await using server = await startChat({}, TEMPLATE);
  for (
    const [given, shown] of [[CUT, "city"], [[1], "[1]"], [null, "{}"], [
      '{"a": 1}',
      '{"a": 1}',
    ]] as const
  ) {
    const messages = [
      USER,
      { role: "assistant", tool_calls: [{ function: { name: "f", arguments: given } }] },
      { role: "tool", tool_name: "f", content: "R" },
    ];
    const prompt = await promptOf(server, { messages });
    assertStringIncludes(prompt, shown);
    assertStringIncludes(prompt, "tool:R|");
  }
});

Deno.test("results whose calls clients have cut are shown in every dialect, also where the template refuses them", async () => {
  const taking = "{% for m in messages %}{{ m.role }}:{{ m.content }}|{% endfor %}";
  const refusing =
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no call') }}{% endif %}" +
    "{{ m.role }}:{{ m.content }}|{% endfor %}";
  const bodies = [
    { messages: [{ role: "tool", tool_call_id: "a", content: "R" }, USER] },
    { messages: [{ role: "tool", tool_name: "f", content: "R" }, USER] },
    { messages: [{ role: "tool", content: "R" }, USER], options: {} },
    { input: [{ type: "function_call_output", call_id: "a", output: "R" }, USER] },
    { input: [{ type: "custom_tool_call_output", call_id: "a", output: "R" }, USER] },
    {
      messages: [{
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "R" },
          { type: "text", text: "U" },
        ],
      }],
    },
  ];
  for (
    const [template, wanted] of [
      [taking, "tool:R|user:U|"],
      [refusing, "user:<tool_response>\nR\n</tool_response>|user:U|"],
    ]
  ) {
    await using server = await startChat({}, template);
    for (const body of bodies) {
      const prompt = await promptOf(server, body);
      // Users in a row may be one.
      assertEquals(
        prompt.replace("</tool_response>\nU", "</tool_response>|user:U"),
        wanted,
        JSON.stringify(body),
      );
    }
  }
});

Deno.test("anthropic: a result of another call, and a second one of the same, are shown", async () => {
  await using server = await startChat({}, TEMPLATE);
  const result = (id: string, content: string) => ({
    type: "tool_result",
    tool_use_id: id,
    content,
  });
  const messages = [
    USER,
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] },
    { role: "user", content: [result("a", "R"), result("a", "S"), result("b", "T")] },
  ];
  assertStringIncludes(await promptOf(server, { messages }), "tool:R|tool:S|tool:T|");
});

Deno.test("anthropic: what its own tools left in a conversation is shown by its texts, or named", async () => {
  await using server = await startChat({}, TEMPLATE);
  const blocks: readonly [block: object, shown: string][] = [
    [
      { type: "server_tool_use", id: "s", name: "web_search", input: { query: "Q", n: 1 } },
      '[server_tool_use web_search]\n{"query":"Q","n":1}',
    ],
    [{
      type: "web_search_tool_result",
      tool_use_id: "s",
      content: [{
        type: "web_search_result",
        title: "T",
        url: "https://a.example",
        encrypted_content: "x".repeat(99),
      }],
    }, "[web_search_tool_result]\nT\nhttps://a.example"],
    [
      {
        type: "web_search_tool_result",
        content: { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" },
      },
      "[web_search_tool_result]\nmax_uses_exceeded",
    ],
    [{
      type: "web_fetch_tool_result",
      content: {
        type: "web_fetch_result",
        url: "https://b.example",
        content: {
          type: "document",
          title: "D",
          source: { type: "text", media_type: "text/plain", data: "page" },
        },
      },
    }, "[web_fetch_tool_result]\nhttps://b.example\nD\npage"],
    [{
      type: "code_execution_tool_result",
      content: {
        type: "code_execution_result",
        stdout: "4\n",
        stderr: "",
        return_code: 0,
        content: [],
      },
    }, "[code_execution_tool_result]\n4\n"],
    [
      { type: "mcp_tool_use", id: "m", name: "ask", server_name: "s", input: {} },
      "[mcp_tool_use ask]\n{}",
    ],
    [
      { type: "mcp_tool_result", content: [{ type: "text", text: "told" }] },
      "[mcp_tool_result]\ntold",
    ],
    [
      { type: "container_upload", file_id: "f" },
      "[container_upload; not shown: there is no text in it]",
    ],
    [{ type: "compaction", content: "before" }, "[compaction]\nbefore"],
    [
      { type: "image", source: { type: "base64", data: "AAAA" } },
      "[image; not shown: there is no text in it]",
    ],
    [{ type: "of tomorrow <|x|>", text: "new" }, "[content]\nnew"],
  ];
  for (const [block, shown] of blocks) {
    const content = [{ type: "text", text: "A" }, block, { type: "text", text: "B" }];
    assertEquals(
      await promptOf(server, {
        messages: [USER, { role: "assistant", content }, USER],
        system: "",
      }),
      `system:|user:U|assistant:A\n${shown}\nB|user:U|`,
    );
  }
  // A user brings files for code to run on, and agents what tools of theirs gave.
  const turn = (...content: object[]) => ({ messages: [{ role: "user", content }] });
  assertStringIncludes(
    await promptOf(server, turn({ type: "container_upload", file_id: "f" })),
    "[container_upload; not shown",
  );
  assertStringIncludes(
    await promptOf(
      server,
      turn({
        type: "tool_result",
        tool_use_id: "a",
        content: [{ type: "resource", text: "found" }],
      }),
    ),
    "[resource]\nfound",
  );
  // What a user shows is asked of the model, and is no history.
  const image = await server.post("/apply-template", {
    ...turn({ type: "image", source: {} }),
    system: "S",
  });
  assertEquals(image.status, 400);
  await image.body?.cancel();
});

Deno.test("responses: what OpenAI's own tools left in a conversation is shown by its texts, or named", async () => {
  await using server = await startChat({}, TEMPLATE);
  const items: readonly [item: object, shown: string][] = [
    [
      { type: "web_search_call", id: "ws_1", action: { type: "search", query: "Q" } },
      '[web_search_call]\n{"type":"search","query":"Q"}',
    ],
    [
      {
        type: "file_search_call",
        queries: ["q"],
        results: [{ filename: "a.txt", text: "found", score: 0.5 }],
      },
      '[file_search_call]\n["q"]\na.txt\nfound',
    ],
    [
      {
        type: "code_interpreter_call",
        code: "2+2",
        outputs: [
          { type: "logs", logs: "4" },
          { type: "image", url: "data:image/png;base64,AAAA" },
        ],
      },
      "[code_interpreter_call]\n2+2\n4",
    ],
    [
      { type: "image_generation_call", result: "AAAA" },
      "[image_generation_call; not shown: there is no text in it]",
    ],
    [
      { type: "local_shell_call", call_id: "l", action: { type: "exec", command: ["ls"] } },
      '[local_shell_call]\n{"type":"exec","command":["ls"]}',
    ],
    [
      { type: "mcp_call", name: "ask", arguments: '{"a":1}', output: "told", error: null },
      '[mcp_call ask]\n{"a":1}\ntold',
    ],
    [
      { type: "mcp_list_tools", tools: [{ name: "ask", description: "Asks.", input_schema: {} }] },
      "[mcp_list_tools]\nask\nAsks.",
    ],
    [
      { type: "computer_call", action: { type: "click", x: 1 } },
      '[computer_call]\n{"type":"click","x":1}',
    ],
    [
      { type: "compaction", encrypted_content: "AAAA" },
      "[compaction; not shown: there is no text in it]",
    ],
  ];
  for (const [item, shown] of items) {
    const input = [USER, item, { role: "assistant", content: "B" }, USER];
    assertEquals(await promptOf(server, { input }), `user:U|assistant:${shown}\nB|user:U|`);
  }
  for (
    const [item, shown] of [
      [
        { type: "local_shell_call_output", id: "l", output: "a.txt" },
        "[local_shell_call_output]\na.txt",
      ],
      [
        {
          type: "computer_call_output",
          output: { type: "computer_screenshot", image_url: "data:image/png;base64,AAAA" },
        },
        "[computer_call_output; not shown: there is no text in it]",
      ],
    ] as const
  ) {
    assertEquals(await promptOf(server, { input: [item] }), `user:${shown}|`);
  }
});

Deno.test("chat: parts of a tool's result of whichever type are shown by their texts", async () => {
  await using server = await startChat({}, TEMPLATE);
  const content = [{ type: "resource", resource: {}, text: "found" }, { type: "text", text: "R" }];
  const messages = [USER, { role: "tool", tool_call_id: "a", content }];
  assertStringIncludes(await promptOf(server, { messages }), "[resource]\nfound\nR");
});
