"""Clients that make JSON Schemas of types: keywords that no grammar can enforce are left to the model, no member comes
that a schema does not name, and every client's name for a schema is heeded.

    python schema_clients.py URL
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

import instructor
import ollama
import outlines
from haystack.dataclasses import ChatMessage
from haystack_integrations.components.generators.ollama import OllamaChatGenerator
from huggingface_hub import InferenceClient
from langchain_ollama import ChatOllama
from openai import OpenAI
from pydantic import BaseModel, Field

URL = sys.argv[1]
# What the model says by itself has a name and an age.
ASKED = [{"role": "user", "content": "Who?#"}]
CLIENT = OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)


class Person(BaseModel):
    name: str
    age: int


class Named(BaseModel):
    """It says nothing of other members."""

    name: Literal["Ada"]


class Folder(BaseModel):
    """The format "path" and uniqueItems."""

    path: Path = Field(json_schema_extra={"maxLength": 3})
    tags: set[Literal["a", "b"]] = Field(max_length=2)


def exercise_instructor():
    for mode in (instructor.Mode.JSON_SCHEMA, instructor.Mode.TOOLS):
        create = instructor.from_openai(CLIENT, mode=mode).chat.completions.create
        folder = create(model="script", messages=ASKED, response_model=Folder, max_retries=0)
        assert len(str(folder.path)) <= 3 and folder.tags <= {"a", "b"}, folder
    create = instructor.from_openai(CLIENT, mode=instructor.Mode.JSON_SCHEMA).create
    person = create(model="script", messages=ASKED, response_model=Person, max_retries=0)
    assert (person.name, person.age) == ("Ada", 36), person


def exercise_hugging_face():
    client = InferenceClient(base_url=f"{URL}/v1", api_key="none")
    answer = client.chat_completion(
        model="script",
        # What the model says by itself is no JSON.
        messages=[{"role": "user", "content": "How is the weather?"}],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "yes", "schema": {"const": "yes"}, "strict": True},
        },
    )
    assert answer.choices[0].message.content == '"yes"', answer


def exercise_ollama():
    client = ollama.Client(URL)
    answer = client.chat("script", ASKED, format=Named.model_json_schema())
    check_named(answer.message.content)
    answer = client.chat("script", ASKED, format=Folder.model_json_schema())
    Folder.model_validate_json(answer.message.content)


def exercise_langchain():
    for type in (Named, Folder):
        llm = ChatOllama(model="script", base_url=URL)
        assert isinstance(llm.with_structured_output(type, method="json_schema").invoke("Who?#"), type)


def exercise_outlines():
    models = (
        outlines.from_ollama(ollama.Client(URL), "script"),
        outlines.from_openai(CLIENT, "script"),
        outlines.from_vllm(CLIENT, "script"),
    )
    for model in models:
        check_named(model("Who?#", Named))


def exercise_haystack():
    schema = Named.model_json_schema()
    generator = OllamaChatGenerator(model="script", url=URL, response_format=schema)
    [reply] = generator.run([ChatMessage.from_user("Who?#")])["replies"]
    check_named(reply.text)


def exercise_llm():
    schema = json.dumps(Named.model_json_schema())
    command = f"-m llm -m script --no-log --key none --schema {schema.replace(' ', '')} Who?#"
    with tempfile.TemporaryDirectory() as home:
        models = f"- {{model_id: script, model_name: script, api_base: {URL}/v1, supports_schema: true}}"
        Path(home, "extra-openai-models.yaml").write_text(models)
        environment = {**os.environ, "LLM_USER_PATH": home}
        said = subprocess.run(
            [sys.executable, *command.split(" ")], env=environment, capture_output=True, text=True
        )
        assert said.returncode == 0, said.stderr
        check_named(said.stdout)


def check_named(text):
    assert json.loads(text) == {"name": "Ada"}, text


exercise_instructor()
exercise_hugging_face()
exercise_ollama()
exercise_langchain()
exercise_outlines()
exercise_haystack()
exercise_llm()
