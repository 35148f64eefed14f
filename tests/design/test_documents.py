"""The documents describe every verb, option, setting and variable, in both languages, and their links work."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import jupyter_pai
from binder import badges
from docs.site.pages import cells
from jupyter_pai.backends import load_backends
from jupyter_pai.backends.base import Backend, Capability
from jupyter_pai.backends.remote import RemoteBackend
from jupyter_pai.commands import terminal as cli
from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.config.policy import PolicyRules
from jupyter_pai.core import contract
from jupyter_pai.engine.audit_log import AuditEntry
from jupyter_pai.storage.base import Storage

from .messages import catalogues, read, texts

ROOT = Path(__file__).parents[2]
# The guide in each language: every page of it.
GUIDES = ["docs/guide/*.md", "docs/guide/*.zh-CN.md"]


def text(name: str) -> str:
    """The text of a document; of all that match a pattern, in the pattern's language."""
    paths = [path for path in sorted(ROOT.glob(name)) if "zh-CN" in name or "zh-CN" not in path.name]
    assert paths, name
    return "\n".join(path.read_text("utf-8") for path in paths)


@pytest.mark.parametrize("guide", GUIDES)
def test_every_verb_and_option_is_documented(guide: str) -> None:
    content = text(guide)
    for verb in grammar.VERBS:
        assert f"`{verb}" in content, verb
        for option in grammar.options_of(grammar.parser(), verb):
            assert option == "--help" or f"`{option}" in content, f"{verb} {option}"
    for option in grammar.options_of(grammar.cell_parser()):
        assert option == "--help" or f"`{option}" in content, option


@pytest.mark.parametrize("guide", GUIDES)
def test_every_setting_is_documented(guide: str) -> None:
    content = text(guide)
    for backend in load_backends().values():
        for key in backend.settings_model.model_fields:
            assert f"`{key}`" in content, key


@pytest.mark.parametrize("document", ["docs/operators.md", "docs/operators.zh-CN.md"])
def test_every_rule_and_field_of_the_audit_log_is_documented(document: str) -> None:
    content = text(document)
    for rule in PolicyRules.model_fields:
        assert f"| `{rule}` |" in content, rule
    for field in AuditEntry("submit", "").fields:
        assert f'"{field}": ' in content, field


@pytest.mark.parametrize("document", ["docs/unverified.md", "docs/unverified.zh-CN.md"])
def test_every_manual_check_is_documented_and_listed(document: str) -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", text(document), re.MULTILINE))
    assert rows == {trial.name for backend in load_backends().values() for trial in backend.trials()}


@pytest.mark.parametrize("guide", GUIDES)
def test_every_variable_and_exit_code_is_documented(guide: str) -> None:
    content = text(guide)
    for variable in ("HOME", "CONFIG", "LANGUAGE", "NETWORK_DISK", "HOST"):
        variable = f"JUPYTER_PAI_{variable}"
        assert variable in content
    for code in (cli.SUCCESS, cli.NO_SUCCESS, cli.USAGE, cli.ENGINE, cli.INTERRUPTED):
        assert f"`{code}`" in content


@pytest.mark.parametrize("document", ["docs/contract.md", "docs/contract.zh-CN.md"])
def test_every_variable_of_the_contract_is_documented(document: str) -> None:
    content = text(document)
    for variable in re.findall(
        r"\b(?:PAI_[A-Z_]+|MASTER_\w+|WORLD_SIZE|RANK|PYTHONUNBUFFERED)\b", text("jupyter_pai/core/contract.py")
    ):
        assert variable.rstrip("_") in content, variable
    for variable in contract.NODE_VARIABLES:
        assert f"`{variable}`" in content, variable


@pytest.mark.parametrize("guide", ["docs/plugins.md", "docs/plugins.zh-CN.md"])
def test_every_method_and_capability_of_a_plug_in_is_documented(guide: str) -> None:
    content = text(guide)
    verbs = {name for seam in (RemoteBackend, Storage) for name in vars(seam) | vars(Backend) if name[0] != "_"}
    verbs -= {"home", "settings", "name", "scheme", "capabilities", "put_tree", "get_tree", "check_free", "chosen"}
    for word in verbs | {capability.name for capability in Capability}:
        assert f"`{word}`" in content or f"{word} =" in content, word


def test_links_in_documents_work() -> None:
    content = {path: path.read_text("utf-8") for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]}
    for path in (ROOT / "binder").rglob("*.ipynb"):
        content[path] = "\n".join(source for kind, source in cells(path) if kind == "markdown")
    for path, words in content.items():
        pictures = re.findall(r'src(?:set)?="([^":]+)"', words)
        for link in [*re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", words), *pictures]:
            assert (path.parent / link).exists(), f"{path.name}: {link}"


def test_versions_are_equal() -> None:
    version = json.loads(text("package.json"))["version"]
    assert jupyter_pai.__version__ == version
    assert f"## {version}" in text("CHANGELOG.md")
    assert f"=={version}" in text("binder/requirements.txt")
    for path in catalogues():
        assert read(path).version == version


@pytest.mark.parametrize("path", catalogues(), ids=lambda path: path.parents[1].name)
def test_every_text_is_translated(path: Path) -> None:
    catalogue = read(path)
    ids = set()
    for message in texts():
        key, full = (message, message) if isinstance(message, str) else (message[0], message[1])
        ids.add(key)
        entry = catalogue.get(key)
        assert entry, f"not in the catalogue: {key}"
        strings = [entry.string] if isinstance(entry.string, str) else list(entry.string or ())
        assert all(strings), f"not translated: {key}"
        assert key in SAME or not {key, full} & set(strings), f"translated as itself: {key}"
        for string in strings:
            assert blanks(string) == blanks(full), key
            assert string.endswith("\n") == key.endswith("\n")
            assert string.startswith("\n") == key.startswith("\n")
    assert {m.id if isinstance(m.id, str) else m.id[0] for m in catalogue if m.id} - ids == set()


# Words that Chinese readers use in English.
SAME = {"JSON", "Notebook", "notebook", "Python", "SKU", "SSH", "TensorBoard"}


def blanks(message: str) -> set[str]:
    """Return the placeholders of a message: `{name}` in Python, `%1` in TypeScript."""
    return set(re.findall(r"\{\w*[^}]*\}|%\d", message))


def test_no_host_is_in_the_lock_file() -> None:
    assert not re.search(r"https?://", text("yarn.lock"))


TUTORIALS = sorted(path.name.partition(".")[0] for path in (ROOT / "binder/tutorials").glob("*.zh-CN.ipynb"))


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorials_differ_only_in_their_language(name: str) -> None:
    english, chinese = (json.loads(text(f"binder/tutorials/{name}{suffix}.ipynb")) for suffix in ("", ".zh-CN"))
    for one, other in zip(english["cells"], chinese["cells"], strict=True):
        assert one["id"] == other["id"]
        if one["cell_type"] == "code":
            assert one["source"] == other["source"]
        else:
            assert re.search("[\u4e00-\u9fff]", "".join(other["source"]))


def test_dependencies_have_a_reason() -> None:
    content = text("docs/decisions.md").lower()
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *extras["pai"], *extras["tione"], *extras["keyring"]]:
        name = re.split(r"[><=\[]", requirement)[0]
        assert name in content, name


# The folders of documents for users.
FOLDERS = (ROOT, ROOT / "docs", ROOT / "docs/guide", ROOT / "docs/how-to")


def pairs() -> list[Path]:
    """Return the Chinese documents. Each has an English document beside it."""
    return sorted(path for folder in FOLDERS for path in folder.glob("*.zh-CN.md"))


@pytest.mark.parametrize("chinese", pairs(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_documents_differ_only_in_their_language(chinese: Path) -> None:
    """Both have the same headings, tables and code. Only comments and messages in the code are translated."""
    one, other = (Parts(path.read_text("utf-8")) for path in (chinese.with_name(english(chinese)), chinese))
    assert one.headings == other.headings
    assert one.rows == other.rows
    for code, theirs in zip(one.code, other.code, strict=True):
        for line, its in zip(code, theirs, strict=True):
            assert line == its or re.search("[\\u4e00-\\u9fff]", its)


def english(chinese: Path) -> str:
    return chinese.name.replace(".zh-CN", "")


# Synonyms that the documents do not use: for notebook, instance type, folder; and 配置 outside of profile (配置档), job
# spec (作业配置) and config folder (配置目录).
OTHER_WORDS = re.compile("笔记本|实例规格|文件夹|(?<!作业)配置(?!档|目录)")


def test_chinese_terms_are_consistent() -> None:
    content = {str(path): path.read_text("utf-8") for path in [*pairs(), *(ROOT / "binder").rglob("*.zh-CN.ipynb")]}
    for path in catalogues():
        content[path.name] = "\n".join(map(str, (message.string for message in read(path))))
    matches = [
        (name, line) for name, words in content.items() for line in words.splitlines() if OTHER_WORDS.search(line)
    ]
    assert matches == []


class Parts:
    """The structure of a document: the depths of its headings, the number of its table rows, and its code."""

    def __init__(self, text: str) -> None:
        self.code = [block.splitlines() for block in re.findall(r"^ *```(.*?)^ *```", text, re.MULTILINE | re.DOTALL)]
        prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
        self.headings = [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)]
        self.rows = len(re.findall(r"^\|", prose, re.MULTILINE))


# For contributors, who read the English code too.
ENGLISH_ONLY = {"architecture.md", "benchmarks.md", "decisions.md", "style.md"}


def test_every_document_for_users_exists_in_both_languages() -> None:
    documents = {path for folder in FOLDERS[1:] for path in folder.glob("*.md")} | {
        ROOT / "README.md",
        ROOT / "SECURITY.md",
    }
    there = {path for path in documents if ".zh-CN" not in path.name and path.name not in ENGLISH_ONLY}
    assert there == {path.with_name(english(path)) for path in pairs()}


@pytest.mark.parametrize("readme", badges.READMES)
def test_readme_lists_all_tutorials(readme: str) -> None:
    assert text(readme) == badges.written(readme, badges.known()), "run: python -m binder.badges"
    assert sorted(badges.TUTORIALS) == TUTORIALS


ADDRESSES = ["github:ada/jobs", "https://github.com/ada/jobs.git", "git+https://github.com/ada/jobs"]


@pytest.mark.parametrize("repository", ADDRESSES)
def test_badges_open_each_tutorial(repository: str) -> None:
    address = r"\(https://mybinder\.org/v2/gh/ada/jobs/HEAD\?urlpath=lab/tree/(.+?)\)"
    for readme, suffix in badges.READMES.items():
        opened = re.findall(address, badges.written(readme, repository))
        assert opened == [f"binder/tutorials/{name}{suffix}.ipynb" for name in badges.TUTORIALS]
        assert all((ROOT / path).exists() for path in opened)


def test_repository_that_binder_cannot_read_is_rejected() -> None:
    with pytest.raises(ValueError, match="ftp://x"):
        badges.provider("ftp://x")


@pytest.mark.parametrize("document", ["docs/architecture.md", "docs/decisions.md", "CONTRIBUTING.md"])
def test_paths_in_documents_for_contributors_exist(document: str) -> None:
    tops = [path.name for path in (ROOT / "jupyter_pai").iterdir() if path.is_dir()]
    tops += ["jupyter_pai", "labextension", "tests", "docs"]
    paths = re.findall(rf"`((?:{'|'.join(tops)})/[\w./]*)`", text(document))
    assert paths
    missing = [path for path in paths if not any((place / path).exists() for place in (ROOT, ROOT / "jupyter_pai"))]
    assert missing == []


def test_ten_questions_are_answered_by_listing_at_most_two_folders() -> None:
    rows = re.findall(r"^\| (Where .*?\?) \| (.*?) \| (.*?) \|$", text("docs/architecture.md"), re.MULTILINE)
    assert len(rows) == 10
    for question, folders, answer in rows:
        listed = re.findall(r"`([^`]+)/`", folders)
        assert 1 <= len(listed) <= 2, question
        entries = {path.name for folder in listed for path in (ROOT / folder).iterdir()}
        assert set(re.findall(r"`(\w+\.\w+)`", answer)) <= entries, question
