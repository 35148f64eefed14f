"""Train a network on two moons: curves, a log in colours, checkpoints, a model, and what TensorBoard reads."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path
from typing import Any

from two_moons import Net, batches, moons

from jupyter_pai import report

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=0.1)
parser.add_argument("--batch_size", type=int, default=20)
parser.add_argument("--hidden", type=int, default=16)
parser.add_argument("--epochs", type=int, default=30)
parser.add_argument("--seed", type=int, default=7)
args = parser.parse_args()


def writer() -> Any:
    """TensorBoard's, where it is installed."""
    try:
        from tensorboard.summary import Writer
    except ImportError:
        return None
    return Writer(os.environ["PAI_OUTPUT_TENSORBOARD"])


def tell(name: str, value: float, step: int) -> None:
    """To TensorBoard where it is, else to the job's own charts, which show both."""
    if board:
        board.add_scalar(name, value, step)
    else:
        report.metric(name, value, step=step)


def bar(done: int, total: int, loss: float) -> str:
    filled = 24 * done // total
    return f"\r  {'█' * filled}{'·' * (24 - filled)} {done:>3}/{total} loss {loss:.4f}"


known, unknown = moons(400, args.seed), moons(200, args.seed + 1)
net, board = Net(args.hidden, args.seed), writer()
model, checkpoints = Path(os.environ["PAI_OUTPUT_MODEL"]), Path(os.environ["PAI_OUTPUT_CHECKPOINTS"])
steps = math.ceil(len(known) / args.batch_size)
print(f"\x1b[1mtwo moons\x1b[0m: {len(known)} points to learn, {len(unknown)} to check, {args.hidden} neurons")
for step, (epoch, batch) in enumerate(batches(known, args.epochs, args.batch_size), 1):
    loss = net.train(batch, args.learning_rate)
    time.sleep(0.004)  # As if the next points came from a disk.
    if not loss < 20:
        raise FloatingPointError(f"the loss is {loss:.6g} at step {step}: the learning rate is too large")
    place = step - (epoch - 1) * steps
    print(bar(place, steps, loss), end="", flush=True)
    tell("weights/norm", net.norm, step)
    tell("train/loss", loss, step)
    if place < steps:
        continue
    print()
    off, right = net.score(unknown)
    tell("val/loss", off, step)
    tell("val/accuracy", right, step)
    report.progress(epoch / args.epochs)
    colour = 32 if right > 0.95 else 33
    print(f"\x1b[36mepoch {epoch:>3}\x1b[0m  val loss {off:.4f}  accuracy \x1b[{colour}m{right:.1%}\x1b[0m", flush=True)
    if epoch % 10 == 0:
        net.save(str(checkpoints), f"epoch-{epoch:03}")
if board:
    board.close()

off, right = net.score(unknown)
net.save(str(model))
net.draw(model / "boundary.png", unknown)
(model / "card.json").write_text(json.dumps({"accuracy": right, "loss": off, "hyperparameters": vars(args)}, indent=2))
print(f"\x1b[32m✓\x1b[0m accuracy {right:.1%}; the model is in {model}")
