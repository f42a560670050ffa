"""Renders conversations by openai-harmony: one line of JSON for each on stdin."""

import json
import sys

from openai_harmony import (
    Author,
    Conversation,
    DeveloperContent,
    Message,
    Role,
    SystemContent,
    ToolDescription,
    load_harmony_encoding,
)


def messages(request):
    yield Message.from_role_and_content(
        Role.SYSTEM, SystemContent.new().with_conversation_start_date("2026-03-05")
    )
    turns = request["messages"]
    developer = DeveloperContent.new()
    if turns[0]["role"] == "system":
        developer = developer.with_instructions(turns[0]["content"])
    tools = [tool["function"] for tool in request.get("tools") or []]
    if tools:
        developer = developer.with_function_tools([
            ToolDescription.new(tool["name"], tool.get("description", ""), parameters=tool.get("parameters"))
            for tool in tools
        ])
    if tools or turns[0]["role"] == "system":
        yield Message.from_role_and_content(Role.DEVELOPER, developer)
    for turn in turns:
        if turn["role"] == "user":
            yield Message.from_role_and_content(Role.USER, turn["content"])
        elif turn["role"] == "tool":
            author = Author.new(Role.TOOL, "functions." + turn["name"])
            yield Message.from_author_and_content(author, turn["content"]).with_recipient("assistant").with_channel(
                "commentary"
            )
        elif turn["role"] == "assistant":
            if "reasoning_content" in turn:
                yield Message.from_role_and_content(Role.ASSISTANT, turn["reasoning_content"]).with_channel("analysis")
            for call in turn.get("tool_calls", []):
                function = call["function"]
                yield (
                    Message.from_role_and_content(Role.ASSISTANT, json.dumps(function["arguments"], ensure_ascii=False))
                    .with_recipient("functions." + function["name"])
                    .with_channel("commentary")
                    .with_content_type("<|constrain|>json")
                )
            if turn["content"]:
                yield Message.from_role_and_content(Role.ASSISTANT, turn["content"]).with_channel("final")


def main():
    encoding = load_harmony_encoding("HarmonyGptOss")
    for line in sys.stdin:
        conversation = Conversation.from_messages(list(messages(json.loads(line))))
        tokens = encoding.render_conversation_for_completion(conversation, Role.ASSISTANT)
        print(json.dumps({"text": encoding.decode(tokens)}))


main()
