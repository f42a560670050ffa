"""pydantic-ai, and OpenAI's client of the version that it wants: native output of types by every dialect that has it.

    python pydantic_clients.py URL
"""

import sys
from pathlib import Path
from typing import Literal

from openai import BadRequestError, OpenAI
from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider

URL = sys.argv[1]
ASKED = [{"role": "user", "content": "Who?#"}]


class Person(BaseModel):
    name: str
    age: int


class Folder(BaseModel):
    """The format "path" and uniqueItems."""

    path: Path = Field(json_schema_extra={"maxLength": 3})
    tags: set[Literal["a", "b"]] = Field(max_length=2)


class Tags(BaseModel):
    """What no grammar can enforce."""

    tags: set[str]


def exercise_pydantic_ai():
    provider = OpenAIProvider(base_url=f"{URL}/v1", api_key="none")
    models = (
        OpenAIChatModel("script", provider=provider),
        OpenAIResponsesModel("script", provider=provider),
        OllamaModel("script", provider=OllamaProvider(base_url=f"{URL}/v1")),
    )
    for model in models:
        person = Agent(model, output_type=NativeOutput(Person)).run_sync("Who?#").output
        assert (person.name, person.age) == ("Ada", 36), person
        folder = Agent(model, output_type=NativeOutput(Folder)).run_sync("Who?#").output
        assert folder.tags <= {"a", "b"}, folder


def exercise_parse():
    """It sends strict, with which a keyword that no grammar can enforce is refused by its name, as OpenAI does."""
    client = OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
    chat = client.chat.completions.parse

    def respond(text_format):
        return client.responses.parse(model="script", input="Who?#", text_format=text_format)

    answer = chat(model="script", messages=ASKED, response_format=Person)
    assert answer.choices[0].message.parsed == Person(name="Ada", age=36), answer
    assert respond(Person).output_parsed == Person(name="Ada", age=36)
    assert chat(model="script", messages=ASKED, response_format=Folder).choices[0].message.parsed
    assert respond(Folder).output_parsed
    asking = (
        lambda: chat(model="script", messages=ASKED, response_format=Tags),
        lambda: respond(Tags),
    )
    for ask in asking:
        try:
            raise AssertionError(ask())
        except BadRequestError as error:
            assert '"#/properties/tags/uniqueItems"' in str(error), error


exercise_pydantic_ai()
exercise_parse()
