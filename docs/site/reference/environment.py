"""Environment variables that the code reads, with their meaning."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import jupyter_pai
from docs.site.reference.tables import code, head, table

__all__ = ["environment", "mentioned"]

# Internal: variables that we set for our own processes or remove from jobs, and those of shells for completions.
_INNER = set(
    """JUPYTER_PAI_ARGUMENTS JUPYTER_PAI_INFO JUPYTER_PAI_ML JUPYTER_PAI_PACKAGES
    JUPYTER_PAI_RUNNING JUPYTER_PAI_SECRETS JUPYTER_PATH JUPYTER_RUNTIME_DIR GIT_CONFIG_COUNT GIT_OPTIONAL_LOCKS
    GIT_SSH_COMMAND GIT_TERMINAL_PROMPT INSTANCE_TYPE_LOCAL INSTANCE_TYPE_LOCAL_GPU PIP_USER
    SSL_CERT_FILE UV_DEFAULT_INDEX UV_FIND_LINKS UV_INDEX UV_INSECURE_HOST UV_LINK_MODE JUPYTER_TOKEN VIRTUAL_ENV
    COMP_LINE SLURM_TIME_FORMAT
    """.split()
)
# Other words in modules that use the environment.
_WORDS = {"POSTPAID_BY_HOUR"}
# Described in the training contract.
_CONTRACT = set(
    """CHIEF_IP GPU_NUM GPU_NUM_PER_NODE NODE_LIST NODE_NUM
    JUPYTER_PAI_ROLE JUPYTER_PAI_ROLE_RANK MASTER_PORT PAI_CONFIG_DIR PAI_HPS PAI_OUTPUT_FIGURES PAI_OUTPUT_MODEL
    PAI_OUTPUT_NOTEBOOK PAI_USER_ARGS
    """.split()
)
# All names except the last three have an underscore.
_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|LANG|LANGUAGE|REGION")
_MEANING = {
    "JUPYTER_PAI_HOME": (
        "The state folder: jobs, logs, models. Default: `pai` in Jupyter's data folder.",
        "状态目录：作业、日志、模型。默认是 Jupyter 数据目录里的 `pai`。",
    ),
    "JUPYTER_PAI_CONFIG": (
        "The settings file. Default: `jupyter_pai.toml` in Jupyter's config folder.",
        "设置文件。默认是 Jupyter 配置目录里的 `jupyter_pai.toml`。",
    ),
    "JUPYTER_PAI_LANGUAGE": (
        "The language of messages: `en`, `zh-CN`. Default: the language of JupyterLab, otherwise the locale.",
        "信息的语言：`en`、`zh-CN`。默认是在 JupyterLab 里选择的语言，再就是系统区域设置。",
    ),
    "JUPYTER_PAI_NETWORK_DISK": (
        "`1` if the state folder is on a disk shared by several hosts, otherwise `0`. Default: detected.",
        "状态目录是否在几台主机共享的磁盘上：`1` 或 `0`。默认询问系统。",
    ),
    "JUPYTER_PAI_HOST": (
        "The name of this host, if several hosts have the same name.",
        "本机的名字，用于几台主机同名的情况。",
    ),
    "JUPYTER_PAI_JOB_ID": ("In a job: the id of the job.", "在作业里：它的编号。"),
    "ALIBABA_CLOUD_ACCESS_KEY_ID": (
        "With the next variable, the access key of the account. Overrides other sources of keys.",
        "与下一项一起是账号的密钥；优先于保存密钥的其他地方。",
    ),
    "ALIBABA_CLOUD_ACCESS_KEY_SECRET": ("The secret of that key.", "该密钥的机密部分。"),
    "ALIBABA_CLOUD_SECURITY_TOKEN": (
        "The token of a temporary key (STS).",
        "临时密钥（STS）的令牌。",
    ),
    "ALIBABA_CLOUD_CREDENTIALS_FILE": (
        "The ini file with keys. Default: `~/.alibabacloud/credentials.ini`.",
        "含有密钥的 ini 文件。默认是 `~/.alibabacloud/credentials.ini`。",
    ),
    "ALIBABA_CLOUD_CREDENTIALS_URI": (
        "A URL that returns keys; set by DSW.",
        "给出密钥的地址；DSW 会设置它。",
    ),
    "ALIBABA_CLOUD_ECS_METADATA": (
        "The RAM role of an ECS instance that provides the keys.",
        "ECS 实例的 RAM 角色，使用它的密钥。",
    ),
    "ALIBABA_CLOUD_OIDC_TOKEN_FILE": (
        "The file with the token of a pod that assumes a role (RRSA).",
        "pod 用来取得角色（RRSA）的令牌文件。",
    ),
    "TENCENTCLOUD_SECRET_ID": (
        "With the next variable, the key of a Tencent Cloud account. Overrides other sources of its keys.",
        "与下一项一起是腾讯云账号的密钥；优先于保存密钥的其他地方。",
    ),
    "TENCENTCLOUD_SECRET_KEY": ("The secret of that key.", "该密钥的机密部分。"),
    "TENCENTCLOUD_TOKEN": ("The token of a temporary key (STS).", "临时密钥（STS）的令牌。"),
    "TENCENTCLOUD_REGION": (
        "With a key in the variables above: the region of the profile `tione`, if no file defines it.",
        "上面的变量中有密钥时，配置档 `tione` 的地域；没有文件写明时使用。",
    ),
    "TKE_REGION": (
        "With the next three, set by TKE: the region of the pod, which assumes a role by its identity (OIDC).",
        "与下面三项一起由 TKE 设置：pod 所在的地域。pod 以自己的身份（OIDC）取得角色。",
    ),
    "TKE_PROVIDER_ID": ("Set by TKE: the provider of the identity.", "TKE 设置：身份提供商。"),
    "TKE_ROLE_ARN": ("Set by TKE: the role.", "TKE 设置：角色。"),
    "TKE_WEB_IDENTITY_TOKEN_FILE": ("Set by TKE: the file with the token.", "TKE 设置：令牌文件。"),
    "PAI_NETWORK_TYPE": (
        "The hosts of Alibaba Cloud to use: `vpc` or `public`; set by DSW.",
        "访问阿里云的哪种域名：`vpc` 或 `public`；DSW 会设置它。",
    ),
    "PAI_LOG_LEVEL": (
        "The first level of the loggers of `jupyter_pai.sdk.common.logging`: `debug`, `info`, `warning`, `error`, "
        "`critical`. Default: `warning`.",
        "`jupyter_pai.sdk.common.logging` 的级别：`debug`、`info`、`warning`、`error`、`critical`。默认 `warning`。",
    ),
    "PAI_CONFIG_PATH": (
        "The settings of the PAI SDK, used as the profile `pai` if no file defines one. Default: `~/.pai/config.json`.",
        "PAI SDK 自己的设置；没有文件写明配置档 `pai` 时，由它得出。默认是 `~/.pai/config.json`。",
    ),
    "PAI_AI_WORKSPACE_ID": (
        "The workspace, if neither a profile nor the settings of the PAI SDK define one; set by DSW and DLC.",
        "工作空间，用于配置档和 PAI SDK 的设置都没有写的时候；DSW 和 DLC 作业会设置它。",
    ),
    "PAI_WORKSPACE_ID": ("Like `PAI_AI_WORKSPACE_ID`, which takes precedence.", "同 `PAI_AI_WORKSPACE_ID`，后者优先。"),
    "REGION": (
        "The region of the workspace; set by DSW, DLC and TI-ONE. Also the default region of Tikit's `Client`.",
        "与工作空间相应的地域；DSW、DLC 作业和 TI-ONE 会设置它。也是 Tikit 的 `Client` 的默认地域。",
    ),
    "TI_TASK_ID": (
        "Set by TI-ONE in its tasks: the id of the task, which `push_training_metrics` of Tikit's names accepts.",
        "TI-ONE 在任务里设置：任务的 id，Tikit 的 `push_training_metrics` 接受它。",
    ),
    "DSW_REGION": ("Like `REGION`, which takes precedence.", "同 `REGION`，后者优先。"),
    "DSW_INSTANCE_ID": (
        "In DSW: the instance. Its workspace is the default.",
        "在 DSW 里：所在的实例；没有指定工作空间时使用它的工作空间。",
    ),
    "DLC_JOB_ID": (
        "In a DLC job: the id of the job. Indicates that `REGION` is valid.",
        "在 DLC 作业里：它的编号。它说明 `REGION` 可以采用。",
    ),
    "CUDA_VISIBLE_DEVICES": (
        "The GPUs of this machine that jobs may use. Default: all.",
        "作业可以使用本机的哪些 GPU。默认全部。",
    ),
    "JPY_PARENT_PID": (
        "Set by the Jupyter server for its kernels, which find the server by it.",
        "Jupyter 服务器为内核设置：内核由此找到服务器。",
    ),
    "JPY_SESSION_NAME": (
        "Set by the Jupyter server for its kernels: the notebook.",
        "Jupyter 服务器为内核设置：所属的 notebook。",
    ),
    "JUPYTERHUB_SERVICE_URL": (
        "Set by JupyterHub: the address of the server, by which kernels and command lines find its file.",
        "JupyterHub 设置：服务器自己的地址，内核和命令行由此找到它的文件。",
    ),
    "JUPYTERHUB_API_URL": (
        "Set by JupyterHub: the address of the Hub. If set, a submit warns that local jobs stop with the server.",
        "JupyterHub 设置：Hub 的地址。有它时会说明本机作业随服务器一起结束。",
    ),
    "JUPYTERHUB_USER": (
        "Set by JupyterHub: the user in the audit log.",
        "JupyterHub 设置：用户，审计日志里这样写。",
    ),
    "XDG_CONFIG_HOME": (
        "The folder of the settings of git, whose ignore rules decide on untracked files. Default: `~/.config`.",
        "git 的设置所在的目录，其中的忽略规则决定哪些文件算未跟踪。默认 `~/.config`。",
    ),
    "KUBERNETES_SERVICE_HOST": (
        "Set by Kubernetes: the server runs in a pod, and its jobs stop with the pod.",
        "Kubernetes 设置：服务器在 pod 里运行，作业随 pod 一起结束。",
    ),
    "LANGUAGE": (
        "The locale and language, from the first of `LANGUAGE`, `LC_ALL`, `LC_MESSAGES` and `LANG` that is set.",
        "与 `LC_ALL`、`LC_MESSAGES`、`LANG` 一起，取第一个有值的：区域设置，也就是语言。",
    ),
    "LC_ALL": ("See `LANGUAGE`.", "见 `LANGUAGE`。"),
    "LC_MESSAGES": ("See `LANGUAGE`.", "见 `LANGUAGE`。"),
    "LANG": ("See `LANGUAGE`.", "见 `LANGUAGE`。"),
}


def environment(language: str) -> str:
    """Return the page of the variables of the Jupyter server, kernels and the command line. The training contract
    describes those of jobs."""
    index = 1 if language == "zh-CN" else 0
    rows = [(code(name), _MEANING[name][index]) for name in sorted(mentioned())]
    more = (
        "The [training contract](contract.md) describes the environment of a job.",
        "作业在自己的环境里有什么：[训练约定](contract.md)。",
    )
    return f"{head('Environment variables', language)}{table(('variable', 'means'), rows, language)}\n{more[index]}\n"


def mentioned() -> set[str]:
    """Return the variables that the code reads: names in modules that use the environment."""
    found: set[str] = set()
    for path in Path(jupyter_pai.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        if re.search(r"\benviron\b", text):
            found |= set(_constants(ast.parse(text)))
    return found - _INNER - _WORDS - _CONTRACT


def _constants(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
                yield node.value
