"""The demo model in PyTorch, for training: a Llama with grouped-query attention, SwiGLU, RMSNorm and tied embeddings."""

import math
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Shape:
    vocabulary: int = 3072
    context: int = 1024
    hidden: int = 256
    layers: int = 8
    heads: int = 4
    kv_heads: int = 2
    head: int = 64
    feed_forward: int = 768
    rope_base: float = 10_000.0
    epsilon: float = 1e-5

    def as_dict(self):
        return asdict(self)


class RMSNorm(nn.Module):
    def __init__(self, size, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(size)), epsilon

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.weight


def rope(x, cos, sin):
    """Turns the pairs (0, 1), (2, 3), ... of each head, as GGUF's `llama` does. x: [batch, heads, tokens, head]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.shape = s
        self.attn_norm, self.ffn_norm = RMSNorm(s.hidden, s.epsilon), RMSNorm(s.hidden, s.epsilon)
        self.attn_q = nn.Linear(s.hidden, s.heads * s.head, bias=False)
        self.attn_k = nn.Linear(s.hidden, s.kv_heads * s.head, bias=False)
        self.attn_v = nn.Linear(s.hidden, s.kv_heads * s.head, bias=False)
        self.attn_output = nn.Linear(s.heads * s.head, s.hidden, bias=False)
        self.ffn_gate = nn.Linear(s.hidden, s.feed_forward, bias=False)
        self.ffn_up = nn.Linear(s.hidden, s.feed_forward, bias=False)
        self.ffn_down = nn.Linear(s.feed_forward, s.hidden, bias=False)

    def forward(self, x, cos, sin):
        s, (batch, tokens, _) = self.shape, x.shape
        h = self.attn_norm(x)
        q = self.attn_q(h).view(batch, tokens, s.heads, s.head).transpose(1, 2)
        k = self.attn_k(h).view(batch, tokens, s.kv_heads, s.head).transpose(1, 2)
        v = self.attn_v(h).view(batch, tokens, s.kv_heads, s.head).transpose(1, 2)
        q, k = rope(q.float(), cos, sin).to(v.dtype), rope(k.float(), cos, sin).to(v.dtype)
        group = s.heads // s.kv_heads
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, tokens, -1)
        x = x + self.attn_output(y)
        h = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


class Llama(nn.Module):
    """forward(tokens [batch, tokens], targets) → mean cross-entropy; without targets the logits."""

    def __init__(self, s):
        super().__init__()
        self.shape = s
        self.token_embd = nn.Embedding(s.vocabulary, s.hidden)
        self.blk = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.output_norm = RMSNorm(s.hidden, s.epsilon)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                last = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(weight, std=0.02 if "token_embd" in name else (0.5 / math.sqrt(s.layers) if last else 1.0) / math.sqrt(weight.shape[1]))
        angles = torch.arange(s.context)[:, None] * s.rope_base ** (-torch.arange(0, s.head, 2) / s.head)[None]
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, tokens, targets=None):
        x = self.token_embd(tokens)
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]
        for block in self.blk:
            x = block(x, cos, sin)
        logits = F.linear(self.output_norm(x), self.token_embd.weight)
        if targets is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
