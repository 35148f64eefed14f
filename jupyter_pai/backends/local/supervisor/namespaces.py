"""Linux namespaces for one job: its own process tree, and a private ``/ml``.

Imported by the supervisor, whose start-up delays every job: only `ctypes` and `os`. Every function raises OSError with
the kernel's error number.

A process tree of its own needs a ``/proc`` of its own: with the machine's, a program that looks itself up (as psutil
does) finds another process. Containers mask parts of ``/proc``, and the kernel then refuses a new one; there, a job
gets its ``/ml`` without the tree.

The private ``/ml`` is part of a new root: a small tmpfs with bind mounts of every top-level folder of the old root and
of the job's folder as ``/ml``. The same folders have other names below ``/opt/ml``. The host's
own ``/`` is never changed. Paths outside ``/ml`` and these names keep their meaning. Works for any user where user
namespaces are allowed; the user keeps their uid, and capabilities are dropped on exec.
"""

from __future__ import annotations

import ctypes
import os

# Isolation of a job, best first: private `/ml` and process tree; `/ml` only; neither.
PRIVATE, MOUNTS, PLAIN = "private", "mounts", "plain"

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 8, 32, 4096
_MS_REC, _MS_UNBINDABLE, _MS_SLAVE = 1 << 14, 1 << 17, 1 << 19
_MNT_DETACH = 2
_PR_SET_CHILD_SUBREAPER = 36
_CAP_SYS_ADMIN = 21
_SYS_PIVOT_ROOT = {
    "x86_64": 155,
    "aarch64": 41,
    "ppc64le": 203,
    "s390x": 217,
    "riscv64": 41,
}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def subreaper() -> None:
    """Make orphaned descendants children of this process."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def new_tree() -> None:
    """Start a new process tree with the next child. Needs a single-threaded process."""
    _unshare(_CLONE_NEWPID)


def private_root(folder: str, mode: str) -> None:
    """Mount ``<folder>/ml`` as this process's ``/ml``. In mode PRIVATE, it must be the first process of a new tree.

    ``<folder>/root`` is an empty folder, the mount point of the new root.
    """
    root = f"{folder}/root"
    _unshare(_CLONE_NEWNS)
    _mount(None, "/", None, _MS_REC | _MS_SLAVE)
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    # Unbindable, or binding the folder that holds it would bind every mount twice.
    _mount(None, root, None, _MS_UNBINDABLE)
    for name in os.listdir("/"):
        if name not in ("ml", "opt"):
            _bind(f"/{name}", f"{root}/{name}", mode)
    _bind(f"{folder}/ml", f"{root}/ml", mode)
    _lay_out_opt(root, opt_ml_links("usercode" if os.path.isdir(f"{folder}/ml/usercode") else "code"), mode)
    # A new folder in `/` is refused instead of silently lost.
    _make_read_only(root)
    os.chdir(root)
    # pivot_root rather than chroot: nested user namespaces (browsers, podman) go on working.
    _check(_libc.syscall(_SYS_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH), "umount")
    os.chdir("/")


def protect_inputs(data: str = "/ml/input/data") -> None:
    """Make the folders that the links in a folder point to read-only below it. After `private_root`: other names of
    these folders are not changed. A folder that cannot be mounted, or not read-only, stays writable."""
    names = os.listdir(data) if os.path.isdir(data) else ()
    links = {name: os.path.realpath(f"{data}/{name}") for name in names}
    if not links:
        return
    _mount("tmpfs", data, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    for name, path in links.items():
        if not _mount_read_only(path, f"{data}/{name}"):
            os.symlink(path, f"{data}/{name}")
    _make_read_only(data)


def _mount_read_only(folder: str, place: str) -> bool:
    """Mount a folder at a new place, read-only if possible. Return whether it is mounted."""
    if not os.path.isdir(folder):
        return False
    os.mkdir(place)
    try:
        _mount(folder, place, None, _MS_BIND | _MS_REC)
    except OSError:
        os.rmdir(place)
        return False
    try:
        _make_read_only(place)
    except OSError:
        pass  # The system does not allow to change the flags of this mount.
    return True


def _make_read_only(place: str) -> None:
    """Make a mount read-only. Its other flags stay: in a user namespace, they may not be cleared."""
    flags = os.statvfs(place).f_flag & (_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _mount(None, place, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)


def opt_ml_links(code_folder: str) -> dict[str, str]:
    """Return the names below ``/opt/ml``, with the folder of each."""
    return {"input": "/ml/input", "code": f"/ml/{code_folder}", "model": "/ml/output/model", "output": "/ml/output"}


def _lay_out_opt(root: str, links: dict[str, str], mode: str) -> None:
    """Make the folder ``opt`` of a new root: that of the machine, with the links in its folder ``ml``."""
    try:
        for folder, hidden in (("/opt", {"ml"}), ("/opt/ml", {*links})):
            os.mkdir(root + folder)
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                if name not in hidden:
                    _bind(f"{folder}/{name}", f"{root}{folder}/{name}", mode)
        for name, target in links.items():
            os.symlink(target, f"{root}/opt/ml/{name}")
    except OSError:
        # The user may not read the folder, or a mount in it. Programs in it are needed more than the links.
        _mount("/opt", f"{root}/opt", None, _MS_BIND | _MS_REC)


def probe(folder: str, modes: tuple[str, ...] = (PRIVATE, MOUNTS)) -> tuple[str, str]:
    """Return the first mode that works in a child process, and the error that prevents an earlier one.

    `folder` is a scratch folder with the folders ``ml`` and ``root``.
    """
    reason = ""
    for mode in modes:
        reader, writer = os.pipe()
        if os.fork() == 0:
            _try(mode, folder, writer)
        os.close(writer)
        with os.fdopen(reader) as file:
            reply = file.read()
        os.wait()
        if reply == "ok":
            return mode, reason
        reason = reply or "killed"
    return PLAIN, reason


def _try(mode: str, folder: str, writer: int) -> None:
    """Set up a job's namespaces, write the outcome, and exit."""
    try:
        if mode == PRIVATE:
            new_tree()
            if inner := os.fork():
                os.waitpid(inner, 0)
                os._exit(0)
        private_root(folder, mode)
        os.write(writer, b"ok")
    except (OSError, KeyError) as error:
        os.write(writer, str(error).encode())
    finally:
        os._exit(0)


def _unshare(what: int) -> None:
    """Create a namespace; without the privilege, create a user namespace first."""
    uid, gid = os.getuid(), os.getgid()
    with open("/proc/self/status") as file:
        privileged = any(line.startswith("CapEff:") and int(line[7:], 16) >> _CAP_SYS_ADMIN & 1 for line in file)
    _check(_libc.unshare(what | (0 if privileged else _CLONE_NEWUSER)), "unshare")
    if not privileged:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def _bind(source: str, target: str, mode: str) -> None:
    """Bind a file or folder at `target`; copy a link."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
    elif not os.path.isdir(source):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
        _mount(source, target, None, _MS_BIND)
    else:
        os.mkdir(target)
        if source == "/proc" and mode == PRIVATE:
            _mount("proc", target, "proc", _MS_NOSUID | _MS_NODEV)
        else:
            _mount(source, target, None, _MS_BIND | _MS_REC)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _check(_libc.mount(*words[:3], ctypes.c_ulong(flags), words[3]), f"mount {target}")


def main(folder: str, mounted: str, plain: str, *command: str) -> None:
    """Become a command that has ``<folder>/ml`` as ``/ml``; the working folder is below it. Without the permission, the
    paths in its variables are replaced. `mounted` and `plain` are the messages for the log."""
    mode, reason = probe(folder, (MOUNTS,))
    variables = dict(os.environ)
    if mode == MOUNTS:
        place = f"/{os.path.relpath(os.getcwd(), os.path.realpath(folder))}"
        private_root(folder, MOUNTS)
        os.chdir(place)
        variables |= {"PWD": place}  # A shell would keep the other path of this folder.
    else:
        for name, value in variables.items():
            if name.startswith(("PAI_", "pai_")) and f"{value}/".startswith("/ml/"):
                variables[name] = folder + value
    print(f"[jupyter-pai] {mounted if mode == MOUNTS else f'{plain} ({reason})'}", flush=True)
    os.execve(command[0], command, variables)


if __name__ == "__main__":  # In a job script (`backends/runtime/job_script.py`).
    import sys

    main(*sys.argv[1:])
