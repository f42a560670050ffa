"""Renders chat templates by Hugging Face's transformers, for engine/chat/vectors_test.ts.

    pip install transformers jinja2
    python tools/chat_vectors/make.py

Writes tests/data/chat/templates.json and jinja.json. Nothing is downloaded.
"""

import datetime
import json
import subprocess
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

HERE = Path(__file__).parent
OUT = HERE.parent.parent / "tests" / "data" / "chat"
NOW = datetime.datetime(2026, 3, 5, 14, 7, 9)


class FixedTime(datetime.datetime):
    """What `strftime_now` returns."""

    @classmethod
    def now(cls, tz=None):
        return NOW


def user(content, **more):
    return {"role": "user", "content": content, **more}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content):
    return {"role": "system", "content": content}


def parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


def calls(*calls, content=""):
    named = [{"id": id, "name": name, "arguments": json.dumps(arguments)} for id, name, arguments in calls]
    return assistant(content, toolCalls=named)


def result(id, content):
    return {"role": "tool", "toolCallId": id, "content": content}


TOOLS = [
    {
        "name": "get_weather",
        "description": "The weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where: \"a <city>\"."},
                "days": {"type": ["integer", "null"], "default": 3},
                "unit": {"type": "string", "enum": ["C", "F"]},
                "hours": {"type": "array", "items": {"type": "number"}},
                "near": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
            },
            "required": ["city"],
        },
    },
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]
CALL = ("aB3dE6gH9", "get_weather", {"city": "Zürich", "hours": [1, 2.5], "near": {"lat": 47}, "days": None})
OTHER = ("aB3dE6gH0", "now", {})

# Each conversation uses something that templates treat in their own ways.
CONVERSATIONS = {
    "one question": {"messages": [user("Hi there!")]},
    "system": {"messages": [system("Be brief."), user("Hi")]},
    "turns": {"messages": [system("You are kind."), user("One?"), assistant("Two."), user("Three?")]},
    "turns without system": {"messages": [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]},
    "white space": {"messages": [system("  sys \n"), user("\n  hello \t"), assistant(" yes \n\n"), user("  why ")]},
    "beyond ASCII": {"messages": [user("Grüße, 世界 👋🏽‍♀️ e\u0301"), assistant("\u00a0ça va\u3000"), user("ß")]},
    "lines": {"messages": [user("one\ntwo\n\nthree"), assistant("```py\nx = '{{ 1 }}'\n```"), user("{% raw %}")]},
    "empty": {"messages": [system(""), user("")]},
    "tokens in texts": {
        "messages": [user("<|im_end|><|im_start|>system"), assistant("</s>[INST]<|eot_id|>"), user("<｜User｜>")]
    },
    "quotes": {"messages": [user("'a' \"b\" \\n & <i>")]},
    "not alternating": {"messages": [user("a"), user("b")]},
    "assistant first": {"messages": [assistant("Hello."), user("Hi")]},
    "two systems": {"messages": [system("A"), system("B"), user("c")]},
    "thoughts in the text": {
        "messages": [user("a"), assistant("<think>\nhm \n</think>\n\nb"), user("c"), assistant("<think>x</think>d"), user("e")]
    },
    "thoughts next to the text": {"messages": [user("a"), assistant("b", reasoning="because"), user("c")]},
    "continued": {"messages": [user("Count."), assistant("One, two")], "continueFinal": True},
    "continued with a space": {"messages": [user("Count."), assistant("One, ")], "continueFinal": True},
    "continued with thoughts": {"messages": [user("Why?"), assistant("So", reasoning="Hm.")], "continueFinal": True},
    "parts": {"messages": [system(parts("Be", "kind.")), user(parts("One", " Two")), assistant(parts("3")), user(parts("4"))]},
    "continued part": {"messages": [user(parts("a")), assistant(parts("b", "c"))], "continueFinal": True},
    "names": {"messages": [user("Hi", name="Ada"), assistant("Hello"), user("Hey", name="Bob"), user("So?", name="Ada")]},
    "developer": {"messages": [{"role": "developer", "content": "Speak French."}, user("Hi")]},
    "without thinking": {"messages": [user("Hi")], "templateVariables": {"enable_thinking": False}},
    "with thinking": {"messages": [user("Hi")], "templateVariables": {"enable_thinking": True}},
    "effort": {"messages": [user("Hi")], "reasoningEffort": "high"},
    "date": {"messages": [user("Hi")], "templateVariables": {"date_string": "1 Jan 2000"}},
    "tools": {"messages": [user("Hi")], "tools": TOOLS},
    "tools and system": {"messages": [system("Be brief."), user("a"), assistant("b"), user("c")], "tools": TOOLS},
    "a call": {"messages": [user("Rain?"), calls(CALL), result(CALL[0], "No:\n{\"mm\": 0}")], "tools": TOOLS},
    "a call without arguments": {"messages": [user("Late?"), calls(OTHER), result(OTHER[0], "5")], "tools": TOOLS},
    "turns with calls": {
        "messages": [
            system("Be kind."),
            user("Rain?"),
            calls(CALL, content="I look."),
            result(CALL[0], "<|im_end|></s>[/TOOL_RESULTS]"),
            assistant("No."),
            user("Late?"),
            calls(OTHER),
            result(OTHER[0], ""),
        ],
        "tools": TOOLS,
    },
    "two calls at once": {
        "messages": [user("Both?"), calls(CALL, OTHER), result(CALL[0], "1"), result(OTHER[0], "2")],
        "tools": TOOLS,
    },
    "control tokens in arguments": {
        "messages": [
            user("x"),
            calls((CALL[0], "get_weather", {"city": "</tool_call><|im_end|><｜tool▁calls▁end｜>[TOOL_CALLS]"})),
            result(CALL[0], "y"),
        ],
        "tools": TOOLS,
    },
    "stop": {"messages": [user("go"), assistant("on"), user(" stop "), user("never")]},
}

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def shown(message, messages):
    """A message of a request as templates get it."""
    names = {"reasoning": "reasoning_content", "toolCallId": "tool_call_id"}
    given = {names.get(key, key): value for key, value in message.items() if key != "toolCalls"}
    if "toolCallId" in message:
        called = [call for one in messages for call in one.get("toolCalls", [])]
        given["name"] = next(call["name"] for call in called if call["id"] == message["toolCallId"])
        try:
            # Mistral's format before 2025 shows the value of a result that is JSON.
            given["content_json"] = json.loads(message["content"])
        except ValueError:
            pass
    if "toolCalls" in message:
        given["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.loads(call["arguments"])},
            }
            for call in message["toolCalls"]
        ]
    return given


def render(tokenizer, template, request):
    """What transformers makes of a request, or why it does not."""
    messages = [shown(message, request["messages"]) for message in request["messages"]]
    more = dict(request.get("templateVariables", {}))
    if "reasoningEffort" in request:
        more["reasoning_effort"] = request["reasoningEffort"]
    continues = request.get("continueFinal", False)
    try:
        text = tokenizer.apply_chat_template(
            messages,
            chat_template=template,
            tokenize=False,
            add_generation_prompt=not continues,
            continue_final_message=continues,
            tools=[{"type": "function", "function": tool} for tool in request["tools"]] if "tools" in request else None,
            **more,
        )
        return {"text": text}
    except Exception as error:  # noqa: BLE001
        return {"error": str(error)}


def is_asked(template, name):
    """Whether a template takes a conversation as it is: m40 adapts others to what a template knows."""
    if "tools" in CONVERSATIONS[name] and "tool_calls" not in template:
        return False
    takes_parts = "part" in template
    if "part" in name:
        return takes_parts
    if name == "developer":
        return "developer" in template
    # Where a template knows parts alone, texts are handed to it as such.
    return "message.content -%" not in template


def main():
    chat_template_utils.datetime = FixedTime
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0}, unk_token="a")), **TOKENS)
    shown = subprocess.run(
        ["deno", "run", "--allow-read", HERE / "templates.ts"], check=True, capture_output=True, text=True
    ).stdout
    templates = json.loads(shown)
    cases = [
        {"template": template, "conversation": conversation, **render(tokenizer, source, request)}
        for template, source in templates.items()
        for conversation, request in CONVERSATIONS.items()
        if is_asked(source, conversation)
    ]
    write("templates.json", {
        "now": NOW.isoformat(),
        "specialTokens": TOKENS,
        "templates": templates,
        "conversations": CONVERSATIONS,
        "cases": cases,
    })
    values = json.loads((HERE / "jinja_values.json").read_text())
    sources = json.loads((HERE / "jinja_cases.json").read_text())
    write("jinja.json", {"now": NOW.isoformat(), "values": values, "cases": [jinja(s, values) for s in sources]})


def jinja(source, values):
    """What Jinja makes of a template, as transformers sets it up."""
    try:
        return {"source": source, "text": chat_template_utils._compile_jinja_template(source).render(**values)}
    except Exception as error:  # noqa: BLE001
        return {"source": source, "error": f"{type(error).__name__}: {error}"}


def write(name, value):
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
