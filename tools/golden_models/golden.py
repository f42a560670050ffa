"""What a golden says: tokens, their logits, and how they go on."""

import json

import torch

from float64 import float64

N_TOKENS = 16
N_GREEDY = 12
# Digits after the point: half of the last one is 1e-6 of the logits' size at most.
DIGITS = 6


def logits_of(model, tokens, noise=0.0):
    """[tokens, vocabulary]; `noise` is added to the embeddings, as a part of their size."""
    with float64(), torch.no_grad():
        embeddings = model.get_input_embeddings()
        hook = embeddings.register_forward_hook(
            lambda _module, _inputs, output: output
            * (1 + noise * torch.randn(output.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3)))
        )
        try:
            logits = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]
        finally:
            hook.remove()
    assert logits.dtype == torch.float64
    return logits


def make_golden(definition, model, seed):
    """None where less than a cache of F16 rounds away changes what is chosen: experts, or greedy tokens."""
    vocabulary = model.config.get_text_config().vocab_size
    tokens = torch.randint(3, vocabulary, (N_TOKENS - 1,), generator=torch.Generator().manual_seed(seed)).tolist()
    tokens = [1, *tokens]
    logits = logits_of(model, tokens)
    moved = (logits_of(model, tokens, noise=1e-3) - logits).norm() / logits.norm()
    if moved > 5e-3:
        return None
    greedy = []
    for _ in range(N_GREEDY):
        best = logits_of(model, tokens + greedy)[-1].topk(2)
        if best.values[0] - best.values[1] < 0.05:
            return None
        greedy.append(best.indices[0].item())
        if greedy[-1] == 2:  # the end token
            return None
    import transformers

    return {
        "name": definition.name,
        "note": definition.note,
        "source": f"transformers {transformers.__version__}, float64",
        "tokens": tokens,
        "greedy": greedy,
        "vocab": vocabulary,
        "logits": [[round(value, DIGITS) for value in row] for row in logits.tolist()],
    }


def write_golden(golden, path):
    path.write_text(json.dumps(golden, separators=(",", ":")))
