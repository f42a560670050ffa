"""transformers in float64: where its models ask for float32, as for norms and softmax, they get float64."""

import contextlib

import torch

# Held here, because torch's own names mean something else within float64().
FLOAT32 = torch.float32


@contextlib.contextmanager
def float64():
    names = {"float32": torch.float32, "float": torch.float}
    to_float = torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        for name, value in names.items():
            setattr(torch, name, value)
        torch.Tensor.float = to_float
        torch.set_default_dtype(torch.float32)
