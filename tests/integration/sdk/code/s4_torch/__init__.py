"""The part of torch that the lesson uses, for machines without it."""

from contextlib import nullcontext as no_grad  # noqa: F401


class tensor:
    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value
