"""All that Anthropic's client for Python does with text, against a server of m40.

    python anthropic_client.py BASE_URL MODEL KEY

Every answer and every event of a stream is checked, as it came, against the client's own types, which are
generated from Anthropic's published schema: strictly, so that no field has another type, none that the schema
wants is missing, and none is there that it does not have.
"""

import json
import sys

import anthropic
from anthropic import Anthropic
from anthropic.types import Message, MessageTokensCount, RawMessageStreamEvent

from client_types import ClientTypes, check_refused

BASE_URL, MODEL, KEY = sys.argv[1:]
CLIENT = Anthropic(base_url=BASE_URL, api_key=KEY, max_retries=0)
checked = ClientTypes().checked
MESSAGES = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}],
    }
]
ASKED = {"model": MODEL, "messages": MESSAGES, "max_tokens": 8, "system": "Be brief."}
COLD = {"extra_body": {"temperature": 0}}


def create(**body):
    """A message, checked as it came."""
    answer = CLIENT.messages.with_raw_response.create(**{**ASKED, **COLD, **body})
    return checked(Message, answer.text())


def events(**body):
    """The events of a stream, checked as they came; the client itself leaves out pings."""
    body = {**ASKED, **COLD, **body}
    with CLIENT.messages.with_streaming_response.create(**body, stream=True) as answer:
        lines = [line for line in answer.iter_lines() if line and not line.startswith(":")]
    found = []
    for name, data in zip(lines[::2], lines[1::2], strict=True):
        assert name.startswith("event: ") and data.startswith("data: "), (name, data)
        assert json.loads(data[6:])["type"] == name[7:], (name, data)
        if name != "event: ping":
            found.append(checked(RawMessageStreamEvent, data[6:]))
    return found


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def exercise_messages():
    whole = create()
    assert whole.id.startswith("msg_") and whole.model == MODEL
    counted = CLIENT.messages.with_raw_response.count_tokens(
        model=MODEL, messages=MESSAGES, system="Be brief."
    )
    tokens = checked(MessageTokensCount, counted.text()).input_tokens
    assert tokens == whole.usage.input_tokens + whole.usage.cache_read_input_tokens
    again = create(
        metadata={"user_id": "me"},
        service_tier="auto",
        tools=[],
        stop_sequences=["\n\n\n\n"],
        extra_headers={"anthropic-beta": "a"},
    )
    assert again.content == whole.content
    turns = [*MESSAGES, {"role": "assistant", "content": whole.content}]
    create(messages=[*turns, {"role": "user", "content": "And?"}])
    create(messages=[*MESSAGES, {"role": "assistant", "content": "I"}])
    for thinking in ({"type": "enabled", "budget_tokens": 1024}, {"type": "disabled"}):
        create(thinking=thinking)


def exercise_streams():
    whole = create()
    found = events()
    assert [found[0].type, found[-2].type, found[-1].type] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    deltas = [event.delta for event in found if event.type == "content_block_delta"]
    assert "".join(delta.text for delta in deltas) == text_of(whole)
    stop = text_of(whole)[1:3]
    # The client's own collector of streams.
    with CLIENT.messages.stream(**ASKED, **COLD, stop_sequences=[stop]) as stream:
        final = stream.get_final_message()
    assert (final.stop_reason, final.stop_sequence) == ("stop_sequence", stop)
    assert text_of(final) == text_of(whole)[: text_of(whole).index(stop)]


TOOLS = [
    {
        "name": "weather",
        "description": "What the weather is.",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"enum": ["Paris", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    }
]


def exercise_tools():
    """Several turns, each of which calls a tool and gets what came of it."""
    messages = list(MESSAGES)
    asked = {"tools": TOOLS, "tool_choice": {"type": "any"}, "max_tokens": 200}
    for turn in range(3):
        if turn == 1:
            found = events(messages=messages, **asked)
            deltas = [event.delta for event in found if event.type == "content_block_delta"]
            assert any(delta.type == "input_json_delta" for delta in deltas), deltas
            with CLIENT.messages.stream(**{**ASKED, **COLD, **asked, "messages": messages}) as stream:
                whole = stream.get_final_message()
        else:
            whole = create(messages=messages, **asked)
        assert whole.stop_reason == "tool_use", whole
        calls = [block for block in whole.content if block.type == "tool_use"]
        assert calls, whole
        for call in calls:
            assert call.name == "weather" and call.input["city"] in ("Paris", "Rome"), call
            assert 1 <= call.input["days"] <= 9, call
        messages.append({"role": "assistant", "content": whole.content})
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "Sunny."} for call in calls]
        messages.append({"role": "user", "content": results})
    create(messages=messages, tools=TOOLS, max_tokens=8)
    counted = CLIENT.messages.count_tokens(model=MODEL, messages=messages, tools=TOOLS)
    assert counted.input_tokens > CLIENT.messages.count_tokens(model=MODEL, messages=messages).input_tokens


def exercise_errors():
    cases = [
        ({"max_tokens": 0}, anthropic.BadRequestError, "invalid_request_error"),
        ({"messages": []}, anthropic.BadRequestError, "invalid_request_error"),
        ({"tools": [{"name": "f"}]}, anthropic.BadRequestError, "invalid_request_error"),
        ({"model": "nobody"}, anthropic.NotFoundError, "not_found_error"),
    ]
    for body, kind, name in cases:
        error = check_refused(create, body, kind)
        assert error.body["error"]["type"] == name, error
        assert error.request_id == error.body["request_id"], error


exercise_messages()
exercise_streams()
exercise_tools()
exercise_errors()
