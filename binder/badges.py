"""The list of tutorials in both READMEs: with badges that open each on Binder, once the repository has an address.

python -m binder.badges     write it

The address is `repository` in package.json, as npm has it: ``github:owner/name``, or a URL of GitHub or GitLab.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

__all__ = ["TUTORIALS", "address", "known", "table", "written"]

ROOT = Path(__file__).parents[1]
TUTORIALS = ("tutorial", "folder", "metrics", "notebook", "cluster", "pai", "tione", "workflow")
READMES = {"README.md": "", "README.zh-CN.md": ".zh-CN"}
_BADGE = "https://mybinder.org/badge_logo.svg"
_PART = re.compile(r"(<!-- tutorials -->\n).*?(<!-- end -->)", re.DOTALL)
_ADDRESS = re.compile(r"(?:(?:git\+)?https://)?(github|gitlab)(?:\.com/|:)([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
# The names of the hosts on mybinder.org.
_HOSTS = {"github": "gh", "gitlab": "gl"}


def provider(repository: str) -> str:
    """Return the repository as in an address of Binder: ``gh/owner/name``. Empty without a repository.

    Raises:
        ValueError: if it is no address of GitHub or GitLab.
    """
    if not repository:
        return ""
    host, owner, name = _parts(repository)
    return "/".join([_HOSTS[host], quote(owner, safe=""), quote(name, safe="")])


def address(repository: str) -> str:
    """Return the address of the repository's page. Empty without a repository.

    Raises:
        ValueError: if it is no address of GitHub or GitLab.
    """
    return "https://{}.com/{}/{}".format(*_parts(repository)) if repository else ""


def _parts(repository: str) -> tuple[str, str, str]:
    match = _ADDRESS.fullmatch(repository)
    if not match:
        raise ValueError(f"repository in package.json: {repository}")
    return match[1], match[2], match[3]


def table(suffix: str, repository: str) -> str:
    """Return the list, in the language of the suffix of the files."""
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
    """Return a README with the list."""
    text = (ROOT / readme).read_text("utf-8")
    return _PART.sub(lambda found: found[1] + table(READMES[readme], repository) + "\n" + found[2], text)


def known() -> str:
    """Return the repository of package.json, if it has one."""
    package = json.loads((ROOT / "package.json").read_text("utf-8"))
    repository = package.get("repository", "")
    return str(repository["url"] if isinstance(repository, dict) else repository)


if __name__ == "__main__":
    for _name in READMES:
        (ROOT / _name).write_text(written(_name, known()), "utf-8")
