"""Trains on the table of digits, configured by hydra."""

import json

import hydra
from digits import Average, load


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config):
    values = load(config.data_dir)
    model = Average(config.model.rate)
    for epoch in range(1, config.epochs + 1):
        print(f"epoch {epoch}/{config.epochs} loss={model.step(values):.5f}")
    with open("model.json", "w") as file:
        json.dump({"value": model.value, "rows": len(values)}, file)


if __name__ == "__main__":
    main()
