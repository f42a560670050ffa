"""The exported model without PyTorch: NumPy over the GGUF's dequantised weights. It samples, and writes reference logits.

  python reference.py demo.gguf "Once upon a time" --temperature 0.8 --seed 1
  python reference.py demo.gguf --chat "Tell me a story about a brave rabbit."
  python reference.py demo.gguf "Once upon a time, there was" --logits ../../tests/data/demo_logits.json
"""

import argparse
import json
import pathlib

import gguf
import numpy as np

from vocabulary import BOS, END, EOS, Vocabulary


class Model:
    """A Llama out of a GGUF file. `type` is the type of all arithmetic."""

    def __init__(self, path, type=np.float64):
        reader = gguf.GGUFReader(path)
        value = lambda key: reader.fields[key].contents()
        self.layers, self.heads = value("llama.block_count"), value("llama.attention.head_count")
        self.kv_heads, self.head = value("llama.attention.head_count_kv"), value("llama.rope.dimension_count")
        self.epsilon, self.base = value("llama.attention.layer_norm_rms_epsilon"), value("llama.rope.freq_base")
        self.template = value("tokenizer.chat_template")
        self.pieces = value("tokenizer.ggml.tokens")
        self.vocabulary = Vocabulary(self.pieces[262:])
        assert self.vocabulary.pieces == self.pieces
        self.weights = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(type) for tensor in reader.tensors}
        self.type = type
        self.reset()

    def reset(self):
        """Forgets the sequence."""
        self.keys, self.values, self.position = [[] for _ in range(self.layers)], [[] for _ in range(self.layers)], 0

    def _norm(self, x, name):
        return x / np.sqrt(np.mean(x * x) + self.epsilon) * self.weights[name]

    def _rope(self, x):
        """x [heads, head]: each pair (2i, 2i + 1) turned by position · base^(-2i / head)."""
        angle = self.position * self.base ** (-np.arange(0, self.head, 2, dtype=self.type) / self.head)
        even, odd, out = x[:, 0::2], x[:, 1::2], np.empty_like(x)
        out[:, 0::2] = even * np.cos(angle) - odd * np.sin(angle)
        out[:, 1::2] = even * np.sin(angle) + odd * np.cos(angle)
        return out

    def step(self, token):
        """The logits [vocabulary] after one more token."""
        w, x = self.weights, self.weights["token_embd.weight"][token]
        for layer in range(self.layers):
            name = f"blk.{layer}."
            h = self._norm(x, name + "attn_norm.weight")
            q = self._rope((w[name + "attn_q.weight"] @ h).reshape(self.heads, self.head))
            self.keys[layer].append(self._rope((w[name + "attn_k.weight"] @ h).reshape(self.kv_heads, self.head)))
            self.values[layer].append((w[name + "attn_v.weight"] @ h).reshape(self.kv_heads, self.head))
            keys, values, mixed = np.stack(self.keys[layer]), np.stack(self.values[layer]), []
            for head in range(self.heads):
                group = head // (self.heads // self.kv_heads)
                scores = keys[:, group] @ q[head] / np.sqrt(self.type(self.head))
                weights = np.exp(scores - scores.max())
                mixed.append(weights / weights.sum() @ values[:, group])
            x = x + w[name + "attn_output.weight"] @ np.concatenate(mixed)
            h = self._norm(x, name + "ffn_norm.weight")
            gate = w[name + "ffn_gate.weight"] @ h
            x = x + w[name + "ffn_down.weight"] @ (gate / (1 + np.exp(-gate)) * (w[name + "ffn_up.weight"] @ h))
        self.position += 1
        return w["token_embd.weight"] @ self._norm(x, "output_norm.weight")

    def generate(self, tokens, count, temperature=0.0, seed=0):
        """Up to `count` tokens after `tokens`; the end token is the last one where it came."""
        self.reset()
        for token in tokens:
            logits = self.step(token)
        random, out = np.random.default_rng(seed), []
        while len(out) < count:
            if temperature > 0:
                p = np.exp((logits - logits.max()) / temperature)
                out.append(int(random.choice(len(p), p=p / p.sum())))
            else:
                out.append(int(logits.argmax()))
            if out[-1] in (EOS, END):
                break
            logits = self.step(out[-1])
        return out

    def encode_chat(self, messages):
        """The tokens of a conversation, through the file's own chat template; text after a control token gets a space in front."""
        import jinja2
        text = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(self.template).render(
            messages=messages, bos_token=self.pieces[BOS], add_generation_prompt=True)
        tokens, control = [], {self.pieces[token]: token for token in (BOS, EOS, END, END - 1, END - 2)}
        while text:
            found = min((at, mark) for mark in control if (at := text.find(mark)) >= 0) if any(mark in text for mark in control) else (len(text), "")
            if found[0]:
                tokens += self.vocabulary.encode(text[: found[0]])
            if found[1]:
                tokens.append(control[found[1]])
            text = text[found[0] + len(found[1]) :]
        return tokens


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("prompt", nargs="+", help="the prompt; with --chat the user's and the assistant's turns in order")
    parser.add_argument("--chat", action="store_true")
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logits", type=pathlib.Path, help="write the logits of the prompt's positions, in float64, and the greedy continuation")
    args = parser.parse_args()
    model = Model(args.model, np.float64 if args.logits else np.float32)
    if args.chat:
        prompt = model.encode_chat([{"role": ("user", "assistant")[i % 2], "content": turn} for i, turn in enumerate(args.prompt)])
    else:
        prompt = [BOS, *model.vocabulary.encode(args.prompt[0])]
    if args.logits:
        logits = [model.step(token) for token in prompt]
        greedy = model.generate(prompt, 200)
        model.reset()
        rows = [np.sort(model.step(token))[-2:] for token in prompt + greedy[:-1]][len(prompt) - 1 :]
        source = "tools/demo_model/reference.py: NumPy, float64, from the dequantised weights of demo.gguf"
        report = {"source": source, "prompt": args.prompt[0], "tokens": prompt, "greedy": greedy, "greedy_text": model.vocabulary.decode(greedy),
                  "greedy_margins": [round(float(row[1] - row[0]), 4) for row in rows], "vocab": len(model.pieces), "logits": [[round(float(value), 5) for value in row] for row in logits]}
        args.logits.write_text(json.dumps(report, separators=(",", ":")) + "\n")
        print(f"{len(prompt)} positions written to {args.logits}")
    else:
        out = model.generate(prompt, args.tokens, args.temperature, args.seed)
        print(model.vocabulary.decode(out), f"\n[{len(out)} tokens{', ended' if out[-1] in (EOS, END) else ''}]")
