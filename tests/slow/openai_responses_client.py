"""All that OpenAI's client for Python does with text by the Responses API, against a server of m40.

    python openai_responses_client.py BASE_URL MODEL [KEY]

Every answer and every event of a stream is checked, as it came, against the client's own types, which are
generated from OpenAI's published schema: strictly, so that no field has another type, none is missing, and
none is there that the types do not have, but for m40's documented additions.
"""

import json
import sys
from typing import Literal, get_args

import openai
from openai import OpenAI
from openai.types.responses import (
    Response,
    ResponseErrorEvent,
    ResponseItem,
    ResponseStreamEvent,
)
from openai.types.responses.response_item_list import ResponseItemList
from pydantic import BaseModel

from client_types import ClientTypes, check_refused

BASE_URL, MODEL, *KEY = sys.argv[1:]
CLIENT = OpenAI(base_url=BASE_URL, api_key=KEY[0] if KEY else "none", max_retries=0)

# What m40 has beyond the types' fields: `store`, which OpenAI's own answers have too, and by streams the
# events that OpenAI sends where nothing happens.
ADDITIONS = {"Response": {"store"}}
# Fields that the published schema demands and that may be null.
DEMANDED = {
    "Response": {
        "error",
        "incomplete_details",
        "instructions",
        "metadata",
        "temperature",
        "top_p",
        "status",
        "text",
        "truncation",
        "previous_response_id",
        "reasoning",
    },
    "ResponseOutputText": {"logprobs"},
    "ResponseFunctionToolCall": {"id", "status"},
}
checked = ClientTypes(ADDITIONS, DEMANDED).checked

# What is wanted soon is not reasoned about.
BRIEF = {"reasoning": {"effort": "none"}}


def by_type(union):
    """The members of a union of the client's types by the value of their field `type`."""
    found = {}
    pending = [union]
    while pending:
        one = pending.pop()
        if isinstance(one, type) and issubclass(one, BaseModel):
            for value in get_args(one.model_fields["type"].annotation):
                found.setdefault(value, one)
        else:
            pending.extend(get_args(one))
    return found


EVENTS = by_type(ResponseStreamEvent)


def respond(**body):
    """A response, checked as it came."""
    body = {"model": MODEL, "input": "Hello", "max_output_tokens": 6, "temperature": 0, **body}
    answer = CLIENT.responses.with_raw_response.create(**body)
    return checked(Response, answer.text)


def stream(**body):
    """The events of a response's stream, checked as they came."""
    body = {"model": MODEL, "input": "Hello", "max_output_tokens": 6, "temperature": 0, **body}
    events = []
    with CLIENT.responses.with_streaming_response.create(**body, stream=True) as answer:
        name = None
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                kind = json.loads(line[6:])["type"]
                assert kind == name, (kind, name)
                if kind != "keepalive":
                    events.append(checked(EVENTS[kind], line[6:]))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].type in ("response.completed", "response.incomplete"), events[-1]
    return events


def items_of(identity, **query):
    answer = CLIENT.responses.input_items.with_raw_response.list(identity, **query)
    return checked(ResponseItemList, answer.text).data


def exercise_whole():
    whole = respond()
    assert whole.output_text and whole.usage.output_tokens <= 6
    idle = {
        "user": "me",
        "metadata": {"a": "b"},
        "service_tier": "auto",
        "parallel_tool_calls": True,
        "prompt_cache_key": "k",
        "safety_identifier": "s",
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "text"}, "verbosity": "low"},
        "truncation": "auto",
        "background": False,
    }
    assert respond(**idle).output_text == whole.output_text
    reply = respond(include=["message.output_text.logprobs"], top_logprobs=3)
    tokens = reply.output[-1].content[0].logprobs
    assert tokens and all(len(token.top_logprobs) == 3 for token in tokens)
    sampled = {"top_k": 40, "min_p": 0.01, "seed": 5, "stop": ["\n\n\n"]}
    respond(temperature=1, top_p=0.9, extra_body=sampled)


def exercise_kept():
    first = respond(instructions="Be brief.")
    second = respond(input="And then?", previous_response_id=first.id)
    said = [item.model_dump(exclude_unset=True) for item in first.output]
    items = [{"role": "user", "content": "Hello"}, *said, {"role": "user", "content": "And then?"}]
    assert respond(input=items, store=False).output_text == second.output_text
    fetched = CLIENT.responses.with_raw_response.retrieve(second.id)
    assert checked(Response, fetched.text) == second
    assert len(items_of(second.id, order="asc")) == len(items)
    assert [item.id for item in CLIENT.responses.input_items.list(second.id, limit=1)] == [
        item.id for item in items_of(second.id)
    ]
    CLIENT.responses.delete(second.id)


def exercise_streams():
    whole = respond()
    events = stream()
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == whole.output_text
    assert events[-1].response.usage == whole.usage
    stream(include=["message.output_text.logprobs"], top_logprobs=2)
    # The client's own collector of streams, which wants a response that was not cut off.
    asked = {"input": "Hello", "max_output_tokens": 64, "temperature": 0}
    ends = {"stop": list("aei ")}
    wanted = respond(**asked, extra_body=ends)
    with CLIENT.responses.stream(model=MODEL, **asked, extra_body=ends) as events:
        final = events.get_final_response()
    assert final.status == "completed" and final.output_text == wanted.output_text


def exercise_formats():
    class Color(BaseModel):
        color: Literal["red", "blue"]

    parsed = CLIENT.responses.parse(
        model=MODEL,
        input="Hello",
        text_format=Color,
        max_output_tokens=200,
        temperature=0,
        **BRIEF,
    )
    assert isinstance(parsed.output_parsed, Color)
    choice = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}
    choice["additionalProperties"] = False
    form = {"type": "json_schema", "name": "n", "schema": choice, "strict": True}
    made = respond(text={"format": form}, max_output_tokens=60, **BRIEF)
    assert json.loads(made.output_text)["a"] in (1, 2)


DICE = {
    "type": "function",
    "name": "roll",
    "description": "Rolls dice",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"sides": {"type": "integer", "enum": [6, 20]}},
        "required": ["sides"],
        "additionalProperties": False,
    },
}


def result_of(call):
    return {"type": "function_call_output", "call_id": call.call_id, "output": "3"}


def exercise_tools():
    calling = {"tools": [DICE], "parallel_tool_calls": False, "max_output_tokens": 100, **BRIEF}
    said = [{"role": "user", "content": "Roll twice"}]
    # Several turns with all that was said in each, streamed and not.
    for streamed in (False, True, False):
        body = {**calling, "input": said, "tool_choice": "required", "store": False}
        made = stream(**body)[-1].response if streamed else respond(**body)
        [call] = made.output
        assert made.status == "completed" and call.type == "function_call"
        assert call.name == "roll" and json.loads(call.arguments)["sides"] in (6, 20)
        said += [call.model_dump(exclude_unset=True), result_of(call)]
    last = respond(**calling, input=said, tool_choice="none")
    assert all(item.type != "function_call" for item in last.output)
    # The same by what the server keeps, with the client's own collector of streams.
    body = {**calling, "tool_choice": {"type": "function", "name": "roll"}}
    with CLIENT.responses.stream(model=MODEL, input="Roll", temperature=0, **body) as events:
        first = events.get_final_response()
    [call] = first.output
    assert call.parsed_arguments["sides"] in (6, 20)
    second = respond(**body, input=[result_of(call)], previous_response_id=first.id)
    assert [item.type for item in items_of(second.id, order="asc")] == [
        "message",
        "function_call",
        "function_call_output",
    ]


def exercise_errors():
    cases = [
        ({"temperature": 900}, openai.BadRequestError, "temperature", "invalid_request"),
        ({"background": True}, openai.BadRequestError, "background", "unsupported"),
        (
            {"previous_response_id": "resp_x"},
            openai.BadRequestError,
            "previous_response_id",
            "previous_response_not_found",
        ),
        ({"model": "nobody"}, openai.NotFoundError, "model", "model_not_found"),
    ]
    for body, kind, param, code in cases:
        error = check_refused(respond, body, kind)
        assert (error.param, error.code) == (param, code), error


for exercise in (
    exercise_whole,
    exercise_kept,
    exercise_streams,
    exercise_formats,
    exercise_tools,
    exercise_errors,
):
    exercise()
