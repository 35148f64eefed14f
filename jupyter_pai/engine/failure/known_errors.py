"""Known errors: a table of patterns, each with a reason and a fix."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
_NO_LIBRARY = N_("The shared library `{name}` is missing.")
_LIBRARY_END = r"(?:: cannot open shared object file|'; dlerror)"
MODULE = r"(?:ModuleNotFound|Import)Error: No module named '?(?P<name>[\w.]{1,200})"
NO_FILE = r"FileNotFoundError: .*No such file or directory: "
_BAD_ARGUMENTS = N_("The script does not take these arguments: {text}")
# The message of argparse or click about the arguments of the command.
_USAGE = r"(?:: error: (?=.*(?:argument|option|choice|command|expected))|^Error: (?=.*(?:[Oo]ption|[Aa]rgument)))"
_OPTION = r"--?(?P<name>[A-Za-z][\w-]{0,60})"

# Patterns with a reason, a fix, and the exit code for which the row counts; 0 for any. The named groups of a pattern
# fill in the texts. Rows are checked in this order. No pattern has two adjacent repetitions that match the same
# characters, except within a line of at most 400.
_TABLE: tuple[tuple[str, str, str, int], ...] = (
    (
        MODULE,
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
        r"(?:^|[\s:])(?P<name>[^\s:]{1,200}): (?:command )?not found$",
        N_("Command `{name}` not found."),
        N_("Check its spelling. Call a program of your folder as ./{name}; install a package with --requirement."),
        127,
    ),
    (
        r"can't open file '(?:[^']{0,1000}/)?(?P<name>[^'/]{1,200})': \[Errno 2\]",
        N_("The script `{name}` is not in the folder that was packed."),
        N_("Check with --dry-run whether it is excluded."),
        0,
    ),
    (
        r"(?:CUDA out of memory\.? ?|OOM when allocating )(?P<text>.{0,200})",
        _NO_GPU_MEMORY,
        _NO_GPU_MEMORY_FIX,
        0,
    ),
    (
        r"(?P<text>CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED)",
        _NO_GPU_MEMORY,
        _NO_GPU_MEMORY_FIX,
        0,
    ),
    (
        r"MemoryError\b|OutOfMemoryError|Cannot allocate memory|std::bad_alloc|DefaultCPUAllocator",
        N_("Out of memory."),
        N_("Use a smaller batch or model, or a larger instance type."),
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
        NO_FILE + r"'(?P<path>/ml/[^']{0,1000}|[^/'][^']{0,1000})'",
        N_("File `{path}` not found."),
        N_(
            "Code is packed from the notebook's folder: see --dry-run. "
            "Pass data with --input NAME=PATH, and read it from PAI_INPUT_NAME."
        ),
        0,
    ),
    (
        NO_FILE + r"'(?P<path>/[^']{0,1000})'",
        N_("File `{path}` not found."),
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


def find(exit_code: int, lines: Sequence[str]) -> tuple[str, str] | None:
    """Return the reason and fix of a known error in these lines; of several matches of a pattern, the last."""
    for pattern, reason, fix, code in _TABLE:
        matches = map(re.compile(pattern).search, reversed(lines))
        if code in (0, exit_code) and (match := next(filter(None, matches), None)):
            values = match.groupdict()
            if pattern is MODULE and not (values := values | {"package": package_of(match["name"])})["package"]:
                fix = _NO_PACKAGE
            return _(reason).format(**values), _(fix).format(**values)
    return None
