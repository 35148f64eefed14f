"""The two-moons data set and a small neural network, with nothing but the standard library."""

from __future__ import annotations

import json
import math
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

Point = tuple[float, float, int]


def moons(count: int, seed: int, noise: float = 0.18) -> list[Point]:
    """Points of two half circles that reach into each other."""
    chance = random.Random(seed)
    points = []
    for n in range(count):
        turn = math.pi * chance.random()
        x, y = (math.cos(turn), math.sin(turn)) if n % 2 else (1 - math.cos(turn), 0.5 - math.sin(turn))
        points.append((x + chance.gauss(0, noise), y + chance.gauss(0, noise), n % 2))
    return points


def batches(points: list[Point], epochs: int, size: int) -> Iterator[tuple[int, list[Point]]]:
    """The points in another order in each epoch, with the number of the epoch."""
    chance = random.Random(0)
    for epoch in range(1, epochs + 1):
        mixed = chance.sample(points, len(points))
        for first in range(0, len(mixed), size):
            yield epoch, mixed[first : first + size]


class Net:
    """One hidden layer."""

    def __init__(self, hidden: int, seed: int = 0) -> None:
        chance = random.Random(seed)
        self.layer = [[chance.gauss(0, 1) for _ in range(3)] for _ in range(hidden)]
        self.out = [chance.gauss(0, 1 / math.sqrt(hidden)) for _ in range(hidden + 1)]

    def __call__(self, x: float, y: float) -> float:
        """Return the probability that a point belongs to the second moon."""
        hidden = [math.tanh(a * x + b * y + c) for a, b, c in self.layer]
        score = sum(weight * one for weight, one in zip(self.out, hidden, strict=False)) + self.out[-1]
        return 1 / (1 + math.exp(-score))

    def train(self, batch: list[Point], learning_rate: float) -> float:
        """A step of gradient descent; the mean loss before it."""
        loss, rate = 0.0, learning_rate / len(batch)
        for x, y, label in batch:
            hidden = [math.tanh(a * x + b * y + c) for a, b, c in self.layer]
            score = sum(weight * one for weight, one in zip(self.out, hidden, strict=False)) + self.out[-1]
            loss += math.log1p(math.exp(-abs(score))) + max(score, 0) - label * score
            fault = 1 / (1 + math.exp(-score)) - label
            for n, one in enumerate(hidden):
                slope = rate * fault * self.out[n] * (1 - one * one)
                self.out[n] -= rate * fault * one
                row = self.layer[n]
                row[0], row[1], row[2] = row[0] - slope * x, row[1] - slope * y, row[2] - slope
            self.out[-1] -= rate * fault
        return loss / len(batch)

    def score(self, points: list[Point]) -> tuple[float, float]:
        """Mean loss and accuracy."""
        outputs = [(self(x, y), label) for x, y, label in points]
        loss = -sum(math.log(max(p if label else 1 - p, 1e-12)) for p, label in outputs) / len(outputs)
        return loss, sum((p > 0.5) == bool(label) for p, label in outputs) / len(outputs)

    @property
    def norm(self) -> float:
        return math.sqrt(sum(weight * weight for row in self.layer for weight in row))

    def save(self, folder: str, name: str = "weights") -> None:
        Path(folder, f"{name}.json").write_text(json.dumps({"layer": self.layer, "out": self.out}))

    def draw(self, path: Path, points: list[Point], size: int = 360) -> None:
        """A picture of what is taken for which moon, as PNG."""
        rows = []
        for j in range(size):
            row = bytearray(b"\0")
            for i in range(size):
                p = self(-1.6 + 4.2 * i / size, 1.8 - 3.1 * j / size)
                row += bytes(round(p * a + (1 - p) * b) for a, b in zip((66, 133, 244), (251, 176, 64), strict=True))
            rows.append(row)
        for x, y, label in points:
            i, j = round((x + 1.6) / 4.2 * size), round((1.8 - y) / 3.1 * size)
            for row in rows[max(j - 1, 0) : j + 2]:
                if 1 <= i < size - 1:
                    row[1 + 3 * (i - 1) : 1 + 3 * (i + 2)] = (b"\x0b\x3d\x91" if label else b"\x8a\x4b\x00") * 3
        head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
        parts = [(b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b"")]
        chunks = [struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d)) for t, d in parts]
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
