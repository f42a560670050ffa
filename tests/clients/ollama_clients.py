"""Clients of Ollama that send what its own do not: LiteLLM and requests without a content type, LlamaIndex with num_ctx.

    python ollama_clients.py URL
"""

import asyncio
import json
import sys

import litellm
import requests
from langchain_ollama import ChatOllama
from llama_index.core.llms import ChatMessage
from llama_index.llms.ollama import Ollama

URL = sys.argv[1]
SUNNY = "It is sunny."
ASKED = [{"role": "user", "content": "How is the weather?"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


def exercise_litellm():
    for provider in ("ollama", "ollama_chat"):
        model = f"{provider}/script"
        whole = litellm.completion(model=model, messages=ASKED, api_base=URL)
        assert whole.choices[0].message.content == SUNNY, whole
        pieces = litellm.completion(model=model, messages=ASKED, api_base=URL, stream=True)
        text = "".join(piece.choices[0].delta.content or "" for piece in pieces)
        assert text == SUNNY, text
    asynchronous = asyncio.run(
        litellm.acompletion(model="ollama_chat/script", messages=ASKED, api_base=URL)
    )
    assert asynchronous.choices[0].message.content == SUNNY, asynchronous
    called = litellm.completion(
        model="ollama_chat/script",
        messages=[{"role": "user", "content": "Look it up!"}],
        api_base=URL,
        tools=[WEATHER],
    )
    [call] = called.choices[0].message.tool_calls
    assert '"Paris"' in call.function.arguments, call
    # What aider sends, which counts tokens by itself.
    litellm.completion(model="ollama_chat/script", messages=ASKED, api_base=URL, num_ctx=99_999)


def exercise_llama_index():
    llm = Ollama(model="script", base_url=URL, request_timeout=60)
    answer = llm.chat([ChatMessage(role="user", content="How is the weather?")])
    assert answer.message.content == SUNNY, answer
    pieces = list(llm.stream_chat([ChatMessage(role="user", content="How is the weather?")]))
    assert pieces[-1].message.content == SUNNY, pieces[-1]
    assert llm.complete("How is the weather?").text == SUNNY


def exercise_langchain():
    # It looks for its model in the list first.
    for name in ("script", "gpt-4o-mini"):
        llm = ChatOllama(model=name, base_url=URL, validate_model_on_init=True)
        assert llm.invoke("How is the weather?").content == SUNNY
    [call] = llm.bind_tools([WEATHER]).invoke("Look it up!").tool_calls
    assert call["args"] == {"city": "Paris"}, call


def exercise_requests():
    asked = {"model": "script", "messages": ASKED, "stream": False}
    answer = requests.post(f"{URL}/api/chat", data=json.dumps(asked))
    assert answer.json()["message"]["content"] == SUNNY, answer.text


exercise_litellm()
exercise_llama_index()
exercise_langchain()
exercise_requests()
