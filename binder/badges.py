"""The list of tutorials in both READMEs: with badges that open each on Binder, once the repository has an address.

python -m binder.badges     write it

The address is `repository` in package.json, as npm has it: ``github:owner/name``, or a URL of GitHub or GitLab.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

__all__ = ["TUTORIALS", "table", "written"]

ROOT = Path(__file__).parents[1]
TUTORIALS = ("tutorial", "folder", "metrics", "notebook", "pai")
READMES = {"README.md": "", "README.zh-CN.md": ".zh-CN"}
_BADGE = "https://mybinder.org/badge_logo.svg"
_PART = re.compile(r"(<!-- tutorials -->\n).*?(<!-- end -->)", re.DOTALL)
_ADDRESS = re.compile(r"(?:(?:git\+)?https://)?(github|gitlab)(?:\.com/|:)([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
# How mybinder.org calls the hosts of repositories.
_HOSTS = {"github": "gh", "gitlab": "gl"}


def provider(repository: str) -> str:
    """The repository as an address of Binder begins: ``gh/owner/name``. Empty where there is none.

    Raises:
        ValueError: if it is none that Binder could read.
    """
    if not repository:
        return ""
    found = _ADDRESS.fullmatch(repository)
    if not found:
        raise ValueError(f"repository in package.json: {repository}")
    owner, name = (quote(part, safe="") for part in found.groups()[1:])
    return f"{_HOSTS[found[1]]}/{owner}/{name}"


def table(suffix: str, repository: str) -> str:
    """One line a tutorial, in the language of the suffix of its file."""
    place = provider(repository)
    lines = []
    for name in TUTORIALS:
        path = f"binder/tutorials/{name}{suffix}.ipynb"
        title = _title(ROOT / path)
        url = f"https://mybinder.org/v2/{place}/HEAD?urlpath=lab/tree/{path}"
        lines.append(f"- [{title}]({path})" + (f" [![Binder]({_BADGE})]({url})" if place else ""))
    return "\n".join(lines)


def _title(path: Path) -> str:
    first = json.loads(path.read_text("utf-8"))["cells"][0]["source"]
    return "".join(first).splitlines()[0].removeprefix("# ")


def written(readme: str, repository: str) -> str:
    """What a README should say."""
    text = (ROOT / readme).read_text("utf-8")
    return _PART.sub(lambda found: found[1] + table(READMES[readme], repository) + "\n" + found[2], text)


def known() -> str:
    """The address of the repository, if it has one."""
    package = json.loads((ROOT / "package.json").read_text("utf-8"))
    repository = package.get("repository", "")
    return str(repository["url"] if isinstance(repository, dict) else repository)


if __name__ == "__main__":
    for _name in READMES:
        (ROOT / _name).write_text(written(_name, known()), "utf-8")
