"""What a supervisor is told on its command line."""

from __future__ import annotations

from jupyter_pai.backends.local.queue import Need, Room

__all__ = ["Plan"]


class Plan:
    """What to do, from the command line: ``key=value …  --  command …``. The environment is the job's.

    `slots` is the folder of the line to wait in; empty for a job that needs no place. `need` and `room` are
    ``cores,bytes,GPUs`` and ``cores,bytes,index:index…``. `cleanup` is a line for a shell that removes the containers
    of the job; empty for one that runs without.
    """

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
        self.instances = [f"worker-{rank}" for rank in range(int(given["instances"]))]
        self.cleanup = given["cleanup"]
        self.slots = given["slots"]
        cpu, memory, gpu = given["need"].split(",")
        self.need = Need(float(cpu), int(memory), int(gpu))
        cpu, memory, gpus = given["room"].split(",")
        self.room = Room(float(cpu), int(memory), [int(index) for index in gpus.split(":") if index])
        # Variables whose values must not stand in the log. The values are where nobody else can read them.
        self.secrets = given["secrets"].split()

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"
