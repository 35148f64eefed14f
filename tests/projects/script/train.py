"""Fits a line to noisy points, and saves the model, the results and a picture beside itself."""

import argparse
import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--lr", type=float, default=0.1)
options = parser.parse_args()

x = np.linspace(0, 1, 100)
y = 3 * x + 1 + np.random.default_rng(0).normal(scale=0.1, size=100)
slope, offset = 0.0, 0.0
losses = []
for epoch in range(1, options.epochs + 1):
    error = slope * x + offset - y
    losses.append(float((error**2).mean()))
    slope -= options.lr * 2 * (error * x).mean()
    offset -= options.lr * 2 * error.mean()
    print(f"Epoch {epoch}/{options.epochs} - loss: {losses[-1]:.4f}")

np.savez("model.npz", slope=slope, offset=offset)
with open("results.json", "w") as file:
    json.dump({"loss": losses[-1], "epochs": options.epochs}, file)
plt.plot(losses)
plt.savefig("losses.png")
