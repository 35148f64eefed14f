"""A model that approaches the average."""


class Average:
    def __init__(self, rate):
        self.rate = rate
        self.value = 0.0

    def step(self, values):
        mean = sum(values) / len(values)
        self.value += self.rate * (mean - self.value)
        return (mean - self.value) ** 2
