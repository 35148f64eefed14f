"""Averages of digits."""

from digits.data import load
from digits.model import Average

__all__ = ["Average", "load"]
