"""Trains the demo model: python train.py --seconds 300 --out DIRECTORY

Processes write the documents while the GPU trains on them, so no row is seen twice. The step count follows from the time
given and the speed measured in the first steps; `--steps` fixes it. Rows come in an order fixed by the seeds.
"""

import argparse
import json
import math
import multiprocessing
import os
import pathlib
import time

import numpy as np

from documents import TRAINING_SEED, VALIDATION_SEED, block
from vocabulary import Vocabulary

HERE = pathlib.Path(__file__).parent


def write_blocks(worker, workers, series, rows, length, queue):
    """Blocks worker, worker + workers, ... one after another, until the process is ended."""
    vocabulary = Vocabulary.load(HERE / "vocabulary.json")
    number = worker
    while True:
        queue.put(block(vocabulary, series, number, rows, length))
        number += workers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300, help="time to train for")
    parser.add_argument("--steps", type=int, default=0, help="number of steps; 0: as many as fit into --seconds")
    parser.add_argument("--rows", type=int, default=128, help="rows a step")
    parser.add_argument("--rate", type=float, default=3e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=1, help="seed of the initial weights")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 3))
    parser.add_argument("--shape", type=json.loads, default={}, help="JSON that overrides model.Shape, for quick tests")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "out")
    args = parser.parse_args()
    started = time.time()
    args.out.mkdir(parents=True, exist_ok=True)

    import torch

    from model import Llama, Shape

    shape = Shape(**args.shape)
    queues, writers = [], []
    for worker in range(args.workers):
        queues.append(multiprocessing.Queue(4))
        writers.append(multiprocessing.Process(target=write_blocks, daemon=True, args=(
            worker, args.workers, TRAINING_SEED, args.rows, shape.context, queues[-1])))
        writers[-1].start()  # forked before CUDA is touched

    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    model = Llama(shape).to(args.device)
    count = sum(weight.numel() for weight in model.parameters())
    print(f"{count} weights, {args.workers} writers", flush=True)
    matrices = [weight for weight in model.parameters() if weight.dim() == 2]
    vectors = [weight for weight in model.parameters() if weight.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=args.rate, betas=(0.9, 0.95), eps=1e-8, fused=args.device == "cuda")
    step_model = torch.compile(model) if args.device == "cuda" else model

    def to_device(rows):
        rows = torch.from_numpy(rows.astype(np.int64))
        return (rows.pin_memory().to(args.device, non_blocking=True) if args.device == "cuda" else rows)

    def loss_of(rows):
        with torch.autocast(args.device, torch.bfloat16, enabled=args.device == "cuda"):
            return step_model(rows[:, :-1], rows[:, 1:])

    vocabulary = Vocabulary.load(HERE / "vocabulary.json")
    held_out = [block(vocabulary, VALIDATION_SEED, number, args.rows, shape.context) for number in range(2)]

    def validate():
        with torch.no_grad(), torch.autocast(args.device, torch.bfloat16, enabled=args.device == "cuda"):
            held = [to_device(rows) for rows in held_out]
            return sum(model(rows[:, :-1], rows[:, 1:]).item() for rows in held) / len(held)

    log, steps, warm_up, waited = [], args.steps, 200, 0.0
    step, clock, speed = 0, None, 0.0
    while not steps or step < steps:
        before = time.time()
        rows = queues[step % args.workers].get()
        waited += time.time() - before
        if step == 10:
            torch.cuda.synchronize() if args.device == "cuda" else None
            clock = time.time()
        if not steps and step == 60:
            torch.cuda.synchronize() if args.device == "cuda" else None
            speed = 50 / (time.time() - clock)
            steps = max(step + 1, step + int((args.seconds - (time.time() - started)) * speed * 0.985))
            print(f"{speed * args.rows * shape.context:.0f} tokens/s, {steps} steps", flush=True)
        progress = step / steps if steps else 0.0
        rate = args.rate * min(1.0, (step + 1) / warm_up) * 0.5 * (1 + math.cos(math.pi * progress))
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(to_device(rows))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if step in (1, 10, 50) or step % 250 == 0 or step == steps:
            entry = {"step": step, "loss": round(loss.item(), 4), "rate": rate, "seconds": round(time.time() - started, 1), "waited": round(waited, 1)}
            if step % 1000 == 0 or step == steps:
                entry["held_out_loss"] = round(validate(), 4)
            log.append(entry)
            print(json.dumps(entry), flush=True)
        if step % 1000 == 0 or step == steps:
            weights = {name: weight.detach().to("cpu", torch.float16) for name, weight in model.state_dict().items()}
            torch.save({"shape": shape.as_dict(), "weights": weights, "step": step}, args.out / "checkpoint.tmp")
            os.replace(args.out / "checkpoint.tmp", args.out / "checkpoint.pt")
    report = {"steps": step, "tokens": step * args.rows * shape.context, "minutes": round((time.time() - started) / 60, 2), "seed": args.seed,
              "rows": args.rows, "rate": args.rate, "weights": count, "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu", "log": log}
    (args.out / "training.json").write_text(json.dumps(report, indent=1) + "\n")
    for writer in writers:
        writer.terminate()


if __name__ == "__main__":
    main()
