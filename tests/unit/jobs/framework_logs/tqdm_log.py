"""Bars of tqdm: with metrics, nested, and for bytes."""

import sys

from tqdm import tqdm

with tqdm(range(5), mininterval=0) as bar:
    for n in bar:
        bar.set_postfix(loss=1 / (n + 1), lr=1e-05, refresh=False)
for epoch in range(1, 3):
    with tqdm(range(4), desc=f"Epoch {epoch}/2", mininterval=0) as bar:
        for n in bar:
            bar.set_postfix(acc=(4 * epoch + n) / 16, refresh=False)
with tqdm(total=10_000_000, unit="B", unit_scale=True, desc="weights.bin", mininterval=0) as bar:
    for _ in range(4):
        bar.update(2_500_000)
print("done", file=sys.stderr)
