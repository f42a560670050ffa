"""Renders conversations by mistral-common: one line of JSON for each version and conversation on stdin."""

import json
import pathlib
import sys
import tempfile

import mistral_common
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.base import SpecialTokens
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

DATA = pathlib.Path(mistral_common.__file__).parent / "data"


def tekken(version):
    """A tokenizer of a version, out of the vocabulary that the package brings."""
    file = json.loads((DATA / "tekken_240911.json").read_text())
    file["config"]["version"] = version
    file["special_tokens"] = [
        {"rank": rank, "token_str": token.value, "is_control": True} for rank, token in enumerate(SpecialTokens)
    ]
    path = pathlib.Path(tempfile.mkdtemp()) / "tekken.json"
    path.write_text(json.dumps(file))
    return MistralTokenizer.from_file(str(path))


MAKERS = {
    "mistral": MistralTokenizer.v1,
    "mistral-v3": MistralTokenizer.v3,
    "mistral-tekken": lambda: MistralTokenizer.v3(is_tekken=True),
    "mistral-v7": lambda: tekken("v7"),
    "mistral-v11": lambda: tekken("v11"),
    "mistral-v13": lambda: tekken("v13"),
}


def main():
    tokenizers = {}
    for line in sys.stdin:
        case = json.loads(line)
        name = case["template"]
        if name not in tokenizers:
            tokenizers[name] = MAKERS[name]()
        try:
            request = ChatCompletionRequest(**case["request"])
            outcome = {"text": tokenizers[name].encode_chat_completion(request).text}
        except Exception as error:  # noqa: BLE001
            outcome = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        print(json.dumps(outcome))


main()
