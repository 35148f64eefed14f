"""Hyperparameters declared by code: the parsed ones equal those at run time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import example, given, strategies as st

from jupyter_pai.core import contract
from jupyter_pai.core.errors import SourceError
from jupyter_pai.source import hyperparameters
from jupyter_pai.source.hyperparameters import Hyperparameter, Program

from ...support.fuzz import MANY
from ...support.hyperparameter_scripts import ARGPARSE, CLICK, TYPER, declared, run

SCRIPTS = [
    pytest.param(library, text, id=f"{library}-{name}")
    for library, table in (("argparse", ARGPARSE), ("click", CLICK), ("typer", TYPER))
    for name, text in table.items()
]
WORDS = {
    "integer": "int", "integer range": "int", "text": "str", "boolean": "bool", "str2bool": "bool", "choice": "str",
    "Path": "path",
}  # fmt: skip


def program(text: str, **modules: str) -> Program:
    """Return a script with modules beside it."""
    texts = {"train.py": text} | {f"{name}.py": code for name, code in modules.items()}
    result = {file: hyperparameters.parse(dedent(code), file) for file, code in texts.items()}
    for module in result.values():
        module.paths = {
            name: f"{name.lstrip('.')}.py" for name in module.imported if f"{name.lstrip('.')}.py" in result
        }
    return Program("train.py", result)


def read(text: str, **modules: str) -> dict[str, Hyperparameter]:
    return {one.name: one for one in hyperparameters.read(program(text, **modules))}


def parsed(line: str) -> Hyperparameter:
    """Return the one option that a line adds."""
    (one,) = read(f"import argparse\nparser = argparse.ArgumentParser()\n{line}\n").values()
    return one


def questions(text: str, **given: str) -> list[str]:
    code = program(text)
    return (
        [text for _name, text in hyperparameters.check_values(hyperparameters.read(code), given)]
        if hyperparameters.is_closed(code)
        else []
    )


def test_numeric_ranges_are_found_and_checked() -> None:
    code = """
    import click, typer

    @click.command()
    @click.option("--depth", type=click.IntRange(1, 10))
    @click.option("--rate", type=click.FloatRange(min=0, max=1, max_open=True))
    @click.option("--share", type=click.FloatRange(0, 1, clamp=True))
    def train(depth, rate, share): ...

    if __name__ == "__main__":
        train()
    """
    result = read(dedent(code))
    ranges = {name: (one.minimum, one.maximum) for name, one in result.items()}
    assert ranges == {"depth": ("1", "10"), "rate": ("0", None), "share": (None, None)}
    assert questions(dedent(code), depth="10", rate="7.5", share="9") == []
    assert questions(dedent(code), depth="11", rate="-0.1") == [
        "`depth`: `11` is out of the range in train.py, line 5: 1 to 10.",
        "`rate`: `-0.1` is out of the range in train.py, line 6: 0 or more.",
    ]
    one = parsed("parser.add_argument('--level', type=int, choices=range(1, 4))")
    assert (one.minimum, one.maximum, one.choices) == ("1", "3", ("1", "2", "3"))
    one = parsed("parser.add_argument('--seed', type=int, choices=range(1_000_000))")
    assert (one.minimum, one.maximum, one.choices) == ("0", "999999", ())
    one = parsed("parser.add_argument('--level', type=int, choices=range(1, 9, 2))")
    assert (one.minimum, one.maximum) == (None, None)
    app = "import typer\ndef main(size: int = typer.Option(4, min=2)): ...\ntyper.run(main)\n"
    assert (read(app)["size"].minimum, read(app)["size"].maximum) == ("2", None)


@pytest.mark.parametrize(("library", "text"), SCRIPTS)
def test_found_hyperparameters_equal_those_declared_at_run_time(library: str, text: str, tmp_path: Path) -> None:
    result = {one.name: one for one in hyperparameters.read(program(text))}
    real = {tuple(one["words"]): one for one in declared(library, text, tmp_path)}
    assert len(result) == len(real)
    for words, one in real.items():
        long = [word[2:] for word in words if word.startswith("--")] or [words[0].lstrip("-")]
        mine = result[long[0]]
        assert (mine.name, *mine.aliases) == tuple(long)
        assert mine.help == one["help"]
        assert mine.required == one["required"]
        assert list(mine.choices) == one["choices"]
        assert mine.origin == library
        assert (mine.form == "argument") == (not words[0].startswith("-"))
        assert (mine.form in ("option", "flag")) == any(word.startswith("--") for word in words)
        assert (mine.form == "flag") == (not one["takes"] and mine.form != "short")
        expected = WORDS.get(one["type"], one["type"])
        if one["takes"] and not one["many"] and mine.type not in ("", "list"):
            assert mine.type == expected
        if mine.default is not None or not one["many"]:
            assert mine.default == contract.text(one["default"])


@pytest.mark.slow("cases", first=7)
@pytest.mark.parametrize(("library", "text"), SCRIPTS)
@pytest.mark.parametrize(
    "given", ["lr", "seed", "epochs", "batch-size", "shuffle", "fast", "verbose", "nonsense", "data"]
)
def test_doubted_names_are_those_the_script_rejects(library: str, text: str, given: str, tmp_path: Path) -> None:
    """Each script is run with its required options and one additional name."""
    path = tmp_path / "train.py"
    path.write_text(dedent(text))
    needed = {one.name: "1" for one in read(text).values() if one.required and one.form == "option"}
    before = ["fit"] if "fit" in text else []
    before += ["x"] if library == "typer" and "data: str" in text else []
    needed.pop("ckpt", None)
    assert run(path, *before, *_words(needed)) == 0
    doubts = " ".join(questions(text, **{given: "1"}))
    # If positional arguments are declared, the value of a flag becomes one.
    swallowed = "takes no value" in doubts and "data" in read(text) and library != "typer"
    if given not in needed:
        assert run(path, *before, *_words(needed | {given: "1"})) == (2 if doubts and not swallowed else 0)


@pytest.mark.parametrize("name", "compileall dis gzip http.server pickletools tarfile zipapp".split())
def test_options_of_standard_library_programs_are_found(name: str) -> None:
    spec = find_spec(name)
    assert spec
    assert spec.origin
    text = Path(spec.origin).read_text("utf-8")
    environment = os.environ | {"COLUMNS": "300", "NO_COLOR": "1"}
    helped = subprocess.run(
        [sys.executable, spec.origin, "--help"], capture_output=True, text=True, check=True, env=environment
    ).stdout
    result = read(text).values()
    assert set(re.findall(r"(?<![\w-])--([\w-]+)", helped)) - {"help", "version"} == {
        name for one in result if one.form in ("option", "flag") for name in (one.name, *one.aliases)
    }
    assert questions(text, nonsense="1")
    assert run(Path(spec.origin), "--nonsense", "1") == 2


def _words(given: dict[str, str]) -> list[str]:
    return [word for name, value in given.items() for word in (f"--{name}", value)]


PLAIN = dedent(ARGPARSE["plain"])


@pytest.mark.parametrize(
    ("name", "value", "doubt"),
    [
        ("epochs", "3", ""),
        ("epochs", " 1_0 ", ""),
        ("epochs", "1e3", "not a valid int"),
        ("learning-rate", "nan", ""),
        ("learning-rate", "fast", "not a valid float"),
        ("learn", "0.1", ""),
        ("model", "vit", ""),
        ("model", "vti", "choices in train.py, line 13: resnet, vit"),
        ("depth", "02", ""),
        ("depth", "3", "0, 1, 2"),
        ("learning_rate", "1", "spelled `learning-rate`"),
        ("batch-size", "1", "spelled `batch_size`"),
        ("Epochs", "1", "spelled `epochs`"),
        ("epohcs", "1", "Did you mean `epochs`?"),
        ("verbose", "True", "takes no value: `True` would become"),
        ("no-amp", "1", "takes no value"),
        ("v", "1", "`v` is called -v"),
        ("data", "x", "positional argument"),
        ("zzz", "1", "Known are: "),
    ],
)
def test_doubted_values_are_those_argparse_rejects(name: str, value: str, doubt: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PLAIN)
    given = {"batch_size": "8", name: value}
    reply = " ".join(questions(PLAIN, **given))
    assert doubt in reply
    assert bool(doubt) == bool(reply)
    assert run(path, *_words(given)) == (2 if doubt and "no value" not in doubt else 0)


@pytest.mark.parametrize(
    ("code", "default"),
    [
        ("-1", "-1"),
        ("1 << 20", "1048576"),
        ("60 * 60", "3600"),
        ("1e-05", "1e-05"),
        ("True", "True"),
        ("None", None),
        ("[1, 'a']", '[1, "a"]'),
        ("{'a': (1, 2)}", '{"a": [1, 2]}'),
        ("'a' 'b' + 'c'", "abc"),
        ("f'{1}-{2.5}'", "1-2.5"),
        ("Path('a') / 'b'", "a/b"),
        ("os.path.join('a', 'b')", "a/b"),
        ("float('inf')", "inf"),
        ("os.environ.get('PAI_HPS_X', '3')", None),
        ("argparse.SUPPRESS", None),
        ("os.cpu_count()", None),
        ("Config.WIDTH", "64"),
        ("CHANGES", None),
        ("LATER", "5"),
        ("undefined", None),
        ("9 ** 9 ** 9", None),
        ("'a' * 10 ** 12", None),
        ("1 / 0", None),
        ("'%999999999d' % 3", None),
        ("[[]] * 3", "[[], [], []]"),
        ("b'x'", None),
        ("'\\ud800'", "?"),
        ("x" * 10, None),
        ("'" + "x" * 5000 + "'", None),
    ],
)
def test_default_expressions_are_evaluated(code: str, default: str | None) -> None:
    text = f"""
import argparse, os
from pathlib import Path
class Config:
    WIDTH = 64
CHANGES = 1
CHANGES += 1
parser = argparse.ArgumentParser()
parser.add_argument("--x", default={code})
LATER = 5
"""
    assert read(text)["x"].default == default


def test_constants_of_imported_modules_are_resolved() -> None:
    text = """
        import argparse, settings as s
        from settings import DEPTH as depth, Sizes
        from more import *
        parser = argparse.ArgumentParser()
        parser.add_argument("--rate", default=s.RATE)
        parser.add_argument("--depth", default=depth)
        parser.add_argument("--width", default=Sizes.WIDTH)
        parser.add_argument("--seed", default=SEED)
        """
    settings = "from deep import DEPTH\nRATE = 0.5\nclass Sizes:\n    WIDTH = DEPTH * 2"
    result = read(text, settings=settings, deep="DEPTH = 4", more="SEED = 9")
    assert [one.default for one in result.values()] == ["0.5", "4", "8", "9"]


def test_circular_and_exploding_constants_are_bounded() -> None:
    assert parsed("a = b\nb = a\nparser.add_argument('--x', default=a)").default is None
    doubling = "\n".join(f"a{n} = [a{n - 1}, a{n - 1}]" for n in range(1, 60))
    assert parsed(f"a0 = [1]\n{doubling}\nparser.add_argument('--x', default=a59)").default is None


def test_only_reachable_code_of_an_imported_module_is_read() -> None:
    model = """
        import argparse
        def add_model_options(parser):
            parser.add_argument("--width", type=int, default=3)
        def helper():
            argparse.ArgumentParser().add_argument("--never")
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("--own")
            parser.parse_args()
        if __name__ == "__main__":
            main()
        """
    text = "import argparse\nimport model\nparser = argparse.ArgumentParser()\nmodel.add_model_options(parser)\n"
    assert read(text, model=model).keys() == {"width"}
    assert not hyperparameters.is_closed(program(text, model=model))
    assert hyperparameters.is_closed(program(text + "parser.parse_args()", model=model))


PARSER = "import argparse, sys, os\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float)\n"


@pytest.mark.parametrize(
    "rest",
    [
        "args, rest = parser.parse_known_args()",
        "args = parser.parse_args([])",
        "args = parser.parse_args(['--lr', '1'])",
        "ARGV = ['--lr', '1']\nargs = parser.parse_args(ARGV)",
        "import json\nparser.parse_args()\njson.load(open('/ml/input/config/hyperparameters.json'))",
        "parser.parse_args()\nos.environ.get('PAI_HPS_DEPTH')",
        "if len(sys.argv) > 2: sys.argv.pop()\nparser.parse_args()",
        "import deepspeed\nparser = deepspeed.add_config_arguments(parser)\nparser.parse_args()",
        "from lib import Trainer\nTrainer.add_argparse_args(parser)\nparser.parse_args()",
        "for name in ('a', 'b'): parser.add_argument(f'--{name}')\nparser.parse_args()",
        "parser.add_argument(*words)\nparser.parse_args()",
        "from lib import base\nparser = argparse.ArgumentParser(parents=[base])\nparser.parse_args()",
        "class P(argparse.ArgumentParser): pass\nparser.parse_args()",
        "try:\n  parser.parse_args()\nexcept SystemExit:\n  pass",
        "from lib import common_parser\ncommon_parser.parse_args()\nparser.parse_args()",
        "import lib\nparser = lib.make()\nparser.parse_args()",
        "import importlib\nimportlib.import_module('models.' + x).add(parser)\nparser.parse_args()",
        "parser.add_argument('rest', nargs=argparse.REMAINDER)\nparser.parse_args()",
        "parser = argparse.ArgumentParser(exit_on_error=False)\nparser.parse_args()",
        "class P(argparse.ArgumentParser):\n  def error(self, text): ...\nparser = P()\nparser.parse_args()",
        "import fire\nfire.Fire(main)\nparser.parse_args()",
        "parser = argparse.ArgumentParser(prefix_chars='+')\nparser.parse_args()",
        "",
    ],
)
def test_parser_with_unknown_options_raises_no_doubts(rest: str) -> None:
    assert questions(PARSER + "parser.parse_args()", depth="3")
    assert questions(PARSER + rest, depth="3", lr="fast") == []


@pytest.mark.parametrize(
    "text",
    [
        "@click.command(context_settings={'allow_extra_args': 1})\n@click.option('--lr')\ndef main(lr): ...\nmain()",
        "@click.command(cls=Own)\n@click.option('--lr')\ndef main(lr): ...\nmain()",
        "@click.command()\n@lib.options\n@click.option('--lr')\ndef main(lr): ...\nmain()",
        "@click.command()\n@click.option('--lr')\ndef main(lr): ...\n",
        "@click.command()\n@click.option(NAME)\ndef main(lr): ...\nmain()",
    ],
)
def test_command_with_unknown_options_raises_no_doubts(text: str) -> None:
    assert questions("import click\n@click.command()\n@click.option('--lr')\ndef main(lr): ...\nmain()", depth="1")
    assert questions(f"import click, lib\n{text}", depth="1") == []


def test_parameters_cell_is_read() -> None:
    result = read(
        """
        # [1] tags=["other"]
        before = 1
        # [2] tags=["parameters", "x"]
        lr = 0.1  # step size
        epochs: int = 3
        names = [
            "a",
        ]  # type: list  all of them
        flag = True # x
        out = undefined()
        def f(): pass
        # %% next
        after = 2
        """
    )
    assert [(one.name, one.type, one.default, one.help, one.line) for one in result.values()] == [
        ("lr", "float", "0.1", "step size", 1),
        ("epochs", "int", "3", "", 2),
        ("names", "list", '["a"]', "all of them", 3),
        ("flag", "bool", "True", "x", 6),
        ("out", "", None, "", 7),
    ]
    assert {one.cell for one in result.values()} == {2}
    assert {(one.origin, one.form) for one in result.values()} == {("cell", "none")}
    assert read('# %% Settings tags=["parameters"]\nx = 1\n').keys() == {"x"}


def test_dictionary_named_hyperparameters_is_read() -> None:
    result = read(
        """
        hyperparameters = {
            "lr": 0.1,  # step size
            "sizes": [1, 2],
            "opt": {"name": "sgd"},
            KEY: 1,
            **more,
        }
        HPARAMS = dict(depth=2, unknown=f())
        other = {"x": 1}
        def f():
            params = {"inner": 1}
        """
    )
    assert [(one.name, one.type, one.default, one.help, one.line) for one in result.values()] == [
        ("lr", "float", "0.1", "step size", 3),
        ("sizes", "list", "[1, 2]", "", 4),
        ("opt", "dict", '{"name": "sgd"}', "", 5),
        ("depth", "int", "2", "", 9),
        ("unknown", "", None, "", 9),
    ]


def test_dataclass_fields_are_read() -> None:
    result = read(
        """
        from dataclasses import dataclass, field
        from enum import Enum
        from typing import ClassVar, Literal, Optional
        from transformers import HfArgumentParser, TrainingArguments

        class Kind(Enum):
            A = "a"
            B = "b"

        @dataclass
        class Base:
            seed: int = 1

        @dataclass
        class ModelStuff(Base):
            name: str = field(metadata={"help": "which one"})
            rate: float = field(default=1e-3, metadata={"help": "step " "size"})
            kind: Kind = field(default=Kind.A)
            mode: Literal["x", "y"] = "x"
            depth: Optional[int] = None  # how deep
            layers: list[int] = field(default_factory=lambda: [1, 2])
            words: "list[str]" = field(default_factory=list)
            fixed: ClassVar[int] = 3

        @dataclass
        class TrainConfig:
            steps: int = 10

        @dataclass
        class Output:
            loss: float = 0.0

        parser = HfArgumentParser((ModelStuff, TrainingArguments))
        model, training = parser.parse_args_into_dataclasses()
        """
    )
    rows = {name: (one.type, one.default, one.required, one.help, one.form) for name, one in result.items()}
    assert rows == {
        "seed": ("int", "1", False, "", "option"),
        "name": ("str", None, True, "which one", "option"),
        "rate": ("float", "0.001", False, "step size", "option"),
        "kind": ("str", "a", False, "", "option"),
        "mode": ("str", "x", False, "", "option"),
        "depth": ("int", None, False, "how deep", "option"),
        "layers": ("list", "[1, 2]", False, "", "option"),
        "words": ("list", "[]", False, "", "option"),
        "steps": ("int", "10", False, "", "none"),
    }
    assert (result["kind"].choices, result["mode"].choices) == (("a", "b"), ("x", "y"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = (", "line 1: '(' was never closed"),
        ("\n\nprint 'x'", "line 3: "),
        ("a\0b", "null"),
        ("x = '\ud800'", "surrogates"),
        ("-" * 100_000 + "1", "nested too deeply"),
        ("(" * 100_000, "nested"),
        ("a" + ".b" * 50_000, "nested too deeply"),
        ("f" + "()" * 50_000, "nested too deeply"),
        ("1" + "+1" * 50_000, "nested too deeply"),
    ],
)
def test_invalid_python_is_reported(text: str, what: str) -> None:
    with pytest.raises(SourceError, match=r".+") as caught:
        hyperparameters.parse(text, "train.py")
    assert what in str(caught.value)


def test_user_strings_raise_no_syntax_warning() -> None:
    assert parsed(r"parser.add_argument('--x', help='\d')").help == r"\d"


PIECES = st.sampled_from(
    """
    import argparse click typer from dataclasses def class ( ) [ ] { } : , = . @ * ** -> lambda f'{ }' "--x" 'a' 1 -1
    1e9 << + / % parser add_argument ArgumentParser parse_args default= type= choices= nargs= help= int float list
    click.option click.command typer.Option typer.run Annotated dataclass field hyperparameters params Enum None ...
    if __name__ == "__main__" \\n \\n\\t # tags=["parameters"] # [1] %% sys.argv set_defaults for in x y return
    """.split()
)


@MANY
@given(
    st.one_of(st.text(), st.lists(PIECES).map(lambda words: " ".join(words).replace("\\n", "\n").replace("\\t", "\t")))
)
@example("import argparse\nargparse.ArgumentParser().add_argument()")
@example("params = {**x, None: 1}")
@example("@dataclass\nclass Config(Config):\n  x: int = field()")
@example("import typer\n@typer.Typer().command()\ndef f(*a, x=1, **b): ...")
def test_any_text_is_read_or_rejected(text: str) -> None:
    """Each result can be shown and encoded as JSON."""
    try:
        code = program(text)
    except SourceError as error:
        assert str(error)
        return
    for one in hyperparameters.read(code):
        assert one.name or one.form == "argument"
        assert (one.default or "").encode() + one.help.encode() is not None
    assert isinstance(hyperparameters.is_closed(code), bool)
    list(hyperparameters.check_values(hyperparameters.read(code), {"x": "1"}))


# Programs with random arguments: parsed defaults equal those of argparse.
@MANY
@given(
    st.one_of(
        st.integers(-(1 << 60), 1 << 60),
        st.floats(),
        st.booleans(),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
        st.lists(st.integers(-9, 9), max_size=5),
    )
)
def test_default_is_encoded_like_the_contract(value: object) -> None:
    result = parsed(f"inf = float('inf')\nnan = float('nan')\nparser.add_argument('--x', default={value!r})")
    assert result.default == contract.text(value)
