"""Scripts that declare hyperparameters, and their declarations according to argparse, click and typer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

__all__ = ["ARGPARSE", "CLICK", "TYPER", "declared", "run"]

ARGPARSE = {
    "plain": """
        import argparse

        DEFAULT_LR = 1e-3
        MODELS = {"resnet": 1, "vit": 2}

        def main():
            parser = argparse.ArgumentParser(description="Train.")
            parser.add_argument("-lr", "--learning-rate", dest="lr", type=float, default=DEFAULT_LR, metavar="X",
                                help="step size (%(default)s), 100%%")
            parser.add_argument("--epochs", type=int, default=-3)
            parser.add_argument("--batch_size", "-b", type=int, required=True, help="rows " "at once")
            parser.add_argument("--model", choices=list(MODELS), default="vit")
            parser.add_argument("--depth", type=int, choices=range(3), default=1 << 1)
            parser.add_argument("--betas", nargs=2, type=float, default=[0.9, 0.999])
            parser.add_argument("--layers", nargs="+", type=int, default=(1, 2))
            parser.add_argument("--name", default=f"run-{DEFAULT_LR}")
            parser.add_argument("--seed", default=7)
            parser.add_argument("--verbose", action="store_true")
            parser.add_argument("--no-cuda", action="store_false", dest="cuda")
            parser.add_argument("-v", action="count", default=0)
            parser.add_argument("--tag", action="append", default=[])
            parser.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True, help="half precision")
            parser.add_argument("--hidden", help=argparse.SUPPRESS)
            parser.add_argument("--version", action="version", version="1")
            parser.add_argument("data", nargs="?", default="data")
            args = parser.parse_args()
            print(vars(args))

        if __name__ == "__main__":
            main()
        """,
    "groups": """
        from argparse import ArgumentParser as Parser, ArgumentDefaultsHelpFormatter
        import sys
        from pathlib import Path

        class Options:
            WIDTH = 64

            def __init__(self):
                self.parser = Parser(prog=sys.argv[0], formatter_class=ArgumentDefaultsHelpFormatter)
                group = self.parser.add_argument_group("model")
                group.add_argument("--width", type=int, default=Options.WIDTH * 2)
                either = self.parser.add_mutually_exclusive_group()
                either.add_argument("--adam", action="store_const", const="adam", dest="optimizer")
                either.add_argument("--optimizer", default="sgd")
                self.parser.add_argument("--out", type=Path, default=Path("runs") / "one")
                self.parser.add_argument("--beta", type=lambda text: float(text) * 2, default=0.5)
                self.parser.set_defaults(optimizer="lamb", width=32)

            def parse(self):
                return self.parser.parse_args(sys.argv[1:])

        print(vars(Options().parse()))
        """,
    "subparsers": """
        import argparse

        def add_common(parser):
            parser.add_argument("--lr", type=float, default=2 ** -4)

        def cli(argv=None):
            top = argparse.ArgumentParser(allow_abbrev=False)
            subs = top.add_subparsers(dest="what")
            fit = subs.add_parser("fit")
            fit.add_argument("--steps", type=int, default=10_000)
            add_common(fit)
            test = subs.add_parser("test")
            test.add_argument("--ckpt", required=True)
            top.set_defaults(what="fit")
            return top.parse_args(argv)

        print(vars(cli()))
        """,
    "parents": """
        import argparse

        def str2bool(text):
            return text.lower() in ("yes", "true")

        base = argparse.ArgumentParser(add_help=False)
        base.add_argument("--seed", type=int, default=0x10)
        parser = argparse.ArgumentParser(parents=[base])
        parser.add_argument("--pretrained", type=str2bool, default=True)
        parser.add_argument("--wd", type=float, default=float("inf"), help="weight "
                            "decay")
        parser.add_argument("--sizes", type=int, nargs="*", default=[n for n in (1, 2)])
        args = parser.parse_args()
        print(vars(args))
        """,
}

CLICK = {
    "command": """
        import click

        DEFAULT = 0.1

        def common(function):
            return click.option("--seed", type=int, default=3, help="the seed")(function)

        @click.command()
        @click.option("--lr", "-l", "rate", default=DEFAULT, show_default=True, help="step size")
        @click.option("--epochs", default=5)
        @click.option("--name", required=True)
        @click.option("--opt", type=click.Choice(["adam", "sgd"]), default="adam")
        @click.option("--fast", is_flag=True, help="be quick")
        @click.option("--shuffle/--no-shuffle", default=True)
        @click.option("--tag", multiple=True)
        @click.option("--size", nargs=2, type=int)
        @click.option("-v", "verbosity", count=True)
        @click.option("--hidden-size", type=click.IntRange(1, 9), default=4)
        @click.argument("data", default="data")
        @common
        def main(**options):
            print(options)

        if __name__ == "__main__":
            main()
        """,
    "group": """
        from click import group, option

        @group()
        @option("--debug/--no-debug", default=False)
        def cli(debug):
            pass

        @cli.command()
        @option("--lr", type=float, default=1.5)
        def fit(lr):
            print(lr)

        if __name__ == "__main__":
            cli()
        """,
}

TYPER = {
    "run": """
        from enum import Enum
        from typing import Annotated, Optional
        import typer

        class Model(str, Enum):
            small = "s"
            large = "l"

        def main(
            data: str,
            rate: float = 0.1,
            epochs: Annotated[int, typer.Option("--epochs", "-e", help="how often")] = 3,
            model: Model = Model.small,
            batch_size: int = typer.Option(32, help="rows at once"),
            name: str = typer.Option(..., "--run-name"),
            fast: bool = False,
            note: Optional[str] = None,
        ):
            print(data, rate)

        if __name__ == "__main__":
            typer.run(main)
        """,
    "app": """
        import typer

        app = typer.Typer()

        @app.command()
        def train(lr: float = 1e-3, steps: int = typer.Option(10, "--steps")):
            print(lr)

        if __name__ == "__main__":
            app()
        """,
}

# Runs a script up to the place where its command line is read, and prints what it declared.
_ARGPARSE = """
import argparse, json, runpy, sys

def tell(parser):
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in dict.fromkeys(action.choices.values()):
                found += tell(inner)
        elif not isinstance(action, (argparse._HelpAction, argparse._VersionAction)):
            default = action.default
            found.append({
                "words": action.option_strings or [action.dest],
                "type": getattr(action.type, "__name__", None) or ("str" if action.nargs != 0 else None),
                "takes": action.nargs != 0, "many": isinstance(action.nargs, int) or action.nargs in ("*", "+"),
                "default": default if isinstance(default, (str, int, float, list, tuple)) else default and str(default),
                "required": action.required, "choices": [str(c) for c in action.choices or ()],
                "help": (action.help or "").replace("%(default)s", str(default)).replace("%%", "%")
                        if action.help != argparse.SUPPRESS else "",
            })
    return found

def stop(parser, *args, **options):
    print(json.dumps(tell(parser)))
    raise SystemExit

argparse.ArgumentParser.parse_args = stop
sys.argv = [sys.argv[1]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
_CLICK = """
import json, runpy, sys
space = runpy.run_path(sys.argv[1], run_name="script")
if "app" in space or "typer" in space:
    import typer
    if "app" not in space:
        space["app"] = typer.Typer()
        space["app"].command()(space["main"])
    command = typer.main.get_command(space["app"])
else:
    command = space.get("cli") or space["main"]

def tell(command):
    found = []
    for p in command.params:
        if p.name in ("install_completion", "show_completion"):
            continue
        is_option = p.param_type_name == "option"
        if hasattr(p, "type_descriptor"):  # typer's own
            kind = p.type_descriptor.annotation
            choices = [member.value for member in kind] if hasattr(kind, "__members__") else []
            name, default = "str" if choices else kind.__name__, getattr(p.default, "value", p.default)
        else:
            name, choices = p.type.name, [str(choice) for choice in getattr(p.type, "choices", ())]
            default = p.to_info_dict().get("default")
        found.append({
            "words": [*p.opts, *p.secondary_opts] if is_option else [p.name],
            "type": name, "takes": not (is_option and (p.is_flag or p.count)), "many": p.multiple or p.nargs != 1,
            "default": default if isinstance(default, (str, int, float)) else None,
            "required": p.required, "choices": choices, "help": getattr(p, "help", "") or "",
        })
    for inner in getattr(command, "commands", {}).values():
        found += tell(inner)
    return found

print(json.dumps(tell(command)))
"""


def run(path: Path, *words: str) -> int:
    """Return a script's exit code."""
    return subprocess.run([sys.executable, path, *words], capture_output=True, check=False).returncode


def declared(library: str, text: str, folder: Path) -> list[dict[str, Any]]:
    """Run the script, and return the hyperparameters that the library has declared."""
    path = folder / "declares.py"
    path.write_text(dedent(text))
    driver = _ARGPARSE if library == "argparse" else _CLICK
    done = subprocess.run([sys.executable, "-c", driver, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))
