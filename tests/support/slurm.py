"""A real Slurm cluster on this machine: a controller and nodes from Debian's packages, as the current user."""

from __future__ import annotations

import getpass
import os
import re
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..conftest import until

__all__ = ["NODES", "SlurmCluster"]

NODES = ("n1", "n2")
_CONFIG = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/ctld.pid
SlurmdPidFile={folder}/run/%n.pid
SlurmctldLogFile={folder}/log/ctld.log
SlurmdLogFile={folder}/log/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PluginDir={plugins}
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
FirstJobId={first}
KillWait=5
UnkillableStepTimeout=10
SlurmdTimeout=10
MinJobAge=3600
DefMemPerCPU=1000
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 RealMemory=8000 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8 RealMemory=8000 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=short Nodes=n2 MaxTime=5 State=UP PriorityTier=1
PartitionName=urgent Nodes=n2 MaxTime=INFINITE State=UP PriorityTier=9
"""


_ACCOUNTING = """\
AuthType=auth/none
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
LogFile={folder}/log/dbd.log
PidFile={folder}/run/dbd.pid
PluginDir={plugins}
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=root
StorageLoc=accounting
"""


def _plugins() -> Path:
    (found,) = Path("/usr/lib").glob("*/slurm-wlm")
    return found


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _n in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/bin:/usr/sbin"


class SlurmCluster:
    """A cluster with two nodes, or with the named ones. Commands find it by the variable `SLURM_CONF`.

    `accounts`: names of the accounts of this user, if the cluster keeps an accounting. `changes`: other values of
    slurm.conf.
    """

    def __init__(
        self, folder: Path, accounts: Sequence[str] = (), nodes: Sequence[str] = NODES, **changes: Any
    ) -> None:
        self.folder = folder
        self.accounts = accounts
        self.nodes = nodes
        self.config = folder / "slurm.conf"
        for name in ("state", "spool", "run", "log"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        ports = _free_ports(3)
        text = _CONFIG.format(
            host=socket.gethostname(),
            user=getpass.getuser(),
            ports=ports,
            first=1 + ports[0] % 10_000,  # Ports of jobs depend on it: clusters of parallel tests share a host.
            folder=folder,
            plugins=_plugins(),
        )
        for node, port in zip(nodes[2:], _free_ports(len(nodes[2:])), strict=True):
            line = next(line for line in text.splitlines() if line.startswith("NodeName=n2 "))
            further = re.sub(r"Port=\d+", f"Port={port}", line.replace("n2", node, 1))
            text = text.replace(line, f"{line}\n{further}")
        if accounts:
            self._accounting_ports = _free_ports(2)
            changes |= {
                "AccountingStorageType": "accounting_storage/slurmdbd",
                "AccountingStorageHost": "localhost",
                "AccountingStoragePort": self._accounting_ports[0],
                "AccountingStorageEnforce": "associations,limits,qos",
                "AccountingStoreFlags": "job_comment",
            }
        for name, value in changes.items():
            lines = [line for line in text.splitlines() if not line.startswith(f"{name}=")]
            text = "\n".join([f"{name}={value}", *lines]) + "\n"
        self.config.write_text(text)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> SlurmCluster:
        try:
            if self.accounts:
                self._start_accounting()
            self.start_controller()
            for node in self.nodes:
                self.start_node(node)
            until(
                lambda: self.run("sinfo", "-h", "-r", "-N", "-p", "debug", "-t", "idle").count("\n") == len(self.nodes)
            )
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End all jobs and daemons."""
        if "ctld" in self._processes:
            self.run("scancel", "--user", getpass.getuser())
        for name in reversed([*self._processes]):
            self.kill(name, signal.SIGTERM)
        for process in _processes_below(self.folder):
            os.kill(process, signal.SIGKILL)

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"SLURM_CONF": str(self.config), "PATH": _path()}

    def run(self, *words: str) -> str:
        """Run a command of Slurm. Returns its output; empty if it fails."""
        done = subprocess.run(words, check=False, env=self.environment, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else ""

    def _start_accounting(self) -> None:
        """Start the accounting in a database of its own, with the accounts."""
        data, (port, database_port) = self.folder / "data", self._accounting_ports
        options = ["--no-defaults", f"--user={getpass.getuser()}", f"--datadir={data}"]
        words = ["mariadb-install-db", *options, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(words, check=True, capture_output=True)
        places = [f"--socket={self.folder}/db.sock", "--bind-address=127.0.0.1", f"--port={database_port}"]
        self._start("db", ["mariadbd", *options, *places, f"--pid-file={self.folder}/run/db.pid"])
        until((self.folder / "db.sock").exists)
        config = self.folder / "slurmdbd.conf"
        config.write_text(
            _ACCOUNTING.format(
                user=getpass.getuser(), port=port, database=database_port, folder=self.folder, plugins=_plugins()
            )
        )
        config.chmod(0o600)
        self._start("dbd", ["slurmdbd", "-D"])
        until(lambda: self.run("sacctmgr", "--immediate", "show", "cluster"))
        self.run("sacctmgr", "--immediate", "add", "cluster", "test")
        for account in self.accounts:
            self.run("sacctmgr", "--immediate", "add", "account", account)
            self.run("sacctmgr", "--immediate", "add", "user", getpass.getuser(), f"account={account}")

    def start_controller(self, *, forget: bool = False) -> None:
        """Start the controller. `forget`: without its jobs."""
        self._start("ctld", ["slurmctld", "-D", *(["-c"] if forget else [])])
        until(lambda: "UP" in self.run("scontrol", "ping"))

    def start_node(self, name: str, prefix: Sequence[str] = ()) -> None:
        """Start a node. `prefix`: a command that runs it."""
        self._start(name, [*prefix, "slurmd", "-D", "-N", name])

    def _start(self, name: str, command: Sequence[str]) -> None:
        with open(self.folder / "log" / f"{name}.out", "ab") as output:
            self._processes[name] = subprocess.Popen(
                command, env=self.environment, stdout=output, stderr=output, start_new_session=True
            )

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Kill the controller (`ctld`) or a node, and wait for its end."""
        process = self._processes.pop(name)
        process.send_signal(number)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _processes_below(folder: Path) -> list[int]:
    """Return the daemons of steps, which outlive those of their nodes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if (
                f"SLURM_CONF={folder}".encode() in path.read_bytes()
                and b"slurmstepd" in (path.parent / "cmdline").read_bytes()
            ):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
