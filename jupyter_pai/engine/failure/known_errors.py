"""Known errors: a table of patterns, each with a reason and a fix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...core.i18n import N_, _
from .packages import package_of

_NO_PACKAGE = N_(
    "Add the package that has it to requirements.txt. "
    "If it is a file of yours, check with --dry-run that it is in the folder."
)
_DENIED = N_("Permission denied: {path}")
_DENIED_FIX = N_("A job can write to its own folder and to PAI_OUTPUT_…. To make a script executable: chmod +x …")
_NO_GPU_MEMORY = N_("Out of memory on the GPU: {text}")
_NO_GPU_MEMORY_FIX = N_(
    "Use a smaller batch or model, or a larger instance type. Another process may use the GPU's memory: see nvidia-smi."
)
_NO_COMMAND = N_("Command `{name}` not found.")
_NO_COMMAND_FIX = N_(
    "Check its spelling. Call a program of your folder as ./{name}; install a package with --requirement."
)
_NOT_SH = N_("The command has a feature of bash, but sh runs it: {text}")
_NOT_SH_FIX = N_(
    "Write #!/bin/bash as the first line of the script and run it as ./SCRIPT, or run the command with: bash -c '…'"
)
_NOT_INTERACTIVE = N_("`{name}` is set up by interactive shells only, and a job has none.")
_NOT_INTERACTIVE_FIX = N_(
    "Select the interpreter with --python or --image, or first load the file that defines `{name}`: . FILE"
)
_NO_LIBRARY = N_("The shared library `{name}` is missing.")
_LIBRARY_END = r"(?:: cannot open shared object file|'; dlerror)"
_MODULE = r"(?:ModuleNotFound|Import)Error: No module named '?(?P<name>[\w.]{1,200})"
_NOT_THERE = r"Error: .*No such file or directory: "
_NO_FILE = N_("File `{path}` not found.")
_NO_DATA_FIX = N_(
    "A job has the packed files only: see --dry-run. Pass data with --input NAME=PATH, and read it from PAI_INPUT_NAME."
)
_NO_MEMORY = N_("Out of memory.")
_NO_MEMORY_FIX = N_("Use a smaller batch or model, or a larger instance type.")
_BAD_ARGUMENTS = N_("The script does not take these arguments: {text}")
# The message of argparse or click about the arguments of the command.
_USAGE = (
    r"(?:: error: (?=.*(?:argument|option|choice|command|expected))|^Error: (?=.*(?:[Oo]ption|[Aa]rgument))|"
    r"^(?=(?:No such option|Missing (?:option|argument|parameter)|Got unexpected extra argument|Invalid value for )))"
)
_OPTION = r"--?(?P<name>[A-Za-z][\w-]{0,60})"

# Patterns with a reason, a fix, and the exit code for which the row counts; 0 for any. The named groups of a pattern
# fill in the texts. Rows are checked in this order. No pattern has two adjacent repetitions that match the same
# characters, except within a line of at most 400.
_TABLE: tuple[tuple[str, str, str, int], ...] = (
    (
        _MODULE,
        N_("The module `{name}` is missing."),
        N_(
            "Add --requirement {package}, or a line to requirements.txt. "
            "If it is a file of yours, check with --dry-run that it is in the folder."
        ),
        0,
    ),
    (
        r"EOFError: EOF when reading a line|StdinNotImplementedError",
        N_("The script reads standard input, which is empty in a job (input() raised EOFError)."),
        N_("Pass the value as a hyperparameter: --hp NAME=VALUE."),
        0,
    ),
    (
        r"(?:^|: )(?P<text>(?:source|\[\[|shopt|declare|typeset|let|pushd|popd|function|mapfile|readarray|disown|"
        r"compgen): not found)$",
        _NOT_SH,
        _NOT_SH_FIX,
        127,
    ),
    (
        r": (?P<text>Syntax error: (?:\"[(}]\" unexpected|\"do\" unexpected|redirection unexpected|Bad for loop "
        r"variable|Bad fd number).{0,100}|Bad substitution|(?:set|export|read|ulimit): Illegal option -.{1,100}|"
        r"printf: %q: invalid directive|\[: .{1,100}: unexpected operator)$",
        _NOT_SH,
        _NOT_SH_FIX,
        0,
    ),
    (r"^trap: (?P<text>\w{1,20}: bad trap)$", _NOT_SH, _NOT_SH_FIX, 0),
    (
        r"(?:^|: )(?P<name>conda|mamba|module|nvm|pyenv|workon|deactivate): (?:command )?not found$",
        _NOT_INTERACTIVE,
        _NOT_INTERACTIVE_FIX,
        127,
    ),
    (
        r"shell has not been properly configured to use '(?P<name>conda) activate'|"
        r"Run '(?P<other>\w{1,20}) init' before",
        _NOT_INTERACTIVE,
        _NOT_INTERACTIVE_FIX,
        0,
    ),
    (
        r"env: [‘'\"](?P<name>[^’'\"]{1,200})[’'\"]: No such file or directory",
        _NO_COMMAND,
        _NO_COMMAND_FIX,
        127,
    ),
    (
        r"(?:^|: )(?P<name>[^\s:]{1,500}): (?:cannot execute: required file not found|"
        r"[^\s:]{1,200}: bad interpreter: .*)$",
        N_("The interpreter in the first line of `{name}` is missing."),
        N_("Install it, or write the path of an installed one after `#!`, such as #!/usr/bin/env python3."),
        0,
    ),
    (
        # dash has one message for both.
        r"(?:^|[\s:])(?P<name>[^\s:/]{0,200}/[^\s:]{1,200}): not found$",
        N_("The program `{name}`, or the interpreter in its first line, is missing."),
        N_(
            "Check with --dry-run that it is in the folder. "
            "Write the path of an installed interpreter after `#!`, such as #!/usr/bin/env python3."
        ),
        127,
    ),
    (
        r"(?:^|[\s:])(?P<name>[^\s:]{1,200}): (?:command )?not found$",
        _NO_COMMAND,
        _NO_COMMAND_FIX,
        127,
    ),
    (
        r"can't open file '(?:[^']{0,1000}/)?(?P<name>[^'/]{1,200})': \[Errno 2\]",
        N_("The script `{name}` is not in the folder that was packed."),
        N_("Check with --dry-run whether it is excluded."),
        0,
    ),
    (
        r"(?:(?:CUDA|HIP|XPU|MPS backend) out of memory\.? ?|OOM when allocating |RESOURCE_EXHAUSTED: )"
        r"(?P<text>.{0,200})",
        _NO_GPU_MEMORY,
        _NO_GPU_MEMORY_FIX,
        0,
    ),
    (
        r"(?P<text>CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|"
        r"CUBLAS_STATUS_ALLOC_FAILED)",
        _NO_GPU_MEMORY,
        _NO_GPU_MEMORY_FIX,
        0,
    ),
    (
        r"MemoryError\b|OutOfMemoryError|[Cc]annot allocate (?:memory|vector of size)|std::bad_alloc|"
        r"DefaultCPUAllocator|heap out of memory|memory allocation of \d{1,20} bytes failed|runtime: out of memory",
        _NO_MEMORY,
        _NO_MEMORY_FIX,
        0,
    ),
    (
        r"oom[-_]kill|OOM[- ]?Killed|Out of memory: Killed|killed by signal: Killed",
        N_("Killed by the system: out of memory."),
        _NO_MEMORY_FIX,
        0,
    ),
    (
        r"shared memory \(shm\)|out of shared memory|unable to (?:open|mmap) shared memory",
        N_("Too little shared memory (/dev/shm) for the data loader's workers."),
        N_("Use fewer workers (num_workers=0), or a machine or container with more shared memory."),
        0,
    ),
    (
        r"No space left on device|Disk quota exceeded",
        N_("The disk is full, or its quota is exceeded."),
        N_("Free space: delete jobs that are not needed with %pai delete ID. Write fewer checkpoints."),
        0,
    ),
    (
        r"(?P<text>no kernel image is available|is not compatible with the current PyTorch installation)",
        N_("The framework was not built for this GPU: {text}."),
        N_("Install a build for this GPU's generation; see the framework's installation page."),
        0,
    ),
    (
        r"driver version is insufficient|NVIDIA driver on your system is too old",
        N_("The NVIDIA driver of this machine is older than the CUDA that the framework was built with."),
        N_("Update the driver, or install a build for an older CUDA. nvidia-smi shows the version that it supports."),
        0,
    ),
    (
        r"Torch not compiled with CUDA enabled",
        N_("PyTorch is installed without CUDA, and the script requires a GPU."),
        N_('Install a build with CUDA, or use torch.device("cuda" if torch.cuda.is_available() else "cpu").'),
        0,
    ),
    (
        r"Attempting to deserialize object on a CUDA device",
        N_("The checkpoint was saved on a GPU, and is loaded on a machine without one."),
        N_('Load it with torch.load(…, map_location="cpu").'),
        0,
    ),
    (
        r"(?P<text>Found no NVIDIA driver|No CUDA GPUs are available|no CUDA-capable device is detected|"
        r"libcuda\.so\.1|invalid device ordinal|CUDA unknown error)",
        N_("No GPU is available to the job: {text}."),
        N_("Run it on a machine with a GPU (--gpu, or --instance-type where the backend has it), or use the CPU."),
        0,
    ),
    (
        r"device-side assert triggered",
        N_("An assertion failed on the GPU (device-side assert)."),
        N_("Often a label or index out of range. --env CUDA_LAUNCH_BLOCKING=1 or a run on the CPU shows the line."),
        0,
    ),
    (
        r"NCCL (?:error|Error|WARN)|ncclInternalError|ncclSystemError|ncclUnhandled|DistBackendError",
        N_("The GPUs or nodes could not communicate (NCCL)."),
        N_("--env NCCL_DEBUG=INFO shows the reason. Often another process failed first: see earlier lines of the log."),
        0,
    ),
    (
        rf"(?P<name>libGL[\w.+-]{{0,100}}){_LIBRARY_END}",
        _NO_LIBRARY,
        N_("Use opencv-python-headless instead of opencv-python: it needs no display."),
        0,
    ),
    (
        rf"(?P<name>lib(?:cu|nv)[\w.+-]{{0,100}}){_LIBRARY_END}",
        _NO_LIBRARY,
        N_("It is part of CUDA: install a build of the framework that contains it, or one for the CPU."),
        0,
    ),
    (
        rf"(?P<name>lib[\w.+-]{{1,100}}){_LIBRARY_END}",
        _NO_LIBRARY,
        N_("Install the system's package that has it, or a build of the Python package that contains it."),
        0,
    ),
    (r"PermissionError: .*'(?P<path>[^']{1,500})'$", _DENIED, _DENIED_FIX, 0),
    (r"(?:^|: )(?P<path>[^\s:]{1,500}): Permission denied$", _DENIED, _DENIED_FIX, 0),
    (
        _NOT_THERE + r"'(?P<path>/ml/[^']{0,1000}|[^/'][^']{0,1000})'",
        _NO_FILE,
        _NO_DATA_FIX,
        0,
    ),
    (
        _NOT_THERE + r"'(?P<path>/[^']{0,1000})'",
        _NO_FILE,
        N_("Check the path on the machine where the job ran."),
        0,
    ),
    (
        r"(?P<text>Name or service not known|Temporary failure in name resolution|Could not resolve host|"
        r"getaddrinfo failed|Network is unreachable|nodename nor servname)",
        N_("A server could not be reached: {text}."),
        N_("Check the network of the job's machine. Set a proxy with --env HTTPS_PROXY=…, or pass data with --input."),
        0,
    ),
    (
        r"Address already in use|EADDRINUSE",
        N_("A port of the script is in use by another job or program."),
        N_("Choose another port, or 0 for any free one. For torchrun: --rdzv-endpoint=localhost:0."),
        0,
    ),
    (
        r"ConnectionRefusedError|Connection refused",
        N_("A connection was refused: no server listens at that address."),
        N_("Check that the server is running, and that the machine of the job can reach it."),
        0,
    ),
    (
        rf"{_USAGE}(?P<text>.*required.*[\s,/]{_OPTION}.*)",
        _BAD_ARGUMENTS,
        N_("Pass it: --hp {name}=VALUE"),
        2,
    ),
    (
        rf"{_USAGE}(?P<text>(?:.*?[\s,/])?{_OPTION}.*)",
        _BAD_ARGUMENTS,
        N_("Compare the hyperparameter `{name}` (--hp {name}=…) with the arguments that the script takes."),
        2,
    ),
    (
        rf"{_USAGE}(?P<text>.*)",
        _BAD_ARGUMENTS,
        N_("Hyperparameters are passed as --NAME VALUE: compare --hp with the arguments that the script takes."),
        2,
    ),
)


_OPENED, _MISSING = r"(?:cannot (?:open|access) |(?:^|[\s:]))[‘'\"]?", r"[’'\"]?(?: for reading)?: No such file"
# Errors of shells and tools, in the last lines only: earlier ones are often harmless. The exit code is any.
_ENDINGS: tuple[tuple[str, str, str], ...] = (
    (
        _OPENED + r"(?P<path>/[^\s:’'\"]{1,500})" + _MISSING,
        _NO_FILE,
        N_("Check the path on the machine where the job ran."),
    ),
    (
        _OPENED + r"(?P<path>[^\s:’'\"]{1,500})" + _MISSING,
        _NO_FILE,
        _NO_DATA_FIX,
    ),
    (
        r"(?:no such file or directory, \w{1,20} '(?P<path>[^']{1,500})'|\bopen (?P<name>[^\s:]{1,500}): no such file)",
        _NO_FILE,
        _NO_DATA_FIX,
    ),
    (
        r"[Rr]ead-only file system(?:: |, \w{1,20} )'(?P<path>[^']{1,500})'|"
        r"(?:^|[\s:‘'\"])(?P<name>[^\s:‘’'\"]{1,500})[’'\"]?: [Rr]ead-only file system$",
        N_("Read-only: {path}"),
        N_(
            "A job can write to its own folder and to PAI_OUTPUT_…, not to its inputs. "
            "To change an input, copy it first: cp -rL INPUT COPY"
        ),
    ),
)
_NEAR = 3


class Known(NamedTuple):
    """A known error with its reason and fix, and the module or the path that it is about; otherwise empty."""

    reason: str
    fix: str
    module: str
    path: str


def find(exit_code: int, lines: Sequence[str]) -> Known | None:
    """Return the known error in these lines; of several matches of a pattern, the last."""
    for pattern, reason, fix, code in _TABLE:
        if code in (0, exit_code) and (found := _find(pattern, reason, fix, lines)):
            return found
    last = [line for line in lines if line.strip()][-_NEAR:]
    return next(filter(None, (_find(*row, last) for row in _ENDINGS)), None)


def _find(pattern: str, reason: str, fix: str, lines: Sequence[str]) -> Known | None:
    match = next(filter(None, map(re.compile(pattern).search, reversed(lines))), None)
    if not match:
        return None
    values = {name: value for name, value in match.groupdict().items() if value is not None}
    name = values.setdefault("name", values.get("other", ""))
    path = values.setdefault("path", name)
    if pattern is _MODULE and not (values := values | {"package": package_of(name)})["package"]:
        fix = _NO_PACKAGE
    module = name if pattern is _MODULE else ""
    return Known(_(reason).format(**values), _(fix).format(**values), module, path if reason is _NO_FILE else "")
