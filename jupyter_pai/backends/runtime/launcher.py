"""Prepares a job's interpreter inside the job, then becomes the job's command.

Runs with the job's own interpreter, which may be one that we do not own: standard library only. What it prints goes
to the job's log.

    python launcher.py requirements=FILE environments=DIR shims=DIR uv=PATH image=NAME -- command …
"""

from __future__ import annotations

import ast
import errno
import fcntl
import gettext
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time

__all__ = ["FAILED", "key", "main", "satisfied", "search_path", "write_packages", "write_shims"]

# The exit code of a job whose environment could not be made; no shell gives it.
FAILED = 97

_HIGH = 200
# Beside this file in a container; in our package two folders up.
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_LOCALE = os.path.join(
    _FOLDER, os.path.join("..", "..", "locale") if os.path.basename(_FOLDER) == "runtime" else "locale"
)
_ = gettext.translation(
    "jupyter_pai", _LOCALE, languages=[os.environ.get("JUPYTER_PAI_LANGUAGE", "en").replace("-", "_")], fallback=True
).gettext


def main() -> None:
    """Make or find the environment, put its interpreter first on the path, and become the command."""
    split = sys.argv.index("--")
    given = dict(word.split("=", 1) for word in sys.argv[1:split])
    command = sys.argv[split + 1 :]
    try:
        python = prepare(given["requirements"], given["environments"], given.get("uv", ""), given.get("image", ""))
    except subprocess.CalledProcessError as error:
        print(_("pai: the requirements could not be installed (exit code {code})").format(code=error.returncode))
        sys.exit(FAILED)
    write_shims(given["shims"], python)
    if python != sys.executable:
        write_packages(given["shims"], python)
    os.environ["PATH"] = search_path(given["shims"], python, os.environ.get("PATH", os.defpath))
    os.execv(command[0], command)


def prepare(requirements: str, environments: str, uv: str, image: str = "") -> str:
    """The interpreter that has what the file `requirements` asks for.

    Our own if it has all of it; else that of an environment layered on ours, which is made once for the same
    requirements and interpreter, and in a container for the same image.
    """
    with open(requirements, encoding="utf-8") as file:
        text = file.read()
    if satisfied(text):
        return sys.executable
    folder = os.path.join(environments, key(text, image))
    python = os.path.join(folder, "bin", "python")
    ready = os.path.join(folder, "ready")
    os.makedirs(environments, exist_ok=True)
    lock = _open_lock(folder + ".lock")
    while True:
        _flock(lock, fcntl.LOCK_SH)
        if os.path.exists(ready):
            os.utime(ready)
            return python
        # Not at once both: going from one kind of lock to the other lets go of it, so look again afterwards.
        _flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(ready):
            _make(folder, python, requirements, uv)
            with open(ready, "w"):
                pass


def _flock(lock: int, how: int) -> None:
    try:
        fcntl.flock(lock, how)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise  # A disk without locks: only jobs that begin in the same moment can be in each other's way.


def _open_lock(path: str) -> int:
    """The lock of an environment, which the job holds from now on until its last process has ended: what removes
    environments leaves this one alone. Its number is one that scripts do not use for files of their own."""
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        lock = fcntl.fcntl(file, fcntl.F_DUPFD, _HIGH)
    except OSError:
        lock = os.dup(file)  # So many files may not be open here.
    os.close(file)
    os.set_inheritable(lock, True)
    return lock


def _make(folder: str, python: str, requirements: str, uv: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    begun = time.monotonic()
    print(_("pai: installing the requirements …"), flush=True)
    try:
        (_make_with_uv if uv else _make_with_pip)(folder, python, requirements, uv)
    except subprocess.CalledProcessError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    print(_("pai: requirements ready after {seconds:.1f} s").format(seconds=time.monotonic() - begun), flush=True)


def key(requirements: str, image: str = "") -> str:
    """The name of the environment for these requirements on this interpreter, of this image if it is one's."""
    text = "\0".join(filter(None, (requirements, sys.executable, sys.version, image)))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def satisfied(requirements: str) -> bool:
    """Whether our own interpreter has all that is asked for. In doubt, no."""
    lines = [line.split(" #")[0].strip() for line in requirements.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines:
        return True
    try:
        from packaging import requirements as packaging
    except ImportError:
        try:
            from pip._vendor.packaging import requirements as packaging  # type: ignore[no-redef]  # the same, pip's own
        except ImportError:
            return False
    try:
        return all(_has(packaging.Requirement(line)) for line in lines)
    except packaging.InvalidRequirement:
        return False  # A path, an address, an option: the installer knows what to do.


def _has(requirement) -> bool:  # type: ignore[no-untyped-def]  # packaging may be pip's vendored one
    from importlib.metadata import PackageNotFoundError, version

    if requirement.marker and not requirement.marker.evaluate():
        return True
    if requirement.url or requirement.extras:
        return False
    try:
        return bool(requirement.specifier.contains(version(requirement.name), prereleases=True))
    except PackageNotFoundError:
        return False


def _make_with_uv(folder: str, python: str, requirements: str, uv: str) -> None:
    subprocess.run([uv, "venv", "-q", "--no-project", "--python", sys.executable, folder], check=True)
    _see_our_packages(folder)
    install = [uv, "pip", "install", "--python", python, "-r", requirements]
    # A job's /ml is made of mounts, over which uv's hard links do not reach.
    environment = {"UV_LINK_MODE": "copy", **os.environ}
    # What uv has in its cache needs no network: that saves a second or so, and a train may have none.
    quick = subprocess.run([*install, "-q", "--offline"], check=False, stderr=subprocess.DEVNULL, env=environment)
    if quick.returncode != 0:
        subprocess.run(install, check=True, env={**_pip_settings(), **environment})


def _pip_settings() -> dict[str, str]:
    """What pip is configured to use (a mirror, a certificate), in the variables that uv reads."""
    told = subprocess.run([sys.executable, "-m", "pip", "config", "list"], check=False, capture_output=True, text=True)
    found: dict[str, str] = {}
    for line in told.stdout.splitlines():
        key, _equals, value = line.partition("=")
        variable = _UV_VARIABLES.get(key.rpartition(".")[2])
        if variable:
            found[variable] = " ".join(str(ast.literal_eval(value)).split())
    return found


_UV_VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}


def _make_with_pip(folder: str, python: str, requirements: str, uv: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    _see_our_packages(folder)
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--progress-bar", "off", "-r", requirements], check=True)


def _see_our_packages(folder: str) -> None:
    """Layer the environment on ours. Not by ``--system-site-packages``: made from an environment, that shows the
    packages of the interpreter below it."""
    version = "python%d.%d" % sys.version_info[:2]
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    with open(os.path.join(folder, "lib", version, "site-packages", "_pai_below.pth"), "w", encoding="utf-8") as file:
        for path in sorted(ours):
            file.write(f"import site; site.addsitedir({path!r})\n")


def write_shims(folder: str, python: str) -> None:
    """Make `python`, `python3` and `pip` in `folder` mean that interpreter.

    Scripts, not links: an interpreter that is started by a link elsewhere does not find its environment.
    """
    os.makedirs(folder, exist_ok=True)
    quoted = "'" + python.replace("'", "'\\''") + "'"
    for name, other, arguments in (("python", "python3", ""), ("pip", "pip3", "-m pip ")):
        path = os.path.join(folder, name)
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o755), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec %s %s"$@"\n' % (quoted, arguments))
        if not os.path.exists(os.path.join(folder, other)):
            os.symlink(name, os.path.join(folder, other))


def write_packages(shims: str, python: str) -> None:
    """Note beside the shims what the environment of `python` adds to ours: `environment.json` has {name: version}."""
    folder = os.path.dirname(os.path.dirname(python))
    packages = {}
    for name in os.listdir(os.path.join(folder, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")):
        project, dash, version = name[: -len(".dist-info")].rpartition("-")
        if name.endswith(".dist-info") and dash:
            packages[project] = version
    path = os.path.join(os.path.dirname(shims), "environment.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"path": folder, "packages": packages}, file)
    os.replace(path + ".new", path)


def search_path(shims: str, python: str, path: str) -> str:
    """PATH with the shims and the interpreter's own commands (torchrun, accelerate) first."""
    first = [shims, os.path.dirname(python)]
    return os.pathsep.join(first + [part for part in path.split(os.pathsep) if part not in first])


if __name__ == "__main__":
    main()
