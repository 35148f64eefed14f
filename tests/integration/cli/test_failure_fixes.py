"""The fixes of failed jobs: each one is done as written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ...conftest import script
from ...support.offers import Cli, Offer, take

FILES = {
    "input.py": "print(int(input()))",
    "number.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int)\np.parse_args()",
    "bash.sh": "[[ 1 == 1 ]] && echo yes\n",
    "fixed.sh": "#!/bin/bash\n[[ 1 == 1 ]] && echo yes\n",
    "tools.sh": 'conda() { echo "$@"; }\n',
    "interpreter.py": "#!/opt/none/python\nprint('started')",
    "env.py": "#!/usr/bin/env python3\nprint('started')",
    "data.py": "open(''.join(['ro', 'ws.csv']))",
    "channel.py": "import os\nassert open(os.environ['PAI_INPUT_ROWS']).read() == 'a,b'",
    "port.py": "import socket\nfirst = socket.create_server(('', 0))\nsocket.create_server(first.getsockname())",
    "any_port.py": "import socket\nfirst = socket.create_server(('', 0))\nsocket.create_server(('', 0))",
    "../data/rows.csv": "a,b",
}
OFFERS = {
    "standard input": Offer("submit input.py", "--hp NAME=VALUE", ["submit number.py --hp n=3 --wait"]),
    "script of bash": Offer(
        "submit --command 'sh bash.sh' --source .",
        "#!/bin/bash as the first line of the script and run it as ./SCRIPT",
        ["! chmod +x fixed.sh", "submit --command ./fixed.sh --source . --wait"],
    ),
    "command of bash": Offer(
        "submit --command '[[ 1 == 1 ]] && echo yes' --source .",
        "run the command with: bash -c '…'",
        ["""submit --command "bash -c '[[ 1 == 1 ]] && echo yes'" --source . --wait"""],
    ),
    "shell function": Offer(
        "submit --command 'conda activate x' --source .",
        "first load the file that defines `conda`: . FILE",
        ["submit --command '. ./tools.sh; conda activate x' --source . --wait"],
    ),
    "own program": Offer(
        "submit --command env.py --source .",
        "Call a program of your folder as ./env.py",
        ["! chmod +x env.py", "submit --command ./env.py --source . --wait"],
    ),
    "program without permission": Offer(
        "submit --command ./env.py --source .",
        "chmod +x",
        ["! chmod +x env.py", "{line} --wait"],
    ),
    "interpreter": Offer(
        "submit --command 'chmod +x *.py; ./interpreter.py' --source .",
        "`./interpreter.py`, or the interpreter in its first line, is missing.",
        ["submit --command 'chmod +x *.py; ./env.py' --source . --wait"],
    ),
    "excluded script": Offer(
        "submit --command 'python env.py' --source . --exclude env.py --yes",
        "Check with --dry-run whether it is excluded.",
        ["{line} --dry-run", "submit --command 'python env.py' --source . --wait"],
    ),
    "data": Offer(
        "submit data.py",
        "Pass data with --input NAME=PATH, and read it from PAI_INPUT_NAME.",
        ["submit data.py --dry-run", "submit channel.py --input rows=../data/rows.csv --wait"],
    ),
    "used port": Offer("submit port.py", "or 0 for any free one", ["submit any_port.py --wait"]),
    "unknown argument": Offer("submit number.py --hp m=3 --anyway", "(--hp m=…)", ["submit number.py --hp n=3 --wait"]),
    "full disk": Offer(
        "submit --command 'echo OSError: No space left on device; exit 1' --source .",
        "jupyter pai delete ID",
        ["delete last --yes"],
    ),
}


@pytest.mark.slow("jobs", first=2)
@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS)
def test_fix_of_a_failed_job_works_as_written(cli: Cli, folder: Path, offer: Offer) -> None:
    for name, text in FILES.items():
        script(folder, text, name)
    waiting = replace(
        offer, line=f"{offer.line} --wait", then=[line.replace("{line}", offer.line) for line in offer.then], code=1
    )
    take(cli, waiting, folder)
