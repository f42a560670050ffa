"""Parts that replace Llama's, of models that transformers does not have."""

import torch
from transformers.models.llama.modeling_llama import LlamaMLP


def with_plain_norms(model):
    """LayerNorm instead of Llama's RMS norms."""
    size, epsilon = model.config.hidden_size, model.config.rms_norm_eps
    for layer in model.model.layers:
        layer.input_layernorm = torch.nn.LayerNorm(size, eps=epsilon)
        layer.post_attention_layernorm = torch.nn.LayerNorm(size, eps=epsilon)
    model.model.norm = torch.nn.LayerNorm(size, eps=epsilon)


class Experts(torch.nn.Module):
    """Experts by softmax over all of them, and shared ones (Dai et al. 2024, arXiv:2401.06066)."""

    def __init__(self, config, width, experts, used, shared, normalise):
        super().__init__()
        self.width, self.used, self.shared, self.normalise = width, used, shared, normalise
        self.gate = torch.nn.Linear(config.hidden_size, experts, bias=False)
        self.experts = torch.nn.ModuleList(mlp(config, width) for _ in range(experts))
        self.shared_experts = mlp(config, shared * width)

    def forward(self, x):
        chosen = self.gate(x).softmax(-1).topk(self.used)
        shares = chosen.values
        if self.normalise:
            shares = shares / shares.sum(-1, keepdim=True)
        every = torch.stack([expert(x) for expert in self.experts], -2)
        outputs = every.gather(-2, chosen.indices[..., None].expand(*chosen.indices.shape, x.shape[-1]))
        return (shares[..., None] * outputs).sum(-2) + self.shared_experts(x)

    def numbers(self):
        return {
            "moe_intermediate_size": self.width,
            "num_experts_per_tok": self.used,
        }


def mlp(config, width):
    own = type(config)(**{**config.to_dict(), "intermediate_size": width})
    return LlamaMLP(own)


def with_experts(dense=0, **options):
    """Experts in every layer but the first ones."""

    def adjust(model):
        for layer in model.model.layers[dense:]:
            layer.mlp = Experts(model.config, **options).double()

    return adjust


class LinearAttention(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear_attn = torch.nn.Linear(size, size, bias=False)

    def forward(self, hidden_states, **_):
        return self.linear_attn(hidden_states), None


class NoAttention(torch.nn.Module):
    def forward(self, hidden_states, **_):
        return torch.zeros_like(hidden_states), None


class NoFeedForward(torch.nn.Module):
    intermediate_size = 0

    def forward(self, x):
        return torch.zeros_like(x)


def with_blocks(model):
    """Attention, a product, nothing at all, attention; the converter rounds widths up to multiples of 256."""
    config, layers = model.config, model.model.layers
    layers[1].self_attn = LinearAttention(config.hidden_size)
    layers[2].self_attn = NoAttention()
    layers[2].input_layernorm = layers[2].post_attention_layernorm = torch.nn.Identity()
    for layer, width in zip(layers, (256, 256, 0, 512)):
        layer.mlp = mlp(config, width) if width > 0 else NoFeedForward()
    model.double()
