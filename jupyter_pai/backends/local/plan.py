"""What a supervisor is told on its command line."""

from __future__ import annotations

__all__ = ["INSTANCE", "Plan"]

INSTANCE = "worker-0"


class Plan:
    """What to do, from the command line: ``key=value …  --  command …``. The environment is the job's."""

    def __init__(self, argv: list[str]) -> None:
        split = argv.index("--")
        given = dict(word.split("=", 1) for word in argv[:split])
        self.command = argv[split + 1 :]
        self.folder = given["folder"]
        self.lock = int(given["lock"])
        self.mode = given["mode"]
        self.cwd = given["cwd"]
        self.tty = given["tty"] == "1"
        self.grace = float(given["grace"])
        self.limit = float(given["limit"]) or float("inf")

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"
