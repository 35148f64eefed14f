"""Known errors: a table of patterns, each with a reason and a fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...core.i18n import _

# Package names that differ from their import names.
_PACKAGES = {
    "Crypto": "pycryptodome",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "pymupdf",
    "git": "gitpython",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary",
    "pytorch_lightning": "pytorch-lightning",
    "sentence_transformers": "sentence-transformers",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "umap": "umap-learn",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "yaml": "pyyaml",
}

Trouble = tuple[str, str]
Match = re.Match[str]


def find(exit_code: int, lines: Sequence[str]) -> Trouble | None:
    """Return the reason and fix of a known error in these lines; of several matches of a pattern, the last."""
    for codes, pattern, answer in _TABLE:
        for line in reversed(lines):
            if (not codes or exit_code in codes) and (match := pattern.search(line)):
                return answer(match)
    return None


def _missing_module(match: Match) -> Trouble:
    name = match[1]
    package = _PACKAGES.get(name.split(".")[0], name.split(".")[0])
    return _("The module `{name}` is missing.").format(name=name), _(
        "Add --requirement {package}, or a line to requirements.txt. "
        "A file of yours: is it in the folder? See --dry-run."
    ).format(package=package)


def _no_input(match: Match) -> Trouble:
    return _("The script reads standard input, which is empty in a job (input() raised EOFError)."), _(
        "Pass the value as a hyperparameter: --hp NAME=VALUE."
    )


def _no_command(match: Match) -> Trouble:
    return _("Command `{name}` not found.").format(name=match[1]), _(
        "Check its spelling; a program of your folder is called ./{name}, a package's needs --requirement."
    ).format(name=match[1])


def _no_script(match: Match) -> Trouble:
    name = match[1].rpartition("/")[2]
    return _("The script `{name}` is not in the folder that was packed.").format(name=name), _(
        "Is it left out? See what is packed with --dry-run."
    )


def _no_gpu_memory(match: Match) -> Trouble:
    said = match[1][:200].strip(" .") + "."
    return _("Out of memory on the GPU: {said}").format(said=said), _(
        "Use a smaller batch or model, or a larger instance type; "
        "another process may hold the GPU's memory: nvidia-smi."
    )


def _no_memory(match: Match) -> Trouble:
    return _("Out of memory."), _("Use a smaller batch or model, or a larger instance type.")


def _no_shared_memory(match: Match) -> Trouble:
    return _("Too little shared memory (/dev/shm) for the data loader's workers."), _(
        "Use fewer workers (num_workers=0), or a machine or container with more shared memory."
    )


def _disk_full(match: Match) -> Trouble:
    return _("The disk is full, or a quota is used up."), _(
        "Make room: jobs that are not needed go with %pai delete ID; write fewer checkpoints."
    )


def _gpu_build(match: Match) -> Trouble:
    return _("The framework was not built for this GPU: {said}.").format(said=match[0]), _(
        "Install a build of it for this GPU's generation, as its own page of installation says."
    )


def _old_driver(match: Match) -> Trouble:
    return _("The NVIDIA driver of this machine is older than the CUDA that the framework was built with."), _(
        "Update the driver, or install a build of the framework for an older CUDA; nvidia-smi says what the driver can."
    )


def _no_cuda_build(match: Match) -> Trouble:
    return _("PyTorch is installed without CUDA, and the script asks for a GPU."), _(
        'Install a build of it with CUDA, or use torch.device("cuda" if torch.cuda.is_available() else "cpu").'
    )


def _gpu_checkpoint(match: Match) -> Trouble:
    return _("A checkpoint that was saved on a GPU is loaded where there is none."), _(
        'Load it with torch.load(…, map_location="cpu").'
    )


def _no_gpu(match: Match) -> Trouble:
    return _("No GPU is available to the job: {said}.").format(said=match[0]), _(
        "Run it where there is one, with --gpu or --instance-type on backends that have them, or let it use the CPU."
    )


def _gpu_index(match: Match) -> Trouble:
    return _("An assertion failed on the GPU (device-side assert)."), _(
        "Often a label or index out of range. --env CUDA_LAUNCH_BLOCKING=1 shows the line, as does a run on the CPU."
    )


def _gpu_network(match: Match) -> Trouble:
    return _("The GPUs or nodes could not communicate (NCCL)."), _(
        "--env NCCL_DEBUG=INFO says why; often a process had failed before: look further up in the log."
    )


def _no_library(match: Match) -> Trouble:
    fix = _("Install the system's package that has it, or a build of the Python package that brings it along.")
    if match[1].startswith("libGL"):
        fix = _("Use opencv-python-headless in place of opencv-python: it needs no display.")
    elif re.match(r"lib(cu|nv)", match[1]):
        fix = _("It is part of CUDA: install the build of the framework that brings it along, or one for the CPU.")
    return _("The shared library `{name}` is missing.").format(name=match[1]), fix


def _no_permission(match: Match) -> Trouble:
    path = match[1] or match[2] or ""
    return _("Permission denied: {path}").format(path=path), _(
        "A job writes to its own folder and to PAI_OUTPUT_…; is a script executable? chmod +x …"
    )


def _no_file(match: Match) -> Trouble:
    path = match[1]
    fix = _("Check the path on the machine where the job ran.")
    if not path.startswith("/") or path.startswith("/ml/"):
        fix = _(
            "Code is packed from the notebook's folder: see --dry-run. "
            "Data comes by --input NAME=PATH, as PAI_INPUT_NAME."
        )
    return _("File `{path}` not found.").format(path=path[-150:]), fix


def _no_network(match: Match) -> Trouble:
    return _("A server could not be reached: {said}.").format(said=match[0]), _(
        "Has the machine of the job a network, or needs it a proxy (--env HTTPS_PROXY=…)? Else bring data by --input."
    )


def _refused(match: Match) -> Trouble:
    return _("A connection was refused: nothing listens at that address."), _(
        "Is the server that the script talks to running, and reachable from the machine of the job?"
    )


def _address_in_use(match: Match) -> Trouble:
    return _("A port of the script is in use by another job or program."), _(
        "Choose another port, or 0 for any that is free; torchrun takes --rdzv-endpoint=localhost:0."
    )


def _bad_arguments(match: Match) -> Trouble:
    said = match[1]
    options = re.findall(r"(?:^|[\s,/])--?([A-Za-z][\w-]{0,60})", said)
    fix = _("Hyperparameters are passed as --NAME VALUE: compare --hp with what the script takes.")
    if options and "required" in said:
        fix = _("Give it: --hp {name}=VALUE").format(name=options[-1])
    elif options:
        fix = _("Check the hyperparameter `{name}` (--hp {name}=…) against what the script takes.").format(
            name=options[0]
        )
    return _("The script does not take these arguments: {said}").format(said=said), fix


Row = tuple[tuple[int, ...], re.Pattern[str], Callable[[Match], Trouble]]


def _row(pattern: str, answer: Callable[[Match], Trouble], *codes: int) -> Row:
    return codes, re.compile(pattern), answer


# Checked in this order. No pattern has two adjacent repetitions that match the same characters.
_TABLE: tuple[Row, ...] = (
    _row(r"(?:ModuleNotFound|Import)Error: No module named '?([\w.]{1,200})", _missing_module),
    _row(r"(?:EOFError: EOF when reading a line|StdinNotImplementedError)", _no_input),
    _row(r"(?:^|[\s:])([^\s:]{1,200}): (?:command )?not found$", _no_command, 127),
    _row(r"can't open file '([^']{1,1000})': \[Errno 2\]", _no_script),
    _row(r"CUDA out of memory\.? ?(.*)", _no_gpu_memory),
    _row(r"OOM when allocating (.*)", _no_gpu_memory),
    _row(r"(CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED)", _no_gpu_memory),
    _row(r"MemoryError\b|OutOfMemoryError|Cannot allocate memory|std::bad_alloc|DefaultCPUAllocator", _no_memory),
    _row(r"shared memory \(shm\)|out of shared memory|unable to (?:open|mmap) shared memory", _no_shared_memory),
    _row(r"No space left on device|Disk quota exceeded", _disk_full),
    _row(r"no kernel image is available|is not compatible with the current PyTorch installation", _gpu_build),
    _row(r"driver version is insufficient|NVIDIA driver on your system is too old", _old_driver),
    _row(r"Torch not compiled with CUDA enabled", _no_cuda_build),
    _row(r"Attempting to deserialize object on a CUDA device", _gpu_checkpoint),
    _row(
        r"Found no NVIDIA driver|No CUDA GPUs are available|no CUDA-capable device is detected|libcuda\.so\.1|"
        r"invalid device ordinal|CUDA unknown error",
        _no_gpu,
    ),
    _row(r"device-side assert triggered", _gpu_index),
    _row(r"NCCL (?:error|Error|WARN)|ncclInternalError|ncclSystemError|ncclUnhandled|DistBackendError", _gpu_network),
    _row(
        r"(lib[\w.+-]{1,100}\.so[\w.]{0,20}): cannot open shared object file",
        _no_library,
    ),
    _row(r"Could not load dynamic library '(lib[\w.+-]{1,100})'", _no_library),
    _row(r"PermissionError: .*'([^']{1,500})'$|(?:^|: )([^\s:]{1,500}): Permission denied$", _no_permission),
    _row(r"FileNotFoundError: .*No such file or directory: '([^']{1,1000})'", _no_file),
    _row(
        r"Name or service not known|Temporary failure in name resolution|Could not resolve host|getaddrinfo failed|"
        r"Network is unreachable|nodename nor servname",
        _no_network,
    ),
    _row(r"Address already in use|EADDRINUSE", _address_in_use),
    _row(r"ConnectionRefusedError|Connection refused", _refused),
    _row(r": error: (.{0,200}(?:argument|option|choice|command|expected).{0,300})$", _bad_arguments, 2),
    _row(r"^Error: (.*(?:[Oo]ption|[Aa]rgument).{0,300})$", _bad_arguments, 2),
)
