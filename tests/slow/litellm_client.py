"""OpenAI's and Anthropic's clients, with LiteLLM as a proxy between them and m40: PROXY_URL MODEL KEY."""

import json
import sys

import openai
from openai import OpenAI

base_url, model, key = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=key, max_retries=0)
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
asked = {"model": model, "messages": messages, "temperature": 0, "max_tokens": 8}

whole = client.chat.completions.create(**asked)
assert whole.choices[0].message.content and whole.usage.completion_tokens <= 8, whole
text = ""
for part in client.chat.completions.create(**asked, stream=True):
    text += (part.choices[0].delta.content or "") if part.choices else ""
assert text == whole.choices[0].message.content, (text, whole)

tools = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"enum": ["Paris", "Rome"]}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
]
turns = list(messages)
for stream in (False, True, False):
    body = {**asked, "messages": turns, "max_tokens": 300, "tools": tools, "tool_choice": "required"}
    calls = {}
    if stream:
        for part in client.chat.completions.create(**body, parallel_tool_calls=False, stream=True):
            for call in (part.choices[0].delta.tool_calls or []) if part.choices else []:
                known = calls.setdefault(call.index, {"id": call.id, "name": call.function.name, "arguments": ""})
                known["arguments"] += call.function.arguments or ""
        found = list(calls.values())
    else:
        answer = client.chat.completions.create(**body, parallel_tool_calls=False).choices[0]
        assert answer.finish_reason == "tool_calls", answer
        found = [
            {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
            for call in answer.message.tool_calls
        ]
    assert found, stream
    for call in found:
        assert call["name"] == "weather" and json.loads(call["arguments"])["city"] in ("Paris", "Rome"), call
    turns.append(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in found
            ],
        }
    )
    turns += [{"role": "tool", "tool_call_id": call["id"], "content": "Sunny."} for call in found]

schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False}
held = client.chat.completions.create(
    **{**asked, "max_tokens": 60},
    response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}},
)
assert isinstance(json.loads(held.choices[0].message.content)["a"], bool), held
vectors = client.embeddings.create(model=model, input=["Hello", "there"], encoding_format="float").data
assert [one.index for one in vectors] == [0, 1] and len(vectors[0].embedding) > 8, vectors

try:
    client.chat.completions.create(**{**asked, "max_tokens": -5})
except openai.BadRequestError as error:
    assert "max_tokens" in str(error), error
else:
    raise AssertionError("what is wrong was answered")
