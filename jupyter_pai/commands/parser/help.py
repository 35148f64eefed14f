"""The help texts beside those of the arguments: the groups of verbs, and examples of each verb.

An example is a text, and a command line without its program. Lines for jobs use the names `last` and `baseline`.
"""

from __future__ import annotations

from ...client.parameters import OF_NOTEBOOKS
from ...core.i18n import N_, _

_Examples = tuple[tuple[str, str], ...]

# The verbs of each group, in the order of `--help`.
GROUPS: dict[str, str] = {
    N_("submit jobs"): "submit form inspect rerun workflow",
    N_("view jobs"): "list show logs metrics tensorboard outputs download diff models terminal",
    N_("manage jobs"): "stop label pin unpin delete prune disk adopt",
    N_("data in storages"): "ls put get mv rm mkdir",
    N_("platforms and settings"): "profile instances images secret doctor tutorial",
}

OVERVIEW: _Examples = (
    (N_("Train with a script, and print the log until the job ends"), "submit train.py --hp lr=0.01 --wait"),
    (N_("List the active jobs"), "list --status queued --status starting --status running"),
    (N_("Print the log of the last job as it grows"), "logs --follow"),
)

CELL: _Examples = (
    (N_("Pass a hyperparameter"), "--hp lr=0.01"),
    (N_("Include the code of all cells above, and print the log"), "--with-above --wait"),
    (N_("Run on a platform with a GPU"), "--profile cluster --gpu 1 --yes"),
    (N_("Gather a step that runs if another one was good enough"), "--step publish --when 'train.accuracy > 0.9'"),
)

EXAMPLES: dict[str, _Examples] = {
    "submit": (
        (N_("Train with a script, and print the log until the job ends"), "submit train.py --hp lr=0.01 --wait"),
        (
            N_("Run a command with a folder as the input `train`"),
            "submit --command 'python train.py' --input train=data/",
        ),
        (
            N_("Show what a submit to a platform would send, and its cost"),
            "submit train.py --profile cluster --gpu 1 --dry-run",
        ),
    ),
    "form": ((N_("Show the form of a script"), "form train.py"),),
    "inspect": (
        (N_("List the hyperparameters of a script"), "inspect train.py"),
        (N_("Check a hyperparameter before a submit"), "inspect train.py --hp lr=0.01"),
    ),
    "rerun": (
        (N_("Run the last job again with another hyperparameter"), "rerun last --hp lr=0.001 --wait"),
        (N_("Continue from the checkpoints of a job"), "rerun baseline --resume --max-run-time 2h"),
    ),
    "workflow": (
        (N_("Check a workflow without running it"), "workflow run workflow.yaml --dry-run"),
        (N_("Run a workflow and wait for its end"), "workflow run workflow.yaml --wait"),
        (N_("Run the steps of the last workflow again that did not succeed"), "workflow resume last"),
    ),
    "list": (
        (N_("List the active jobs"), "list --status queued --status starting --status running"),
        (N_("Sort jobs by a hyperparameter"), "list --name baseline --sort hp:lr --order desc"),
    ),
    "show": (
        (N_("Show the last job"), "show"),
        (N_("Print a job with its spec and provenance"), "show baseline --json"),
    ),
    "logs": (
        (N_("Print the log of the last job as it grows"), "logs --follow"),
        (N_("Print the end of a job's log"), "logs baseline --tail 50"),
    ),
    "metrics": (
        (N_("Print one metric of the last job"), "metrics last loss"),
        (
            N_("Print at most 100 points of each metric, and of CPU and memory"),
            "metrics baseline --points 100 --system",
        ),
    ),
    "tensorboard": (
        (N_("Compare two jobs"), "tensorboard baseline last"),
        (N_("List the running TensorBoards"), "tensorboard"),
        (N_("Stop all TensorBoards"), "tensorboard --stop"),
    ),
    "outputs": (
        (N_("List the files of the last job"), "outputs"),
        (N_("List the files of one channel"), "outputs baseline model"),
    ),
    "download": (
        (N_("Copy the trained model"), "download last trained/"),
        (
            N_("Copy one file of another channel"),
            "download last checkpoints results/ --file step-1.txt --overwrite",
        ),
    ),
    "diff": ((N_("Compare two jobs"), "diff baseline last"),),
    "models": (
        (N_("Register the model of the last job"), "models register classifier --job last"),
        (N_("List the models of the last job"), "models list --job last"),
        (N_("Delete a version without a prompt; its files stay"), "models delete classifier --version 0.1.0 --yes"),
    ),
    "terminal": (
        (N_("Open a terminal in the last job"), "terminal last"),
        (N_("Print the link or command that opens it"), "terminal last --link"),
    ),
    "stop": ((N_("Stop the last job"), "stop last"), (N_("Stop several jobs"), "stop baseline last")),
    "label": (
        (N_("Set labels"), "label baseline team=vision stage=test"),
        (N_("Remove a label"), "label baseline --remove stage"),
        (N_("Show the labels"), "label baseline"),
    ),
    "pin": ((N_("Protect two jobs from deletion"), "pin baseline last"),),
    "unpin": ((N_("Permit deletion again"), "unpin baseline last"),),
    "delete": ((N_("Delete a finished job without a prompt"), "delete baseline --yes"),),
    "prune": (
        (N_("Show the failed jobs older than 30 days"), "prune --older-than 30d --status failed --dry-run"),
        (N_("Delete all but the newest 20 finished jobs"), "prune --keep 20 --yes"),
    ),
    "disk": ((N_("Show disk usage"), "disk"),),
    "adopt": (
        (N_("List the jobs of the account"), "adopt --profile cluster --limit 50"),
        (N_("Import a job by its ID on the platform"), "adopt job-1234 --profile cluster"),
    ),
    "ls": (
        (N_("List a folder"), "ls /shared/data/"),
        (N_("List all files below a local folder"), "ls data/ --recursive"),
    ),
    "put": ((N_("Upload a folder"), "put data/ /shared/data/"),),
    "get": ((N_("Download a folder"), "get /shared/data/ downloads/"),),
    "mv": (
        (N_("Rename a file"), "mv /shared/data/train.csv /shared/data/old.csv"),
        (N_("Move a folder"), "mv /shared/data/ /shared/archive/"),
    ),
    "rm": ((N_("Remove a folder without a prompt"), "rm /shared/archive/ --yes"),),
    "mkdir": ((N_("Create a folder"), "mkdir /shared/data/"),),
    "profile": (
        (N_("List the profiles"), "profile list"),
        (N_("Set the time limit of a profile's jobs, in seconds"), "profile set local max_run_time=3600"),
        (N_("Select the profile that is used by default"), "profile default local"),
    ),
    "instances": ((N_("List the instance types of a platform"), "instances --profile cluster"),),
    "images": (
        (N_("List the newest images for PyTorch with GPUs"), "images PyTorch --version latest --gpu --profile cluster"),
    ),
    "secret": (
        (N_("Store a secret; you are prompted for its value"), "secret set HF_TOKEN"),
        (N_("List the names of the stored secrets"), "secret list"),
    ),
    "doctor": ((N_("Check all profiles"), "doctor"), (N_("Check one profile"), "doctor --profile cluster")),
    "tutorial": ((N_("Copy the tutorial into a new folder"), "tutorial pai-tutorial"),),
}


def show_examples(prog: str, examples: _Examples) -> str:
    """Return the lines of `--help` for these examples of a program: ``jupyter pai``, ``%pai``, ``%%pai_train``."""
    lines = []
    for text, line in examples:
        program = "%pai" if line.startswith(OF_NOTEBOOKS) else prog
        lines += [_(text), f"  {program} {line}"]
    return "\n".join(lines)
