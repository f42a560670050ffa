"""Clients that make JSON Schemas of types: their keywords are relaxed, and their names for schemas are heeded.

    python schema_clients.py URL
"""

import sys
from pathlib import Path

import instructor
from huggingface_hub import InferenceClient
from openai import OpenAI
from pydantic import BaseModel

URL = sys.argv[1]
ASKED = [{"role": "user", "content": "Who?#"}]


class Person(BaseModel):
    name: str
    age: int


class Folder(BaseModel):
    path: Path
    tags: set[str]


def exercise_instructor():
    client = OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
    wrapped = instructor.from_openai(client, mode=instructor.Mode.JSON_SCHEMA)
    person = wrapped.chat.completions.create(
        model="script", messages=ASKED, response_model=Person, max_retries=0
    )
    assert (person.name, person.age) == ("Ada", 36), person
    # The format "path" and uniqueItems: what is asked for is taken, whatever is answered.
    answer = client.chat.completions.create(
        model="script",
        messages=ASKED,
        max_tokens=40,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "folder", "schema": Folder.model_json_schema()},
        },
    )
    assert answer.usage.completion_tokens > 0, answer


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


exercise_instructor()
exercise_hugging_face()
