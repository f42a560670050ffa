"""Random weights that are all seen: each moves the logits, none drowns the others."""

import torch

from float64 import FLOAT32


def is_selection_bias(name):
    """Whether it is added to routers' scores for the choice of the experts alone."""
    return "e_score_correction_bias" in name or name.endswith("expert_bias")


def tensors_of(model):
    """Parameters, and the buffers that files have: rotary frequencies are none of them."""
    yield from model.named_parameters()
    saved = model.state_dict()
    for name, buffer in model.named_buffers():
        if name in saved and buffer.is_floating_point():
            yield name, buffer


def set_weights(model, seed):
    """Values are those of float32, so that a file holds them exactly."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in tensors_of(model):
            noise = torch.randn(tensor.shape, generator=generator, dtype=FLOAT32).double()
            if is_selection_bias(name):
                value = 0.3 * noise
            elif name.endswith("A_log"):
                # Slow enough that what a state forgets is seen.
                value = 0.5 * noise - 1
            elif name.endswith("sinks"):
                value = 2 + noise
            elif tensor.dim() == 1 and name.endswith("bias"):
                value = 0.3 * noise
            elif tensor.dim() == 1 or tensor.numel() == tensor.shape[-1]:
                # A norm's weight, around what it starts with: 1, or 0 where the model adds 1.
                value = tensor.mean().round() + 0.2 * noise
            elif "embed" in name or "wte" in name or "word_embeddings" in name or "wpe" in name:
                value = noise
            else:
                value = 1.3 * noise / tensor.shape[-1] ** 0.5
            tensor.copy_(value.to(FLOAT32).double())


def forgotten(model, logits):
    """The tensors that could be forgotten without much harm: 5% of noise moves the logits by less than 2e-4.

    Biases of the choice of experts either change it or nothing; of these, forgetting them is tried.
    """
    wanted = logits()
    for name, tensor in tensors_of(model):
        kept = tensor.detach().clone()
        with torch.no_grad():
            noise = torch.randn(tensor.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
            tensor.mul_(0 if is_selection_bias(name) else 1 + 0.05 * noise)
            change = ((logits() - wanted).norm() / wanted.norm()).item()
            tensor.copy_(kept)
        if change < 2e-4:
            yield name, change
