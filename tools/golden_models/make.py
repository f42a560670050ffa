"""Makes the goldens of tests/data/golden whose definitions are in definitions.py: see README.md.

    python3 make.py LLAMA_CPP OUT [NAME ...] [--again]

LLAMA_CPP is a folder with llama.cpp's convert_hf_to_gguf.py and its modules. Each golden is a tiny model
with random weights: OUT/NAME.gguf, F32, and OUT/NAME.json with the logits that transformers computes for it in
float64. What is in OUT already is left as it is, unless --again is given.
"""

import argparse
import pathlib
import sys
import tempfile

import torch

from convert import convert, load_converter
from definitions import DEFINITIONS
from float64 import float64
from golden import logits_of, make_golden, write_golden
from weights import forgotten, set_weights


def build(definition, seed):
    """The model with the weights of that seed, in float64."""
    with float64():
        torch.manual_seed(seed)
        config = definition.config()
        config._attn_implementation = config._experts_implementation = "eager"
        model = definition.model(config).double().eval()
        if definition.adjust is not None:
            definition.adjust(model)
        set_weights(model, seed)
    return model


def make(definition, out):
    name = definition.name
    for seed in range(1, 200):
        model = build(definition, seed)
        golden = make_golden(definition, model, seed)
        if golden is not None:
            break
    else:
        raise SystemExit(f"{name}: no seed gives a golden that rounding leaves as it is")
    for parameter, change in forgotten(model, lambda: logits_of(model, golden["tokens"])):
        if not any(part in parameter for part in definition.silent):
            raise SystemExit(f"{name}: {parameter} moves the logits by {change:.1e} only")
    with tempfile.TemporaryDirectory() as folder:
        definition.save(model, pathlib.Path(folder))
        convert(pathlib.Path(folder), out / f"{name}.gguf", f"{name} golden", definition.keys)
    write_golden(golden, out / f"{name}.json")
    sizes = [(out / f"{name}.{kind}").stat().st_size for kind in ("gguf", "json")]
    print(f"{name}: seed {seed}, {sizes[0]} and {sizes[1]} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("llama_cpp", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    known = {definition.name: definition for definition in DEFINITIONS}
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        sys.exit(f"not known: {', '.join(unknown)}; known: {', '.join(known)}")
    load_converter(arguments.llama_cpp)
    for name in arguments.names or known:
        if arguments.again or not (arguments.out / f"{name}.gguf").exists():
            make(known[name], arguments.out)


if __name__ == "__main__":
    main()
