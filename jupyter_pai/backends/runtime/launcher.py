"""Prepares a job's interpreter inside the job, then becomes the job's command.

Runs with the job's interpreter, which may lack this package: standard library only. Its output goes to the job's log.

    python launcher.py code=DIR requirements=FILE environments=DIR shims=DIR packages=DIR uv=PATH image=NAME -- words
    python launcher.py pip=DIR uv=PATH -- words

The words are the job's command. The requirements are those of the file, and of the requirements.txt of the code. The
second form is the job's command `pip`: it installs into an environment of the job, never into the interpreter's, which
is the user's kernel.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import fcntl
import gettext
import hashlib
import importlib.util
import json
import locale
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator

# Exit code of a job whose environment could not be created; not used by shells.
FAILED = 97

_HIGH = 200
# Exit code of `uv_install.py` for requirements that only pip reads.
FOR_PIP = 96
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


def prepare(requirements: str, environments: str, code: str, uv: str = "", image: str = "") -> str:
    """Return an interpreter with the packages of the file `requirements` and of the requirements.txt in `code`.

    This is the current one if it has all packages. Otherwise, it is that of an environment layered on the current one,
    created once per requirements, interpreter and image.
    """
    with open(requirements, encoding="utf-8") as file:
        text = merged(file.read(), code)
    if satisfied(text):
        return sys.executable
    folder = os.path.join(environments, key(text, image, code))
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
            _make(folder, python, text, code, uv)
            with open(ready, "w"):
                pass


def merged(own: str, code: str) -> str:
    """Return the requirements: those in the requirements.txt of the folder `code`, and `own`, which take precedence.

    Files that they include are inlined. Other paths are relative to `code`, in which the tools run.
    """
    lines, path = list(_inlined(_lines(own), code)), os.path.join(code, "requirements.txt")
    versions = {project(line) for line in lines if re.search(r"[=<>~!@]", line)} - {""}
    found = _inlined(_lines(_read(path)), code, (path,)) if os.path.isfile(path) else ()
    return "".join(f"{line}\n" for line in (*(line for line in found if project(line) not in versions), *lines))


def project(requirement: str) -> str:
    """Return the normalized name of the required project; empty for an option, a path or a URL."""
    name = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)(?=[\s\[;@=<>!~(,]|$)", requirement)
    return re.sub(r"[-_.]+", "-", name[1]).lower() if name else ""


def _read(path: str) -> str:
    """Read a file in the encoding in which pip reads it: by its byte order mark, or by a comment as in Python."""
    with open(path, "rb") as file:
        data = file.read()
    marked = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}.get(data[:4], "")
    marked = marked or {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}.get(data[:2], "")
    comment = re.match(rb"(?:.*\n)?#.*?coding[:=]\s*([-\w.]+)", data)
    named = comment[1].decode() if comment else ""
    for encoding in (marked, named, "utf-8-sig", locale.getpreferredencoding(False)):
        with contextlib.suppress(LookupError, UnicodeError):
            return data.decode(encoding)
    return data.decode("utf-8", "replace")


def _lines(text: str) -> Iterator[str]:
    """Yield the lines as pip reads them: continued ones joined, without comments and empty lines."""
    line = ""
    for part in (*text.splitlines(), ""):
        is_comment = part.lstrip().startswith("#")
        if part.endswith("\\") and not is_comment:
            line += part.rstrip("\\")
            continue
        line = re.sub(r"(^|\s+)#.*", "", line + " " * is_comment + part).strip()
        if line:
            yield line
        line = ""


def _expanded(text: str) -> str:
    """Return a text with the values of environment variables. The stored lines have their names."""
    return re.sub(r"\$\{([A-Z0-9_]+)\}", lambda name: os.environ.get(name[1]) or name[0], text)


_PATH_OPTION = re.compile(r"-(?:([rcf])|-(requirement|constraint|find-links)(?=[=\s]))[=\s]*[\"']?(.+?)[\"']?")


def _inlined(lines: Iterable[str], folder: str, within: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the lines of a file in `folder`, and of the files that it includes, each with one option, as uv needs it.

    Paths of the options that tools take as relative to the file are made absolute.
    """
    for line in lines:
        for option in [line] if re.match("[^-]|-e|--editable", line) else re.split(r"\s+(?=-)", line):
            match = _PATH_OPTION.fullmatch(option)
            kind = (match[1] or match[2][0]) if match else ""
            value = _expanded(match[3]) if match else ""
            path = os.path.normpath(os.path.join(folder, value))
            if not match or re.match(r"\w+:", value) or (kind == "f" and not os.path.exists(path)):
                yield option
            elif kind == "r" and os.path.isfile(path):
                included = _lines(_read(path)) if path not in within else ()
                yield from _inlined(included, os.path.dirname(path), (*within, path))
            else:
                yield f"-{kind} {shlex.quote(path)}"


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


def _make(folder: str, python: str, text: str, code: str, uv: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    begun = time.monotonic()
    print(_("pai: installing the requirements …"), flush=True)
    os.makedirs(folder)
    path = os.path.join(folder, "requirements.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    try:
        _install(folder, python, path, code, uv)
    except subprocess.CalledProcessError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    print(_("pai: requirements ready after {seconds:.1f} s").format(seconds=time.monotonic() - begun), flush=True)


def key(requirements: str, image: str = "", folder: str = "") -> str:
    """Return the folder name of an environment for requirements, this interpreter and an image. Files that the
    requirements name by a path, here or in `folder`, count with their content."""
    text = _expanded(requirements)
    contents = _contents(text, folder)
    text = text.replace(f"{folder}/", "./") if folder else text  # Jobs have their code in folders of their own.
    words = filter(None, (text, sys.executable, sys.version, image, *contents))
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:32]


_LOCAL = re.compile(r"\s*(?:(-[cef]|--editable)[\s=]*|[^\s#@]+\s*@\s*)?(?:'([^']+)'|([^\s;#\[]+))")
_PACKAGE = re.compile(r"[^/]+\.(whl|zip|tgz|tar(\.\w+)?)")
_METADATA = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")


def _contents(requirements: str, folder: str) -> Iterator[str]:
    """Yield digests of the files that requirements name by a path: packages, folders of packages, and constraints. Of
    an editable folder, which is imported in place, only the metadata counts."""
    for option, quoted, word in (match.groups() for match in map(_LOCAL.match, requirements.splitlines()) if match):
        path = quoted or re.sub("^file:(//)?", "", word)
        if not option and "/" not in path and path != "." and not _PACKAGE.fullmatch(path):
            continue
        path = os.path.join(folder, path)
        if os.path.isfile(path):
            yield _digest(path)
        elif os.path.isdir(path):
            editable = option in ("-e", "--editable")
            yield os.path.abspath(path) if editable else ""
            names = _METADATA if editable else sorted(filter(_PACKAGE.fullmatch, os.listdir(path)))
            found = [os.path.join(path, name) for name in names] if option else _files_below(path)
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
    lines = [_expanded(line) for line in _lines(requirements)]
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


def _install(folder: str, python: str, requirements: str, code: str, uv: str) -> None:
    venv = [sys.executable, "-m", "venv", "--without-pip"]
    if uv:
        venv = [uv, "venv", "-q", "--no-project", "--allow-existing", "--python", sys.executable]
    subprocess.run([*venv, folder], check=True)
    _add_parent_packages(folder)
    with_uv = [sys.executable, "-I", os.path.join(_FOLDER, "uv_install.py"), uv, python, requirements]
    exit_code = subprocess.run(with_uv, check=False, cwd=code).returncode if uv else FOR_PIP
    if exit_code == FOR_PIP:
        pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install"]
        subprocess.run([*pip, "--progress-bar", "off", "-r", requirements], check=True, cwd=code)
    elif exit_code:
        raise subprocess.CalledProcessError(exit_code, with_uv)


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
        write_script(folder, name, "exec %s" % " ".join(map(shlex.quote, command)))
        if not os.path.exists(os.path.join(folder, other)):
            os.symlink(name, os.path.join(folder, other))


def write_script(folder: str, name: str, line: str) -> None:
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
