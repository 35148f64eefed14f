"""Fifty launch lines of scripts that run, and some of scripts that exit with a usage error. Each is also run."""

from __future__ import annotations

from textwrap import indent
from typing import NamedTuple

A = "import argparse\np = argparse.ArgumentParser()\n"
END = "a = p.parse_args()\n"
REQUIRED = f"{A}p.add_argument('--lr', type=float, required=True)\n"
BLANKS = "    "
INDENTED = indent(REQUIRED + END, BLANKS)
MAIN = "\nif __name__ == '__main__':\n    main()\n"


class Launch(NamedTuple):
    """A script with its hyperparameters and arguments."""

    text: str
    hyperparameters: dict[str, str] = {}
    args: tuple[str, ...] = ()


RUNNING = [
    Launch("print('no options')", {"lr": "0.1"}, ("anything", "--else")),
    Launch(f"{REQUIRED}{END}", {"lr": "0.1"}),
    Launch(f"{REQUIRED}{END}", {}, ("--lr", "0.1")),
    Launch(f"{REQUIRED}{END}", {}, ("--lr=0.1",)),
    Launch(f"{REQUIRED}{END}", {"l": "0.1"}),
    Launch(f"{REQUIRED}{END}", {}, ("--l", "0.1")),
    Launch(f"{REQUIRED}{END}", {}, ("--help",)),
    Launch(f"{REQUIRED}{END}", {}, ("-h",)),
    Launch(f"{REQUIRED}", {}),
    Launch(f"{REQUIRED}a = p.parse_args(['--lr', '1'])\n", {}),
    Launch(f"{REQUIRED}a, rest = p.parse_known_args(['--lr', '1'])\n", {"other": "1"}),
    Launch(f"{A}p.add_argument('--lr', type=float)\na, rest = p.parse_known_args()\n", {"other": "1"}, ("--more",)),
    Launch(f"{A}p.add_argument('-l', '--lr', type=float, required=True)\n{END}", {}, ("-l", "0.1")),
    Launch(f"{A}p.add_argument('-l', type=float, required=True)\n{END}", {}, ("-l0.1",)),
    Launch(f"{A}p.add_argument('--amp', action='store_true')\n{END}", {}, ("--amp",)),
    Launch(f"{A}p.add_argument('-v', action='count')\n{END}", {}, ("-vvv",)),
    Launch(f"{A}p.add_argument('--amp', action=argparse.BooleanOptionalAction)\n{END}", {}, ("--no-amp",)),
    Launch(f"{A}p.add_argument('--version', action='version', version='1')\n{END}", {}, ("--version",)),
    Launch(f"{A}p.add_argument('data')\n{END}", {}, ("data.csv",)),
    Launch(f"{A}p.add_argument('data', nargs='?')\n{END}"),
    Launch(f"{A}p.add_argument('data', nargs='*')\n{END}", {}, ("a", "b", "c")),
    Launch(f"{A}p.add_argument('data', nargs='+')\np.add_argument('--lr')\n{END}", {}, ("a", "b", "--lr", "1")),
    Launch(f"{A}p.add_argument('data')\np.add_argument('--lr', type=float)\n{END}", {"lr": "1"}, ("--", "-x")),
    Launch(f"{A}p.add_argument('data')\n{END}", {}, ("-3",)),
    Launch(f"{A}p.add_argument('--sizes', nargs='+', type=int, required=True)\n{END}", {}, ("--sizes", "1", "2")),
    Launch(f"{A}p.add_argument('--pair', nargs=2, type=int)\n{END}", {}, ("--pair", "1", "2")),
    Launch(f"{A}p.add_argument('--resume', nargs='?', const='last')\n{END}", {}, ("--resume",)),
    Launch(f"{A}p.add_argument('--opt', choices=['adam', 'sgd'], required=True)\n{END}", {"opt": "sgd"}),
    Launch(f"{A}p.add_argument('--size', type=lambda text: int(text, 16))\n{END}", {"size": "ff"}),
    Launch(f"{A}p.add_argument('rest', nargs=argparse.REMAINDER)\n{END}", {}, ("a", "--b", "c")),
    Launch(
        f"import sys\n{A}s = p.add_subparsers(dest='verb')\nt = s.add_parser('train')\n"
        f"t.add_argument('--lr', required=True)\ne = s.add_parser('eval')\n{END}",
        {},
        ("eval",),
    ),
    Launch(f"import os\n{A}if os.environ.get('NEVER'):\n    p.add_argument('--lr', required=True)\n{END}"),
    Launch(f"import os\n{A}p.add_argument('--lr', required='HOME' not in os.environ)\n{END}"),
    Launch(f"{REQUIRED}import sys\nif len(sys.argv) > 1:\n    a = p.parse_args()\n"),
    Launch(f"def main():\n    import os\n    if os.environ.get('PATH'):\n        return\n{INDENTED}{MAIN}"),
    Launch(f"{REQUIRED}def later():\n    p.parse_args()\n", {}),
    Launch(f"{REQUIRED}try:\n    p.parse_args()\nexcept SystemExit:\n    print('interactive')\n"),
    Launch(f"{REQUIRED}try:\n    p.parse_args()\nexcept:\n    pass\n"),
    Launch("import sys\nsys.exit(0)\n" + f"{REQUIRED}{END}"),
    Launch(f"{REQUIRED}import os\nos.environ.get('PATH') or p.parse_args()\n"),
    Launch(f"{A}q = argparse.ArgumentParser()\nq.add_argument('--lr', required=True)\n{END}"),
    Launch("import sys\nprint(sys.argv)", {"lr": "1"}, ("lr=0.1", "+model=big")),
    Launch(f"{A}p.add_argument('--set', action='append')\n{END}", {}, ("--set", "a=1", "--set", "b=2")),
    Launch(f"p = __import__('argparse').ArgumentParser(fromfile_prefix_chars='@')\np.add_argument('--lr')\n{END}",
           {}, ("--lr", "1")),
    Launch("import click\n@click.command()\n@click.option('--lr', type=float, required=True)\n"
           f"def main(lr): pass\n{MAIN}", {"lr": "0.1"}),
    Launch("import click\n@click.command()\n@click.option('--lr', type=float, required=True, envvar='PATH_OR_LR')\n"
           "def main(lr): pass\nimport os; os.environ['PATH_OR_LR'] = '1'\n" + MAIN),
    Launch("import click\n@click.group()\ndef main(): pass\n@main.command()\n@click.option('--lr', required=True)\n"
           f"def train(lr): pass\n@main.command()\ndef show(): pass\n{MAIN}", {}, ("show",)),
    Launch("import click\n@click.command()\n@click.argument('path')\n@click.option('--amp/--no-amp')\n"
           f"def main(path, amp): pass\n{MAIN}", {}, ("a.csv", "--no-amp")),
    Launch("import typer\ndef main(path: str, lr: float = 0.1): pass\ntyper.run(main)\n", {"lr": "1"}, ("a.csv",)),
    Launch("import typer\napp = typer.Typer()\n@app.command()\ndef train(lr: float): pass\n@app.command()\n"
           "def show(): pass\napp()\n", {}, ("show",)),
]  # fmt: skip

REFUSED = [
    (Launch(f"{REQUIRED}{END}"), "hyperparameters.lr"),
    (Launch(f"{REQUIRED}{END}", {"lr": "fast"}), "hyperparameters.lr"),
    (Launch(f"{REQUIRED}{END}", {"lr": "1", "epochs": "3"}), "hyperparameters.epochs"),
    (Launch(f"{REQUIRED}{END}", {"lr": "1"}, ("--epochs", "3")), "args"),
    (Launch(f"{REQUIRED}{END}", {}, ("--lr", "fast")), "args"),
    (Launch(f"{A}p.add_argument('--amp', action='store_true')\n{END}", {"amp": "true"}), "hyperparameters.amp"),
    (Launch(f"{A}p.add_argument('--amp', action='store_true')\n{END}", {}, ("--amp=true",)), "args"),
    (Launch(f"{A}p.add_argument('--opt', choices=['adam', 'sgd'])\n{END}", {"opt": "rms"}), "hyperparameters.opt"),
    (Launch(f"{A}p.add_argument('--opt', choices=['adam', 'sgd'])\n{END}", {}, ("--opt", "rms")), "args"),
    (Launch(f"{A}p.add_argument('data')\n{END}"), "args"),
    (Launch(f"{A}p.add_argument('data')\np.add_argument('out')\n{END}", {}, ("a",)), "args"),
    (Launch(f"def args():\n{indent(REQUIRED, BLANKS)}    return p.parse_args()\ndef main():\n    a = args()\n{MAIN}"),
     "hyperparameters.lr"),
    (Launch(f"{REQUIRED}try:\n    {END}except ValueError:\n    pass\n"), "hyperparameters.lr"),
    (Launch(f"import sys\n{REQUIRED}def main(a):\n    return 0\nsys.exit(main(p.parse_args()))\n"),
     "hyperparameters.lr"),
    (Launch("import click\n@click.command()\n@click.option('--lr', type=float, required=True)\n"
            f"def main(lr): pass\n{MAIN}"), "hyperparameters.lr"),
    (Launch("import typer\ndef main(path: str, lr: float = 0.1): pass\ntyper.run(main)\n"), "args"),
]  # fmt: skip
