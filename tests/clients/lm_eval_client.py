"""lm_eval's remote tokenizer, which wants vLLM's routes of tokens.

    python lm_eval_client.py URL
"""

import sys

from lm_eval.utils import RemoteTokenizer, check_remote_tokenizer_support

URL = sys.argv[1]
assert check_remote_tokenizer_support(f"{URL}/v1/completions")
tokenizer = RemoteTokenizer(f"{URL}/v1/completions")
text = "How is the weather in Zürich?"
tokens = tokenizer.encode(text)
assert len(tokens) > 5 and tokenizer.decode(tokens) == text
assert tokenizer.batch_decode([tokens[:3], tokens[3:]]) != [text, ""]
assert tokenizer.encode(tokenizer.eos_token) == [tokenizer.eos_token_id]
rendered = tokenizer.apply_chat_template([{"role": "user", "content": text, "tool_calls": []}], tools=[])
assert text in rendered, rendered
