"""Chinese translations of the site's own texts. Those of the program are in its catalogue (`jupyter_pai/locale`)."""

from __future__ import annotations

__all__ = ["word"]

_CHINESE = {
    "For users": "给用户",
    "Overview": "概览",
    "Guide": "使用指南",
    "How-to guides": "操作指南",
    "Training contract": "训练约定",
    "The names of the PAI SDK": "PAI SDK 的名字",
    "Requested features": "别人提出的要求",
    "For operators": "给管理员",
    "For plug-in authors": "给插件作者",
    "Plug-ins": "插件",
    "For contributors": "给贡献者",
    "Contributing": "参与贡献",
    "Architecture": "架构",
    "Benchmarks": "性能测量",
    "Unverified behaviour": "没有测试能证明的",
    "Changelog": "更新日志",
    "Reference": "参考",
    "Magics and commands": "魔法命令与命令行",
    "Settings": "设置",
    "Environment variables": "环境变量",
    "Job spec": "作业配置",
    "JupyterLab": "JupyterLab",
    "HTTP API": "HTTP 接口",
    "This page is in English only.": "本页只有英文。",
    "Generated from version {version}.": "由程序本身生成，版本 {version}。",
    "option": "选项",
    "means": "含义",
    "key": "键",
    "kind": "类型",
    "default": "默认",
    "required": "必填",
    "variable": "变量",
    "field": "字段",
    "command": "命令",
    "label": "名称",
    "keys": "按键",
    "where": "位置",
    "setting": "设置",
    "parameter": "参数",
    "in": "在",
    "message": "消息",
    "path": "路径",
    "query": "查询",
    "Request body: {name}": "请求体：{name}",
    "Response: {name}": "回复：{name}",
    "Response: bytes": "回复：字节",
    "Schemas": "传送的数据",
    "All profiles": "每个配置档",
    "Profiles of `{name}`": "`{name}` 的配置档",
    "Credentials of `{name}`": "`{name}` 的凭证",
    "The table `[{name}]`": "表 `[{name}]`",
    "Options of `{name}`": "`{name}` 的选项",
    "Spec": "作业配置",
    "Commands": "命令",
    "Shortcuts": "快捷键",
    "Menus and toolbars": "菜单与工具栏",
    "Name of the default profile.": "没有指定配置档时所用的那个配置档的名字。",
    "The key `default`": "键 `default`",
    "Accepted names from other tools: {words}.": "也懂得其他工具的说法：{words}。",
}


def word(text: str, language: str) -> str:
    """Return a text in a language.

    Raises:
        KeyError: if it is not translated.
    """
    return _CHINESE[text] if language == "zh-CN" else text
