"""All that Ollama's client for Python does with text: HOST MODEL KEY. Fails where an answer is not of its types."""

import sys

import ollama

host, model, key = sys.argv[1:]
client = ollama.Client(host=host, headers={"Authorization": f"Bearer {key}"})
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
options = {"temperature": 0, "num_predict": 8, "num_ctx": 64, "seed": 1}

whole = client.chat(model=model, messages=messages, options=options)
assert isinstance(whole, ollama.ChatResponse), whole
assert whole.done and whole.model == model and 0 < whole.eval_count <= 8, whole
parts = client.chat(model=model, messages=messages, options=options, stream=True)
assert "".join(part.message.content for part in parts) == whole.message.content

prompt = "Once upon a time"
completed = client.generate(model=model, prompt=prompt, raw=True, options=options)
parts = client.generate(model=model, prompt=prompt, raw=True, options=options, stream=True)
assert "".join(part.response for part in parts) == completed.response



# The client leaves out of a tool's parameters what would keep a small model from making up others.
TIME = {"type": "function", "function": {"name": "time", "description": "What time it is."}}


def wind(city: str) -> str:
    """What the wind is.

    Args:
        city: Where.
    """
    return f"None in {city}."


def call(turns, stream=False):
    """An answer that calls a tool. This dialect has no word for that: some of those that may only say 7 or call do."""
    for seed in range(20):
        how = {"num_predict": 200, "temperature": 1, "seed": seed}
        answer = client.chat(
            model=model, messages=turns, tools=[TIME], format={"enum": [7]}, options=how, stream=stream
        )
        messages = [part.message for part in answer] if stream else [answer.message]
        found = next((message for message in messages if message.tool_calls), None)
        if found is not None:
            return found
    raise AssertionError("no answer has called a tool")


turns = list(messages)
for stream in (False, True, False):
    message = call(turns, stream)
    turns.append(message)
    for one in message.tool_calls:
        assert (one.function.name, one.function.arguments) == ("time", {}), one
        turns.append({"role": "tool", "tool_name": "time", "content": "Noon."})
# A function of Python's is a tool for this client.
assert client.chat(model=model, messages=turns, tools=[TIME, wind], options={"num_predict": 5}).done

format = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}},
    "required": ["a"],
    "additionalProperties": False,
}
held = client.chat(model=model, messages=messages, format=format, options={**options, "num_predict": 60})
assert '"a"' in held.message.content, held

embedded = client.embed(model=model, input=["Hello", "there"], dimensions=8)
assert [len(vector) for vector in embedded.embeddings] == [8, 8] and embedded.prompt_eval_count > 0, embedded
assert len(client.embeddings(model=model, prompt="Hello").embedding) > 8

assert any(one.model == f"{model}:latest" for one in client.list().models)
assert client.show(model).details.format == "gguf"
client.generate(model=model, keep_alive="10m")
assert [one.model for one in client.ps().models] == [f"{model}:latest"]
client.generate(model=model, keep_alive=0)
assert list(client.ps().models) == []

client.copy(model, "pythons-copy")
created = client.create(model="pythons-copy", from_="pythons-copy", system="Be brief.", parameters={"top_k": 3})
assert created.status == "success", created
*_, last = client.create(model="pythons-copy", from_="pythons-copy", system="Be brief.", stream=True)
assert last.status == "success", last
assert client.show("pythons-copy").parameters.split() == ["top_k", "3"]
assert client.delete("pythons-copy").status == "success"

for ask in (
    lambda: client.chat(model="nope", messages=messages),
    lambda: list(client.chat(model="nope", messages=messages, stream=True)),
    lambda: client.delete("nope"),
):
    try:
        ask()
    except ollama.ResponseError as error:
        assert error.status_code == 404 and "nope" in error.error, error
    else:
        raise AssertionError("a model that there is not was answered")
