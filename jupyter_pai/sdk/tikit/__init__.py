"""The names of Tikit, the SDK of Tencent Cloud TI-ONE, implemented by this engine: import ``jupyter_pai.sdk.tikit.…``
in place of ``tikit.…``.

`client` and `models`.
"""
