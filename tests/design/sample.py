"""Draw random docstrings, messages and sentences of the guide, to be read aloud.

python -m tests.design.sample [SEED]     default seed: the hash of the current commit

A text fails if a native technical writer would not have written it. After a failure, mend the whole pattern, commit
and draw again, until three draws in a row pass.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from collections.abc import Sequence

from .messages import ROOT, texts

COUNT = 30
# Code, headings, the links at the top of a page, and pictures.
NO_PROSE = re.compile(r"^ *```.*?^ *```|^#[^\n]*|^\[中文[^\n]*|^<picture[^\n]*", re.MULTILINE | re.DOTALL)


def docstrings() -> list[str]:
    """Return the docstrings of modules, classes and functions of the package."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        f"{path.relative_to(ROOT)}: {text}"
        for path in sorted((ROOT / "jupyter_pai").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, kinds) and (text := ast.get_docstring(node))
    ]


def messages() -> list[str]:
    """Return the translatable texts, in both numbers where they have two."""
    return [text if isinstance(text, str) else " / ".join(text) for text in texts()]


def sentences() -> list[str]:
    """Return the sentences of the English guides, from paragraphs, list items and table cells."""
    rows = []
    for path in sorted((ROOT / "docs").glob("[gh]*/*.md")):
        if "zh-CN" not in path.name:
            prose = NO_PROSE.sub("", path.read_text("utf-8"))
            for block in re.split(r"\n\s*\n|\n(?=\s*(?:- |\d+\. |\|))|(?<=[^\\]) \| ", prose):
                text = " ".join(block.replace("| ", "").split()).removeprefix("- ").rstrip(" |")
                for sentence in re.split(r"(?<=[.!?]) +(?=[A-Z*`])", text):
                    if re.search(r"[a-z]+ [a-z]+", re.sub(r"`[^`]*`", "", sentence)):
                        rows.append(f"{path.name}: {sentence}")
    return rows


def draw(seed: str, items: Sequence[str]) -> list[str]:
    """Return `COUNT` random items for a seed."""
    return random.Random(seed).sample(list(items), COUNT)


if __name__ == "__main__":
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    seed = sys.argv[1] if len(sys.argv) > 1 else commit.strip()
    print(f"seed {seed}")
    for title, items in (("docstrings", docstrings()), ("messages", messages()), ("guide", sentences())):
        print(f"\n## {title}: {COUNT} of {len(items)}\n")
        for number, item in enumerate(draw(seed, items), 1):
            print(f"{number:2}. {item}")
