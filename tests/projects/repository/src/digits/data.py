"""Reads the table of digits."""

import csv
from pathlib import Path


def load(folder):
    with open(Path(folder) / "digits.csv") as file:
        return [float(row["value"]) for row in csv.DictReader(file)]
