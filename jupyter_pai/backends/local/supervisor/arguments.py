"""The arguments of a supervisor: the file `arguments.json` in the job's folder, which `process.spawn` writes."""

from __future__ import annotations

from _json import make_scanner

from jupyter_pai.backends.local.queue import Capacity, Need


class _Decoder:
    """The attributes of a `json.JSONDecoder` that its scanner reads. Importing `json` would delay each job by 10 ms."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo: dict[str, str] = {}  # an interface of the scanner


class Role:
    """One kind of instances: its name, their number, their command, and whether they see the assigned GPUs."""

    def __init__(self, name: str, count: int, command: list[str], has_gpus: bool = True) -> None:
        self.name = name
        self.count = count
        self.command = command
        self.has_gpus = has_gpus


class Arguments:
    """The arguments of one job's supervisor. The environment is the job's.

    `instances` are the names of the instances, by rank. `queue` is the folder of the queue; empty for a job that starts
    at once. `cleanup` is the command that removes the job's containers; empty without containers. `parameters` is the
    folder of the output parameters. `secrets` are variables whose values are masked in the log and in output
    parameters; the values are in the environment only. `limit` is in seconds; 0 in the file stands for no limit.
    """

    def __init__(self, folder: str, lock: int) -> None:
        with open(f"{folder}/arguments.json", encoding="utf-8") as file:
            values = make_scanner(_Decoder)(file.read(), 0)[0]  # type: ignore[arg-type]  # see `_Decoder`
        self.folder = folder
        self.lock = lock
        self.mode: str = values["mode"]
        self.cwd: str = values["cwd"]
        self.tty: bool = values["tty"]
        self.grace: float = values["grace"]
        self.limit: float = values["limit"] or float("inf")
        roles = [Role(*role) for role in values["roles"]]
        # The role of each instance, and its rank in the role, by rank.
        self.places = [(role, rank) for role in roles for rank in range(role.count)]
        self.instances = [f"{role.name}-{rank}" for role, rank in self.places]
        self.cleanup: list[str] = values["cleanup"]
        self.queue: str = values["queue"]
        self.need = Need(*values["need"])
        self.capacity = Capacity(*values["capacity"])
        self.parameters: str = values["parameters"]
        self.secrets: list[str] = values["secrets"]

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"
