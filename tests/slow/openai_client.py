"""All that OpenAI's client for Python does with text, against a server of m40.

    python openai_client.py BASE_URL MODEL [KEY]

Every answer and every event of a stream is checked, as it came, against the client's own types, which are
generated from OpenAI's published schema: strictly, so that no field has another type, none that the schema
wants is missing, and none is there that it does not have, but for m40's documented additions.
"""

import json
import sys

import openai
from openai import OpenAI
from openai.types import Completion, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from client_types import ClientTypes, check_refused

BASE_URL, MODEL, *KEY = sys.argv[1:]
CLIENT = OpenAI(base_url=BASE_URL, api_key=KEY[0] if KEY else "none", max_retries=0)

# What m40 documents beyond OpenAI's fields, by the type that has it.
ADDITIONS = {
    "Model": {"context_length", "chat", "state", "size_bytes", "expires_in_seconds"},
    "ChatCompletionMessage": {"reasoning_content"},
    "ChoiceDelta": {"reasoning_content"},
}
# What the published schema demands though the client's types do not: fields that may be null.
DEMANDED = {
    "ChatCompletionMessage": {"content", "refusal"},
    "ChatCompletionTokenLogprob": {"bytes"},
    "TopLogprob": {"bytes"},
    "CompletionChoice": {"logprobs"},
    "CompletionUsage": {"completion_tokens_details", "prompt_tokens_details"},
}
checked = ClientTypes(ADDITIONS, DEMANDED).checked
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Hello"}], "name": "Ann"},
]


def without_documented_nulls(text):
    """A completion without the nulls that OpenAI sends as well but whose types do not have: the reason of a
    choice that goes on, and the log-probability of a prompt's first token."""
    value = json.loads(text)
    for choice in value["choices"]:
        if choice["finish_reason"] is None:
            choice["finish_reason"] = "stop"
        logprobs = choice["logprobs"]
        if logprobs is not None and logprobs["token_logprobs"][:1] == [None]:
            assert logprobs["top_logprobs"][0] is None
            for field in logprobs:
                logprobs[field] = logprobs[field][1:]
    return json.dumps(value)


def complete(**body):
    """A completion, checked as it came."""
    body = {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 6, "temperature": 0, **body}
    answer = CLIENT.completions.with_raw_response.create(**body)
    checked(Completion, without_documented_nulls(answer.text))
    assert all(choice["finish_reason"] for choice in json.loads(answer.text)["choices"])
    return answer.parse()


def chat(**body):
    """A chat completion, checked as it came."""
    body = {"model": MODEL, "messages": MESSAGES, "max_tokens": 6, "temperature": 0, **body}
    answer = CLIENT.chat.completions.with_raw_response.create(**body)
    return checked(ChatCompletion, answer.text)


def events_of(answer):
    """The JSON of a stream's events, up to its end."""
    data = [line[6:] for line in answer.iter_lines() if line.startswith("data: ")]
    assert data[-1] == "[DONE]", data[-1]
    return data[:-1]


def stream_chat(**body):
    """The chunks of a chat's stream, checked as they came."""
    body = {"model": MODEL, "messages": MESSAGES, "max_tokens": 6, "temperature": 0, **body}
    create = CLIENT.chat.completions.with_streaming_response.create
    with create(**body, stream=True) as answer:
        chunks = [checked(ChatCompletionChunk, text) for text in events_of(answer)]
    check_order(chunks)
    return chunks


def stream_completion(**body):
    """The chunks of a completion's stream, checked as they came."""
    body = {"model": MODEL, "prompt": "Once", "max_tokens": 6, "temperature": 0, **body}
    with CLIENT.completions.with_streaming_response.create(**body, stream=True) as answer:
        return [checked(Completion, without_documented_nulls(text)) for text in events_of(answer)]


def check_order(chunks):
    """The role comes first, the reason last, and once for each choice."""
    indices = {choice.index for chunk in chunks for choice in chunk.choices}
    for index in indices:
        own = [choice for chunk in chunks for choice in chunk.choices if choice.index == index]
        assert own[0].delta.role == "assistant"
        assert all(choice.delta.role is None for choice in own[1:])
        assert own[-1].finish_reason in ("stop", "length", "tool_calls")
        assert all(choice.finish_reason is None for choice in own[:-1])
        assert all("logprobs" in choice.model_fields_set for choice in own)
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1


def exercise_models():
    answer = CLIENT.models.with_raw_response.list()
    for one in json.loads(answer.text)["data"]:
        checked(Model, json.dumps(one))
    # The models in memory come first, then the others of the store.
    assert [one.id for one in CLIENT.models.list()][0] == MODEL
    checked(Model, CLIENT.models.with_raw_response.retrieve(MODEL).text)


def exercise_completions():
    whole = complete(user="me")
    chunks = stream_completion(
        prompt="Once upon a time", stream_options={"include_usage": True}
    )
    assert "".join(c.choices[0].text for c in chunks[:-1]) == whole.choices[0].text
    assert chunks[-1].choices == [] and chunks[-1].usage == whole.usage
    echoed = complete(echo=True, logprobs=3)
    assert echoed.choices[0].text == "Once upon a time" + whole.choices[0].text
    stream_completion(echo=True, logprobs=1)
    stream_completion(n=2, temperature=1, seed=3)
    several = complete(
        prompt=["Once", "Upon"],
        n=2,
        best_of=3,
        temperature=1,
        seed=5,
        top_p=0.9,
        frequency_penalty=0.5,
        presence_penalty=0.5,
        logit_bias={"5": -100},
        stop=["\n\n\n"],
    )
    assert len(several.choices) == 4
    complete(prompt=[5, 6, 7])
    complete(prompt=[[5, 6], [7, 8]])
    complete(max_tokens=0, echo=True, logprobs=0)


def exercise_chat():
    whole = chat()
    assert whole.usage.prompt_tokens_details.cached_tokens >= 0
    idle = {
        "user": "me",
        "store": True,
        "metadata": {"a": "b"},
        "service_tier": "auto",
        "parallel_tool_calls": True,
        "prompt_cache_key": "k",
        "safety_identifier": "s",
        "response_format": {"type": "text"},
        "modalities": ["text"],
        "reasoning_effort": "low",
    }
    assert chat(**idle).choices[0].message == whole.choices[0].message
    sampled = {
        "n": 2,
        "temperature": 1,
        "seed": 7,
        "stop": "\n\n\n",
        "frequency_penalty": 0.1,
        "presence_penalty": 0.1,
        "logit_bias": {"5": -1},
        "extra_body": {
            "top_k": 40,
            "min_p": 0.01,
            "typical_p": 0.95,
            "repetition_penalty": 1.05,
            "dry_multiplier": 0.8,
            "xtc_probability": 0.1,
            "mirostat": 2,
            "dynatemp_range": 0.2,
            "ignore_eos": True,
            "chat_template_kwargs": {"enable_thinking": False},
        },
    }
    assert len(chat(**sampled).choices) == 2
    scored = chat(logprobs=True, top_logprobs=3).choices[0].logprobs
    assert all(len(token.top_logprobs) == 3 for token in scored.content)
    chat(max_tokens=None, max_completion_tokens=4)
    unfinished = [*MESSAGES, {"role": "assistant", "content": "I"}]
    chat(messages=unfinished, extra_body={"continue_final_message": True})
    chat(messages=[{"role": "developer", "content": "D"}, *MESSAGES[1:]])


def exercise_streams():
    whole = chat()
    chunks = stream_chat(stream_options={"include_usage": True})
    deltas = [chunk.choices[0].delta for chunk in chunks[:-1]]
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    assert chunks[-1].usage == whole.usage
    stream_chat(n=2, temperature=1, seed=3)
    stream_chat(logprobs=True, top_logprobs=2)
    # The client's own collector of streams, which wants an answer that was not cut off.
    asked = {"messages": MESSAGES, "max_tokens": 64, "temperature": 0, "stop": list("aei ")}
    wanted = chat(**asked)
    with CLIENT.chat.completions.stream(model=MODEL, **asked) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].finish_reason == "stop"
    assert final.choices[0].message.content == wanted.choices[0].message.content


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two numbers",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "minimum": 0, "maximum": 99},
                    "b": {"type": "integer", "minimum": 0, "maximum": 99},
                },
                "required": ["a", "b"],
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
]


def called(call):
    """What a call gives; its arguments are as the tool wants them."""
    arguments = json.loads(call.function.arguments)
    if call.function.name == "now":
        assert arguments == {}
        return "12:00"
    assert call.function.name == "add" and set(arguments) == {"a", "b"}, call
    assert all(0 <= one <= 99 for one in arguments.values()), arguments
    return str(sum(arguments.values()))


def exercise_tools():
    if MODEL != "demo":
        return  # A model of noise with a short context does not come to the end of a call.
    asked = {
        "tools": TOOLS, "tool_choice": "required", "max_tokens": 120, "temperature": 1, "seed": 7,
        "parallel_tool_calls": False,
    }
    messages = [{"role": "user", "content": "1 + 2?"}]
    for _ in range(3):
        choice = chat(**asked, messages=messages).choices[0]
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
        messages.append(choice.message.model_dump(exclude_none=True))
        for call in choice.message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": called(call)})
    assert chat(messages=messages, tools=TOOLS).choices[0].message.tool_calls is None
    whole = chat(**asked, n=2)
    chunks = stream_chat(**asked, n=2)
    for index, choice in enumerate(whole.choices):
        deltas = [one.delta for chunk in chunks for one in chunk.choices if one.index == index]
        pieces = [call for delta in deltas for call in delta.tool_calls or []]
        assert pieces[0].id and pieces[0].function.name == choice.message.tool_calls[0].function.name
        text = "".join(call.function.arguments for call in pieces)
        assert text == choice.message.tool_calls[0].function.arguments
    named = {"type": "function", "function": {"name": "now"}}
    calls = chat(**{**asked, "tool_choice": named}).choices[0].message.tool_calls
    assert [called(call) for call in calls] == ["12:00"]
    # The client's own collector of streams.
    with CLIENT.chat.completions.stream(model=MODEL, messages=MESSAGES, **asked) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert called(final.choices[0].message.tool_calls[0])


def exercise_errors():
    cases = [
        ({"temperature": 900}, openai.BadRequestError, "temperature", "invalid_request"),
        ({"messages": []}, openai.BadRequestError, "messages", "invalid_request"),
        ({"tools": [{"type": "web"}]}, openai.BadRequestError, "tools.0.type", "unsupported"),
        ({"model": "nobody"}, openai.NotFoundError, "model", "model_not_found"),
    ]
    for body, kind, param, code in cases:
        error = check_refused(chat, body, kind)
        assert (error.param, error.code) == (param, code), error


for exercise in (
    exercise_models,
    exercise_completions,
    exercise_chat,
    exercise_streams,
    exercise_tools,
    exercise_errors,
):
    exercise()
