"""What LangChain's ChatOpenAI does with text and tools, against a server of m40: BASE_URL MODEL KEY."""

import sys
from typing import Literal

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel, ConfigDict

base_url, model, key = sys.argv[1:]


def chat(**more):
    return ChatOpenAI(base_url=base_url, model=model, api_key=key, max_retries=0, temperature=0, **more)


asked = [SystemMessage("Be brief."), HumanMessage("Hello")]
whole = chat(max_tokens=8).invoke(asked)
assert whole.content and whole.usage_metadata["output_tokens"] <= 8, whole
streamed = None
for part in chat(max_tokens=8, stream_usage=True).stream(asked):
    streamed = part if streamed is None else streamed + part
assert streamed.content == whole.content, (streamed, whole)
assert streamed.usage_metadata["output_tokens"] == whole.usage_metadata["output_tokens"], streamed
assert [one.content for one in chat(max_tokens=8).batch([asked, asked])] == [whole.content] * 2


@tool
def weather(city: Literal["Paris", "Rome"], days: Literal[1, 2, 3]) -> str:
    """What the weather is."""
    return f"Sunny in {city} for {days} days."


# Each turn calls a tool, which LangChain runs; what came of it goes back. A strict one takes what it names alone.
turns = list(asked)
for turn in range(3):
    agent = chat(max_tokens=200).bind_tools([weather], tool_choice="any" if turn else "weather", strict=True)
    if turn == 1:
        answer = None
        for part in agent.stream(turns):
            answer = part if answer is None else answer + part
    else:
        answer = agent.invoke(turns)
    assert answer.tool_calls and not answer.invalid_tool_calls, answer
    turns.append(answer)
    for call in answer.tool_calls:
        result = weather.invoke(call)
        assert isinstance(result, ToolMessage) and result.content.startswith("Sunny in "), result
        turns.append(result)
free = chat(max_tokens=8).bind_tools([weather]).invoke(turns)
assert free.response_metadata["finish_reason"] in ("stop", "length", "tool_calls"), free


class Answer(BaseModel):
    """What is answered."""

    model_config = ConfigDict(extra="forbid")
    mood: Literal["good", "bad"]
    sure: bool


for method in ("json_schema", "function_calling"):
    answer = chat(max_tokens=200).with_structured_output(Answer, method=method, strict=True).invoke(asked)
    assert isinstance(answer, Answer), answer

# It sends tokens by default.
vectors = OpenAIEmbeddings(base_url=base_url, model=model, api_key=key, check_embedding_ctx_length=False)
first, second = vectors.embed_documents(["Hello", "there"])
assert len(first) == len(second) > 8 and vectors.embed_query("Hello") == first
