"""A real OpenSSH server on the loopback interface, and an agent with the key of its only user."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ..conftest import until

__all__ = ["LoginNode"]

_SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv {variables}
"""
_CLIENT = """\
Host login
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile none
  UserKnownHostsFile {folder}/known_hosts
"""


class LoginNode:
    """A login node with the name `login`. `variables`: the environment of its sessions."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
        key = (folder / "host_key.pub").read_text().rsplit(" ", 1)[0]
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}\n")
        assigned = " ".join(f'"{name}={value}"' for name, value in variables.items())
        values = {"port": self.port, "folder": folder, "user": getpass.getuser(), "variables": assigned}
        (folder / "sshd_config").write_text(_SERVER.format(**values))
        (folder / "config").write_text(_CLIENT.format(**values))
        # The client reads the configuration in the home of the user's entry in the password file, whatever HOME is.
        command = folder / "bin" / "ssh"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
        command.chmod(0o755)
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> LoginNode:
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # Required by a server of root.
        server = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        assert server
        with open(self.folder / "sshd.log", "wb") as log:
            self._processes = [
                subprocess.Popen([server, "-D", "-e", "-f", self.folder / "sshd_config"], stderr=log),
                subprocess.Popen(["ssh-agent", "-D", "-a", self.folder / "agent"], stdout=subprocess.DEVNULL),
            ]
        until(self._listens)
        until((self.folder / "agent").exists)
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self._processes:
            process.terminate()
            process.wait()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a user of the login node."""
        return {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SSH_AUTH_SOCK": str(self.folder / "agent")}

    def add_key(self) -> None:
        """Add the user's key to the agent."""
        environment = os.environ | self.environment
        subprocess.run(["ssh-add", "-q", self.folder / "user_key"], env=environment, check=True, capture_output=True)
