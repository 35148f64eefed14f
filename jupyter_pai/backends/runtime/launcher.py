"""Prepares a job's interpreter inside the job, then becomes the job's command.

Runs with the job's interpreter, which may lack this package: standard library only. Its output goes to the job's log.

    python launcher.py requirements=FILE environments=DIR shims=DIR packages=DIR uv=PATH image=NAME -- command …
    python launcher.py code=DIR requirements=FILE … -- command …
    python launcher.py pip=DIR uv=PATH -- arguments of pip …

The second form adds the requirements.txt of the code to the file. The third form is the job's command `pip`: it
installs into an environment of the job, never into the interpreter's, which is the user's kernel.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import fcntl
import gettext
import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator

# Exit code of a job whose environment could not be created; not used by shells.
FAILED = 97

_HIGH = 200
# Beside this file in a container; two folders up in the package.
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_LOCALE = os.path.join(
    _FOLDER, os.path.join("..", "..", "locale") if os.path.basename(_FOLDER) == "runtime" else "locale"
)
_ = gettext.translation(
    "jupyter_pai", _LOCALE, languages=[os.environ.get("JUPYTER_PAI_LANGUAGE", "en").replace("-", "_")], fallback=True
).gettext


def main() -> None:
    """Find or create the environment, put its interpreter first on the path, and run the command."""
    split = sys.argv.index("--")
    arguments = dict(word.split("=", 1) for word in sys.argv[1:split])
    if "pip" in arguments:
        _run_pip(arguments["pip"], sys.argv[split + 1 :], arguments["uv"])
    shims, packages = arguments.pop("shims"), arguments.pop("packages")
    if "code" in arguments:
        _add_requirements_of(arguments.pop("code"), arguments["requirements"])
    try:
        python = prepare(**arguments)
    except subprocess.CalledProcessError as error:
        print(_("pai: installing the requirements failed (exit code {code})").format(code=error.returncode))
        sys.exit(FAILED)
    write_shims(shims, python, packages, arguments.get("uv", ""))
    if python != sys.executable:
        _write_packages(shims, python)
    os.environ["PATH"] = search_path(shims, python, os.environ.get("PATH", os.defpath))
    os.execv(sys.argv[split + 1], sys.argv[split + 1 :])


def prepare(requirements: str, environments: str, uv: str = "", image: str = "") -> str:
    """Return an interpreter with the packages of the file `requirements`.

    This is the current one if it has all packages. Otherwise, it is that of an environment layered on the current one,
    created once per requirements, interpreter and image.
    """
    with open(requirements, encoding="utf-8") as file:
        text = file.read()
    if satisfied(text):
        return sys.executable
    folder = os.path.join(environments, key(text, image, os.path.dirname(requirements)))
    python = os.path.join(folder, "bin", "python")
    ready = os.path.join(folder, "ready")
    os.makedirs(environments, exist_ok=True)
    lock = _open_lock(folder + ".lock")
    while True:
        _flock(lock, fcntl.LOCK_SH)
        if os.path.exists(ready):
            os.utime(ready)
            return python
        # Changing the kind of a lock releases it in between: check again afterwards.
        _flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(ready):
            _make(folder, python, requirements, uv)
            with open(ready, "w"):
                pass


def merged(own: list[str], code: str, place: str) -> str:
    """Return one file of requirements: those in the requirements.txt of the folder `code`, and `own`, which take
    precedence. `place` is the path of that folder in the job, for relative paths. Empty if there are none."""
    lines, projects = list(own), {project(line) for line in own}
    path = os.path.join(code, "requirements.txt")
    if os.path.isfile(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [_absolute(line, place) for line in file.read().splitlines() if project(line) not in projects] + own
    return "\n".join(lines) + "\n" if any(line.strip() and not line.lstrip().startswith("#") for line in lines) else ""


def project(requirement: str) -> str:
    name = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    return re.sub(r"[-_.]+", "-", name[1]).lower() if name else ""


def _absolute(line: str, code: str) -> str:
    """Return a line of requirements.txt with relative paths made absolute."""
    option = re.match(r"\s*(-[rce]|--requirement|--constraint|--editable)[\s=]+(?=[^/\s])(?!\w+:)", line)
    if option:
        return "%s %s%s" % (option[1], code, line[option.end() :])
    return code + line.strip() if re.match(r"\s*\.\.?(/|$)", line) else line


def _add_requirements_of(code: str, requirements: str) -> None:
    with open(requirements, encoding="utf-8") as file:
        own = file.read().splitlines()
    with open(requirements, "w", encoding="utf-8") as file:
        file.write(merged(own, code, code + "/"))


def _flock(lock: int, how: int) -> None:
    try:
        fcntl.flock(lock, how)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise  # Without locks, only jobs that start at the same moment may conflict.


def _open_lock(path: str) -> int:
    """Open the lock of an environment. The job's processes inherit it, so that the environment is not removed while one
    of them runs. Its descriptor number is high, to avoid conflicts with scripts."""
    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    with contextlib.suppress(OSError):  # The limit of open files is lower.
        high = fcntl.fcntl(lock, fcntl.F_DUPFD, _HIGH)
        os.close(lock)
        lock = high
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


def key(requirements: str, image: str = "", folder: str = "") -> str:
    """Return the folder name of an environment for requirements, this interpreter and an image. Files that the
    requirements name by a path, here or in `folder`, count with their content."""
    words = filter(None, (requirements, sys.executable, sys.version, image, *_contents(requirements, folder, set())))
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:32]


_LOCAL = re.compile(r"\s*(?:(-[rce]|--requirement|--constraint|--editable)[\s=]*|[^\s#@]+\s*@\s*)?([^\s;#\[]+)")
_METADATA = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")


def _contents(requirements: str, folder: str, seen: set[str]) -> Iterator[str]:
    """Yield digests of the files that requirements name by a path: packages, folders of packages, and other files of
    requirements. Of an editable folder, which is imported in place, only the metadata counts."""
    for option, word in filter(
        None, (match and match.groups() for match in map(_LOCAL.match, requirements.splitlines()))
    ):
        path = re.sub("^file:(//)?", "", word)
        if not option and "/" not in path and path != ".":
            continue
        path = next(filter(os.path.exists, (os.path.join(folder, path), path)), "")
        if os.path.isfile(path):
            yield _digest(path)
            if option in ("-r", "-c", "--requirement", "--constraint") and path not in seen:
                with open(path, encoding="utf-8", errors="replace") as file:
                    yield from _contents(file.read(), os.path.dirname(path), seen | {path})
        elif path:
            editable = option in ("-e", "--editable")
            found = [os.path.join(path, name) for name in _METADATA] if editable else _files_below(path)
            yield from (f"{os.path.relpath(file, path)} {_digest(file)}" for file in found if os.path.isfile(file))


def _files_below(folder: str) -> Iterator[str]:
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
        yield from (os.path.join(top, name) for name in sorted(files))


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()


def satisfied(requirements: str) -> bool:
    """Return whether this interpreter certainly has all required packages."""
    lines = [line.split(" #")[0].strip() for line in requirements.splitlines()]
    try:
        from packaging import requirements as packaging
    except ImportError:
        try:
            from pip._vendor.packaging import requirements as packaging  # type: ignore[no-redef]  # the same, pip's own
        except ImportError:
            return False
    try:
        return all(_has(packaging.Requirement(line)) for line in lines if line and not line.startswith("#"))
    except packaging.InvalidRequirement:
        return False  # A path, URL or option, for the installer.


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
    _add_parent_packages(folder)
    install = [uv, "pip", "install", "--python", python, "-r", requirements]
    # Hard links do not work across the mounts of a job's /ml.
    environment = {"UV_LINK_MODE": "copy", **os.environ}
    # Packages in uv's cache need no network, which is faster and works offline.
    quick = subprocess.run([*install, "-q", "--offline"], check=False, stderr=subprocess.DEVNULL, env=environment)
    if quick.returncode != 0:
        subprocess.run(install, check=True, env={**_pip_settings(), **environment})


def _pip_settings() -> dict[str, str]:
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


def _make_with_pip(folder: str, python: str, requirements: str, uv: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    _add_parent_packages(folder)
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--progress-bar", "off", "-r", requirements], check=True)


def _add_parent_packages(folder: str) -> None:
    """Add the packages of this interpreter to the environment. ``--system-site-packages`` would add those of the base
    interpreter instead, if this one is a virtual environment."""
    version = "python%d.%d" % sys.version_info[:2]
    with open(os.path.join(folder, "lib", version, "site-packages", "_pai_below.pth"), "w", encoding="utf-8") as file:
        for path in sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}):
            file.write(f"import site; site.addsitedir({path!r})\n")


def _run_pip(folder: str, words: list[str], uv: str) -> None:
    """Become `pip` in the job's own environment, which is created for the first package. It is layered on this
    interpreter's, whose packages count as installed and cannot be removed.
    """
    python = os.path.join(folder, "bin", "python")
    ready = os.path.join(folder, "ready")
    if "install" in words or "uninstall" in words:
        _flock(_open_lock(os.path.join(folder, "lock")), fcntl.LOCK_EX)
        if not os.path.exists(ready):
            _make_own(folder)
    elif not os.path.exists(ready):
        python = sys.executable
    if "install" in words:
        print(_("pai: packages are installed for this job only. For the next jobs, too: --requirement"), flush=True)
    os.environ["PIP_USER"] = "0"  # Outside of the environment.
    if importlib.util.find_spec("pip") is None and uv:
        os.execv(uv, [uv, "pip", *words, *(["--python", python] if words else [])])
    os.execv(sys.executable, [sys.executable, "-m", "pip", "--python", python, *words])


def _make_own(folder: str) -> None:
    """Create the job's own environment. Its packages are in `site`, which is on the path of the job's processes."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = os.path.join(folder, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
    os.rmdir(packages)
    os.symlink(os.path.join("..", "..", "site"), packages)
    _add_parent_packages(folder)
    with open(os.path.join(folder, "ready"), "w"):
        pass


def write_shims(folder: str, python: str, packages: str, uv: str) -> None:
    """Write `python`, `python3` and `pip` commands for an interpreter into a folder. `packages` is the folder of the
    job's own environment, for `pip` (see `_run_pip`).

    They are scripts: an interpreter started by a link does not find its environment.
    """
    os.makedirs(os.path.join(packages, "site"), exist_ok=True)
    words = [python, "-I", os.path.abspath(__file__), "pip=" + packages, "uv=" + uv, "--"]
    for name, other, command in (("python", "python3", [python]), ("pip", "pip3", words)):
        _write_script(folder, name, "exec %s" % " ".join(map(shlex.quote, command)))
        if not os.path.exists(os.path.join(folder, other)):
            os.symlink(name, os.path.join(folder, other))


def write_guards(folder: str) -> None:
    """Write the installed `conda` and `mamba` commands into a folder. They refuse to change an environment, which is
    that of the user's kernel."""
    for name in ("conda", "mamba", "micromamba"):
        path = shutil.which(name)
        if path:
            verbs = "|".join('*" %s "*' % verb for verb in CHANGES)
            text = shlex.quote(refusal(name))
            guard = 'case " $* " in %s) echo %s >&2; exit 1;; esac\n' % (verbs, text)
            _write_script(folder, name, guard + "exec " + shlex.quote(path))


CHANGES = ("install", "remove", "uninstall", "update", "upgrade")


def refusal(command: str) -> str:
    """Return the message for a command that would change the environment of the user's kernel."""
    return _("pai: `{command}` would change the environment of your kernel. Pass --requirement instead.").format(
        command=command
    )


def _write_script(folder: str, name: str, line: str) -> None:
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o755), "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\n%s "$@"\n' % line)


def _write_packages(shims: str, python: str) -> None:
    """Write the packages that the environment adds, {name: version}, to `environment.json` beside the shims."""
    folder = os.path.dirname(os.path.dirname(python))
    names = os.listdir(os.path.join(folder, "lib", "python%d.%d" % sys.version_info[:2], "site-packages"))
    words = (name[: -len(".dist-info")].rpartition("-") for name in names if name.endswith(".dist-info"))
    packages = {project: version for project, dash, version in words if dash}
    path = os.path.join(os.path.dirname(shims), "environment.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"path": folder, "packages": packages}, file)
    os.replace(path + ".new", path)


def search_path(shims: str, python: str, path: str) -> str:
    """Return PATH with the shims and the interpreter's commands (torchrun, accelerate) first."""
    first = [shims, os.path.dirname(python)]
    return os.pathsep.join(first + [part for part in path.split(os.pathsep) if part not in first])


if __name__ == "__main__":
    main()
