"""Environment variables: those that the code asks for, each with what it means."""

from __future__ import annotations

import re
from pathlib import Path

import jupyter_pai

from .tables import code, head, table

__all__ = ["environment", "mentioned"]

# Set by ourselves for our own processes: not for users.
_INNER = {"JUPYTER_PAI_ARGUMENTS", "JUPYTER_PAI_AS_", "JUPYTER_PAI_INFO"}
_MEANING = {
    "JUPYTER_PAI_HOME": (
        "The state folder: jobs, logs, models. Else `pai` in Jupyter's data folder.",
        "状态目录：作业、日志、模型。默认是 Jupyter 数据目录里的 `pai`。",
    ),
    "JUPYTER_PAI_CONFIG": (
        "The settings file. Else `jupyter_pai.toml` in Jupyter's config folder.",
        "设置文件。默认是 Jupyter 配置目录里的 `jupyter_pai.toml`。",
    ),
    "JUPYTER_PAI_LANGUAGE": (
        "The language of messages: `en`, `zh-CN`. Else the one chosen in JupyterLab, else the locale.",
        "信息的语言：`en`、`zh-CN`。默认是在 JupyterLab 里选择的语言，再就是系统区域设置。",
    ),
    "JUPYTER_PAI_NETWORK_DISK": (
        "Whether the state folder lies on a disk that several hosts share: `1` or `0`. Else the system is asked.",
        "状态目录是否在几台主机共享的磁盘上：`1` 或 `0`。默认询问系统。",
    ),
    "JUPYTER_PAI_HOST": (
        "The name of this host, where several have the same one.",
        "本机的名字，用于几台主机同名的情况。",
    ),
    "JUPYTER_PAI_JOB_ID": ("In a job: its id.", "在作业里：它的编号。"),
    "PAI_NETWORK_TYPE": (
        "Which hosts of Alibaba Cloud are asked: `vpc` or `public`; set in DSW.",
        "访问阿里云的哪种域名：`vpc` 或 `public`；DSW 会设置它。",
    ),
}


def environment(language: str) -> str:
    """The variables of Jupyter's server, of kernels and of the command line. What a job finds in its own is the
    training contract's."""
    index = 1 if language == "zh-CN" else 0
    rows = [(code(name), _MEANING[name][index]) for name in sorted(mentioned())]
    more = (
        "What a job finds in its own environment: the [training contract](contract.md).",
        "作业在自己的环境里有什么：[训练约定](contract.md)。",
    )
    return f"{head('Environment variables', language)}{table(('variable', 'means'), rows, language)}\n{more[index]}\n"


def mentioned() -> set[str]:
    """The variables of ours that the code knows."""
    found = {"PAI_NETWORK_TYPE"}
    for path in Path(jupyter_pai.__file__).parent.rglob("*.py"):
        found |= set(re.findall(r"\bJUPYTER_PAI_[A-Z_]+", path.read_text("utf-8")))
    return found - _INNER
