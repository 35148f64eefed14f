"""Installs requirements with uv. The launcher of a local job runs it with the job's interpreter, which may lack this
package: standard library only.

    python uv_install.py UV PYTHON REQUIREMENTS

Exits with the code of uv, or with `FOR_PIP`.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

# Exit code for requirements that uv cannot read, if pip is installed. The launcher has the same number.
FOR_PIP = 96

# That of uv.
_UNREAD = 2


def main(uv: str, python: str, requirements: str) -> int:
    """Install the packages of the file `requirements` for `python`, and return the exit code."""
    has_pip = importlib.util.find_spec("pip") is not None
    if not has_pip:
        # uv installs those of version control only as copies.
        path = Path(requirements)
        path.write_text(re.sub(r"(?m)^(-e|--editable)[\s=]*(?=git\+)", "", path.read_text("utf-8")), "utf-8")
    install = [uv, "pip", "install", "--python", python, "-r", requirements]
    # Hard links do not work across the mounts of a job's /ml.
    environment = {"UV_LINK_MODE": "copy", **os.environ}
    # Packages in uv's cache need no network, which is faster and works offline.
    quick = subprocess.run([*install, "-q", "--offline"], check=False, stderr=subprocess.DEVNULL, env=environment)
    if quick.returncode == _UNREAD and has_pip:
        return FOR_PIP
    return quick.returncode and subprocess.run(install, check=False, env={**pip_settings(), **environment}).returncode


def pip_settings() -> dict[str, str]:
    """Return pip's configuration (mirror, certificate) as environment variables of uv."""
    config = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=False, capture_output=True, text=True
    )
    variables: dict[str, str] = {}
    # Variables take precedence over files, but are listed first.
    for line in sorted(config.stdout.splitlines(), key=lambda text: text.startswith(":env:")):
        key, _equals, value = line.partition("=")
        if variable := _UV_VARIABLES.get(key.rpartition(".")[2]):
            variables[variable] = " ".join(str(ast.literal_eval(value)).split())
    return variables


_UV_VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
